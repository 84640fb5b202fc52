/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame.h"
#include "names/cpu_functions.h"
#include "names/stack_names.h"
#include "fixture_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what samples add up to ---------------------------------------------------------------------- */

struct world {
	char path[64];
	struct aif_profile p;
};

/* Threads 0 and 1 are of processes 0 and 1. Stack 1: main -> outer/inner. */
static int set_up(void **state)
{
	static const struct aif_cpu_row rows[] = {
		{FIXTURE_START + 100, 1000, 0, 0, 1, 0, 0, 0, 0},
		{FIXTURE_START + 200, 2000, 0, 0, 1, 0, 0, 0, 0},
		{FIXTURE_START + 300, 4000, 0, 1, 0, 0, 0, 0, 0},
		{FIXTURE_START + 400, 8000, 0, 1, AIF_NONE, 0, 0, 0, 0},
		{FIXTURE_START - 50, 16000, 0, AIF_NONE, 0, 0, 0, 0, 0}, /* before the start */
		{FIXTURE_START + 250, 0, 32000, 0, 1, 0, 0, 0, 0},
		{FIXTURE_START + 450, 0, 64000, 1, AIF_NONE, 0, 0, 0, 0},
	};
	struct world *w = calloc(1, sizeof(*w));
	struct aif_err err = {0};
	struct aif_writer *writer;
	struct aif_profile p;
	int fd;

	strcpy(w->path, "/tmp/aiflame-test-cpu-XXXXXX");
	fd = mkstemp(w->path);
	assert_true(fd >= 0);
	close(fd);
	unlink(w->path);
	fixture_profile(&p);
	for (uint32_t i = 1; i < p.stacks_len; i++)
		p.stacks[i].flags = 0;
	assert_int_equal(aif_writer_new(w->path, p.start_ns, &writer, &err), 0);
	assert_int_equal(aif_writer_tables(writer, &p, &err), 0);
	assert_int_equal(aif_writer_cpu(writer, rows, AIF_ARRAY_LEN(rows), &err), 0);
	assert_int_equal(aif_writer_finish(writer, p.end_ns, &err), 0);
	aif_profile_finish(&p);
	assert_int_equal(aif_profile_open(w->path, &w->p, &err), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	aif_profile_finish(&w->p);
	unlink(w->path);
	free(w);
	return 0;
}

static void expect(struct world *w, const struct aif_selection *sel, uint64_t weight,
		   uint64_t samples, size_t threads, size_t stacks, uint64_t waiting)
{
	struct aif_cpu_totals t;

	assert_int_equal(aif_cpu_totals(&w->p, sel, &t, NULL), 0);
	assert_int_equal(t.weight_ns, weight);
	assert_int_equal(t.waiting_ns, waiting);
	assert_int_equal(t.samples, samples);
	assert_int_equal(t.threads, threads);
	assert_int_equal(t.stacks_len, stacks);
	aif_cpu_totals_finish(&t);
}

static void samples_are_chosen(void **state)
{
	static const bool first[] = {true, false}, none[] = {false, false};
	struct world *w = *state;

	expect(w, NULL, 31000, 5, 3, 5, 96000);
	expect(w, &(struct aif_selection){0}, 31000, 5, 3, 5, 96000);
	expect(w, &(struct aif_selection){.processes = first}, 3000, 2, 1, 2, 32000);
	expect(w, &(struct aif_selection){.threads = first}, 3000, 2, 1, 2, 32000);
	expect(w, &(struct aif_selection){.threads = none}, 0, 0, 0, 0, 0);
	expect(w, &(struct aif_selection){.from_ns = 200, .to_ns = 400}, 6000, 2, 2, 3, 32000);
	expect(w, &(struct aif_selection){.to_ns = 200}, 17000, 2, 2, 2, 0);
}

static void folded_of(struct world *w, const struct aif_selection *sel,
		      const struct aif_flame_opts *o, const char *wanted)
{
	char path[] = "/tmp/aiflame-test-cpu-out.XXXXXX", text[1024] = "";
	struct aif_cpu_totals t;
	struct aif_err err = {0};
	struct aif_tree tree;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(
		(o->by_thread ? aif_cpu_totals_by_thread : aif_cpu_totals)(&w->p, sel, &t, NULL),
		0);
	assert_int_equal(aif_flame_build_cpu(AIF_NAMES_OF(&w->p), &t, o, &tree, &err), 0);
	assert_int_equal(aif_flame_write(&tree, AIF_FLAME_FOLDED, NULL, path, &err), 0);
	close(fd);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	unlink(path);
	assert_string_equal(text, wanted);
	aif_tree_finish(&tree);
	aif_cpu_totals_finish(&t);
}

static void folded(struct world *w, const struct aif_flame_opts *o, const char *wanted)
{
	folded_of(w, NULL, o, wanted);
}

static void stacks_become_towers(void **state)
{
	struct world *w = *state;

	folded(w, &(struct aif_flame_opts){0},
	       "[no stack] 8000\n[no stack];[waiting] 64000\nmain 20000\nmain;outer 3000\n"
	       "main;outer;[waiting: inner] 32000\n");
	folded(w, &(struct aif_flame_opts){.by = AIF_BY_SAMPLES},
	       "[no stack] 1\nmain 2\nmain;outer 2\n");
	folded(w, &(struct aif_flame_opts){.focus = "inner"},
	       "main;outer 3000\nmain;outer;[waiting: inner] 32000\n");
	folded(w, &(struct aif_flame_opts){.ignore = "waiting", .focus = "outer"},
	       "main;outer 3000\n");
	folded(w, &(struct aif_flame_opts){.ignore = "outer|no stack"}, "main 20000\n");
}

/* Stacks of several threads are drawn apart, and the same stack stands on each thread that was
 * there. */
static void threads_stand_apart(void **state)
{
	struct world *w = *state;

	w->p.threads[0].name = aif_strset_puts(&w->p.strings, "python3");
	w->p.threads[1].name = AIF_NONE;
	w->p.threads[0].tid = 11;
	w->p.threads[1].tid = w->p.processes[w->p.threads[1].process].pid = 12;
	folded(w, &(struct aif_flame_opts){.by_thread = true},
	       "[main thread 12];[no stack] 8000\n[main thread 12];[no stack];[waiting] 64000\n"
	       "[main thread 12];main 4000\n"
	       "[thread python3 11];main;outer 3000\n"
	       "[thread python3 11];main;outer;[waiting: inner] 32000\n"
	       "[thread unknown];main 16000\n");
	folded(w, &(struct aif_flame_opts){.by_thread = true, .focus = "python3"},
	       "[thread python3 11];main;outer 3000\n"
	       "[thread python3 11];main;outer;[waiting: inner] 32000\n");
	/* one alone has nothing to be told from */
	folded_of(w, &(struct aif_selection){.threads = (const bool[]){true, false}},
		  &(struct aif_flame_opts){.by_thread = true},
		  "main;outer 3000\nmain;outer;[waiting: inner] 32000\n");
}

static void nothing_is_said(void **state)
{
	struct world *w = *state;
	struct aif_cpu_totals t = {0};
	struct aif_err err = {0};
	struct aif_tree tree;

	assert_int_equal(aif_flame_build_cpu(AIF_NAMES_OF(&w->p), &t, &(struct aif_flame_opts){0},
					     &tree, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "; record with --cpu"));
	assert_int_equal(aif_cpu_totals(&w->p, NULL, &t, NULL), 0);
	assert_int_equal(aif_flame_build_cpu(AIF_NAMES_OF(&w->p), &t,
					     &(struct aif_flame_opts){.focus = "zzz"}, &tree, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "--focus"));
	aif_cpu_totals_finish(&t);
}

static void ended_threads_are_no_thread(void **state)
{
	struct world *w = *state;

	expect(w, NULL, 31000, 5, 3, 5, 96000);
	w->p.threads[0].name = aif_strset_puts(&w->p.strings, AIF_ENDED_THREADS);
	expect(w, NULL, 31000, 5, 3, 5, 96000);
	w->p.threads[0].tid = 0;
	expect(w, NULL, 31000, 5, 2, 5, 96000);
	assert_int_equal(aif_cpu_count_threads(&w->p), w->p.threads_len - 1);
}

/* Names the files of the two functions of stack 1's frame. */
static void set_files(struct aif_profile *p, const char *outer, const char *inner)
{
	for (size_t i = 0; i < p->frame_names_len; i++)
		if (p->frame_names[i].frame == 1)
			p->frame_names[i].file = aif_strset_puts(
				&p->strings, p->frame_names[i].inline_depth ? inner : outer);
}

static void expect_first(struct world *w, enum aif_cpu_inlined inlined, const char *name)
{
	struct aif_cpu_functions f;
	struct aif_err err = {0};
	uint64_t self = 0;

	assert_int_equal(aif_cpu_functions_find(AIF_NAMES_OF(&w->p), NULL, AIF_NAME_NORMAL, inlined,
						&f, &err),
			 0);
	for (size_t i = 0; i < f.len; i++)
		if (!strcmp(aif_cpu_function_name(&f, &f.at[i]), name))
			self = f.at[i].self_ns;
	assert_int_equal(self, 3000);
	aif_cpu_functions_finish(&f);
}

static void expect_caller(struct world *w, const char *name)
{
	struct aif_stack_names *names;

	assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&w->p), AIF_NAME_NORMAL, &names), 0);
	assert_string_equal(aif_stack_names_caller(names, 1), name);
	aif_stack_names_free(names);
}

static void code_of_headers_is_of_the_program_that_it_is_inlined_into(void **state)
{
	static const char *const headers[] = {
		"/usr/include/c++/12/bits/stl_tree.h",
		"/opt/gcc-14/include/c++/14.1.0/map",
		"/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/ptr/mod.rs",
		"/home/user/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/mem.rs",
		"/rust/deps/hashbrown-0.16.1/src/raw/mod.rs",
		"/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h",
	};
	struct world *w = *state;

	for (size_t i = 0; i < AIF_ARRAY_LEN(headers); i++) {
		set_files(&w->p, "/src/pool.cpp", headers[i]);
		expect_first(w, AIF_CPU_OF_PROGRAM, "outer");
		expect_first(w, AIF_CPU_INNERMOST, "inner");
		expect_caller(w, "outer");
		set_files(&w->p, headers[0], headers[i]);
		expect_first(w, AIF_CPU_OF_PROGRAM, "inner");
		expect_caller(w, "main");
	}
	set_files(&w->p, "/src/pool.cpp", "/src/index.h");
	expect_first(w, AIF_CPU_OF_PROGRAM, "inner");
	expect_caller(w, "inner");
	set_files(&w->p, "", "");
	expect_first(w, AIF_CPU_OF_PROGRAM, "inner");
	expect_caller(w, "inner");
}

static void what_was_counted_is_said(void **state)
{
	static const struct {
		struct aif_cpu_totals t;
		const char *wanted;
	} cases[] = {
		{{.weight_ns = 3000000, .samples = 1, .threads = 1},
		 "3.0 ms on CPU in 1 thread, 1 sample"},
		{{.weight_ns = 3000000, .samples = 2000, .threads = 2, .waiting_ns = 5000},
		 "3.0 ms on CPU in 2 threads, 2,000 samples"},
		{{.weight_ns = 3000000, .unsampled_ns = 3000000},
		 "3.0 ms on CPU in threads that ended before they were found, without samples"},
		{{.threads = 75, .waiting_ns = 5000}, "5.0 us waiting for devices in 75 threads"},
		{{.weight_ns = 80400000,
		  .unsampled_ns = 80400000,
		  .before_ns = 80400000,
		  .threads = 1},
		 "80.4 ms on CPU in 1 thread, before sampling"},
		{{.weight_ns = 80400000,
		  .unsampled_ns = 80400000,
		  .before_ns = 80000000,
		  .threads = 1,
		  .waiting_ns = 5000},
		 "80.4 ms on CPU in 1 thread, 80.0 ms of it before sampling, the rest without samples; "
		 "5.0 us waiting"},
		{{.weight_ns = 80400000, .unsampled_ns = 80400000, .threads = 1},
		 "80.4 ms on CPU in 1 thread, without samples"},
		{{.weight_ns = 80400000,
		  .unsampled_ns = 40000000,
		  .before_ns = 40000000,
		  .samples = 4,
		  .threads = 1},
		 "80.4 ms on CPU in 1 thread, 4 samples, 40.0 ms of it before sampling"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf b = {0};

		aif_cpu_totals_say(&w->p, &cases[i].t, &b);
		assert_memory_equal(aif_buf_str(&b), cases[i].wanted, strlen(cases[i].wanted));
		if (cases[i].t.samples && cases[i].t.waiting_ns)
			assert_non_null(
				strstr(aif_buf_str(&b), " samples; 5.0 us waiting for devices"));
		/* A profile that does not say at which rate they were taken. */
		assert_null(strstr(aif_buf_str(&b), "Hz"));
		aif_buf_finish(&b);
	}
}

/* CPU time before a program opened a device was not sampled. */
static void a_late_beginning_is_said(void **state)
{
	static const struct {
		uint64_t first_ns;
		const char *wanted;
	} cases[] = {
		{0, "1.00 s on CPU in 1 thread, 99 samples at 99 Hz"},
		{FIXTURE_START + 900000000, "1.00 s on CPU in 1 thread, 99 samples at 99 Hz"},
		{FIXTURE_START + UINT64_C(16600000000),
		 "1.00 s on CPU in 1 thread, 99 samples at 99 Hz, the first at 16.60 s"},
	};
	struct world *w = *state;
	struct aif_cpu_totals t;

	FIXTURE_ADD(&w->p, meta, aif_strset_puts(&w->p.strings, "cpu_rate"),
		    aif_strset_puts(&w->p.strings, "99"));
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf b = {0};

		t = (struct aif_cpu_totals){.weight_ns = 1000000000,
					    .samples = 99,
					    .threads = 1,
					    .first_ns = cases[i].first_ns};
		aif_cpu_totals_say(&w->p, &t, &b);
		assert_string_equal(aif_buf_str(&b), cases[i].wanted);
		aif_buf_finish(&b);
	}
	assert_int_equal(aif_cpu_totals(&w->p, NULL, &t, NULL), 0);
	assert_true(t.first_ns == FIXTURE_START - 50);
	aif_cpu_totals_finish(&t);
	assert_int_equal(aif_cpu_totals(&w->p, &(struct aif_selection){0}, &t, NULL), 0);
	assert_true(t.first_ns == 0);
	aif_cpu_totals_finish(&t);
}

/* Ticks that a busy machine leaves out are samples that are not there, each of more weight. */
static void a_rate_that_is_not_reached_is_said(void **state)
{
	static const struct {
		struct aif_cpu_totals t;
		const char *wanted;
	} cases[] = {
		{{.weight_ns = 2000000000, .samples = 160, .threads = 1},
		 "2.00 s on CPU in 1 thread, 160 samples at 99 Hz"},
		{{.weight_ns = 2000000000, .samples = 150, .threads = 1},
		 "2.00 s on CPU in 1 thread, 150 samples at 99 Hz (75 reached)"},
		{{.weight_ns = 2050000000, .unsampled_ns = 50000000, .samples = 150, .threads = 1},
		 "2.05 s on CPU in 1 thread, 150 samples at 99 Hz (75 reached)"},
		/* so few that it may be chance */
		{{.weight_ns = 2000000000, .samples = 90, .threads = 1},
		 "2.00 s on CPU in 1 thread, 90 samples at 99 Hz"},
	};
	struct world *w = *state;

	FIXTURE_ADD(&w->p, meta, aif_strset_puts(&w->p.strings, "cpu_rate"),
		    aif_strset_puts(&w->p.strings, "99"));
	for (size_t i = 0; i <= AIF_ARRAY_LEN(cases); i++) {
		bool is_asked = i == AIF_ARRAY_LEN(cases);
		struct aif_buf b = {0};

		if (is_asked)
			FIXTURE_ADD(&w->p, meta, aif_strset_puts(&w->p.strings, "cpu_rate_asked"),
				    aif_strset_puts(&w->p.strings, "999"));
		aif_cpu_totals_say(&w->p, &cases[is_asked ? 1 : i].t, &b);
		assert_string_equal(
			aif_buf_str(&b),
			is_asked
				? "2.00 s on CPU in 1 thread, 150 samples at 99 Hz (999 asked, 75 reached)"
				: cases[i].wanted);
		aif_buf_finish(&b);
	}
}

/* Leaves small numbers where the next call has its variables. */
static __attribute__((noinline)) void fill_stack(uint64_t with)
{
	volatile uint64_t at[256];

	for (size_t i = 0; i < AIF_ARRAY_LEN(at); i++)
		at[i] = with;
}

static void an_inlined_function_has_its_whole_name(void **state)
{
	static const char name[] = "wait_for_all";
	struct aif_frame_label l = {.module = AIF_NONE};
	struct aif_tree t;
	size_t len;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	l.name = aif_tree_name(&t, AIF_TREE_C | AIF_TREE_INLINED, name, strlen(name));
	for (uint64_t i = 0; i < sizeof(name); i++) {
		fill_stack(i);
		assert_string_equal(aif_tree_text(&t, aif_cpu_function_plain(&t, &l), &len), name);
	}
	aif_tree_finish(&t);
}

static void files_of_packages_keep_their_directory(void **state)
{
	(void)state;
	assert_string_equal(aif_source_name("/v/torch/nn/modules/linear.py"), "linear.py");
	assert_string_equal(aif_source_name("/v/torch/__init__.py"), "torch/__init__.py");
	assert_string_equal(aif_source_name("pip/__main__.py"), "pip/__main__.py");
	assert_string_equal(aif_source_name("/__init__.py"), "__init__.py");
	assert_string_equal(aif_source_name("__init__.py"), "__init__.py");
	assert_string_equal(aif_source_name(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_packages_keep_their_directory),
		cmocka_unit_test(an_inlined_function_has_its_whole_name),
		cmocka_unit_test_setup_teardown(samples_are_chosen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_become_towers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_stand_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_threads_are_no_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_of_headers_is_of_the_program_that_it_is_inlined_into, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_was_counted_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_late_beginning_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_rate_that_is_not_reached_is_said, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
