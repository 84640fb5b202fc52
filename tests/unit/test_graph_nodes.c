/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the recorder follows the nodes of graphs from their making to their replay. The callbacks are in the order, and
 * with the numbers, that CUPTI 13.0 gave on an H200 (bench/results/h200-graphs.md). */
#include "fixture_ingest.h"

#include "analysis/graph_nodes.h"

#define N(graph, place) ((uint64_t)(graph) << 32 | (place))
#define NONE            AIF_WIRE_NONE

static uint64_t now;

/* Slot 0 is of thread 0, slot 1 of thread 1; stacks have the numbers that they are given. */
static void begin(struct world *w)
{
	now = 1000;
	for (int slot = 0; slot < 2; slot++)
		PUT(w, slot, THREAD, thread, NULL, .head.aux = 77 + (uint32_t)slot, .name = "t");
	aif_target_drain(&w->d, w->t);
	for (uint64_t slot = 0; slot < 2; slot++)
		for (uint64_t i = 0; i < 100; i++)
			assert_int_equal(aif_map_put(&w->t->slots[slot].stacks, i, i), 0);
}

static void say(struct world *w, int slot, enum aif_wire_node_kind kind, uint64_t node,
		uint64_t from, uint32_t stack)
{
	PUT(w, slot, NODE, node, NULL, .head.aux = kind, .time = ++now, .node = node, .from = from,
	    .stack = stack);
}

#define MADE(graph, place, stack) say(w, 0, AIF_NODE_MADE, N(graph, place), 0, stack)
/* A copy, as CUPTI tells of it: made by the copying call, and then of which node. */
#define CLONED(graph, place, of, of_place)                                          \
	do {                                                                        \
		MADE(graph, place, 99);                                             \
		say(w, 0, AIF_NODE_CLONED, N(graph, place), N(of, of_place), NONE); \
	} while (0)
#define UPDATED(graph, place, of, of_place) \
	say(w, 0, AIF_NODE_UPDATED, N(graph, place), N(of, of_place), NONE)
#define STARTING(graph) say(w, 0, AIF_GRAPH_INSTANTIATING, graph, 0, NONE)
#define CREATED(graph)  say(w, 0, AIF_GRAPH_INSTANTIATED, graph, 0, NONE)
#define GONE(graph)     say(w, 0, AIF_GRAPH_GONE, graph, 0, NONE)

static void settle(struct world *w, uint64_t at)
{
	const struct aif_turn turn = {.now = at, .new_threads = true};

	aif_target_drain(&w->d, w->t);
	aif_source_graph_nodes.target_step(&w->d, w->t, &turn);
}

/* The stack that made a node, as a replay at that time has it; AIF_NONE: unknown. */
static uint32_t made_by(struct world *w, uint32_t graph, uint32_t place, uint64_t time)
{
	struct aif_graph_nodes nodes;
	const struct aif_graph_node *n;
	uint32_t stack;

	assert_int_equal(aif_graph_nodes_init(&nodes, &w->store.p), 0);
	n = aif_graph_nodes_find(&nodes, w->t->process, graph, place, time);
	stack = n ? n->stack : AIF_NONE;
	aif_graph_nodes_finish(&nodes);
	return stack;
}

static void nodes_of_a_captured_graph_have_their_stacks(void **state)
{
	struct world *w = *state;

	begin(w);
	for (uint32_t i = 0; i < 3; i++)
		MADE(1, i, 10 + i);
	for (uint32_t i = 0; i < 3; i++)
		CLONED(2, i, 1, i);
	STARTING(1);
	MADE(2, 3, 99); /* the driver's own */
	CREATED(1);
	/* Once more. */
	for (uint32_t i = 0; i < 3; i++)
		CLONED(4, i, 1, i);
	STARTING(1);
	CREATED(1);
	/* No row yet: records of other rings may be older, until a moment has passed. */
	settle(w, now);
	assert_int_equal(w->store.p.graph_nodes_len, 0);
	settle(w, now + 400000000);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(made_by(w, 2, i, now), 10 + i);
		assert_int_equal(made_by(w, 4, i, now), 10 + i);
	}
	assert_int_equal(made_by(w, 2, 3, now), AIF_NONE);
	assert_int_equal(made_by(w, 1, 0, now), AIF_NONE); /* nobody can replay that one */
	assert_int_equal(made_by(w, 2, 0, 999), AIF_NONE); /* not before it was there */
	assert_int_equal(w->store.p.graph_nodes_len, 6);
}

static void a_clone_outlives_its_graph(void **state)
{
	struct world *w = *state;

	begin(w);
	MADE(1, 0, 10);
	CLONED(2, 0, 1, 0);
	GONE(1);
	CLONED(3, 0, 2, 0);
	STARTING(2);
	CREATED(2);
	GONE(2);
	settle(w, UINT64_MAX);
	assert_int_equal(made_by(w, 3, 0, now), 10);
}

static void an_update_changes_what_later_replays_are_of(void **state)
{
	struct world *w = *state;
	uint64_t between;

	begin(w);
	for (uint32_t i = 0; i < 2; i++)
		MADE(1, i, 10 + i);
	for (uint32_t i = 0; i < 2; i++)
		CLONED(2, i, 1, i);
	STARTING(1);
	CREATED(1);
	between = now;
	for (uint32_t i = 0; i < 2; i++)
		MADE(4, i, 20 + i);
	UPDATED(2, 1, 4, 1);
	UPDATED(2, 0, 4, 0);
	GONE(4);
	/* The same calls again add nothing. */
	for (uint32_t i = 0; i < 2; i++)
		MADE(5, i, 20 + i);
	UPDATED(2, 1, 5, 1);
	UPDATED(2, 0, 5, 0);
	GONE(5);
	settle(w, UINT64_MAX);
	assert_int_equal(made_by(w, 2, 0, between), 10);
	assert_int_equal(made_by(w, 2, 1, between), 11);
	assert_int_equal(made_by(w, 2, 0, now), 20);
	assert_int_equal(made_by(w, 2, 1, now), 21);
	assert_int_equal(w->store.p.graph_nodes_len, 4);
}

/* Graph 5 is [0, 1, [2, [3, 4], 5], 6]: its copy is 10, the children's copies 11 and 12. */
static void nested(struct world *w, uint32_t next)
{
	begin(w);
	MADE(1, 0, 13); /* [3, 4] */
	MADE(1, 1, 14);
	MADE(3, 0, 12); /* [2, ., 5] */
	CLONED(4, 0, 1, 0);
	CLONED(4, 1, 1, 1);
	MADE(3, 1, 50);
	MADE(3, 2, 15);
	MADE(5, 0, 10);
	MADE(5, 1, 11);
	CLONED(6, 0, 3, 0);
	CLONED(7, 0, 4, 0);
	CLONED(7, 1, 4, 1);
	CLONED(6, 1, 3, 1);
	CLONED(6, 2, 3, 2);
	MADE(5, 2, 51);
	MADE(5, 3, 16);
	CLONED(10, 0, 5, 0);
	CLONED(10, 1, 5, 1);
	CLONED(11, 0, 6, 0);
	CLONED(12, 0, 7, 0);
	CLONED(12, 1, 7, 1);
	CLONED(11, 1, 6, 1);
	CLONED(11, 2, 6, 2);
	CLONED(10, 2, 5, 2);
	CLONED(10, 3, 5, 3);
	STARTING(5);
	GONE(11);
	GONE(12);
	MADE(10, next, 99);
	CREATED(5);
	settle(w, UINT64_MAX);
}

static void children_move_behind_their_parent(void **state)
{
	static const uint32_t want[] = {10, 11, 51, 16, 12, 50, 15, 13, 14, AIF_NONE};
	struct world *w = *state;

	nested(w, 9);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(want); i++)
		assert_int_equal(made_by(w, 10, i, now), want[i]);
	assert_null(aif_profile_loss(&w->store.p, AIF_REASON_GRAPH_NODES));
}

/* A version that counts otherwise is noticed: rather no stack than another's. */
static void what_moved_elsewhere_is_unknown(void **state)
{
	static const uint32_t want[] = {10, 11, 51, 16};
	struct world *w = *state;
	const struct aif_loss *loss;

	nested(w, 7);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(made_by(w, 10, i, now), i < 4 ? want[i] : AIF_NONE);
	loss = aif_profile_loss(&w->store.p, AIF_REASON_GRAPH_NODES);
	assert_non_null(loss);
	assert_int_equal(loss->count, 5);
}

/* Thread 1 captures, thread 0 instantiates: its ring is read first. */
static void records_of_two_rings_are_put_in_order(void **state)
{
	struct world *w = *state;

	begin(w);
	now = 2000;
	say(w, 0, AIF_NODE_CLONED, N(2, 0), N(1, 0), NONE);
	say(w, 0, AIF_GRAPH_INSTANTIATING, 1, 0, NONE);
	say(w, 0, AIF_GRAPH_INSTANTIATED, 1, 0, NONE);
	aif_target_drain(&w->d, w->t);
	now = 1000;
	say(w, 1, AIF_NODE_MADE, N(1, 0), 0, 10);
	settle(w, UINT64_MAX);
	assert_int_equal(made_by(w, 2, 0, 3000), 10);
	assert_int_equal(w->store.p.graph_nodes[0].thread, 1);
	assert_int_equal(w->store.p.graph_nodes[0].made, 1001);
}

static void nonsense_is_refused(void **state)
{
	struct world *w = *state;

	begin(w);
	say(w, 0, 99, N(1, 0), 0, 10);
	say(w, 0, 0, N(1, 0), 0, 10);
	MADE(1, UINT32_MAX, 10);
	MADE(1, 1u << 22, 10);
	MADE(0, 5, 10);
	UPDATED(7, 3, 8, 4);
	CREATED(9);
	STARTING(9);
	GONE(9);
	CLONED(1, 0, 1, 0); /* of itself */
	STARTING(1);
	GONE(1); /* the copy itself */
	CREATED(1);
	STARTING(1);
	STARTING(1);
	settle(w, UINT64_MAX);
	assert_int_equal(w->store.p.graph_nodes_len, 0);
	assert_int_equal(w->t->slots[0].drain.bad, 2);
}

/* A program that captures the same graph for ever. */
static void memory_does_not_grow_with_captures(void **state)
{
	struct world *w = *state;
	uint64_t paid = 0;

	begin(w);
	MADE(1, 0, 10);
	CLONED(2, 0, 1, 0);
	STARTING(1);
	CREATED(1);
	for (uint32_t g = 3; g < 3000; g++) {
		for (uint32_t i = 0; i < 50; i++)
			MADE(g, i, 10);
		UPDATED(2, 0, g, 0);
		GONE(g);
		settle(w, UINT64_MAX);
		if (g == 1000)
			paid = w->store.paid;
	}
	assert_int_equal(w->store.p.graph_nodes_len, 1);
	/* Only the number of each is left. */
	assert_true(w->store.paid - paid <= (uint64_t)2000 * AIF_QUOTA_ENTRY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nodes_of_a_captured_graph_have_their_stacks),
		TEST(a_clone_outlives_its_graph),
		TEST(an_update_changes_what_later_replays_are_of),
		TEST(children_move_behind_their_parent),
		TEST(what_moved_elsewhere_is_unknown),
		TEST(records_of_two_rings_are_put_in_order),
		TEST(nonsense_is_refused),
		TEST(memory_does_not_grow_with_captures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
