/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Programs built while the tests run, in a directory of their own that goes with them, and what the
 * usual tools print about them. */

#include "base/buf.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char dir[64];
};

static inline void fixture_init(struct fixture *f)
{
	strcpy(f->dir, "/tmp/aif-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
}

/* Runs a shell command in the directory; its output, for free(). Fails the test if it fails. */
AIF_PRINTF(2, 3) static inline char *fixture_run(const struct fixture *f, const char *fmt, ...)
{
	struct aif_buf out = {0}, command = {0};
	char block[4096];
	size_t n;
	va_list ap;
	char *text;
	FILE *p;

	va_start(ap, fmt);
	assert_true(vasprintf(&text, fmt, ap) >= 0);
	va_end(ap);
	aif_buf_printf(&command, "cd '%s' && %s", f->dir, text);
	p = popen(aif_buf_str(&command), "r");
	assert_non_null(p);
	while ((n = fread(block, 1, sizeof(block), p)) > 0)
		aif_buf_append(&out, block, n);
	if (pclose(p) != 0)
		fail_msg("failed: %s", text);
	free(text);
	aif_buf_finish(&command);
	aif_buf_str(&out); /* terminates it */
	assert_false(out.failed);
	return (char *)out.data;
}

static inline void fixture_write(const struct fixture *f, const char *name, const void *data,
				 size_t n)
{
	char path[PATH_MAX];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	to = fopen(path, "w");
	assert_non_null(to);
	assert_int_equal(fwrite(data, 1, n, to), n);
	fclose(to);
}

/* The file's bytes, for free(). */
static inline uint8_t *fixture_read(const struct fixture *f, const char *name, size_t *ret_n)
{
	struct aif_buf all = {0};
	char path[PATH_MAX], block[4096];
	FILE *from;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	from = fopen(path, "r");
	assert_non_null(from);
	while ((n = fread(block, 1, sizeof(block), from)) > 0)
		aif_buf_append(&all, block, n);
	fclose(from);
	*ret_n = all.len;
	return all.data;
}

static inline void fixture_finish(const struct fixture *f)
{
	free(fixture_run(f, "rm -rf '%s'", f->dir));
}
