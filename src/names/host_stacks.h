/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/frame_labels.h"

/*
 * Stacks as the formats with tables of frames need them: a tree whose nodes are frames with their addresses, so that
 * nothing is lost, but labelled and folded as the picture is. Each place of a stack is looked at once.
 */

struct aif_host_node {
	uint32_t parent, depth; /* depth 0: the root, node 0 */
	uint32_t name, full;    /* of .tree.names and .tree.full; full may be AIF_STR_NONE */
	uint32_t frame;         /* of the profile; AIF_NONE: none, a mark or a kernel */
	uint32_t row;           /* of its frame_names; AIF_NONE: it has no name */
};

struct aif_host_stacks {
	const struct aif_profile *p;
	struct aif_tree tree; /* names only */
	struct aif_frame_labels *labels;
	struct aif_host_node *nodes;
	size_t len, cap;
	struct aif_map children; /* parent, step -> node */
	struct aif_map kernels;  /* parent, kernel or (of nameless transfers) kind -> node */
	struct aif_host_place *places[AIF_STACK_FLAVOURS]; /* by stack */
	uint32_t *names; /* by frame: its first row of frame_names */
	uint32_t *path;
	size_t path_cap;
};

/* The names must outlive it. 0 or -ENOMEM; finished by the caller in any case. */
int aif_host_stacks_init(struct aif_host_stacks *h, const struct aif_names *names,
			 enum aif_name_detail detail);
void aif_host_stacks_finish(struct aif_host_stacks *h);

/* The node of a launch stack (AIF_NONE: "[no stack]"); 0 only when memory runs out. */
uint32_t aif_host_stacks_node(struct aif_host_stacks *h, uint32_t stack);

/* The node of the stack that made a graph's node, under that of its replay: frames with which both begin stand there
 * already. 0 when memory runs out. */
uint32_t aif_host_stacks_capture(struct aif_host_stacks *h, uint32_t under, uint32_t replay,
				 uint32_t capture);

/* Nodes under another: a kernel or transfer; what is inside of a kernel at a device frame, without its instruction;
 * a mark. 0 when memory runs out. */
uint32_t aif_host_stacks_kernel(struct aif_host_stacks *h, uint32_t under, uint32_t kernel,
				unsigned kind);
uint32_t aif_host_stacks_inside(struct aif_host_stacks *h, uint32_t under, uint32_t frame,
				uint32_t kernel);
uint32_t aif_host_stacks_mark(struct aif_host_stacks *h, uint32_t under, const char *text);

/* Texts of a node, valid until the next call that may add one. */
static inline const char *aif_host_name(const struct aif_host_stacks *h, uint32_t node, size_t *len)
{
	return aif_tree_text(&h->tree, h->nodes[node].name, len);
}
const char *aif_host_full(const struct aif_host_stacks *h, uint32_t node, size_t *len);
static inline enum aif_tree_type aif_host_type(const struct aif_host_stacks *h, uint32_t node)
{
	return aif_tree_base_type(aif_tree_type_of(&h->tree, h->nodes[node].name));
}
/* The file and line of a node; "" and 0 if not known. */
const char *aif_host_file(const struct aif_host_stacks *h, uint32_t node);
uint32_t aif_host_line(const struct aif_host_stacks *h, uint32_t node);
/* The module of its frame, or AIF_NONE. */
uint32_t aif_host_module(const struct aif_host_stacks *h, uint32_t node);
