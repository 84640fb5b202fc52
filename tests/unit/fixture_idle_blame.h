/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A program with stacks of many kinds, and who is blamed for the idle time of its device. */

#include "analysis/idle/blame.h"
#include "analysis/idle/course.h"

#include "base/reasons.h"
#include "fixture_ops.h"

enum { US = 1000, MS = 1000 * US };
#define RATE   "100" /* CPU samples a second: one each 10 ms */
#define PERIOD (10 * MS)

/* Stacks of the program: main, and what it calls; LAUNCH_B from a place further down in it. */
enum {
	MAIN,
	FURTHER,
	LAUNCH_A,
	LAUNCH_B,
	COMPUTE,
	SYNC,
	COMPILE,
	LOADER,
	OFF,
	ACCEPT,
	COND,
	CUDA,
	POLL,
	PIPE,
	OFF_ACCEPT,
	RUNNABLE_ACCEPT,
	OFF_COND,
	OFF_POLL,
	OFF_PIPE,
	BEFORE,
	STACKS
};

enum { PROGRAM, LIBC, LIBCUDA, MODULES };

static inline void begin(struct ops_fixture *f)
{
	static const char *const paths[MODULES] = {"/a", "/lib/libc.so.6", "/lib/libcuda.so.1"};
	static const struct {
		const char *name, *file;
		uint32_t module, parent; /* parent 0: MAIN */
	} frames[STACKS] = {
		[MAIN] = {"main", "train.py"},
		[FURTHER] = {"main", "train.py"},
		[LAUNCH_A] = {"forward", "train.py"},
		[LAUNCH_B] = {"step", "train.py", .parent = FURTHER},
		[COMPUTE] = {"tokenize", "text.py"},
		[SYNC] = {"cudaStreamSynchronize", NULL},
		[COMPILE] = {"nvrtcCompileProgram", NULL},
		[LOADER] = {"_next_data", "/venv/torch/utils/data/dataloader.py"},
		[OFF] = {AIF_OFF_CPU_BLOCKED, NULL},
		/* Threads that sleep: in a call of the C library, behind which stands a mark. */
		[ACCEPT] = {"__libc_accept", NULL, LIBC},
		[COND] = {"pthread_cond_wait@@GLIBC_2.3.2", NULL, LIBC},
		[CUDA] = {"cuEventSynchronize", NULL, LIBCUDA},
		[POLL] = {"__poll", NULL, LIBC, CUDA},
		[PIPE] = {"poll", NULL, LIBC, LOADER},
		[OFF_ACCEPT] = {AIF_OFF_CPU_BLOCKED, NULL, .parent = ACCEPT},
		[RUNNABLE_ACCEPT] = {AIF_OFF_CPU_RUNNABLE, NULL, .parent = ACCEPT},
		[OFF_COND] = {AIF_OFF_CPU_BLOCKED, NULL, .parent = COND},
		[OFF_POLL] = {AIF_OFF_CPU_BLOCKED, NULL, .parent = POLL},
		[OFF_PIPE] = {AIF_OFF_CPU_BLOCKED, NULL, .parent = PIPE},
		[BEFORE] = {AIF_CPU_BEFORE_MARK, NULL},
	};

	ops_begin(f, NULL, "cuda");
	FIXTURE_ADD(&f->made, meta, .key = ops_string(f, "cpu_rate"), .value = ops_string(f, RATE));
	for (uint32_t i = 0; i < MODULES; i++)
		FIXTURE_ADD(&f->made, modules, .kind = AIF_MODULE_ELF,
			    .path = ops_string(f, paths[i]), .build_id = AIF_NONE,
			    .kernel = AIF_NONE, .program = AIF_NONE);
	for (uint32_t i = 0; i < STACKS; i++) {
		bool is_mark = frames[i].name[0] == '[';
		uint32_t parent = i <= FURTHER ? AIF_NONE : frames[i].parent;

		FIXTURE_ADD(&f->made, frames, .kind = is_mark ? AIF_FRAME_MARK : AIF_FRAME_NATIVE,
			    .module = is_mark ? AIF_NONE : frames[i].module,
			    .address = is_mark ? ops_string(f, frames[i].name) : 16 * i);
		if (!is_mark)
			FIXTURE_ADD(&f->made, frame_names, .frame = i, .inline_depth = 0,
				    .name = ops_string(f, frames[i].name),
				    .file = frames[i].file ? ops_string(f, frames[i].file)
							   : AIF_NONE,
				    .line = 1);
		FIXTURE_ADD(&f->made, stacks, .parent = parent, .frame = i,
			    .depth = parent == AIF_NONE ? 1 : f->made.stacks[parent].depth + 1);
	}
}

static inline void cpu_row(struct ops_fixture *f, const struct aif_cpu_row *of)
{
	struct aif_cpu_row row = *of;
	struct aif_err err = {0};

	row.time += OPS_START;
	assert_ok(aif_writer_cpu(f->w, &row, 1, &err), &err);
}

static inline void cpu(struct ops_fixture *f, uint32_t thread, uint64_t at, uint64_t weight,
		       uint64_t waiting, uint32_t stack)
{
	cpu_row(f, &(struct aif_cpu_row){.time = at,
					 .weight = weight,
					 .waiting = waiting,
					 .thread = thread,
					 .stack = stack});
}

/* A time off CPU, as record --ebpf --off-cpu sends it. */
static inline void off(struct ops_fixture *f, uint64_t at, uint64_t ns, uint32_t stack)
{
	cpu_row(f, &(struct aif_cpu_row){.time = at, .waiting = ns, .stack = stack, .is_whole = 1});
}

/* A kernel that is launched at `at` from `stack`. */
static inline void kernel(struct ops_fixture *f, uint64_t at, uint64_t start, uint64_t end,
			  uint32_t stack)
{
	f->stack = stack;
	ops_exec(f, 0, at, 0, start, end, "k");
}

/* The times of all courses are all idle time, and a row's parts are the row: of a profile that nothing was left out of. */
static inline void assert_course(const struct aif_idle_blame *b, const struct aif_idle_course *c)
{
	double sum = 0;

	struct aif_idle_course_reader times = {0};
	struct aif_idle_time time;
	size_t n = 0;

	for (; aif_idle_course_next(c, &times, &time); n++) {
		assert_true(time.from < time.to);
		sum += (double)(time.to - time.from);
	}
	assert_int_equal(n, c->times_len);
	assert_true(sum - (double)b->idle_ns < 1 && (double)b->idle_ns - sum < 1);
	for (size_t i = 0; i < b->len; i++) {
		uint64_t key = aif_idle_row_key(&b->rows[i]);

		sum = -(double)b->rows[i].ns;
		for (size_t k = 0; k < c->parts_len; k++)
			sum += c->parts[k].row == key ? c->parts[k].ns : 0;
		assert_true(sum < 2 && sum > -2);
	}
}

static inline void blame(struct ops_fixture *f, struct aif_idle_blame *ret)
{
	struct aif_idle_course course = {0};
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	uint64_t sum = 0, of_cause = 0, idle = 0;

	ops_read(f);
	assert_int_equal(aif_exec_timeline_get(&f->p, NULL, &t), 0);
	assert_int_equal(aif_utilization_get(&f->p, t, &u), 0);
	assert_int_equal(aif_idle_blame_within(&f->p, t, u, INT64_MIN, INT64_MAX, &course, ret), 0);
	for (size_t i = 0; i < ret->len; i++) {
		sum += ret->rows[i].ns;
		assert_true(ret->rows[i].drained_ns <= ret->rows[i].ns);
	}
	for (size_t i = 0; i < AIF_IDLE_CAUSES; i++)
		of_cause += ret->of_cause[i];
	for (size_t i = 0; i < u->len; i++)
		idle += u->devices[i].whole.parts.idle;
	/* All of it, once. */
	assert_int_equal(ret->idle_ns, idle);
	assert_int_equal(sum, idle);
	assert_int_equal(of_cause, idle);
	assert_int_equal(ret->devices_len, u->len);
	for (size_t i = 0; i < u->len; i++)
		assert_int_equal(ret->devices[i].idle_ns, u->devices[i].whole.parts.idle);
	assert_true(aif_idle_blame_check(ret, NULL));
	if (!t->left_out)
		assert_course(ret, &course);
	aif_idle_course_finish(&course);
	aif_facts_put(u);
	aif_facts_put(t);
}

/* The row of a cause and stack: its time. */
static inline uint64_t row(const struct aif_idle_blame *b, enum aif_idle_cause cause,
			   uint32_t stack)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->rows[i].cause == cause && b->rows[i].stack == stack)
			return b->rows[i].ns;
	return 0;
}

static inline void end(struct ops_fixture *f, struct aif_idle_blame *b)
{
	aif_idle_blame_finish(b);
	ops_end(f);
}
