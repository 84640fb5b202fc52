/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that behave alike, of which the page draws one. */
#include "fixture_ops.h"

#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "page/alike.h"

enum { STEPS = 32, LATE = 5, IDLE = 7 };
#define STEP_NS UINT64_C(1000000)

/* Adds ranks that compute for eight tenths of each step and then communicate; LATE computes for a twentieth more, IDLE pauses in the later
 * half for as long. */
static void begin(struct ops_fixture *f, uint32_t ranks)
{
	ops_begin(f, "NVIDIA", "cuda");
	for (uint32_t i = 2; i < ranks; i++) {
		FIXTURE_ADD(&f->made, processes, .pid = 100 + i, .exe = AIF_NONE,
			    .cmdline = AIF_NONE, .host = AIF_NONE, .start_ns = OPS_START);
		FIXTURE_ADD(&f->made, threads, .process = i, .tid = 200 + i, .name = AIF_NONE);
		FIXTURE_ADD(&f->made, streams, .process = i, .device = 0, .ordinal = 7);
	}
	for (uint32_t i = 0; i < ranks; i++) {
		uint32_t thread = i ? i + 1 : 0;

		f->made.processes[i].rank = i + 1;
		for (unsigned s = 0; s < STEPS; s++) {
			uint64_t at = s * STEP_NS, more = STEP_NS / 20,
				 computed = at + STEP_NS * 8 / 10 + (i + s) % 4 * 1000 +
					    (i == LATE ? more : 0);

			ops_exec(f, thread, at + 1, thread, at + 10, computed, "gemm");
			ops_exec(f, thread, at + 2, thread,
				 computed + (i == IDLE && s >= STEPS / 2 ? more : 0),
				 at + STEP_NS * 9 / 10, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
		}
	}
	ops_read(f);
}

static void assert_whose(const struct aif_page_alike *a, struct ops_fixture *f,
			 const struct aif_utilization *u, size_t device, const char *want)
{
	struct aif_buf out = {0};

	aif_page_alike_say(a, &f->p, u, device, &out);
	assert_string_equal(aif_buf_str(&out), want);
	aif_buf_finish(&out);
}

static const struct aif_utilization *utilization(struct ops_fixture *f)
{
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u;

	assert_int_equal(aif_exec_timeline_get(&f->p, NULL, &t), 0);
	assert_int_equal(aif_utilization_get(&f->p, t, &u), 0);
	aif_facts_put(t);
	return u;
}

static void of_many_ranks_those_that_behave_otherwise_are_drawn_too(void **state)
{
	const struct aif_utilization *u;
	struct aif_page_alike a;
	struct ops_fixture f;
	bool drawn[201];

	(void)state;
	begin(&f, 200);
	u = utilization(&f);
	assert_int_equal(u->len, 200);
	assert_int_equal(aif_page_alike_make(u, &a), 0);
	assert_int_equal(a.drawn, 3);
	assert_true(aif_page_is_drawn(&a, 0) && aif_page_is_drawn(&a, LATE) &&
		    aif_page_is_drawn(&a, IDLE) && !aif_page_is_drawn(&a, 1));
	assert_int_equal(aif_page_alike_many(&a, 0), 198);
	assert_int_equal(aif_page_alike_many(&a, LATE), 1);
	assert_whose(&a, &f, u, 0, "0-4, 6, 8-199");
	assert_whose(&a, &f, u, IDLE, "7");
	aif_page_processes_drawn(&a, u, drawn, AIF_ARRAY_LEN(drawn));
	assert_true(drawn[0]);
	assert_false(drawn[1]);
	assert_true(drawn[200]); /* has no device */
	aif_page_alike_finish(&a);
	aif_facts_put(u);
	ops_end(&f);
}

static void few_ranks_are_all_drawn(void **state)
{
	const struct aif_utilization *u;
	struct aif_page_alike a;
	struct ops_fixture f;
	bool drawn[4];

	(void)state;
	begin(&f, AIF_PAGE_ALIKE_MAX);
	u = utilization(&f);
	assert_int_equal(aif_page_alike_make(u, &a), 0);
	assert_null(a.as);
	aif_page_processes_drawn(&a, u, drawn, AIF_ARRAY_LEN(drawn));
	assert_true(aif_page_is_drawn(&a, 3) && drawn[3]);
	assert_int_equal(aif_page_alike_many(&a, 3), 1);
	aif_page_alike_finish(&a);
	aif_facts_put(u);
	ops_end(&f);
}

/* Any ranks are at most so many groups. */
static void ranks_that_all_behave_otherwise_are_joined_nonetheless(void **state)
{
	const struct aif_utilization *u;
	struct aif_page_alike a;
	struct ops_fixture f;
	size_t n = 0;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	for (uint32_t i = 2; i < 60; i++) {
		FIXTURE_ADD(&f.made, processes, .pid = 100 + i, .exe = AIF_NONE,
			    .cmdline = AIF_NONE, .host = AIF_NONE, .start_ns = OPS_START);
		FIXTURE_ADD(&f.made, threads, .process = i, .tid = 200 + i, .name = AIF_NONE);
		FIXTURE_ADD(&f.made, streams, .process = i, .device = 0, .ordinal = 7);
	}
	for (uint32_t i = 0; i < 60; i++)
		for (unsigned s = 0; s < STEPS; s++)
			ops_exec(&f, i ? i + 1 : 0, s * STEP_NS + 1, i ? i + 1 : 0,
				 s * STEP_NS + 10, s * STEP_NS + 100000 + i * 15000, "gemm");
	ops_read(&f);
	u = utilization(&f);
	assert_int_equal(aif_page_alike_make(u, &a), 0);
	assert_in_range(a.drawn, 2, AIF_PAGE_ALIKE_MAX);
	for (size_t i = 0; i < u->len; i++)
		n += aif_page_is_drawn(&a, i) ? aif_page_alike_many(&a, i) : 0;
	assert_int_equal(n, 60);
	aif_page_alike_finish(&a);
	aif_facts_put(u);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_many_ranks_those_that_behave_otherwise_are_drawn_too),
		cmocka_unit_test(few_ranks_are_all_drawn),
		cmocka_unit_test(ranks_that_all_behave_otherwise_are_joined_nonetheless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
