/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/graphs.h"

#include "agent/capture.h"
#include "agent/emit.h"
#include "base/hash.h"

/*
 * A replayed graph is one launch, of one stack. What its kernels belong to was on the stacks that made its nodes: calls of
 * the program while a stream was captured, or one call for each node. CUPTI calls back for each node that is made and for
 * each copy: cuGraphInstantiate() copies a graph's nodes, then those of its children, and kernel records have the numbers of
 * these copies. Here each callback is written down as it comes, with CUPTI's numbers; the recorder puts them together
 * (record/sources/graph_nodes.c).
 *
 * Numbers and order of callbacks were tried with bench/gpu/graph_ids.c for the versions in aif_cuda_graphs_are_known()
 * (bench/results/h200-graphs.md). With others kernels of a graph are known by their graph only, as where nodes were made
 * before the recording.
 */

/* Releases of CUPTI whose numbers of nodes were compared with a program that knows them. */
#define KNOWN_FROM  AIF_CUPTI_VERSION_13_0
#define KNOWN_UNTIL 130100

bool aif_cuda_graphs_are_known(const struct aif_cuda *cuda)
{
	return cuda->api.can_follow_graphs && cuda->version >= KNOWN_FROM &&
	       cuda->version < KNOWN_UNTIL;
}

static uint64_t number_of_graph(struct aif_cuda *cuda, void *graph)
{
	uint32_t number = 0;

	return graph && !cuda->api.cuptiGetGraphId(graph, &number) ? number : 0;
}

/* 0: not known. No graph has the number 0. */
static uint64_t number_of_node(struct aif_cuda *cuda, void *node)
{
	uint64_t number = 0;

	return node && !cuda->api.cuptiGetGraphNodeId(node, &number) ? number : 0;
}

/* ---- numbers of nodes, remembered --------------------------------------------------------------- */

/*
 * CUPTI takes up to half a microsecond for a number, and a copy's CLONED names two nodes: the copy, CREATED just before,
 * and its original, CREATED when the program made it. So numbers are kept by the nodes' addresses. A node's CREATED
 * replaces what was known of its address; all is forgotten when a graph goes, since nodes of children then have other
 * numbers, and while callbacks are not followed.
 */
#define NUMBERS       (UINT32_C(1) << 16)
#define BEING_WRITTEN UINT64_C(1) /* no node has this address */

struct aif_cuda_numbers {
	_Atomic uint64_t epoch;
	struct {
		_Atomic uint64_t key, number; /* key 0: none; else as key_of() says */
	} at[NUMBERS];
};

/* Addresses have 48 bits. An entry of 65,536 epochs ago would have been replaced by the node that has its address. */
static uint64_t key_of(const struct aif_cuda_numbers *n, const void *node)
{
	return (uint64_t)(uintptr_t)node ^ atomic_load(&n->epoch) << 48;
}

static uint32_t place_of(const void *node)
{
	return aif_mix64((uint64_t)(uintptr_t)node) % NUMBERS;
}

static void forget_numbers(struct aif_cuda *cuda)
{
	if (cuda->numbers)
		atomic_fetch_add(&cuda->numbers->epoch, 1);
}

/* Stores the number of a node, with its key, in place of what the entry had; 0: it has none. Where another thread is at
 * that entry, its node has the entry. */
static void store_number(struct aif_cuda_numbers *n, const void *node, uint64_t key,
			 uint64_t number)
{
	uint32_t i = place_of(node);

	if (atomic_exchange(&n->at[i].key, BEING_WRITTEN) == BEING_WRITTEN)
		return;
	atomic_store_explicit(&n->at[i].number, number, memory_order_release);
	atomic_store_explicit(&n->at[i].key, number ? key : 0, memory_order_release);
}

/* 0: it is not known. */
static uint64_t stored_number(const struct aif_cuda_numbers *n, const void *node)
{
	uint32_t i = place_of(node);
	uint64_t key = key_of(n, node), number;

	if (atomic_load_explicit(&n->at[i].key, memory_order_acquire) != key)
		return 0;
	number = atomic_load_explicit(&n->at[i].number, memory_order_acquire);
	return atomic_load_explicit(&n->at[i].key, memory_order_relaxed) == key ? number : 0;
}

static uint64_t number_of_made(struct aif_cuda *cuda, void *node)
{
	/* Before CUPTI is asked: another thread may end what the number is of. */
	uint64_t key = cuda->numbers ? key_of(cuda->numbers, node) : 0,
		 number = number_of_node(cuda, node);

	if (cuda->numbers)
		store_number(cuda->numbers, node, key, number);
	return number;
}

/* The number of a copy or of its original. */
static uint64_t number_of_cloned(struct aif_cuda *cuda, void *node)
{
	uint64_t number = cuda->numbers && node ? stored_number(cuda->numbers, node) : 0;

	return number ? number : number_of_node(cuda, node);
}

/* ------------------------------------------------------------------------------------------------ */

void aif_cuda_graphs_subscribe(struct aif_cuda *cuda)
{
	static const uint32_t events[] = {AIF_CUPTI_GRAPH_DESTROYED, AIF_CUPTI_GRAPHEXEC_STARTING,
					  AIF_CUPTI_GRAPHEXEC_CREATED, AIF_CUPTI_GRAPHNODE_CLONED,
					  AIF_CUPTI_GRAPHNODE_UPDATED};

	cuda->follows_graphs = aif_cuda_graphs_are_known(cuda);
	for (unsigned i = 0; cuda->follows_graphs && i < AIF_ARRAY_LEN(events); i++)
		if (cuda->api.cuptiEnableCallback(1, cuda->subscriber, AIF_CUPTI_DOMAIN_RESOURCE,
						  events[i]))
			cuda->follows_graphs = false;
	if (cuda->follows_graphs && !cuda->replays)
		cuda->replays = aif_cuda_replays_new();
	if (cuda->follows_graphs && !cuda->numbers)
		cuda->numbers = aif_pages(sizeof(*cuda->numbers));
	forget_numbers(cuda);
}

void aif_cuda_graph_launched(struct aif_cuda *cuda, const struct aif_cupti_callback *cb,
			     uint64_t ago, uint64_t launch)
{
	const struct aif_cuda_graph_launch *p = cb->parameters;
	uint32_t graph;
	uint64_t now;

	if (cuda->replays && p && !cuda->api.cuptiGetGraphExecId(p->exec, &graph) &&
	    !cuda->api.cuptiGetTimestamp(&now))
		aif_cuda_replay_called(cuda->replays, graph, cb->correlation, launch, now - ago);
}

void aif_cuda_graphs_called(const struct aif_cuda *cuda, int step, enum aif_cupti_site site)
{
	if (cuda->follows_graphs && aif_self)
		aif_self->graph_copies = site == AIF_CUPTI_ENTER && step == AIF_CUDA_INSTANTIATES
						 ? AIF_CUDA_COPIES
						 : AIF_CUDA_COPIES_NOT;
}

void aif_cuda_graph_event(struct aif_cuda *cuda, uint32_t event, const struct aif_cupti_graph *g,
			  const struct aif_regs *regs)
{
	static const struct aif_emit_api none;
	struct aif_emit_node n = {.stack = AIF_WIRE_NONE};
	struct aif_emit_cost cost;
	struct aif_thread *t;

	/* In a pause, too (--delay): programs capture their graphs when they start. */
	if (!cuda->follows_graphs ||
	    (!cuda->on && !atomic_load_explicit(&aif_agent.session.armed->recorder_alive,
						memory_order_relaxed))) {
		forget_numbers(cuda);
		return;
	}
	switch (event) {
	case AIF_CUPTI_GRAPHNODE_CREATED:
		n.kind = AIF_NODE_MADE;
		n.node = number_of_made(cuda, g->node);
		/* The CLONED that comes next says all of it. */
		if (aif_self && aif_self->graph_copies == AIF_CUDA_COPIES)
			return;
		break;
	case AIF_CUPTI_GRAPHNODE_CLONED:
		n.kind = AIF_NODE_CLONED;
		n.node = number_of_cloned(cuda, g->node);
		n.from = number_of_cloned(cuda, g->original_node);
		break;
	case AIF_CUPTI_GRAPHNODE_UPDATED:
		n.kind = AIF_NODE_UPDATED;
		n.node = number_of_node(cuda, g->original_node);
		n.from = number_of_node(cuda, g->node);
		break;
	case AIF_CUPTI_GRAPHEXEC_STARTING:
		n.kind = AIF_GRAPH_INSTANTIATING;
		if (aif_self && aif_self->graph_copies)
			aif_self->graph_copies = AIF_CUDA_COPIES_END;
		n.node = number_of_graph(cuda, g->graph);
		break;
	case AIF_CUPTI_GRAPHEXEC_CREATED:
		n.kind = AIF_GRAPH_INSTANTIATED;
		n.node = number_of_graph(cuda, g->graph);
		break;
	case AIF_CUPTI_GRAPH_DESTROYED:
		n.kind = AIF_GRAPH_GONE;
		n.node = number_of_graph(cuda, g->graph);
		forget_numbers(cuda);
		break;
	default:
		return;
	}
	if (!n.node)
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	n.time = aif_now_ns();
	aif_emit_cost_begin(t, &cost, n.time);
	/* The driver's own nodes have nobody's stack. */
	if (n.kind == AIF_NODE_MADE && t->graph_copies == AIF_CUDA_COPIES_NOT)
		n.stack = aif_capture(t, regs, &none);
	aif_emit_node(t, &n);
	aif_emit_cost_end(&cost);
	aif_thread_leave(t);
}
