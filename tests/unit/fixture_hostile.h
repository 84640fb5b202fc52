/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles that somebody made, or broke, on purpose. Opening one either fails with one line of plain
 * text, or gives tables and rows in which nothing points anywhere else; then reading everything and
 * attributing it ends, soon, and nothing that lies in the file has been run.
 */
#include "fixture_profile.h"

#include "base/map.h"
#include "rounds.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "see_profile.h"

enum { ROWS = 100, PATIENCE_S = 20 };

static const char *const files[] = {"p", "p-journal", "victim", "canary"};

/* Millions of small allocations: a quarter of the time is spent on remembering who made them. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=4:quarantine_size_mb=16";
}

static inline int enter_directory(void **state)
{
	if (asprintf((char **)state, "%s/aiflame-test-XXXXXX", temp_dir()) < 0)
		return -1;
	return mkdtemp(*state) && chdir(*state) == 0 ? 0 : -1;
}

static inline int leave_directory(void **state)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++)
		unlink(files[i]);
	if (chdir("/") < 0 || rmdir(*state) < 0)
		return -1;
	free(*state);
	return 0;
}

static inline void remove_files(void)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++)
		unlink(files[i]);
}

static inline struct aif_writer *begin_profile(const struct aif_profile *p)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	remove_files();
	assert_ok(aif_writer_new("p", p->start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, p, &err), &err);
	return w;
}

static inline void write_fixture(void)
{
	struct aif_launch_row l[ROWS];
	struct aif_exec_row x[ROWS];
	struct aif_sample_row s[ROWS];
	struct aif_window_row windows[1] = {fixture_window(0)};
	struct aif_profile p;
	struct aif_err err = {0};
	struct aif_writer *w;

	memset(l, 0, sizeof(l));
	for (uint64_t i = 0; i < ROWS; i++) {
		l[i] = fixture_launch(i);
		x[i] = fixture_exec(i);
		s[i] = fixture_sample(i);
	}
	fixture_profile(&p);
	w = begin_profile(&p);
	assert_ok(aif_writer_launches(w, l, ROWS, &err), &err);
	assert_ok(aif_writer_execs(w, x, ROWS, &err), &err);
	assert_ok(aif_writer_samples(w, s, ROWS, &err), &err);
	assert_ok(aif_writer_windows(w, windows, 1, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
}

/* Checks that a text is one line that a terminal shows as it is. */
static inline void assert_plain(const char *text)
{
	size_t n = strlen(text);

	assert_in_range(n, 1, 400);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			fail_msg("a control character in: %s", text);
}

/* 0, or why "p" is refused; *ret_err (may be NULL) says it in words. */
static inline int try(struct aif_err *ret_err, struct seen *ret_seen)
{
	struct aif_profile p, untouched;
	struct aif_err err = {0};
	struct seen seen = {0};
	int r;

	memset(&p, 0x5a, sizeof(p));
	untouched = p;
	alarm(PATIENCE_S); /* what never ends kills this program */
	r = aif_profile_open("p", &p, &err);
	if (r == 0) {
		see_everything(&p, &seen);
		aif_profile_finish(&p);
	} else {
		assert_true(r < 0 && err.code == r);
		assert_plain(err.text);
		assert_memory_equal(&p, &untouched, sizeof(p));
	}
	alarm(0);
	if (ret_err)
		*ret_err = err;
	if (ret_seen)
		*ret_seen = seen;
	return r;
}

static inline void assert_refused(int code, const char *why)
{
	struct aif_err err;

	if (try(&err, NULL) != code || !strstr(err.text, why))
		fail_msg("%d \"%s\", not %d \"%s\"", err.code, err.text, code, why);
}

static inline void assert_read(size_t rows)
{
	struct aif_err err;
	struct seen seen;

	assert_ok(try(&err, &seen), &err);
	assert_int_equal(seen.rows, rows);
}
