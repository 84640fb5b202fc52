/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sources.h"

#include <string.h>

/*
 * Nodes of device graphs: from what agents say of their making and copying (wire.h) to the stacks of the nodes that are
 * replayed.
 *
 * cuGraphInstantiate() copies the graph's nodes, and its children's into graphs of their own; all copies are CLONED, with the
 * nodes that they are of. Between INSTANTIATING and INSTANTIATED the copies of the children, and the bodies of conditional
 * nodes, are taken apart, one after another: GONE. The nodes of each have then moved behind those of the copy, in their
 * order, and have numbers there that no callback tells. Nodes that the driver adds afterwards are MADE in the copy, and
 * their numbers show whether that was so. (Measured: bench/results/h200-graphs.md.)
 *
 * Threads' records come from several rings: they wait until all that are older have been read.
 */

/* A node's making. time 0: unknown, as of nodes that were made before the recording. */
struct origin {
	uint64_t time;
	uint32_t thread, stack;
};

struct graph {
	uint32_t number, len; /* number 0: free */
	uint32_t
		moved; /* first node that moved here, or len; where free, 1 + the next that is free, or 0 */
	size_t cap;
	struct origin *at; /* by place in the graph */
};

struct event {
	uint64_t time, node, from;
	uint32_t kind, thread, stack, order;
};

/* A thread that instantiates a graph, of which `copy` is the copy. */
struct instance {
	uint32_t thread, copy;
};

struct target_state {
	struct event *waiting;
	size_t waiting_len, waiting_cap;
	uint32_t order;
	struct graph *graphs;
	size_t graphs_len, graphs_cap;
	uint32_t first_free;      /* of graphs, 1 + its index, or 0 */
	struct aif_map by_number; /* of a graph -> index in graphs */
	struct aif_map copies;    /* of a graph -> number of its latest copy */
	struct instance *instances;
	size_t instances_len, instances_cap;
	uint64_t unknown; /* nodes of which it could not be told what they are */
};

/* Records of other rings that are as old have been read by then. */
#define SETTLE_NS UINT64_C(300000000)
/* Nodes of one graph, and waiting events of one target: more are nonsense. */
#define NODES_MAX   (UINT32_C(1) << 22)
#define WAITING_MAX (UINT32_C(1) << 22)

static struct target_state *nodes_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_GRAPH_NODES];
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static struct graph *find(struct target_state *k, uint64_t number)
{
	uint64_t i;

	return aif_map_get(&k->by_number, number, &i) && k->graphs[i].number == number
		       ? &k->graphs[i]
		       : NULL;
}

static struct graph *add(struct aif_store *s, struct target_state *k, uint32_t number)
{
	size_t i = k->first_free ? k->first_free - 1 : k->graphs_len;
	uint32_t next = 0;

	if (!number ||
	    !aif_store_charge_own(s, AIF_QUOTA_ENTRY + (k->first_free ? 0 : sizeof(*k->graphs))) ||
	    aif_grow(&k->graphs, &k->graphs_cap, i + 1, sizeof(*k->graphs)) < 0 ||
	    aif_map_put(&k->by_number, number, i) < 0)
		return NULL;
	if (k->first_free)
		next = k->graphs[i].moved;
	else
		k->graphs_len++;
	k->first_free = next;
	k->graphs[i] = (struct graph){.number = number};
	return &k->graphs[i];
}

/* Finds the graph of a node, and makes room for the node; NULL: there is no memory, or it is nonsense. */
static struct graph *reach(struct aif_store *s, struct target_state *k, uint64_t node)
{
	uint64_t number = node >> 32;
	uint32_t place = (uint32_t)node;
	struct graph *g = find(k, number);

	if (place >= NODES_MAX)
		return NULL;
	if (!g)
		g = add(s, k, (uint32_t)number);
	if (!g)
		return NULL;
	if (place >= g->len) {
		uint32_t more = place + 1 - g->len;

		if (!aif_store_charge_own(s, more * sizeof(*g->at)) ||
		    aif_grow(&g->at, &g->cap, (size_t)place + 1, sizeof(*g->at)) < 0)
			return NULL;
		memset(&g->at[g->len], 0, more * sizeof(*g->at));
		if (g->moved == g->len)
			g->moved = place + 1;
		g->len = place + 1;
	}
	return g;
}

/* Forgets a graph. Its number, which is not used again, stays in the map. */
static void forget(struct aif_store *s, struct aif_target *t, uint64_t number)
{
	struct target_state *k = nodes_of(t);
	struct graph *g = find(k, number);

	if (!g)
		return;
	aif_store_uncharge(s, &t->quota, g->len * sizeof(*g->at));
	free(g->at);
	*g = (struct graph){.moved = k->first_free};
	k->first_free = (uint32_t)(g - k->graphs) + 1;
}

static struct origin origin_of(struct target_state *k, uint64_t node)
{
	const struct graph *g = find(k, node >> 32);
	uint32_t place = (uint32_t)node;

	return g && place < g->len ? g->at[place] : (struct origin){.stack = AIF_NONE};
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void row(struct aif_drainer *d, const struct aif_target *t, const struct graph *g,
		uint32_t place, uint64_t since)
{
	const struct origin *o = &g->at[place];

	if (o->time && o->stack != AIF_NONE)
		aif_store_graph_node(d->store, &(struct aif_graph_node){.process = t->process,
									.graph = g->number,
									.node = place,
									.since = since,
									.thread = o->thread,
									.made = o->time,
									.stack = o->stack});
}

/* ---- events -------------------------------------------------------------------------------------- */

static struct instance *instance_of(struct target_state *k, uint32_t thread)
{
	for (size_t i = 0; i < k->instances_len; i++)
		if (k->instances[i].thread == thread)
			return &k->instances[i];
	return NULL;
}

static void end_instance(struct target_state *k, struct instance *i)
{
	*i = k->instances[--k->instances_len];
}

static void on_made(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	struct target_state *k = nodes_of(t);
	const struct instance *i = instance_of(k, e->thread);
	struct graph *g = find(k, e->node >> 32);
	uint32_t place = (uint32_t)e->node;

	if (i && i->copy == e->node >> 32) {
		/* The driver's own. Where it is not the next one, what moved lies elsewhere. */
		if (g && g->moved < g->len && place != g->len) {
			k->unknown += g->len - g->moved;
			memset(&g->at[g->moved], 0, (g->len - g->moved) * sizeof(*g->at));
		}
		reach(d->store, k, e->node);
		return;
	}
	g = reach(d->store, k, e->node);
	if (g)
		g->at[place] =
			(struct origin){.time = e->time, .thread = e->thread, .stack = e->stack};
}

static void on_cloned(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	struct target_state *k = nodes_of(t);
	struct origin o = origin_of(k, e->from);
	struct graph *g = reach(d->store, k, e->node);
	uint64_t known;

	if (!g)
		return;
	g->at[(uint32_t)e->node] = o;
	if ((!aif_map_get(&k->copies, e->from >> 32, &known) || known != g->number) &&
	    aif_store_charge_own(d->store, AIF_QUOTA_ENTRY))
		(void)aif_map_put(&k->copies, e->from >> 32, g->number);
}

static void on_updated(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	struct target_state *k = nodes_of(t);
	struct origin o = origin_of(k, e->from);
	struct graph *g = find(k, e->node >> 32);
	uint32_t place = (uint32_t)e->node;

	if (!g || place >= g->len || !o.time)
		return;
	/* A graph that is captured again each time is mostly captured by the same calls. */
	if (g->at[place].time && g->at[place].stack == o.stack)
		return;
	g->at[place] = o;
	row(d, t, g, place, e->time);
}

static void on_instantiating(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	struct target_state *k = nodes_of(t);
	struct instance *i = instance_of(k, e->thread);
	uint64_t copy;

	if (i)
		end_instance(k, i); /* its end was lost */
	if (!aif_map_get(&k->copies, e->node, &copy))
		return;
	if (!aif_store_charge_own(d->store, sizeof(*i)) ||
	    aif_grow(&k->instances, &k->instances_cap, k->instances_len + 1, sizeof(*i)) < 0)
		return;
	k->instances[k->instances_len++] =
		(struct instance){.thread = e->thread, .copy = (uint32_t)copy};
}

static void on_instantiated(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	struct target_state *k = nodes_of(t);
	struct instance *i = instance_of(k, e->thread);
	const struct graph *g;

	if (!i)
		return;
	g = find(k, i->copy);
	for (uint32_t place = 0; g && place < g->len; place++)
		row(d, t, g, place, e->time);
	aif_store_uncharge(d->store, &t->quota, sizeof(*i));
	end_instance(k, i);
}

static void on_gone(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	struct target_state *k = nodes_of(t);
	const struct instance *i = instance_of(k, e->thread);
	const struct graph *from = find(k, e->node);

	if (i && from && from->len && i->copy != e->node) {
		uint32_t n = from->len, at = 0;
		struct graph *to = find(k, i->copy);
		uint32_t moved = to ? to->moved : 0;

		at = to ? to->len : 0;
		to = n < NODES_MAX - at ? reach(d->store, k, (uint64_t)i->copy << 32 | (at + n - 1))
					: NULL;
		from = find(k, e->node); /* reach() may have moved it */
		if (to && from) {
			memcpy(&to->at[at], from->at, n * sizeof(*to->at));
			to->moved = AIF_MIN(moved, at);
		}
	}
	forget(d->store, t, e->node);
}

static void settle_event(struct aif_drainer *d, struct aif_target *t, const struct event *e)
{
	static void (*const on[])(struct aif_drainer *, struct aif_target *,
				  const struct event *) = {
		[AIF_NODE_MADE] = on_made,
		[AIF_NODE_CLONED] = on_cloned,
		[AIF_NODE_UPDATED] = on_updated,
		[AIF_GRAPH_INSTANTIATING] = on_instantiating,
		[AIF_GRAPH_INSTANTIATED] = on_instantiated,
		[AIF_GRAPH_GONE] = on_gone,
	};

	on[e->kind](d, t, e);
}

/* ---- the source ---------------------------------------------------------------------------------- */

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_node *r = record;
	struct target_state *k = nodes_of(in->target);
	struct event e = {.time = r->time,
			  .node = r->node,
			  .from = r->from,
			  .kind = r->head.aux,
			  .thread = in->slot->thread,
			  .stack = aif_ingest_get(&in->slot->stacks, r->stack)};

	if (e.kind < AIF_NODE_MADE || e.kind > AIF_GRAPH_GONE || !e.time) {
		in->slot->drain.bad++;
		return;
	}
	if (k->waiting_len >= WAITING_MAX || !aif_store_charge_own(in->drainer->store, sizeof(e)) ||
	    aif_grow(&k->waiting, &k->waiting_cap, k->waiting_len + 1, sizeof(e)) < 0) {
		k->unknown++;
		return;
	}
	e.order = k->order++;
	k->waiting[k->waiting_len++] = e;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return AIF_ORDER(x->time, y->time) ?: AIF_ORDER(x->order, y->order);
}

static void settle(struct aif_drainer *d, struct aif_target *t, uint64_t until)
{
	struct target_state *k = nodes_of(t);
	size_t n = 0;

	if (!k->waiting_len)
		return;
	d->store->payer = &t->quota;
	qsort(k->waiting, k->waiting_len, sizeof(*k->waiting), by_time);
	while (n < k->waiting_len && k->waiting[n].time < until)
		settle_event(d, t, &k->waiting[n++]);
	aif_store_uncharge(d->store, &t->quota, n * sizeof(*k->waiting));
	memmove(k->waiting, &k->waiting[n], (k->waiting_len - n) * sizeof(*k->waiting));
	k->waiting_len -= n;
	if (k->unknown)
		aif_store_loss(d->store, AIF_REASON_GRAPH_NODES, t->process, AIF_NONE, k->unknown);
	k->unknown = 0;
	d->store->payer = NULL;
}

static void target_step(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn)
{
	if (turn->new_threads)
		settle(d, t, turn->now > SETTLE_NS ? turn->now - SETTLE_NS : 0);
}

static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	(void)now;
	settle(d, t, UINT64_MAX);
}

static void target_free(struct aif_target *t)
{
	struct target_state *k = nodes_of(t);

	if (!k)
		return;
	for (size_t i = 0; i < k->graphs_len; i++)
		free(k->graphs[i].at);
	free(k->graphs);
	free(k->waiting);
	free(k->instances);
	aif_map_finish(&k->by_number);
	aif_map_finish(&k->copies);
}

const struct aif_source aif_source_graph_nodes = {
	.name = "graph nodes",
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(NODE),
	.on_record = on_record,
	.target_step = target_step,
	.target_end = target_end,
	.target_free = target_free,
};
