/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* PyTorch's part in the stacks of launches: an operator of a forward, a node of a backward, or neither. */

enum aif_torch_role {
	AIF_TORCH_NOT,
	AIF_TORCH_FORWARD,  /* an operator that may make a node */
	AIF_TORCH_BACKWARD, /* work of a node */
	AIF_TORCH_AFTER, /* work of the engine for the node that it has just run: gradients are added up */
};

/* Stacks are numbers of the profile, AIF_NONE = there is none; families of .families of the table. */
struct aif_torch_stack {
	uint8_t role; /* enum aif_torch_role, of a launch whose stack this is */
	bool is_engine, is_python_node, is_apply, is_checkpoint;
	uint32_t family; /* family of the operator or node; AIF_NONE */
	uint32_t call;   /* an operator's innermost frame that all of its launches have */
	uint32_t python; /* the innermost Python frame; of an operator the one that called it */
	uint32_t node;   /* the node's outermost frame, or the engine's */
	uint32_t name;   /* the node's name in .names of the table */
	uint32_t site;   /* place in the node's generated code */
};

struct aif_torch_stacks {
	struct aif_torch_stack
		*stacks; /* one for each stack of the profile; NULL: no backward in it */
	struct aif_strset families, names;
};

/* 0 or -ENOMEM. */
int aif_torch_stacks_init(struct aif_torch_stacks *t, const struct aif_profile *p);
void aif_torch_stacks_finish(struct aif_torch_stacks *t);
