/* SPDX-License-Identifier: Apache-2.0 */
/* Tests calls that hold a thread up: as intervals of threads, in idle time, and in the table of them. */
#include "analysis/calls/host_calls.h"

#include "analysis/idle/blame.h"
#include "fixture_ops.h"

enum { US = 1000, MS = 1000 * US };
enum { MAIN, LAUNCH, WAIT, BUILD, ALLOCATE, STACKS };

static void begin(struct ops_fixture *f, const char *calls)
{
	static const char *const names[STACKS] = {"main", "launch", "clFinish", "clBuildProgram",
						  "clCreateBuffer"};

	ops_begin(f, NULL, "level zero");
	if (calls)
		FIXTURE_ADD(&f->made, meta, .key = ops_string(f, "calls"),
			    .value = ops_string(f, calls));
	FIXTURE_ADD(&f->made, modules, .kind = AIF_MODULE_ELF, .path = ops_string(f, "/a"),
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	for (uint32_t i = 0; i < STACKS; i++) {
		FIXTURE_ADD(&f->made, frames, .kind = AIF_FRAME_NATIVE, .module = 0,
			    .address = 16 * i);
		FIXTURE_ADD(&f->made, frame_names, .frame = i, .inline_depth = 0,
			    .name = ops_string(f, names[i]), .file = ops_string(f, "a.c"),
			    .line = 10 + i);
		FIXTURE_ADD(&f->made, stacks, .parent = i ? MAIN : AIF_NONE, .frame = i,
			    .depth = i ? 2 : 1);
	}
}

static void call(struct ops_fixture *f, uint32_t thread, uint64_t from, uint64_t to,
		 const char *name, uint32_t stack)
{
	ops_add_row(f, (struct aif_op_row){.start = from,
					   .end = to,
					   .clock = AIF_CLOCK_MONOTONIC,
					   .thread = thread,
					   .name = ops_string(f, name),
					   .kind = AIF_OP_RUNTIME,
					   .shapes = AIF_NONE,
					   .stack = stack,
					   .sequence = -1});
}

static void kernel(struct ops_fixture *f, uint64_t at, uint64_t start, uint64_t end)
{
	f->stack = LAUNCH;
	ops_exec(f, 0, at, 0, start, end, "k");
}

static void the_outermost_calls_of_a_thread_do_not_overlap(void **state)
{
	struct aif_host_calls c;
	struct ops_fixture f;
	int64_t sum = 0, waited = 0;

	(void)state;
	begin(&f, NULL);
	call(&f, 1, 50 * US, 60 * US, "clFinish", WAIT);
	call(&f, 0, 10 * US, 40 * US, "clBuildProgram", BUILD);
	call(&f, 0, 12 * US, 20 * US, "clFinish", WAIT);        /* within that */
	call(&f, 0, 35 * US, 45 * US, "clCreateBuffer", BUILD); /* in part, as in a damaged file */
	call(&f, 0, 45 * US, 45 * US, "clFinish", WAIT);        /* took no time */
	call(&f, 0, 60 * US, 70 * US, "zeBarrier", WAIT);       /* none of the list */
	call(&f, 0, 80 * US, 90 * US, "cudaStreamSynchronize_v3020", AIF_NONE);
	ops_add(&f, 0, 91 * US, 95 * US, AIF_OP_RANGE,
		"clFinish"); /* a name that the program chose */
	ops_read(&f);
	assert_int_equal(aif_host_calls_read(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 4);
	for (size_t i = 0; i < c.len; i++) {
		sum += c.at[i].end - c.at[i].start;
		if (i && c.at[i].thread == c.at[i - 1].thread)
			assert_true(c.at[i].start >= c.at[i - 1].end);
	}
	assert_int_equal(sum, (30 + 5 + 10 + 10) * US);
	assert_int_equal(c.at[0].kind, AIF_HOST_CALL_COMPILE);
	assert_int_equal(c.at[1].kind, AIF_HOST_CALL_ALLOCATE);
	assert_int_equal(c.at[1].start, 40 * US);
	assert_int_equal(c.at[2].kind, AIF_HOST_CALL_SYNCHRONISE);
	assert_int_equal(aif_host_calls_first(&c, 0, 0), 0);
	assert_int_equal(aif_host_calls_first(&c, 0, 40 * US), 1);
	assert_int_equal(aif_host_calls_first(&c, 0, 90 * US), 3);
	assert_int_equal(aif_host_calls_first(&c, 7, 0), 4);
	assert_ptr_equal(aif_host_calls_longest_wait(&c, 0, 0, 85 * US, &waited), &c.at[2]);
	assert_int_equal(waited, 5 * US);
	assert_null(
		aif_host_calls_longest_wait(&c, 0, 0, 80 * US, &waited)); /* others are no waits */
	assert_null(aif_host_calls_longest_wait(&c, 0, 90 * US, 99 * US, &waited));
	assert_null(aif_host_calls_longest_wait(&c, 1, 0, 50 * US, &waited));
	aif_host_calls_finish(&c);
	ops_end(&f);
}

static void what_is_recorded_goes_by_the_device(void **state)
{
	static const struct {
		const char *calls;
		bool is_recorded;
	} cases[] = {{NULL, false},           {"opencl, level zero", true},
		     {"level zero", true},    {"level zero, opencl", true},
		     {"opencl, cuda", false}, {"level zero 2", false},
		     {", ,", false}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct ops_fixture f;

		begin(&f, cases[i].calls);
		ops_read(&f);
		assert_int_equal(aif_host_calls_recorded(&f.p, 0), cases[i].is_recorded);
		assert_false(aif_host_calls_recorded(&f.p, AIF_NONE));
		ops_end(&f);
	}
}

static uint64_t row(const struct aif_idle_blame *b, enum aif_idle_cause cause, uint32_t stack,
		    uint64_t *ret_drained)
{
	for (size_t i = 0; i < b->len; i++) {
		if (b->rows[i].cause != cause || b->rows[i].stack != stack)
			continue;
		if (ret_drained)
			*ret_drained = b->rows[i].drained_ns;
		return b->rows[i].ns;
	}
	return 0;
}

static void blame(struct ops_fixture *f, struct aif_idle_blame *ret)
{
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	uint64_t sum = 0;

	ops_read(f);
	assert_int_equal(aif_exec_timeline_get(&f->p, NULL, &t), 0);
	assert_int_equal(aif_utilization_get(&f->p, t, &u), 0);
	assert_int_equal(aif_idle_blame(&f->p, t, u, ret), 0);
	for (size_t i = 0; i < ret->len; i++)
		sum += ret->rows[i].ns;
	assert_int_equal(sum, u->devices[0].whole.parts.idle);
	assert_int_equal(sum, ret->idle_ns);
	aif_facts_put(u);
	aif_facts_put(t);
}

/* Two gaps of 100 us between launches from one place; only in the first was a wait. */
static void add_gaps(struct ops_fixture *f)
{
	struct aif_cpu_row wait = {
		.time = OPS_START + 30 * US, .waiting = 10 * MS, .thread = 0, .stack = WAIT};
	struct aif_err err = {0};

	kernel(f, 0, 0, 40 * US);
	call(f, 0, 20 * US, 60 * US, "clFinish", WAIT); /* 20 us of it in the gap */
	call(f, 0, 70 * US, 90 * US, "clBuildProgram", BUILD);
	call(f, 0, 71 * US, 89 * US, "clCreateBuffer", ALLOCATE); /* made by the compiler */
	call(f, 1, 90 * US, 140 * US, "clFinish", WAIT);          /* another thread's */
	kernel(f, 130 * US, 140 * US, 200 * US);                  /* 10 us behind its call */
	call(f, 0, 210 * US, 240 * US, "clCreateBuffer", ALLOCATE);
	kernel(f, 300 * US, 300 * US, 310 * US);
	/* A row that stands for several waits, as estimates do. */
	assert_ok(aif_writer_cpu(f->w, &wait, 1, &err), &err);
}

static void a_gap_is_divided_among_the_calls_in_it(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint64_t drained;

	(void)state;
	begin(&f, "opencl, level zero");
	add_gaps(&f);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_WAIT, WAIT, &drained), 20 * US);
	assert_int_equal(drained, 20 * US);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_COMPILE, BUILD, &drained), 20 * US);
	assert_int_equal(drained, 20 * US);
	/* The second gap is behind no wait, though it is between launches from the same places. */
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_ALLOCATE, ALLOCATE, &drained), 30 * US);
	assert_int_equal(drained, 0);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_LAUNCH, LAUNCH, NULL), 10 * US);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_HOST], (10 + 40 + 10 + 60) * US);
	aif_idle_blame_finish(&b);
	ops_end(&f);
}

static void elsewhere_waits_are_estimated(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f, "opencl");
	add_gaps(&f);
	blame(&f, &b);
	assert_true(b.of_cause[AIF_IDLE_CAUSE_WAIT] > 20 * US);
	aif_idle_blame_finish(&b);
	ops_end(&f);
}

/* Rows of a damaged file: long, many, one in the other. */
static void hostile_calls_are_bounded(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f, "level zero");
	for (uint64_t i = 0; i < 3000; i++) {
		kernel(&f, i * 10 * US, i * 10 * US, i * 10 * US + 5 * US);
		call(&f, 0, i * US, INT64_MAX, "clFinish", WAIT);
		call(&f, 0, (uint64_t)0 - i, i, "clBuildProgram", BUILD);
	}
	blame(&f, &b);
	assert_int_equal(b.idle_ns, 2999 * 5 * US);
	aif_idle_blame_finish(&b);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outermost_calls_of_a_thread_do_not_overlap),
		cmocka_unit_test(what_is_recorded_goes_by_the_device),
		cmocka_unit_test(a_gap_is_divided_among_the_calls_in_it),
		cmocka_unit_test(elsewhere_waits_are_estimated),
		cmocka_unit_test(hostile_calls_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
