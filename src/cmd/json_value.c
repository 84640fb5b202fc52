/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/json_value.h"

#include "base/buf.h"
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

static bool find(struct aif_json *j, const char *way, double *ret)
{
	const char *key;
	size_t len;
	char kind, number[64], *end;

	while ((kind = next_part(&way, &key, &len))) {
		if (aif_json_next(j) != (kind == '.' ? AIF_JSON_OBJECT : AIF_JSON_ARRAY))
			return false;
		if (kind == '.' ? !find_key(j, key, len) : !find_index(j, strtoul(key, NULL, 10)))
			return false;
	}
	if (*way || aif_json_next(j) != AIF_JSON_NUMBER || j->len >= sizeof(number))
		return false;
	memcpy(number, j->text, j->len);
	number[j->len] = '\0';
	*ret = strtod(number, &end);
	return !*end && isfinite(*ret);
}

int aif_json_value(const char *file, const char *way, double *ret, struct aif_err *err)
{
	int fd = aif_open_regular(AT_FDCWD, file, O_RDONLY), r = 0;
	struct aif_json j = {.read = read_some, .arg = &fd};

	if (fd < 0)
		return aif_err_set(err, fd, "%s: %s", file,
				   fd == -EINVAL ? "not a file" : strerror(-fd));
	r = aif_json_init(&j);
	if (r)
		aif_err_set(err, r, "%s: %s", file, strerror(-r));
	else if (!find(&j, way, ret))
		r = aif_err_set(err, -ENOENT, "%s: no number at %s", file, way);
	if (!r || r == -ENOENT)
		aif_json_finish(&j);
	close(fd);
	return r;
}
