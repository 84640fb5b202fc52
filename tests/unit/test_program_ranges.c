/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a program's ranges and steps, as its ring brings them: some of it may be lost. */
#include "fixture_ingest.h"

#include "base/host_calls.h"
#include "record/ingest/program_ranges.h"

#define MARK(w, kind, t, d, name)                                                         \
	PUT(w, 0, MARK, mark, name, .head.aux = kind, .time = t, .number = t, .depth = d, \
	    .name_len = (uint32_t)strlen(name))

static void a_range_whose_end_was_not_heard_of_is_dropped(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	MARK(w, AIF_MARK_END, 5, 0, "");
	MARK(w, AIF_MARK_BEGIN, 10, 0, "a");
	MARK(w, AIF_MARK_BEGIN, 11, 1, "lost end");
	MARK(w, AIF_MARK_BEGIN, 12, 1, "b");
	MARK(w, AIF_MARK_BEGIN, 13, 2, "lost end, too");
	MARK(w, AIF_MARK_END, 14, 1, "");
	MARK(w, AIF_MARK_END, 15, 7, ""); /* its begin was lost */
	MARK(w, AIF_MARK_END, 9, 0, "");  /* before its begin */
	MARK(w, AIF_MARK_STEP, 20, 0, "");
	MARK(w, AIF_MARK_STEP, 21, 0, "");
	MARK(w, AIF_MARK_STEP, 30, 0, ""); /* 22 to 29 were not collected */
	MARK(w, 99, 31, 0, "");
	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t"); /* the same one */
	MARK(w, AIF_MARK_STEPS_END, 33, 0, "");
	MARK(w, AIF_MARK_BEGIN, 40, 3, "another's");
	PUT(w, 0, THREAD, thread, NULL, .head.aux = 78, .name = "u");
	MARK(w, AIF_MARK_END, 41, 3, "");
	MARK(w, AIF_MARK_BEGIN, 42, 0, "open");
	aif_target_drain(&w->d, w->t);
	aif_program_ranges_last(&w->d, w->t, 50);
	b = take(w, AIF_BATCH_OP);
	assert_non_null(b);
	for (size_t i = 0; i < b->len; i++) {
		static const struct aif_op_row want[] = {
			{.start = 12, .end = 14, .kind = AIF_OP_RANGE},
			{.start = 10, .end = 10, .kind = AIF_OP_RANGE},
			{.start = 20, .end = 21, .kind = AIF_OP_STEP},
			{.start = 30, .end = 33, .kind = AIF_OP_STEP},
			{.start = 42, .end = 50, .kind = AIF_OP_RANGE},
		};

		assert_int_equal(b->len, AIF_ARRAY_LEN(want));
		assert_int_equal(b->ops[i].start, want[i].start);
		assert_int_equal(b->ops[i].end, want[i].end);
		assert_int_equal(b->ops[i].kind, want[i].kind);
		assert_int_equal(b->ops[i].thread, i == 4);
	}
	assert_int_equal(w->t->slots[0].drain.bad, 1);
}

static void a_call_has_its_time_and_stack(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	aif_target_drain(&w->d, w->t);
	assert_int_equal(aif_map_put(&w->t->slots[0].stacks, 4, 3), 0);
	PUT(w, 0, MARK, mark, "zeBarrier", .head.aux = AIF_MARK_CALL, .time = 20, .number = 15,
	    .depth = 4, .name_len = 9);
	/* A call that ended before it began, and whose stack nobody knows. */
	PUT(w, 0, MARK, mark, "zeBarrier", .head.aux = AIF_MARK_CALL, .time = 30, .number = 99,
	    .depth = AIF_WIRE_NONE, .name_len = 9);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_OP);
	assert_non_null(b);
	assert_int_equal(b->len, 2);
	assert_int_equal(b->ops[0].start, 15);
	assert_int_equal(b->ops[0].end, 20);
	assert_int_equal(b->ops[0].kind, AIF_OP_RUNTIME);
	assert_int_equal(b->ops[0].stack, 3);
	assert_string_equal(aif_profile_str(&w->store.p, b->ops[0].name), "zeBarrier");
	assert_int_equal(b->ops[1].start, 30);
	assert_int_equal(b->ops[1].end, 30);
	assert_int_equal(b->ops[1].stack, AIF_NONE);
}

static void a_call_that_has_not_returned_lasts_until_the_end(void **state)
{
	struct world *w = *state;
	struct aif_slot *slot = aif_shm_slot(w->shm, 0);
	struct aif_batch *b;

	slot->call_id = AIF_CALL_clFinish;
	slot->call_stack = 4;
	slot->call_since = 20;
	aif_program_ranges_last(&w->d, w->t, 50); /* of no known thread */
	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	aif_target_drain(&w->d, w->t);
	assert_int_equal(aif_map_put(&w->t->slots[0].stacks, 4, 3), 0);
	aif_program_ranges_last(&w->d, w->t, 50);
	/* Hostile: no such call, one that has not begun. */
	slot->call_id = AIF_HOST_CALLS;
	aif_program_ranges_last(&w->d, w->t, 50);
	slot->call_id = AIF_CALL_clFinish;
	slot->call_since = 50;
	aif_program_ranges_last(&w->d, w->t, 50);
	slot->call_since = UINT64_MAX;
	aif_program_ranges_last(&w->d, w->t, 50);
	b = take(w, AIF_BATCH_OP);
	assert_non_null(b);
	assert_int_equal(b->len, 1);
	assert_int_equal(b->ops[0].start, 20);
	assert_int_equal(b->ops[0].end, 50);
	assert_int_equal(b->ops[0].stack, 3);
	assert_string_equal(aif_profile_str(&w->store.p, b->ops[0].name), "clFinish");
	assert_int_equal(aif_profile_loss(&w->store.p, AIF_REASON_CALLS_OPEN)->count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_range_whose_end_was_not_heard_of_is_dropped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_call_has_its_time_and_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_call_that_has_not_returned_lasts_until_the_end,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
