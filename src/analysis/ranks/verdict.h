/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/loop/phases.h"
#include "analysis/ranks/waits.h"

/*
 * Verdict on a job: is one rank late, since which step, or another one each time?
 *
 * A rank delays a step by how much later than the next to last it came to the step's operations, all together
 * (aif_rank_operation.lead_ns), less what other ranks came later to others of them. A step is delayed if that is a
 * fiftieth of it, and more than clocks are off. One rank is late if it delays seven of ten delayed steps, or, in less
 * than half of these, has seven tenths of the delay: what was found as a step may be a part of the program's. Else the
 * imbalance wanders. Where few steps are delayed, and the delays of all are less than a fiftieth of the time, no rank
 * is named.
 *
 * Where ranks wait in messages, a rank delays a step by the time in it in which somebody waits for this rank alone, at the end of the chain
 * (messages.h).
 *
 * Work that is shared unevenly makes nobody late for long where ranks wait for each other in turn, as the stages of a pipeline do. So
 * where no rank is named, steps are held against what their devices compute: a step in which each rank computed what all do on average
 * would be shorter by what the one that computes longest does more. If that is a tenth of the time, work is uneven.
 *
 * Without the late rank steps would be shorter by its delay: others would wait for the one before it. Lengths are medians over the steps,
 * as some are long for other reasons; means where operations stand for steps, which come in groups.
 */
enum aif_rank_verdict_is {
	AIF_RANKS_UNKNOWN,
	AIF_RANKS_EVEN,
	AIF_RANKS_ONE_LATE,
	AIF_RANKS_WANDER,
	AIF_RANKS_UNEVEN,
};

struct aif_rank_verdict {
	enum aif_rank_verdict_is is;
	uint32_t
		late; /* index of the ranks: of WANDER that with the most delay, of UNEVEN the one that computes longest most often */
	size_t steps, delayed; /* with operations; of these, delayed by it, of WANDER by anybody */
	size_t since; /* the step from which on it is late, from 1; of WANDER that from which on .last is */
	/* Steps that another rank delayed than the delayed one before; the ranks that delayed the first and the last. WANDER only. */
	size_t changes;
	uint32_t first, last;
	bool are_operations; /* no steps are known: each operation counts as one */
	bool are_means; /* step_ns and delay_ns are means: medians hide few steps that are delayed by much */
	uint64_t step_ns;  /* length */
	uint64_t delay_ns; /* delay of the delayed steps */
	uint64_t saved_ns; /* by which a step is shorter without it */
	/* The computing time of the rank that computes longest in a step, and that of ranks on average; of UNEVEN. .delayed: in how many steps
	 * it is .late. */
	uint64_t most_ns, mean_ns;
	/* The factor by which kernels take longer on its device than elsewhere, where nearly all do and others wait for it for these: 1.2;
	 * 0: they do not. */
	double slow;
};

/* True of WANDER if a rank stays late for many steps, until another one is: that has a cause, which changed. */
bool aif_rank_verdict_is_in_turns(const struct aif_rank_verdict *v);

/* Judges the waits that were found of what is selected. `f` are the steps of the whole run. 0 or -ENOMEM. */
int aif_rank_verdict(const struct aif_profile *p, const struct aif_rank_waits *w,
		     const struct aif_selection *sel, const struct aif_phases *f,
		     struct aif_rank_verdict *ret);
