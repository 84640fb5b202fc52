/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/loop/loop.h"

/* A launch of the thread that is looked at. */
struct aif_loop_call {
	int64_t at;
	uint64_t weight; /* device time, or 1 where no launch has any */
	uint32_t site;
	uint32_t span; /* what was collected without a gap: AIF_LOOP_IS_WHOLE(span), ascending */
};
#define AIF_LOOP_IS_WHOLE(span) ((span)&1)

/* A kernel and the stack that launches it. */
struct aif_loop_site {
	uint32_t stack;
	uint32_t kernel; /* or, from aif_profile.kernels_len on, the kind of what is no kernel */
};

/* Facts by stack, of functions that have a rule (rules.def) and of those around. */
struct aif_loop_stacks {
	bool *tuners, *is_python; /* a tuner, a frame of Python is on it */
	uint32_t *parts;          /* frames that do a part of a step */
};
int aif_loop_stacks_find(const struct aif_profile *p, struct aif_loop_stacks *ret);
void aif_loop_stacks_finish(struct aif_loop_stacks *s);

/* A thread's launches in the order of their calls. */
struct aif_loop_calls {
	struct aif_loop_call *at;
	size_t len, cap;
	uint32_t thread;
	struct aif_loop_site *sites;
	size_t sites_len, sites_cap;
	const uint32_t *parent; /* by stack, of those that sites have (aif_loop_merge_stacks) */
	const struct aif_loop_stacks *stacks;
};

/* Sets, by stack, the first that differs from it by numbers of ranges and frames of Python's interpreter only, which comes no later,
 * and that of its caller. 0 or -ENOMEM. */
int aif_loop_merge_stacks(const struct aif_profile *p, uint32_t *ret_same, uint32_t *ret_parent);

struct aif_loop_turn {
	uint32_t first, next; /* indices of the set of calls */
};

/* A set of calls, and what they are told apart by. */
struct aif_loop_set {
	const struct aif_loop_calls *calls;
	uint32_t *at; /* indices of calls->at */
	size_t len;
	uint32_t *token; /* by site */
};

/* Sets *ret: do the turns resemble each other? `tokens`: how many tokens alternate. 0 or -ENOMEM. */
int aif_loop_is_regular(const struct aif_loop_set *s, const struct aif_loop_turn *turns, size_t len,
			size_t tokens, bool *ret);

/* Loops of one thread, in the order of its phases. */
struct aif_loops {
	struct aif_loop at[AIF_LOOPS];
	size_t len;
};
/* Finds levels and steps of one thread's launches in each of its phases; of those that begin at `place` alone unless it is 0.
 * 0 or -ENOMEM; *ret is finished by the caller in any case. */
int aif_loop_recurrence(const struct aif_profile *p, const struct aif_loop_calls *c, bool is_sparse,
			uint64_t place, struct aif_loops *ret);

/* A place is a number of a stack, or of a kernel that is launched there, that is the same in each run of a program: by names,
 * lines, and addresses within modules. It is never 0 but for the root, which is none. Returns that of a call in a place. */
uint64_t aif_loop_place_of_call(const struct aif_profile *p, uint64_t place, uint32_t frame);
uint64_t aif_loop_place_of_kernel(const struct aif_profile *p, uint64_t place, uint32_t kernel);
/* Sets *ret to the place where turns of a level begin. `parent`: by merged stack. 0 or -ENOMEM. */
int aif_loop_place_of_level(const struct aif_profile *p, const uint32_t *parent,
			    const struct aif_loop_level *level, uint64_t *ret);

/* Names, in native code, whatever of Python is interpreted. */
#define AIF_LOOP_INTERPRETER "_PyEval_EvalFrameDefault"

/* Sorts n times. Returns the median. */
uint64_t aif_loop_median(uint64_t *ns, size_t n);
/* Returns the least of n > 0 sorted times that 95 % of them do not exceed. */
static inline uint64_t aif_loop_p95(const uint64_t *ns, size_t n)
{
	return ns[(n * 95 + 99) / 100 - 1];
}
