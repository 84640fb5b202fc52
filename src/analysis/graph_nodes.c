/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/graph_nodes.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const struct aif_graph_node *x, uint32_t process, uint32_t graph, uint32_t node)
{
	return AIF_ORDER(x->process, process) ?: AIF_ORDER(x->graph, graph)
	       ?: AIF_ORDER(x->node, node);
}

static int by_node_and_time(const void *a, const void *b)
{
	const struct aif_graph_node *x = *(const struct aif_graph_node *const *)a,
				    *y = *(const struct aif_graph_node *const *)b;
	int r = compare(x, y->process, y->graph, y->node);

	if (r)
		return r;
	return AIF_ORDER(x->since, y->since) ?: AIF_ORDER(x, y);
}

int aif_graph_nodes_init(struct aif_graph_nodes *g, const struct aif_profile *p)
{
	*g = (struct aif_graph_nodes){0};
	if (!p->graph_nodes_len)
		return 0;
	g->at = calloc(p->graph_nodes_len, sizeof(const struct aif_graph_node *));
	if (!g->at)
		return -ENOMEM;
	while (g->len < p->graph_nodes_len) {
		g->at[g->len] = &p->graph_nodes[g->len];
		g->len++;
	}
	qsort(g->at, g->len, sizeof(*g->at), by_node_and_time);
	return 0;
}

void aif_graph_nodes_finish(struct aif_graph_nodes *g)
{
	free(g->at);
	*g = (struct aif_graph_nodes){0};
}

/* compared: the node's place before, at or behind the one that is asked for. */
static bool is_until(const struct aif_graph_node *n, int compared, uint64_t time)
{
	return compared < 0 || (!compared && n->since <= time);
}

const struct aif_graph_node *aif_graph_nodes_find(const struct aif_graph_nodes *g, uint32_t process,
						  uint32_t graph, uint32_t node, uint64_t time)
{
	/* Looks for the last one that is not behind it. */
	size_t lo =
		AIF_BISECT(mid, 0, g->len,
			   is_until(g->at[mid], compare(g->at[mid], process, graph, node), time));

	return lo && !compare(g->at[lo - 1], process, graph, node) ? g->at[lo - 1] : NULL;
}
