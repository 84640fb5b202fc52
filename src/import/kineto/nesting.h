/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/kineto/kineto.h"

/* The spans that a thread is in, one in another, as they are gone through in the order of stacks.c. */

enum kineto_stack {
	KINETO_STACK_AS_IT_WAS,
	KINETO_STACK_JOINED, /* of a backward the forward's: backward.h */
	KINETO_STACKS
};

struct kineto_level {
	int64_t end;
	uint32_t span, at; /* at: its place in the order */
	uint32_t stacks[KINETO_STACKS];
	bool is_node; /* its joined stack does not come from what it is in */
};

struct kineto_nesting {
	struct kineto *k;
	struct kineto_level *levels;
	size_t len;
	int64_t spent;  /* until then this thread's time is of spans */
	size_t crossed; /* levels that end later than the one under them */
	int64_t least;  /* with .crossed: no level ends before */
};

/* 0 or -ENOMEM. */
int kineto_nesting_init(struct kineto_nesting *w, struct kineto *k);
void kineto_nesting_finish(struct kineto_nesting *w);
/* Leaves all, for another thread. */
void kineto_nesting_clear(struct kineto_nesting *w);
/* Leaves those that have ended. */
void kineto_nesting_drop(struct kineto_nesting *w, int64_t now);
/* Enters the span at this place of the order, after what has ended was dropped. False: it is nested too deeply, and no level. */
bool kineto_nesting_push(struct kineto_nesting *w, uint32_t at);
/* Returns the stack of so many levels, from outside. */
uint32_t kineto_nesting_stack(struct kineto_nesting *w, enum kineto_stack which, size_t levels);
/* Gives the level entered last this joined stack, whatever it is in. */
void kineto_nesting_set(struct kineto_nesting *w, uint32_t stack);
