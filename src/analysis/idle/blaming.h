/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/calls/host_calls.h"
#include "analysis/idle/blame.h"
#include "analysis/idle/delays.h"
#include "analysis/idle/demand.h"
#include "analysis/idle/holders.h"
#include "analysis/idle/rules.h"
#include "analysis/idle/sums.h"
#include "analysis/idle/wakers.h"
#include "analysis/op_tree.h"

/* Blame for idle time in the making: its gaps (blame.c), and what threads did in them (activity.c). */

/* The part of a gap before the launch call of what ended it. */
struct aif_idle_segment {
	int64_t from, to;
	/* execution of the time line that ended the gap; bracket of the gap */
	uint32_t exec, bracket;
};
/* Gaps between launches of the same two stacks. */
struct aif_idle_bracket {
	uint32_t device;        /* device of the blame */
	bool is_between_calls;  /* calls that wait are known, and its gaps lie in none */
	uint32_t before, after; /* stacks; before AIF_NONE: the thread's first launch */
	uint32_t thread;        /* AIF_NONE: several */
	double idle, seen;      /* ns; of this what samples, waits and times off CPU explain */
	/* Squares of the lengths of its segments: by .idle, how long the one is in which a ns lies, on average. */
	double squares;
	double whole;   /* exact times off CPU, a part of .seen */
	uint32_t drain; /* stack of the longest wait */
	double drain_ns;
	/* Parts of .seen: waits for work from outside; and what threads other than .thread computed meanwhile. */
	double demand, others;
	/* Waits for a CPU that the recorder saw, whose moments are known to a look only: they explain of the rest what they can. */
	double delayed;
	double placed;    /* a part of .delayed: in gaps with samples */
	double unseen;    /* sum of its shares' weights for gaps in which nothing was seen */
	double on_cpu;    /* a part of .seen: samples on a CPU */
	double unsampled; /* a part of .idle: before the first CPU sample of its thread */
	/* Parts of .seen: sleeps seen from outside; of these, those that were for no work from outside. */
	double looks, asleep;
};
/* Activity of threads in a bracket's gaps, by stack. */
struct aif_idle_share {
	uint32_t bracket, stack;
	enum aif_idle_cause cause;
	double ns, whole; /* all; exact times off CPU, a part of .ns */
	double on_cpu;    /* samples on a CPU, a part of .ns */
	double delayed;   /* waits for a CPU in the gaps of these samples, beside .ns */
	double unseen;    /* weight for gaps in which nothing was seen (delays.h) */
};

struct aif_idle_blaming {
	const struct aif_profile *p;
	const struct aif_exec_timeline *t;
	struct aif_idle_blame *to;
	struct aif_idle_course *course; /* NULL: nobody asks */
	uint32_t *before; /* previous launch of the same thread, by launch; AIF_NONE: none */
	/* Empty if no operator has a rule and launch calls are none. */
	struct aif_op_tree ops;
	struct aif_idle_segment *segments;
	size_t segments_len, segments_cap;
	size_t asked; /* the segment that was asked for last: rows come in order */
	struct aif_idle_bracket *brackets;
	size_t brackets_len, brackets_cap;
	struct aif_idle_share *shares;
	size_t shares_len, shares_cap;
	uint32_t device; /* device whose gaps are looked at */
	/* Looked at, and of the device at hand: INT64_MIN for all between its executions. */
	int64_t from, end, window_from, window_to;
	struct aif_map bracket_of; /* stack before << 32 | stack after -> bracket, of this device */
	struct aif_map drained_of; /* the same of gaps behind a recorded call that waits */
	struct aif_host_calls calls;
	bool has_calls;          /* calls for the device at hand are recorded */
	struct aif_map share_of; /* bracket << 36 | cause << 32 | stack -> share */
	uint8_t *cause_of_stack; /* 0: not looked at, else 1 + cause */
	struct aif_idle_rules rules;
	unsigned sums_left; /* segments that sums of times off CPU may still be laid over */
	struct aif_idle_demand demand;
	struct aif_idle_wakers wakers;
	struct aif_idle_holders holders;
	struct aif_idle_sums sums;
	struct aif_idle_delays delays;
	double period_ns;  /* between two samples of a thread on a CPU; 0: not known */
	bool *is_sampled;  /* process has CPU samples, by process */
	bool *is_followed; /* all times off CPU of the thread are known, by thread */
	/* begin of the first CPU sample, by thread; INT64_MAX: no sample */
	int64_t *sampled_from;
};

static inline uint32_t aif_idle_launch_of(const struct aif_idle_blaming *b,
					  const struct aif_idle_segment *s)
{
	return b->t->execs[s->exec].launch;
}
/* Returns the thread that could have ended the gap earlier: of a bracket with one thread without a look at the launch, of which a long
 * recording has more than fit into memory. */
static inline uint32_t aif_idle_thread_of(const struct aif_idle_blaming *b,
					  const struct aif_idle_segment *s)
{
	uint32_t thread = b->brackets[s->bracket].thread;

	return thread != AIF_NONE ? thread : aif_timeline_thread_of(b->t, aif_idle_launch_of(b, s));
}
/* Returns when that thread's launch before was; the segment's begin if there is none. */
static inline int64_t aif_idle_launched_before(const struct aif_idle_blaming *b,
					       const struct aif_idle_segment *s)
{
	uint32_t before = b->before[aif_idle_launch_of(b, s)];

	return before == AIF_NONE ? s->from : b->t->launches[before].at;
}
/* Returns how many such segments it stands for. */
static inline double aif_idle_weight_of(const struct aif_idle_blaming *b,
					const struct aif_idle_segment *s)
{
	return aif_exec_timeline_whole(b->t, &b->t->execs[s->exec], 1);
}

/* Adds what threads did in the gaps, by CPU rows, operators and ranges, to the brackets' shares. 0 or -errno. */
int aif_idle_take_activity(struct aif_idle_blaming *b);
/* Returns the first segment of the thread that ends behind `at`, or a later one's; the segments are in order since
 * aif_idle_take_activity(). */
size_t aif_idle_first_segment(struct aif_idle_blaming *b, uint32_t thread, int64_t at);
/* Returns what a thread did by a CPU sample, or by a look at its sleep. */
enum aif_idle_cause aif_idle_cause_of_row(struct aif_idle_blaming *b,
					  const struct aif_cpu_row *row);
