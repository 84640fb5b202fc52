/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A machine's files, below a directory of the test's own, and what doctor says of them. */

static struct aif_buf said;

static bool say(bool ok, const char *what, const char *found, const char *fix)
{
	aif_buf_printf(&said, "%s %s: %s%s%s\n", ok ? "ok" : "MISSING", what, found,
		       ok || !*fix ? "" : "; ", ok ? "" : fix);
	return ok;
}

static int start(void **state)
{
	*state = strdup("/tmp/aiflame-doctor-XXXXXX");
	return *state && mkdtemp(*state) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int stop(void **state)
{
	aif_buf_finish(&said);
	nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return 0;
}

/* Writes a file at a path below `root` and makes its directories. */
static void put(const char *root, const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(whole, 0700);
		*at = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}
