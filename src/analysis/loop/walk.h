/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The way down the tree of a thread's stacks in the making: its levels (levels.c), which of them has the steps (steps.c). */
#include "analysis/loop/internal.h"

struct token {
	uint32_t stack; /* AIF_NONE: of a kernel */
	uint32_t entries, first, last;
	uint64_t weight, calls;
	bool is_tried;
};

struct walk {
	const struct aif_profile *p;
	const struct aif_loop_calls *c;
	struct aif_loop *ret;
	bool is_sparse;

	/* Stacks of phases that are still to be looked into. */
	uint32_t phases[AIF_LOOPS];
	size_t phases_len;

	struct aif_loop_set set;
	/* The tree of stacks that calls have, by stack: calls in it, and its branches. */
	uint32_t *calls, *child, *sibling;
	uint32_t root;       /* the first branch that has no parent */
	uint32_t *branch;    /* by stack: its token */
	uint32_t *of_kernel; /* by kernel: its token */
	struct token *tokens;
	size_t tokens_len, tokens_cap;
	uint32_t *order; /* of tokens, by entries */
	size_t order_len, order_cap;
	struct aif_loop_turn *turns;
	size_t turns_len, turns_cap;
};

static inline const struct aif_loop_call *call(const struct walk *w, size_t i)
{
	return &w->c->at[w->set.at[i]];
}

static inline uint32_t token(const struct walk *w, size_t i)
{
	return w->set.token[call(w, i)->site];
}

/* Sets *ret to the number of kernels that are launched in half of the turns that were cut, or more often. 0 or -ENOMEM. */
int aif_loop_count_kinds(const struct walk *w, uint32_t *ret);
/* Returns true if the turns that were cut, of level `inner`, are the program's steps, of which those found so far are made. */
bool aif_loop_are_steps(const struct walk *w, const struct aif_loop_level *inner);
