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

static void operators_have_the_shapes_of_their_inputs(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;
	const char *mm = "aten::mm@[[2, 3], [3, 4]]"; /* '@' becomes the zero */
	struct aif_wire_mark *r;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	MARK(w, AIF_MARK_OPERATOR_END, 9, 0, ""); /* its begin was lost */
	MARK(w, AIF_MARK_BEGIN, 10, 0, "a range");
	MARK(w, AIF_MARK_OPERATOR, 11, 0, "aten::matmul");
	MARK(w, AIF_MARK_OPERATOR, 12, 1, "lost end");
	r = put(w, 0, AIF_WIRE_MARK, sizeof(*r), mm);
	r->head.aux = AIF_MARK_OPERATOR;
	r->time = 13;
	r->depth = 1;
	r->name_len = (uint32_t)strlen(mm);
	*strchr((char *)(r + 1), '@') = 0;
	aif_ring_commit(&w->ring[0]);
	MARK(w, AIF_MARK_OPERATOR_END, 14, 1, "");
	MARK(w, AIF_MARK_OPERATOR_END, 15, 0, "");
	MARK(w, AIF_MARK_END, 16, 0, "");
	MARK(w, AIF_MARK_OPERATOR, 17, 0, "in progress");
	aif_target_drain(&w->d, w->t);
	aif_program_ranges_last(&w->d, w->t, 50);
	b = take(w, AIF_BATCH_OP);
	assert_non_null(b);
	assert_int_equal(b->len, 3);
	assert_int_equal(b->ops[0].start, 13);
	assert_int_equal(b->ops[0].end, 14);
	assert_int_equal(b->ops[0].kind, AIF_OP_OPERATOR);
	assert_string_equal(aif_profile_str(&w->store.p, b->ops[0].name), "aten::mm");
	assert_string_equal(aif_profile_str(&w->store.p, b->ops[0].shapes), "[[2, 3], [3, 4]]");
	assert_int_equal(b->ops[1].start, 11);
	assert_int_equal(b->ops[1].end, 15);
	assert_int_equal(b->ops[1].shapes, AIF_NONE);
	assert_int_equal(b->ops[2].kind, AIF_OP_RANGE);
	assert_int_equal(w->t->slots[0].drain.bad, 0);
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

/* A call's name, and behind its zero as much of a communicator and a number as `text` has behind '@'. */
static void put_joint(struct world *w, uint64_t start, const char *text)
{
	static const uint64_t joint[] = {42, 5};
	struct aif_wire_mark *r = put(w, 0, AIF_WIRE_MARK, sizeof(*r), text);
	char *end = strchr((char *)(r + 1), '@');

	r->head.aux = AIF_MARK_JOINT_CALL;
	r->time = start + 5;
	r->number = start;
	r->depth = AIF_WIRE_NONE;
	r->name_len = (uint32_t)strlen(text);
	if (end) {
		memcpy(end + 1, joint, strlen(end + 1));
		*end = 0;
	}
	aif_ring_commit(&w->ring[0]);
}

static void a_call_of_ranks_has_its_communicator_and_number(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	put_joint(w, 15, "MPI_Barrier@0123456789abcdef");
	/* Hostile: cut short, and no end of the name. */
	put_joint(w, 25, "MPI_Barrier@01234567");
	put_joint(w, 35, "MPI_Barrier");
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_OP);
	assert_non_null(b);
	assert_int_equal(b->len, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(b->ops[i].kind, AIF_OP_RUNTIME);
		assert_int_equal(b->ops[i].start, 15 + 10 * i);
		assert_string_equal(aif_profile_str(&w->store.p, b->ops[i].name), "MPI_Barrier");
		assert_int_equal(b->ops[i].id, i ? 0 : 42);
		assert_int_equal(b->ops[i].sequence, i ? -1 : 5);
	}
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

#define DEFINE(w, slot, id, text) \
	PUT(w, slot, NAME, name, text, .head.aux = id, .name_len = (uint32_t)strlen(text))
#define NVTX(w, slot, kind, t, d, n, text)                                                   \
	PUT(w, slot, MARK, mark, text, .head.aux = kind, .time = t, .number = n, .depth = d, \
	    .name_len = (uint32_t)strlen(text))

static void ranges_of_domains_nest_each_by_itself(void **state)
{
	static const struct {
		uint64_t start, end;
		const char *name, *text;
	} want[] = {
		{11, 13, "d:a", "from the end"},
		{12, 14, "b", "from the begin"},
		{20, 20, "b", NULL},
		{23, 30, "d:a", NULL},
		{40, 60, "b", "other"},
		{10, 70, "b", NULL},
		{25, 70, "d:a", NULL},
	};
	struct world *w = *state;
	struct aif_batch *b;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	DEFINE(w, 0, 5, "d:a");
	DEFINE(w, 0, 6, "b");
	NVTX(w, 0, AIF_MARK_CLOSE, 5, 0, 4, "");
	NVTX(w, 0, AIF_MARK_OPEN, 10, 0, 6, "");
	NVTX(w, 0, AIF_MARK_OPEN, 11, 1, 5, "");
	NVTX(w, 0, AIF_MARK_OPEN, 12, 2, 6, "from the begin");
	NVTX(w, 0, AIF_MARK_CLOSE, 13, 1, 11, "from the end");
	NVTX(w, 0, AIF_MARK_CLOSE, 14, 2, 12, "not heard");
	NVTX(w, 0, AIF_MARK_INSTANT, 20, 0, 6, "");
	NVTX(w, 0, AIF_MARK_OPEN, 21, 1, 5, "");
	NVTX(w, 0, AIF_MARK_CLOSE, 22, 1, 17, ""); /* of another, whose begin was lost */
	NVTX(w, 0, AIF_MARK_OPEN, 23, 1, 5, "");   /* the end of the one before was lost */
	NVTX(w, 0, AIF_MARK_CLOSE, 30, 1, 23, "");
	/* Two rings, in any order. */
	NVTX(w, 0, AIF_MARK_FINISH, 60, 0, 1001, "other");
	PUT(w, 1, THREAD, thread, NULL, .head.aux = 78, .name = "u");
	DEFINE(w, 1, 6, "b");
	NVTX(w, 1, AIF_MARK_START, 40, 6, 1001, "");
	NVTX(w, 1, AIF_MARK_FINISH, 61, 0, 1001, ""); /* ended twice */
	NVTX(w, 1, AIF_MARK_START, 25, 5, 1003, "");  /* a name that this ring has not */
	aif_target_drain(&w->d, w->t);
	w->t->ended = true;
	aif_program_ranges_last(&w->d, w->t, 70);
	b = take(w, AIF_BATCH_OP);
	assert_non_null(b);
	assert_int_equal(b->len, AIF_ARRAY_LEN(want));
	for (size_t i = 0; i < b->len; i++) {
		const struct aif_op_row *row = &b->ops[i];

		assert_int_equal(row->start, want[i].start);
		assert_int_equal(row->end, want[i].end);
		assert_int_equal(row->kind, AIF_OP_RANGE);
		if (want[i].start == 25)
			assert_int_equal(row->name, AIF_NONE);
		else
			assert_string_equal(aif_profile_str(&w->store.p, row->name), want[i].name);
		if (want[i].text)
			assert_string_equal(aif_profile_str(&w->store.p, row->shapes),
					    want[i].text);
		else
			assert_int_equal(row->shapes, AIF_NONE);
		assert_int_equal(row->thread, want[i].start == 40 || want[i].start == 25);
	}
	assert_int_equal(aif_profile_loss(&w->store.p, AIF_REASON_RANGES_UNENDED)->count, 2);
}

static void ranges_that_no_thread_ends_are_bounded(void **state)
{
	struct world *w = *state;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 77, .name = "t");
	DEFINE(w, 0, 6, "b");
	for (uint64_t i = 0; i < 5000; i++) {
		NVTX(w, 0, AIF_MARK_START, 40 + i, 6, i << 1 | 1, "");
		if (i % 500 == 0)
			aif_target_drain(&w->d, w->t);
	}
	aif_target_drain(&w->d, w->t);
	assert_int_equal(aif_profile_loss(&w->store.p, AIF_REASON_RANGES_MANY)->count, 5000 - 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranges_of_domains_nest_each_by_itself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ranges_that_no_thread_ends_are_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_range_whose_end_was_not_heard_of_is_dropped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(operators_have_the_shapes_of_their_inputs, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_call_has_its_time_and_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_call_of_ranks_has_its_communicator_and_number,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_call_that_has_not_returned_lasts_until_the_end,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
