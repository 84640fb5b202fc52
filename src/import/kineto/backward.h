/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * PyTorch's backward, joined to the forward that made it, as analysis/backward.h does it for recordings. Traces say which
 * operator made which node: by arrows of category "fwdbwd", from the operator's beginning to the node's, which share autograd's
 * sequence number.
 *
 *     train.py: step      |---------------------|
 *       nn.Module: Linear   |--------|
 *         aten::linear        |----|
 *           aten::addmm         |-|
 *                               `------------------.  fwdbwd
 *     autograd's thread                            v
 *       autograd::engine::evaluate_function: AddmmBackward0  |---------|
 *         AddmmBackward0                           |------|
 *           aten::mm                                |---|
 *
 * What a node launches has the stack of the forward, up to its innermost Python function, and from there on "[backward]
 * AddmmBackward0" and what is inside of the node. Without Python it stands on the operator. Nodes that only add to a gradient
 * have no arrow, and go with the node that ran before them on their thread. Rows of operators are left as they are.
 */

struct kineto;
struct kineto_nesting;

struct kineto_arrow { /* an end of what joins a node of a backward to its operator */
	int64_t at;
	uint64_t id; /* in the file, then of the pair */
	uint32_t thread : 24, is_end : 8;
};
struct kineto_join {
	uint32_t at; /* where the node is in .order */
	uint32_t pair, name, stack;
};
enum kineto_backward_node {
	KINETO_BACKWARD_JOINED,
	KINETO_BACKWARD_ADDED, /* adds to gradients, behind one that is joined */
	KINETO_BACKWARD_ALONE,
	KINETO_BACKWARD_COUNT
};
struct kineto_backward {
	AIF_TABLE(kineto_arrow, arrows);
	AIF_TABLE(kineto_join, joins);
	bool has_nodes; /* operators that say that they are */
	uint64_t nodes[KINETO_BACKWARD_COUNT];
};

/* Position of stacks.c among the joins as it makes the rows. */
struct kineto_engine {
	size_t next; /* of .joins */
	uint32_t thread;
	uint32_t last; /* the joined stack of the node that ran last, AIF_NONE */
};
#define KINETO_ENGINE_INIT ((struct kineto_engine){.thread = AIF_NONE, .last = AIF_NONE})

/* Finds .joins from .arrows, when the order is made. 0 or -ENOMEM. */
int kineto_backward_find(struct kineto *k);
/* Gives the innermost level, which has just been entered, its joined stack. */
void kineto_backward_enter(struct kineto_nesting *w, struct kineto_engine *e);
void kineto_backward_finish(struct kineto_backward *b);
