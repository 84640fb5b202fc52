/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of CUDA's graphs, from CUPTI's callbacks to records. */
#include "fixture_cuda_launch.h"

void aif_cuda_activity_made(struct aif_cuda *unused)
{
	(void)unused;
}

#define GRAPH_UPLOAD                 580
#define GRAPH_INSTANTIATE_WITH_FLAGS 643

static unsigned refused_event;

static int graph_id(void *graph, uint32_t *ret)
{
	*ret = (uint32_t)(uintptr_t)graph;
	return 0;
}

static unsigned asked;   /* CUPTI, for numbers of nodes */
static uint64_t renamed; /* what numbers have become more since */

static int node_id(void *node, uint64_t *ret)
{
	asked++;
	*ret = (uintptr_t)node + renamed;
	return (uintptr_t)node == 13; /* one that CUPTI does not know */
}

static int enable_graphs(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	assert_int_equal(on, 1);
	assert_int_equal(domain, AIF_CUPTI_DOMAIN_RESOURCE);
	return id == refused_event;
}

static void graph_event(uint32_t event, uintptr_t node, uintptr_t original)
{
	const struct aif_cupti_graph g = {.graph = (void *)(uintptr_t)7,
					  .node = (void *)node,
					  .original_node = (void *)original};
	const struct aif_cupti_resource r = {.descriptor = &g};

	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_RESOURCE, event, &r);
}

/* Callbacks of graphs are written down with its numbers, while there is a recording, and by versions whose numbers are
 * known. */
static void what_becomes_of_nodes_is_recorded(void **state)
{
	static const struct aif_emit_node want[] = {
		{.kind = AIF_NODE_MADE, .node = 3, .stack = 0},
		{.kind = AIF_NODE_CLONED, .node = 4, .from = 3, .stack = AIF_WIRE_NONE},
		{.kind = AIF_GRAPH_INSTANTIATING, .node = 7, .stack = AIF_WIRE_NONE},
		{.kind = AIF_GRAPH_INSTANTIATED, .node = 7, .stack = AIF_WIRE_NONE},
		/* CUPTI names the node that the change comes from. */
		{.kind = AIF_NODE_UPDATED, .node = 4, .from = 5, .stack = AIF_WIRE_NONE},
		{.kind = AIF_GRAPH_GONE, .node = 7, .stack = AIF_WIRE_NONE},
	};

	(void)state;
	cuda.api.cuptiEnableCallback = enable_graphs;
	cuda.api.cuptiGetGraphId = graph_id;
	cuda.api.cuptiGetGraphNodeId = node_id;
	cuda.api.can_follow_graphs = true;
	nodes_len = 0;
	for (int i = 0; i < 6; i++) {
		cuda.version = i == 1 ? 130100 : i == 2 ? 120900 : 130001;
		/* 3: nobody records; 5: a recording is paused. */
		cuda.on = i != 3 && i != 5;
		atomic_store(&aif_agent.session.armed->recorder_alive, i == 5);
		refused_event = i == 4 ? AIF_CUPTI_GRAPHNODE_UPDATED : 0;
		aif_cuda_graphs_subscribe(&cuda);
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 3, 0);
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 13, 0);
		assert_int_equal(nodes_len, i == 5 ? 2 : 1);
	}
	nodes_len = 1;
	refused_event = 0;
	aif_cuda_graphs_subscribe(&cuda);
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 4, 3);
	graph_event(AIF_CUPTI_GRAPHEXEC_STARTING, 0, 0);
	graph_event(AIF_CUPTI_GRAPHEXEC_CREATED, 0, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_UPDATED, 5, 4);
	graph_event(AIF_CUPTI_GRAPH_DESTROYED, 0, 0);
	assert_int_equal(nodes_len, AIF_ARRAY_LEN(want));
	for (unsigned i = 0; i < nodes_len; i++) {
		assert_int_equal(nodes[i].kind, want[i].kind);
		assert_int_equal(nodes[i].node, want[i].node);
		assert_int_equal(nodes[i].from, want[i].from);
		assert_int_equal(nodes[i].stack, want[i].stack);
		assert_true(nodes[i].time > 0);
	}
}

static void assert_node(enum aif_wire_node_kind kind, uint64_t node, uint64_t from)
{
	assert_int_equal(nodes_len, 1);
	assert_int_equal(nodes[0].kind, kind);
	assert_int_equal(nodes[0].node, node);
	assert_int_equal(nodes[0].from, from);
	nodes_len = 0;
}

/* Subscribes to the graphs of a CUPTI whose numbers of nodes are their addresses. */
static void follow_graphs(void)
{
	cuda.api.cuptiEnableCallback = enable_graphs;
	cuda.api.cuptiGetGraphId = graph_id;
	cuda.api.cuptiGetGraphNodeId = node_id;
	cuda.api.can_follow_graphs = true;
	cuda.version = 130001;
	cuda.on = true;
	refused_event = renamed = 0;
	nodes_len = asked = 0;
	aif_cuda_graphs_subscribe(&cuda);
}

/* CUPTI takes long for a number: a copy and its original have those that they had when they were made, until a graph is
 * gone, or something was made unseen. */
static void numbers_of_nodes_are_asked_for_once(void **state)
{
	(void)state;
	follow_graphs();
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x1000, 0);
	assert_node(AIF_NODE_MADE, 0x1000, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x2000, 0);
	assert_node(AIF_NODE_MADE, 0x2000, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2000, 0x1000);
	assert_int_equal(asked, 2); /* for those that were made */
	/* Another node at the address of one that is gone. */
	renamed = 5;
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x2000, 0);
	assert_node(AIF_NODE_MADE, 0x2005, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2005, 0x1000);
	assert_int_equal(asked, 3);
	/* Nodes of a graph that is gone may have become another's. */
	graph_event(AIF_CUPTI_GRAPH_DESTROYED, 0, 0);
	nodes_len = 0;
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2005, 0x1005);
	assert_int_equal(asked, 5);
	/* While nobody records, nothing is known of what is made. */
	cuda.on = false;
	atomic_store(&aif_agent.session.armed->recorder_alive, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x1000, 0);
	assert_int_equal(nodes_len, 0);
	cuda.on = true;
	renamed = 7;
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2007, 0x1007);
	/* More nodes than are remembered. */
	for (uintptr_t i = 1; i <= 300000; i++) {
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, i << 6, 0);
		assert_node(AIF_NODE_MADE, (i << 6) + 7, 0);
	}
	for (uintptr_t i = 1; i < 300000; i++) {
		graph_event(AIF_CUPTI_GRAPHNODE_CLONED, (i + 1) << 6, i << 6);
		assert_node(AIF_NODE_CLONED, ((i + 1) << 6) + 7, (i << 6) + 7);
	}
}

/* While a graph is instantiated, its nodes are copied: their CLONED says all. The driver's own nodes have no stack. */
static void copies_have_no_stacks_of_their_own(void **state)
{
	int result = 0;
	struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER, .result = &result};

	(void)state;
	here = aif_self = &threads[0];
	follow_graphs();
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, GRAPH_INSTANTIATE_WITH_FLAGS, &cb);
	for (uintptr_t i = 1; i <= 3; i++) {
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x2000 + i, 0);
		graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000 + i, 0x1000 + i);
		assert_node(AIF_NODE_CLONED, 0x2000 + i, 0x1000 + i);
	}
	graph_event(AIF_CUPTI_GRAPHEXEC_STARTING, 0, 0);
	assert_node(AIF_GRAPH_INSTANTIATING, 7, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x3000, 0);
	assert_int_equal(nodes[0].stack, AIF_WIRE_NONE);
	assert_node(AIF_NODE_MADE, 0x3000, 0);
	cb.site = AIF_CUPTI_EXIT;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, GRAPH_INSTANTIATE_WITH_FLAGS, &cb);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x4000, 0);
	assert_int_equal(nodes[0].stack, 0);
	assert_node(AIF_NODE_MADE, 0x4000, 0);
	/* A call whose end was not called back: the next one of the thread says that it is over. */
	cb.site = AIF_CUPTI_ENTER;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, GRAPH_INSTANTIATE_WITH_FLAGS, &cb);
	aside(GRAPH_UPLOAD);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x5000, 0);
	assert_int_equal(nodes[0].stack, 0);
	assert_node(AIF_NODE_MADE, 0x5000, 0);
	aif_self = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_becomes_of_nodes_is_recorded, setup),
		cmocka_unit_test_setup(numbers_of_nodes_are_asked_for_once, setup),
		cmocka_unit_test_setup(copies_have_no_stacks_of_their_own, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
