/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "profile/model.h"

/*
 * Weights of captured launches where the overhead budget left launches out.
 *
 * A thread's time is a sequence of blocks, in which all of its launches were captured or none, but all
 * were counted. An on-block stands for itself and for half of the off-blocks on either side (all of
 * them where there is no other neighbour), so that a change of the program in an off-block favours
 * neither side. This is a cycle; on-blocks with fewer than AIF_WEIGHTS_MIN launches are taken together.
 * Consecutive cycles, AIF_WEIGHTS_POOL at least where there are as many, are a pool, in which
 *
 *     weight = launches that its cycles stand for / captured launches
 *
 * Each captured launch, and its execution, counts that many times (the combined ratio estimator, Cochran,
 * Sampling Techniques, chapter 6.11). It is unbiased up to the order of 1 / cycles, because the blocks'
 * lengths are random and do not depend on what is launched; that capture makes the program slower
 * changes how many launches a block has, not their mix, and is divided out. (Threads that contend
 * for a lock of the runtime's while they are captured launch more evenly then than else: each thread has
 * its own blocks, or which of two launched more would be off by up to a fifth, on a mock.) A ratio for each cycle alone
 * would be biased where a launch that is long against a block is rare: the block that it fills has few
 * launches, so that the long one would count thousands of times, by as many as there would have been.
 *
 * A runtime may count launches of threads together that made few (CUDA: agent/cuda/duty.c); so a block may be a
 * process's, and stands for those of its threads that have none of their own yet.
 *
 * Blocks that were certain to be on (p = 1, while nothing was being left out) stand for themselves; or, if
 * no other block is there, or one with too few launches, for the off-blocks beside them, too: from where the
 * block before them ended, as the recorder keeps only the last of several on-blocks in a row.
 *
 * The variance of a total comes from how much neighbouring cycles differ from the pool's ratio. With y what
 * a cycle has captured, k its captured launches, e(c) = y(c) - k(c) * sum of y / sum of k, m cycles,
 *
 *     var(T) = sum over pools of weight * (weight - 1) * m / (m - 1) * sum of (e(c) - e(c+1))^2 / 2
 *
 * the successive difference estimator (Wolter, Introduction to Variance Estimation, chapter 8) of the
 * linearised ratio. It does not take a program's phases for noise.
 *
 * That says nothing of what was not seen to vary: a stack that each cycle has as often as the others. Of n launches
 * that were captured, one more could have been its: with nothing seen in n, a rate has the posterior (of a
 * flat prior) of mean and standard deviation 1 / n, three of which are the rule of three (Hanley and
 * Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, JAMA 249, 1983). So launches left out / n
 * of its launches are added to the standard error of each stack that stands for more than itself, in squares,
 * but not more time than there was without capture. One that was met only while nothing was left out stands for
 * itself: it is exact, and has no error; but where a process has one cycle only, which says little of the rest, it
 * may have been each of the launches left out. A total over all stacks has the error of its own sums by cycle, as
 * what one stack has more in a cycle another has less.
 */

/* A ratio of fewer is worth little: cycles with fewer grow. */
#define AIF_WEIGHTS_MIN 32
/* Cycles in a pool, of 40 in 8 s. With fewer, what is rare and long has a bias; with more, a change of phase is
 * taken for one mix. Of launches of 20 ms, one in 2,000, totals are off by 19 %, 5 % and 7 % with 2, 5 and 8 (with
 * a standard error of 2.5 %); where the program changes half-way totals vary by 4 %, 6 % and 9 %, of which the
 * standard errors told are 1.4, 0.9 and 0.6 times (300 recordings each, simulated as in test_agent_weights.c). */
#define AIF_WEIGHTS_POOL 5
/* Weights are in units of 2^-20. */
#define AIF_WEIGHT_ONE (UINT64_C(1) << 20)
#define AIF_WEIGHT_MAX (UINT64_C(1) << 40)

struct aif_weights_cycle {
	uint64_t key;              /* whose: cycles of one are in the order of time */
	double captured, launches; /* launches: with the halves of its neighbours */
	uint64_t weight;           /* of its pool */
	size_t pool, pool_len;     /* the pool's first cycle, and how many it has */
};

struct aif_weights;

/* NULL in *ret: nothing was left out, all weights are one. 0 or -ENOMEM. */
int aif_weights_new(const struct aif_profile *p, struct aif_weights **ret);
struct aif_weights_span {
	uint64_t from, to, error; /* CLOCK_MONOTONIC; the standard error of .to */
};
/* Makes the weights of `part` of the recording where `sel` names a time: only what lies in the part counts of each
 * block, so that what was captured there stands for what was left out there. Otherwise makes those of the whole
 * recording. `sel` may be NULL. */
int aif_weights_new_selected(const struct aif_profile *p, const struct aif_selection *sel,
			     struct aif_weights_span part, struct aif_weights **ret);
void aif_weights_free(struct aif_weights *w); /* NULL is fine */

/* The cycle of a launch of `thread` at `time` (CLOCK_MONOTONIC), or NULL: it stands for itself only. */
const struct aif_weights_cycle *aif_weights_at(const struct aif_weights *w, uint32_t thread,
					       uint64_t time);
/* The same cycle as a number, AIF_NONE in place of NULL; and how often what was launched in it counts, 1 for AIF_NONE. */
uint32_t aif_weights_cycle_at(const struct aif_weights *w, uint32_t thread, uint64_t time);
double aif_weights_factor(const struct aif_weights *w, uint32_t cycle);
/*
 * Extends `span` (CLOCK_MONOTONIC), from the first to the last work captured of a process on a device, within `most`
 * by the blocks next to it in which launches were left out: the device may have worked in them, up to where the
 * process is known to have launched other things. A process's last block goes on after its last launch: it counts for
 * as long as its launches took in the blocks before, at the most AIF_WEIGHTS_POOL, for which span->error is set, and until
 * a device was last sampled at least. For w NULL nothing happens.
 */
void aif_weights_reach(const struct aif_weights *w, uint32_t process, struct aif_weights_span most,
		       struct aif_weights_span *span);
/* Was any thread of the process in a block without capture then? */
bool aif_weights_off(const struct aif_weights *w, uint32_t process, uint64_t time);

/* Returns the id of the process whose launches a cycle has. */
uint32_t aif_weights_process(const struct aif_weights *w, const struct aif_weights_cycle *c);
const struct aif_weights_cycle *aif_weights_cycles(const struct aif_weights *w, size_t *ret_len);
uint64_t aif_weights_uncaptured(const struct aif_weights *w); /* launches; 0 for NULL */
/* Adds to each process's, between two times (CLOCK_MONOTONIC), what it launched without being captured, of blocks
 * that are partly there in proportion; and how long it was in such blocks. */
void aif_weights_left_out(const struct aif_weights *w, uint64_t from, uint64_t to,
			  double *ret_launches, double *ret_ns);

struct aif_weights_blank {
	uint64_t from, to; /* CLOCK_MONOTONIC: the blocks' first and last moment */
	double launches;
};
/* The same for all that are kept (by id; NULL = all), as one: false if they launched nothing then without being
 * captured. What is counted for a whole process is that of each of its threads. */
bool aif_weights_blank(const struct aif_weights *w, uint64_t from, uint64_t to,
		       const bool *processes, const bool *threads, struct aif_weights_blank *ret);
