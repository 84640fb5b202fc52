/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/input.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "temp_dir.h"

/* Puts a path into a buffer of its own for each of a test's files. */
static const char *path_of(unsigned i)
{
	static char paths[8][64];

	snprintf(paths[i], sizeof(paths[i]), "%s/test_merge.%d.%u", temp_dir(), (int)getpid(), i);
	return paths[i];
}

static void write_profile(const struct aif_profile *p, const char *path, uint64_t execs)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	unlink(path);
	assert_ok(aif_writer_new(path, p->start_ns, &w, &err), &err);
	for (uint64_t i = 0; i < execs; i++) {
		struct aif_launch_row l = fixture_launch(i);
		struct aif_exec_row x = fixture_exec(i);

		assert_ok(aif_writer_launches(w, &l, 1, &err), &err);
		assert_ok(aif_writer_execs(w, &x, 1, &err), &err);
	}
	assert_ok(aif_writer_tables(w, p, &err), &err);
	assert_ok(aif_writer_finish(w, p->end_ns, &err), &err);
}

/* Writes the fixture as the recording of a process `pid`, with another last byte of kernel_0's code. */
static void write_fixture(const char *path, uint32_t pid, uint8_t last)
{
	struct aif_profile p;

	fixture_profile(&p);
	p.processes[0].pid = pid;
	/* Programs are their processes' own, with all that is of them. */
	p.kernels[0].program = p.modules[1].program = AIF_NONE;
	((uint8_t *)(uintptr_t)p.codes[0].bytes)[3] = last;
	write_profile(&p, path, 30);
	aif_profile_finish(&p);
}

static int merge(const char *const *files, size_t n, const char *output, struct aif_err *err)
{
	struct aif_merge_opts o = {0};
	struct aif_merge_sum sum;
	int r;

	unlink(output);
	r = aif_merge_files(files, n, output, &o, &sum, err);
	aif_merge_sum_finish(&sum);
	return r;
}

/* ---- narrow counters ----------------------------------------------------------------------------- */

/* A counter of 32 bits and 1 GHz turns each 4.3 s. */
static void ends_after_turns_of_a_narrow_counter(void **state)
{
	enum { EXECS = 12 };
	struct aif_merge_input in = {.path = path_of(0)};
	struct aif_profile p;
	struct aif_writer *w;
	struct aif_err err = {0};

	(void)state;
	fixture_profile(&p);
	p.end_ns = p.start_ns + 20 * AIF_NS_PER_S;
	p.kernels[0].name = aif_strset_puts(&p.strings, "ncclDevKernel_AllReduce");
	for (uint64_t s = 0; s < 20; s++)
		FIXTURE_ADD(&p, clock_pairs, .clock = AIF_CLOCK_DEVICE, .process = 0,
			    .before = p.start_ns + s * AIF_NS_PER_S,
			    .after = p.start_ns + s * AIF_NS_PER_S + 100,
			    .value = (77 + s * AIF_NS_PER_S) & UINT32_MAX);
	unlink(in.path);
	assert_ok(aif_writer_new(in.path, p.start_ns, &w, &err), &err);
	for (uint64_t i = 0; i < EXECS; i++) {
		uint64_t at = i * 1500000000 + 1000;
		struct aif_launch_row l = fixture_launch(0);
		struct aif_exec_row x = fixture_exec(0);

		l.launch = x.launch = i;
		l.time = p.start_ns + at;
		x.clock = AIF_CLOCK_DEVICE;
		x.start = (77 + at + 1000) & UINT32_MAX;
		/* The last but one lasts over a turn's end. */
		x.end = (77 + at + 500000000) & UINT32_MAX;
		assert_ok(aif_writer_launches(w, &l, 1, &err), &err);
		assert_ok(aif_writer_execs(w, &x, 1, &err), &err);
	}
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);

	assert_ok(aif_merge_input_read(&in, &err), &err);
	assert_int_equal(in.ends.len, EXECS);
	for (int64_t i = 0; i < EXECS; i++) {
		int64_t wanted = i * 1500000000 + 500001000;

		if (llabs(in.ends.at[i].at - wanted) > 1000)
			fail_msg("end %d: %lld instead of %lld", (int)i,
				 (long long)in.ends.at[i].at, (long long)wanted);
	}
	aif_merge_input_finish(&in);
	unlink(path_of(0));
}

/* ---- recordings that are given twice -------------------------------------------------------------- */

static void assert_refused(const char *a, const char *b, const char *why)
{
	const char *files[] = {a, b};
	struct aif_err err = {0};

	assert_int_equal(merge(files, 2, path_of(7), &err), -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("%s", err.text);
	assert_int_not_equal(access(path_of(7), F_OK), 0);
}

static void a_recording_counts_once(void **state)
{
	const char *ab[] = {path_of(0), path_of(1)}, *ac[] = {path_of(0), path_of(2)},
		   *all[] = {path_of(3), path_of(2)};
	struct aif_err err = {0};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		write_fixture(path_of(i), 100 + i, 0xc3);
	assert_ok(merge(ab, 2, path_of(3), &err), &err);
	assert_ok(merge(ac, 2, path_of(4), &err), &err);
	assert_ok(merge(all, 2, path_of(5), &err), &err);
	assert_refused(path_of(3), path_of(1), "is one of those that");
	assert_refused(path_of(1), path_of(3), "is one of those that");
	assert_refused(path_of(3), path_of(4), "merge the recordings themselves");
	/* Through two merges. */
	assert_refused(path_of(5), path_of(0), "is one of those that");
	assert_refused(path_of(5), path_of(3), "is one of those that");
	assert_refused(path_of(3), path_of(3), "is the same recording as");
	for (unsigned i = 0; i < 8; i++)
		unlink(path_of(i));
}

/* ---- code without a build id ----------------------------------------------------------------------- */

static unsigned count_codes(const char *a, const char *b)
{
	const char *files[] = {a, b};
	struct aif_err err = {0};
	struct aif_profile p;
	unsigned n = 0;

	assert_ok(merge(files, 2, path_of(7), &err), &err);
	assert_ok(aif_profile_open(path_of(7), &p, &err), &err);
	for (size_t i = 0; i < p.codes_len; i++)
		n += !strcmp(aif_profile_str(&p, p.codes[i].name), "kernel_0");
	for (size_t i = 0; i < p.codes_len; i++)
		for (size_t k = 0; k < i; k++)
			assert_false(p.codes[i].module == p.codes[k].module &&
				     p.codes[i].name == p.codes[k].name);
	aif_profile_finish(&p);
	return n;
}

static void two_builds_keep_their_code(void **state)
{
	(void)state;
	write_fixture(path_of(0), 100, 0xc3);
	write_fixture(path_of(1), 101, 0xc3);
	write_fixture(path_of(2), 102, 0xcb);
	assert_int_equal(count_codes(path_of(0), path_of(1)), 1);
	assert_int_equal(count_codes(path_of(0), path_of(2)), 2);
	for (unsigned i = 0; i < 8; i++)
		unlink(path_of(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_after_turns_of_a_narrow_counter),
		cmocka_unit_test(a_recording_counts_once),
		cmocka_unit_test(two_builds_keep_their_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
