/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_value.h"

#include "base/open_named.h"
#include "text/json_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

ssize_t aif_json_read_fd(void *arg, void *buf, size_t n, struct aif_err *err)
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

struct finding {
	struct aif_json j;
	/* Takes the value whose token was read. */
	bool (*take)(struct aif_json *j, enum aif_json_token token, void *ret);
	void *ret;
	bool has_value, is_twice;
};

/* True if the key that was read is that one, also where it is written with escapes. */
static bool is_key(struct aif_json *j, const char *key, size_t len)
{
	struct aif_buf text = {0};
	bool is;

	if (!j->escaped)
		return aif_json_is(j, key, len);
	aif_json_text(j, &text);
	is = text.len == len && !memcmp(aif_buf_str(&text), key, len);
	aif_buf_finish(&text);
	return is;
}

static void find(struct finding *f, const char *way);

/* Reads all of an object; the value of `key` is where the rest of the way begins. */
static void find_key(struct finding *f, const char *key, size_t len, const char *way)
{
	bool found = false;

	while (aif_json_next(&f->j) == AIF_JSON_KEY) {
		if (!is_key(&f->j, key, len)) {
			aif_json_skip(&f->j);
			continue;
		}
		f->is_twice |= found;
		if (found)
			aif_json_skip(&f->j);
		else
			find(f, way);
		found = true;
	}
}

/* The same of an array. */
static void find_index(struct finding *f, unsigned long index, const char *way)
{
	unsigned depth = f->j.depth;

	/* A value that is left, or an end of the array, ends it early. */
	for (; index && f->j.depth == depth && !f->j.why; index--)
		aif_json_skip(&f->j);
	if (f->j.depth == depth && !f->j.why)
		find(f, way);
	while (f->j.depth >= depth && !f->j.why)
		aif_json_skip(&f->j);
}

/* Reads the next value whole, and takes what `way` leads to in it. */
static void find(struct finding *f, const char *way)
{
	unsigned depth = f->j.depth;
	const char *key;
	size_t len;
	char kind = next_part(&way, &key, &len);
	enum aif_json_token t = aif_json_next(&f->j);

	if (kind == '.' && t == AIF_JSON_OBJECT)
		find_key(f, key, len, way);
	else if (kind == '[' && t == AIF_JSON_ARRAY)
		find_index(f, strtoul(key, NULL, 10), way);
	else if (!kind && !*way)
		f->has_value = f->take(&f->j, t, f->ret);
	while (f->j.depth > depth && !f->j.why)
		aif_json_next(&f->j);
}

static bool take_number(struct aif_json *j, enum aif_json_token token, void *ret)
{
	char number[64], *end;
	double *value = ret;

	if (token != AIF_JSON_NUMBER || j->len >= sizeof(number))
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

static bool take_scalar(struct aif_json *j, enum aif_json_token token, void *ret)
{
	struct scalar *s = ret;

	switch (token) {
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

struct memory {
	const char *text;
	size_t len;
};

static ssize_t read_memory(void *arg, void *buf, size_t n, struct aif_err *err)
{
	struct memory *m = arg;

	(void)err;
	n = AIF_MIN(n, m->len);
	memcpy(buf, m->text, n);
	m->text += n;
	m->len -= n;
	return (ssize_t)n;
}

bool aif_json_text_scalar(const char *text, size_t len, const char *way, struct aif_buf *ret)
{
	struct memory m = {text, len};
	struct scalar s = {ret, false};
	struct finding f = {.j = {.read = read_memory, .arg = &m, .strict = true},
			    .take = take_scalar,
			    .ret = &s};
	size_t before = ret->len;

	if (aif_json_init(&f.j))
		return false;
	find(&f, way);
	aif_json_next(&f.j);
	if (f.j.why || f.is_twice || !f.has_value) {
		ret->len = before;
		f.has_value = false;
	}
	aif_json_finish(&f.j);
	return f.has_value;
}

/* Reads a file whole: of one that is no JSON, cut off perhaps, no value is to be trusted. */
static int value(const char *file, const char *way,
		 bool (*take)(struct aif_json *j, enum aif_json_token token, void *ret), void *ret,
		 const char *what, struct aif_err *err)
{
	int fd = aif_open_named(file, err), r;
	struct finding f = {.j = {.read = aif_json_read_fd, .arg = &fd, .strict = true},
			    .take = take,
			    .ret = ret};

	if (fd < 0)
		return fd;
	r = aif_json_init(&f.j);
	if (r) {
		close(fd);
		return aif_err_set(err, r, "%s: %s", file, strerror(-r));
	}
	find(&f, way);
	aif_json_next(&f.j);
	if (f.j.io)
		r = aif_err_set(err, f.j.io, "%s: %s", file, strerror(-f.j.io));
	else if (f.j.why)
		r = aif_err_set(err, -EINVAL, "%s: damaged, no JSON: %s (byte %" PRIu64 ")", file,
				f.j.why, f.j.why_at);
	else if (f.is_twice)
		r = aif_err_set(err, -EINVAL, "%s: damaged: a key of %s stands twice", file, way);
	else if (!f.has_value)
		r = aif_err_set(err, -ENOENT, "%s: no %s at %s", file, what, way);
	aif_json_finish(&f.j);
	close(fd);
	return r;
}

void aif_json_path(const char *file, size_t len, const char *is, size_t is_len, struct aif_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		if (i + 1 < len && file[i] == '{' && file[i + 1] == '}') {
			aif_buf_append(out, is, is_len);
			i++;
		} else {
			aif_buf_putc(out, (uint8_t)file[i]);
		}
	}
}

int aif_json_value(const char *file, const char *way, double *ret, struct aif_err *err)
{
	double number;
	int r = value(file, way, take_number, &number, "number", err);

	if (!r)
		*ret = number;
	return r;
}

int aif_json_scalar(const char *file, const char *way, struct aif_buf *ret, bool *ret_is_number,
		    struct aif_err *err)
{
	struct scalar s = {ret, false};
	size_t before = ret->len;
	int r = value(file, way, take_scalar, &s, "value", err);

	if (r)
		ret->len = before;
	*ret_is_number = s.is_number;
	return r;
}
