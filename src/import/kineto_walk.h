/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/kineto.h"

/* What a thread is in, as its spans are walked through in the order of kineto_stacks.c. */

enum kineto_stack {
	KINETO_STACK_AS_IT_WAS,
	KINETO_STACK_JOINED, /* of a backward the forward's: kineto_backward.h */
	KINETO_STACKS
};

struct kineto_level {
	int64_t end;
	uint32_t span, at; /* at: its place in the order */
	uint32_t stacks[KINETO_STACKS];
	bool is_node; /* its joined stack does not come from what it is in */
};

struct kineto_walk {
	struct kineto *k;
	struct kineto_level *levels;
	size_t len;
	int64_t spent;  /* of this thread, until then, has been told whose time it was */
	size_t crossed; /* levels that end later than the one under them */
	int64_t least;  /* with .crossed: no level ends before */
};

/* 0 or -ENOMEM. */
int kineto_walk_init(struct kineto_walk *w, struct kineto *k);
void kineto_walk_finish(struct kineto_walk *w);
/* Another thread begins. */
void kineto_walk_clear(struct kineto_walk *w);
void kineto_walk_drop(struct kineto_walk *w, int64_t now); /* those that have ended */
/* The span at this place of the order, after what has ended was dropped. False: it is nested too deeply, and no level. */
bool kineto_walk_push(struct kineto_walk *w, uint32_t at);
/* The stack of so many levels, from outside. */
uint32_t kineto_walk_stack(struct kineto_walk *w, enum kineto_stack which, size_t levels);
/* The level entered last has this joined stack, whatever it is in. */
void kineto_walk_set(struct kineto_walk *w, uint32_t stack);
