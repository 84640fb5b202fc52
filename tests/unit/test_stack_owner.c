/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whose thread a stack is of, and what that costs. */
#include "names/stack_owner.h"

#include "flame/flame.h"
#include "report/info.h"
#include "report/summary/summary.h"
#include "fixture_profile.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define LIBC  "/lib/x86_64-linux-gnu/libc.so.6"
#define CUPTI "/usr/local/cuda/lib64/libcupti.so.13"
#define CXX   "/lib/x86_64-linux-gnu/libstdc++.so.6.0.33"
#define AGENT "/opt/aiflame/lib/libaiflame-agent.so"
#define APP   "/bin/other"

/* Adds a stack of a frame in each of these files, outermost first; returns the innermost. */
static uint32_t stack_of(struct aif_profile *p, const char *const *files, uint32_t flags)
{
	uint32_t stack = AIF_NONE;

	for (; *files; files++) {
		FIXTURE_ADD(p, modules, .kind = AIF_MODULE_ELF,
			    .path = aif_strset_puts(&p->strings, *files), .build_id = AIF_NONE,
			    .kernel = AIF_NONE, .program = AIF_NONE);
		FIXTURE_ADD(p, frames, .kind = AIF_FRAME_NATIVE,
			    .module = (uint32_t)p->modules_len - 1, .address = 0x100);
		FIXTURE_ADD(p, stacks, .parent = stack, .frame = (uint32_t)p->frames_len - 1,
			    .depth = 1, .flags = files[1] ? 0 : flags);
		stack = (uint32_t)p->stacks_len - 1;
	}
	return stack;
}

static void the_start_of_a_thread_tells(void **state)
{
	static const struct {
		const char *files[6];
		enum aif_stack_owner owner;
		uint32_t flags;
	} cases[] = {
		{{LIBC, LIBC, CUPTI}, AIF_OWNER_CUPTI, 0},
		{{LIBC, LIBC, CUPTI, "/usr/lib/libnvperf_host.so", LIBC}, AIF_OWNER_CUPTI, 0},
		{{"/lib/libc-2.28.so", "/lib/libpthread-2.28.so", CUPTI}, AIF_OWNER_CUPTI, 0},
		{{LIBC, LIBC, CXX, CUPTI}, AIF_OWNER_CUPTI, 0},
		{{LIBC, LIBC, AGENT, CUPTI}, AIF_OWNER_AIFLAME, 0},
		/* The program's thread that calls CUPTI, or is on its way out of it. */
		{{LIBC, LIBC, APP, CUPTI}, AIF_OWNER_PROGRAM, 0},
		{{LIBC, LIBC, LIBC, CUPTI}, AIF_OWNER_PROGRAM, 0},
		{{APP, LIBC, LIBC, CUPTI}, AIF_OWNER_PROGRAM, 0},
		{{"/lib64/ld-linux-x86-64.so.2", CUPTI}, AIF_OWNER_PROGRAM, 0},
		/* The frames below are not known. */
		{{CUPTI}, AIF_OWNER_PROGRAM, 0},
		{{LIBC, LIBC}, AIF_OWNER_PROGRAM, 0},
		{{LIBC, LIBC, CUPTI}, AIF_OWNER_PROGRAM, AIF_STACK_TRUNCATED},
		{{LIBC, LIBC, CUPTI}, AIF_OWNER_PROGRAM, AIF_STACK_FRAME_POINTERS},
		/* A path that only looks like CUPTI's. */
		{{LIBC, LIBC, "/usr/lib/libcupti_mine/app"}, AIF_OWNER_PROGRAM, 0},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_profile p;
		uint8_t *owners;
		uint32_t stack;

		fixture_profile(&p);
		stack = stack_of(&p, cases[i].files, cases[i].flags);
		owners = aif_stack_owners(&p);
		assert_non_null(owners);
		if (owners[stack] != cases[i].owner)
			fail_msg("case %zu: %u", i, owners[stack]);
		assert_int_equal(owners[0], AIF_OWNER_PROGRAM);
		free(owners);
		aif_profile_finish(&p);
	}
}

static void frames_that_are_not_native_begin_no_thread(void **state)
{
	struct aif_profile p;
	uint8_t *owners;
	uint32_t stack;

	(void)state;
	fixture_profile(&p);
	stack = stack_of(&p, (const char *const[]){LIBC, LIBC, CUPTI, NULL}, 0);
	p.frames[p.stacks[stack].frame].kind = AIF_FRAME_PYTHON;
	owners = aif_stack_owners(&p);
	assert_non_null(owners);
	assert_int_equal(owners[stack], AIF_OWNER_PROGRAM);
	free(owners);
	aif_profile_finish(&p);
}

/* ---- a profile with CPU samples ------------------------------------------------------------------ */

/* Thread 0, of process 0, is CUPTI's for 3 ms and waits; thread 1, of process 1, for 5 ms; in main() both are for 1 ms. */
static void recorded(const char *runtime, uint32_t reason, uint32_t process, const char *imported,
		     struct aif_profile *ret)
{
	struct aif_err err = {0};
	struct aif_writer *w;
	struct aif_profile p;
	uint32_t cupti;
	char path[64];

	fixture_profile(&p);
	cupti = stack_of(&p, (const char *const[]){LIBC, LIBC, CUPTI, NULL}, 0);
	p.devices[0].runtime = aif_strset_puts(&p.strings, runtime);
	if (reason)
		FIXTURE_ADD(&p, losses, .reason = reason, .process = process, .thread = AIF_NONE,
			    .detail = AIF_NONE, .count = 1);
	if (imported)
		FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, imported),
			    aif_strset_puts(&p.strings, "x"));
	const struct aif_cpu_row rows[] = {
		{FIXTURE_START + 100, 3000000, 0, 0, cupti, 0, 0, 0, 0},
		{FIXTURE_START + 200, 5000000, 0, 1, cupti, 0, 0, 0, 0},
		{FIXTURE_START + 300, 1000000, 0, 0, 0, 0, 0, 0, 0},
		{FIXTURE_START + 400, 1000000, 0, 1, 0, 0, 0, 0, 0},
		{FIXTURE_START + 500, 1000000, 70000000, 0, cupti, 0, 0, 0, 0},
		{FIXTURE_START + 600, 90000000, 0, AIF_NONE, cupti, 0, 0, 0, 0},
		{FIXTURE_START + 700, 90000000, 0, 0, AIF_NONE, 0, 0, 0, 0},
	};

	snprintf(path, sizeof(path), "/tmp/aiflame-owner-%d", (int)getpid());
	unlink(path);
	assert_ok(aif_writer_new(path, p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_cpu(w, rows, AIF_ARRAY_LEN(rows), &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
	assert_ok(aif_profile_open(path, ret, &err), &err);
	unlink(path);
}

static void time_is_counted_where_aiflame_has_it_spent(void **state)
{
	static const struct {
		const char *runtime;
		uint32_t reason, process;
		const char *imported;
		struct aif_cupti_cpu wanted;
		const char *said;
	} cases[] = {
		{"cuda", 0, 0, NULL, {8000000, 0}, "about 8.0 ms"},
		/* Somebody else's, too. */
		{"cuda", AIF_REASON_CUDA_YIELDED, 1, NULL, {3000000, 5000000}, "at most 8.0 ms"},
		{"cuda", AIF_REASON_CUDA_REFUSED, 0, NULL, {5000000, 3000000}, "at most 8.0 ms"},
		{"cuda", AIF_REASON_CUDA_CROWDED, 0, NULL, {5000000, 3000000}, "at most 8.0 ms"},
		{"cuda", AIF_REASON_CUDA_YIELDED, AIF_NONE, NULL, {0, 8000000}, "at most 8.0 ms"},
		{"cuda", AIF_REASON_CUDA_NO_SAMPLING, 0, NULL, {8000000, 0}, "about 8.0 ms"},
		/* Not ours: CUPTI told us nothing. */
		{"opencl", 0, 0, NULL, {0, 0}, NULL},
		{"cuda", 0, 0, "imported", {0, 0}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_profile p;
		struct aif_cupti_cpu t;
		struct aif_buf b = {0}, info = {0};
		char line[80];

		recorded(cases[i].runtime, cases[i].reason, cases[i].process, cases[i].imported,
			 &p);
		assert_int_equal(aif_cupti_cpu(&p, &t), 0);
		if (t.ours_ns != cases[i].wanted.ours_ns ||
		    t.shared_ns != cases[i].wanted.shared_ns)
			fail_msg("case %zu: %llu, %llu", i, (unsigned long long)t.ours_ns,
				 (unsigned long long)t.shared_ns);
		aif_cupti_cpu_describe(&p, "<", ">", &b);
		snprintf(line, sizeof(line), "<%s>", cases[i].said ? cases[i].said : "");
		assert_string_equal(aif_buf_str(&b), cases[i].said ? line : "");
		aif_info_write(&p, &(struct aif_attribution){0}, "x", &info);
		snprintf(line, sizeof(line), "\n  CPU of CUPTI's threads          %s, ",
			 cases[i].said ? cases[i].said : "");
		assert_int_equal(strstr(aif_buf_str(&info), line) != NULL, cases[i].said != NULL);
		aif_buf_finish(&b);
		aif_buf_finish(&info);
		aif_profile_finish(&p);
	}
}

static void the_first_screen_has_it_in_the_cost(void **state)
{
	struct aif_attribution_row row = {.device = AIF_NONE,
					  .kind = AIF_LAUNCH_WRITE,
					  .kernel = AIF_NONE,
					  .stack = AIF_NONE,
					  .frame = AIF_NONE,
					  .launches = 1};
	struct aif_attribution a = {.rows = &row, .rows_len = 1};
	struct aif_profile p;
	struct aif_buf b = {0};

	(void)state;
	recorded("cuda", 0, 0, NULL, &p);
	aif_summary_write(AIF_NAMES_OF(&p), &a, "x", &b);
	if (!strstr(aif_buf_str(&b), " of CPU beside it, and about 8.0 ms in threads of CUPTI\n"))
		fail_msg("%s", aif_buf_str(&b));
	aif_buf_finish(&b);
	aif_profile_finish(&p);
}

static void draws(const struct aif_profile *p, enum aif_name_detail detail, const char *wanted)
{
	char path[] = "/tmp/aiflame-test-owner-out.XXXXXX", text[1024] = "";
	struct aif_flame_opts o = {.detail = detail, .focus = "[threads of CUPTI]"};
	struct aif_cpu_totals t;
	struct aif_err err = {0};
	struct aif_tree tree;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_ok(aif_cpu_totals(p, NULL, &t, &err), &err);
	assert_ok(aif_flame_build_cpu(AIF_NAMES_OF(p), &t, &o, &tree, &err), &err);
	assert_ok(aif_flame_write(&tree, AIF_FLAME_FOLDED, NULL, path, &err), &err);
	fd = open(path, O_RDONLY); /* another file by now */
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	unlink(path);
	assert_string_equal(text, wanted);
	aif_tree_finish(&tree);
	aif_cpu_totals_finish(&t);
}

static void towers_stand_on_whose_they_are(void **state)
{
	struct aif_profile p;

	(void)state;
	recorded("cuda", 0, 0, NULL, &p);
	draws(&p, AIF_NAME_NORMAL,
	      "[threads of CUPTI];[libcupti.so.13+0x100] 98000000\n"
	      "[threads of CUPTI];[libcupti.so.13+0x100];[waiting: [libcupti.so.13+0x100]] "
	      "70000000\n");
	draws(&p, AIF_NAME_FULL,
	      "[threads of CUPTI];[libc.so.6+0x100];[libc.so.6+0x100];[libcupti.so.13+0x100] "
	      "98000000\n"
	      "[threads of CUPTI];[libc.so.6+0x100];[libc.so.6+0x100];[libcupti.so.13+0x100];"
	      "[waiting: [libcupti.so.13+0x100]] 70000000\n");
	aif_profile_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_start_of_a_thread_tells),
		cmocka_unit_test(frames_that_are_not_native_begin_no_thread),
		cmocka_unit_test(time_is_counted_where_aiflame_has_it_spent),
		cmocka_unit_test(the_first_screen_has_it_in_the_cost),
		cmocka_unit_test(towers_stand_on_whose_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
