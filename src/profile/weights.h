/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * What a captured launch stands for where the overhead budget left launches out.
 *
 * A thread's time is a sequence of blocks, in which all of its launches were captured or none, but all
 * were counted. An on-block stands for itself and for half of the off-blocks on either side (all of
 * them where there is no other neighbour), so that a change of the program in an off-block favours
 * neither side. This is a cycle; on-blocks with fewer than AIF_WEIGHTS_MIN launches are taken together.
 * Within a cycle
 *
 *     weight = launches that it stands for / captured launches
 *
 * Each captured launch, and its execution, counts that many times (a ratio estimator, Cochran,
 * Sampling Techniques, chapter 6). It is unbiased up to the order of 1 / captured, because the blocks'
 * lengths are random and do not depend on what is launched; that capture makes the program slower
 * changes how many launches a block has, not their mix, and is divided out.
 *
 * Where a runtime counts launches of all of its process's threads together (CUDA: agent/cuda/cuda_blocks.c),
 * the process's blocks stand for those of its threads.
 *
 * Blocks that were certain to be on (p = 1, while nothing was being left out) stand for themselves; or, if
 * no other block is there, for the off-blocks beside them, too.
 *
 * The variance of a total comes from how much neighbouring cycles differ: with x the weighted sum in a
 * cycle, n the launches that it stands for, k those captured,
 *
 *     s2(c) = (x(c) / n(c) - x(c+1) / n(c+1))^2 / (1 / k(c) + 1 / k(c+1))   variance of one launch
 *     var(T) = sum over cycles of (1 - k / n) * n^2 / k * (mean of s2 with either neighbour)
 *
 * the successive difference estimator (Wolter, Introduction to Variance Estimation, chapter 8) for
 * cycles of unequal size. It does not take a program's phases for noise.
 */

/* A ratio of fewer is worth little: cycles with fewer grow. */
#define AIF_WEIGHTS_MIN 32
/* Weights are in units of 2^-20. */
#define AIF_WEIGHT_ONE (UINT64_C(1) << 20)
#define AIF_WEIGHT_MAX (UINT64_C(1) << 40)

struct aif_weights_cycle {
	uint64_t key;              /* whose: cycles of one are in the order of time */
	double captured, launches; /* launches: with the halves of its neighbours */
	uint64_t weight;
};

struct aif_weights;

/* NULL in *ret: nothing was left out, all weights are one. 0 or -ENOMEM. */
int aif_weights_new(const struct aif_profile *p, struct aif_weights **ret);
void aif_weights_free(struct aif_weights *w); /* NULL is fine */

/* The cycle of a launch of `thread` at `time` (CLOCK_MONOTONIC), or NULL: it stands for itself only. */
const struct aif_weights_cycle *aif_weights_at(const struct aif_weights *w, uint32_t thread,
					       uint64_t time);
/* Was any thread of the process in a block without capture then? */
bool aif_weights_off(const struct aif_weights *w, uint32_t process, uint64_t time);

const struct aif_weights_cycle *aif_weights_cycles(const struct aif_weights *w, size_t *ret_len);
uint64_t aif_weights_uncaptured(const struct aif_weights *w); /* launches; 0 for NULL */
