/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Finds what made a node of a device graph. */
struct aif_graph_nodes {
	const struct aif_graph_node **at; /* by process, graph, node and time */
	size_t len;
};

/* The profile must outlive it. 0 or -ENOMEM; finished by the caller in any case. */
int aif_graph_nodes_init(struct aif_graph_nodes *g, const struct aif_profile *p);
void aif_graph_nodes_finish(struct aif_graph_nodes *g);

/* The row for a node of a graph that was launched at `time` (CLOCK_MONOTONIC ns), or NULL. */
const struct aif_graph_node *aif_graph_nodes_find(const struct aif_graph_nodes *g, uint32_t process,
						  uint32_t graph, uint32_t node, uint64_t time);
