/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/json_value.h"

#include "base/open_regular.h"
#include "import/json_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_some(void *arg, void *buf, size_t n, struct aif_err *err)
{
	ssize_t got = read(*(int *)arg, buf, n);

	return got < 0 ? aif_err_set(err, -errno, "%s", strerror(errno)) : got;
}

/* Takes ".key" or "[3]" off *way. Returns '.', '[', or 0 for neither. */
static char next_part(const char **way, const char **ret_key, size_t *ret_len)
{
	char kind = **way;

	if (kind != '.' && kind != '[')
		return 0;
	*ret_key = *way + 1;
	*ret_len = strcspn(*way + 1, kind == '.' ? ".[" : "]");
	*way += 1 + *ret_len + (kind == '[' && (*way)[1 + *ret_len] == ']');
	return *ret_len ? kind : 0;
}

/* Goes to the value of a key of the object that was entered. */
static bool find_key(struct aif_json *j, const char *key, size_t len)
{
	while (aif_json_next(j) == AIF_JSON_KEY) {
		if (j->len == len && !memcmp(j->text, key, len))
			return true;
		if (aif_json_skip(j) == AIF_JSON_ERROR)
			return false;
	}
	return false;
}

static bool find_index(struct aif_json *j, unsigned long index)
{
	for (; index; index--) {
		enum aif_json_token t = aif_json_skip(j);

		if (t == AIF_JSON_CLOSE || t == AIF_JSON_ERROR || t == AIF_JSON_END)
			return false;
	}
	return true;
}

/* Goes to the value that `way` leads to. Returns its token; AIF_JSON_ERROR where there is none. */
static enum aif_json_token find(struct aif_json *j, const char *way)
{
	const char *key;
	size_t len;
	char kind;

	while ((kind = next_part(&way, &key, &len))) {
		if (aif_json_next(j) != (kind == '.' ? AIF_JSON_OBJECT : AIF_JSON_ARRAY))
			return AIF_JSON_ERROR;
		if (kind == '.' ? !find_key(j, key, len) : !find_index(j, strtoul(key, NULL, 10)))
			return AIF_JSON_ERROR;
	}
	return *way ? AIF_JSON_ERROR : aif_json_next(j);
}

static bool take_number(struct aif_json *j, const char *way, void *ret)
{
	char number[64], *end;
	double *value = ret;

	if (find(j, way) != AIF_JSON_NUMBER || j->len >= sizeof(number))
		return false;
	memcpy(number, j->text, j->len);
	number[j->len] = '\0';
	*value = strtod(number, &end);
	return !*end && isfinite(*value);
}

struct scalar {
	struct aif_buf *text;
	bool is_number;
};

static bool take_scalar(struct aif_json *j, const char *way, void *ret)
{
	struct scalar *s = ret;

	switch (find(j, way)) {
	case AIF_JSON_TRUE:
		aif_buf_puts(s->text, "true");
		return true;
	case AIF_JSON_FALSE:
		aif_buf_puts(s->text, "false");
		return true;
	case AIF_JSON_NULL:
		aif_buf_puts(s->text, "null");
		return true;
	case AIF_JSON_NUMBER:
		s->is_number = true;
		aif_buf_append(s->text, j->text, j->len);
		return true;
	case AIF_JSON_STRING:
		if (j->escaped)
			aif_json_text(j, s->text);
		else
			aif_buf_append(s->text, j->text, j->len);
		return true;
	default:
		return false;
	}
}

static int value(const char *file, const char *way,
		 bool (*take)(struct aif_json *j, const char *way, void *ret), void *ret,
		 const char *what, struct aif_err *err)
{
	int fd = aif_open_regular(AT_FDCWD, file, O_RDONLY), r = 0;
	struct aif_json j = {.read = read_some, .arg = &fd};

	if (fd < 0)
		return aif_err_set(err, fd, "%s: %s", file,
				   fd == -EINVAL ? "not a file" : strerror(-fd));
	r = aif_json_init(&j);
	if (r)
		aif_err_set(err, r, "%s: %s", file, strerror(-r));
	else if (!take(&j, way, ret))
		r = aif_err_set(err, -ENOENT, "%s: no %s at %s", file, what, way);
	if (!r || r == -ENOENT)
		aif_json_finish(&j);
	close(fd);
	return r;
}

int aif_json_value(const char *file, const char *way, double *ret, struct aif_err *err)
{
	return value(file, way, take_number, ret, "number", err);
}

int aif_json_scalar(const char *file, const char *way, struct aif_buf *ret, bool *ret_is_number,
		    struct aif_err *err)
{
	struct scalar s = {ret, false};
	int r = value(file, way, take_scalar, &s, "value", err);

	*ret_is_number = s.is_number;
	return r;
}
