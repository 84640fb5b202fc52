/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/kineto_walk.h"

/*
 * PyTorch's backward, joined to the forward that made it, as profile/backward.h does it for recordings. Traces tell which
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

/* Of the walk that makes the rows. */
struct kineto_engine {
	size_t next; /* of .joins */
	uint32_t thread;
	uint32_t last; /* the joined stack of the node that ran last, AIF_NONE */
};
#define KINETO_ENGINE_INIT ((struct kineto_engine){.thread = AIF_NONE, .last = AIF_NONE})

/* When the order is made: .joins from .arrows. 0 or -ENOMEM. */
int kineto_backward_find(struct kineto *k);
/* The innermost level has been entered. */
void kineto_backward_enter(struct kineto_walk *w, struct kineto_engine *e);
