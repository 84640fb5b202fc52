/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/facts.h"
#include "analysis/weights.h"

/*
 * Launches and executions with mapped times, each execution beside its launch: what the tables of operators,
 * steps and idle time are made from. All of them in memory: 16 and 24 bytes each, 32 more of few executions, and 4 more of each
 * where launches were left out.
 *
 * Times are ns since the recording's start; an end is never before its start. Of a file that lost its older rows (--keep)
 * executions begin where all rows were kept: whether a device was busy before, nobody knows. Launches before are there for
 * those that they launched.
 */
/* Names what launches have in common but for their moments and stacks: few, beside the launches. */
struct aif_timeline_call {
	uint32_t thread, kernel;
	uint32_t kind;
};
struct aif_timeline_launch {
	int64_t at; /* the call began */
	uint32_t stack;
	uint32_t call : 31;    /* index of .calls: aif_timeline_call_of() */
	uint32_t is_asked : 1; /* all are read, whatever is asked for */
};
/* The part of an execution that few have: copies, what a graph replayed, collectives. */
struct aif_timeline_more {
	uint64_t bytes;
	uint32_t exec;        /* index of .execs */
	uint32_t graph, node; /* the graph whose replay executed it, and its node; graph 0: none */
	uint32_t collective, sequence; /* as those of its row */
};
/* Names what executions are of that differ in their times and launches: few, beside the executions. */
struct aif_timeline_work {
	uint32_t process, device, stream, kernel;
	uint32_t kind;
};
struct aif_timeline_exec {
	int64_t start, end;
	uint32_t launch;       /* index of .launches, AIF_NONE if it was lost */
	uint32_t work : 31;    /* index of .works: aif_timeline_work_of() */
	uint32_t has_more : 1; /* aif_timeline_more_of() has something */
};
_Static_assert(sizeof(struct aif_timeline_launch) == 16 && sizeof(struct aif_timeline_exec) == 24,
	       "recordings have tens of millions of them");
struct aif_exec_timeline {
	struct aif_timeline_launch *launches; /* by the number that they have in the file */
	size_t launches_len, launches_cap;
	uint64_t *numbers,
		first_number; /* numbers of launches in the file; NULL: consecutive from first_number */
	struct aif_timeline_exec *execs; /* in the order of the file */
	size_t execs_len, execs_cap;
	struct aif_timeline_call *calls;
	size_t calls_len, calls_cap;
	struct aif_timeline_work *works;
	size_t works_len, works_cap;
	struct aif_timeline_more *more; /* by .exec */
	size_t more_len, more_cap;
	/* Cycles by which executions stand for others, AIF_NONE: for itself. NULL: each for itself. */
	uint32_t *cycles;
	size_t cycles_cap;
	struct aif_weights *weights; /* NULL: nothing was left out */
	/* CLOCK_MONOTONIC: what was asked for. */
	struct aif_weights_span span;
	/* Launches of what was asked for (of all devices): in the file; left out by the overhead budget. */
	uint64_t captured, left_out;
	/* Durations of what other threads launched for the ranges asked for (sole_threads.h). */
	double for_others_ns;
	uint64_t damaged; /* chunks that could not be read */
};

/* Reads those of the processes, threads, devices and span that `sel` (NULL: all) names: launches and executions
 * that began in the span, executions without a launch only if no threads are asked for. *ret is a fact, for
 * aif_facts_put() (facts.h), and empty after a failure. 0 or -errno. */
int aif_exec_timeline_get(const struct aif_profile *p, const struct aif_selection *sel,
			  const struct aif_exec_timeline **ret);
/* The same for views of single moments: each execution stands for itself. */
int aif_exec_timeline_get_unweighed(const struct aif_profile *p, const struct aif_selection *sel,
				    const struct aif_exec_timeline **ret);
/* Makes the weights by which launches captured in the span that `sel` (NULL: all) names stand for those left out in
 * it. For aif_weights_free(); NULL in *ret: nothing was left out. 0 or -ENOMEM. */
int aif_exec_timeline_weights(const struct aif_profile *p, const struct aif_selection *sel,
			      struct aif_weights **ret);

/* Returns what a launch is of. */
static inline const struct aif_timeline_call *
aif_timeline_call_of(const struct aif_exec_timeline *t, const struct aif_timeline_launch *l)
{
	return &t->calls[l->call];
}

/* Returns the thread of the launch at an index. */
static inline uint32_t aif_timeline_thread_of(const struct aif_exec_timeline *t, size_t launch)
{
	return t->calls[t->launches[launch].call].thread;
}

/* Orders indexes of launches by thread, then time; `t` is the time line. For aif_sort_r(). */
int aif_timeline_by_thread(const void *a, const void *b, void *t);

/* Returns what an execution is of. x: one of t's. */
static inline const struct aif_timeline_work *
aif_timeline_work_of(const struct aif_exec_timeline *t, const struct aif_timeline_exec *x)
{
	return &t->works[x->work];
}

/* Returns the cycle by which an execution stands for others, AIF_NONE: it stands for itself. x: one of t's. */
static inline uint32_t aif_timeline_cycle_of(const struct aif_exec_timeline *t,
					     const struct aif_timeline_exec *x)
{
	return t->cycles ? t->cycles[x - t->execs] : AIF_NONE;
}

/* Returns for how many an execution stands, in AIF_WEIGHT_ONE (weights.h). x: one of t's. */
static inline uint64_t aif_timeline_weight_of(const struct aif_exec_timeline *t,
					      const struct aif_timeline_exec *x)
{
	uint32_t cycle = aif_timeline_cycle_of(t, x);
	size_t len;

	return cycle == AIF_NONE ? AIF_WEIGHT_ONE
				 : aif_weights_cycles(t->weights, &len)[cycle].weight;
}

/* Returns what few executions have; zeros of others. x: one of t's. */
static inline const struct aif_timeline_more *
aif_timeline_more_of(const struct aif_exec_timeline *t, const struct aif_timeline_exec *x)
{
	static const struct aif_timeline_more nothing;

	return x->has_more ? &t->more[AIF_BISECT(i, 0, t->more_len,
						 t->more[i].exec < (size_t)(x - t->execs))]
			   : &nothing;
}

/* Returns the number that the launch at an index has in the file. */
static inline uint64_t aif_timeline_number(const struct aif_exec_timeline *t, size_t launch)
{
	return t->numbers ? t->numbers[launch] : t->first_number + launch;
}

/* Returns from when on a file has all rows, ns since the recording's start. */
static inline int64_t aif_timed_kept(const struct aif_profile *p)
{
	return p->kept_ns > p->start_ns
		       ? (int64_t)AIF_MIN(p->kept_ns - p->start_ns, (uint64_t)INT64_MAX)
		       : 0;
}

static inline uint64_t aif_timed_ns(const struct aif_timeline_exec *x)
{
	return (uint64_t)x->end - (uint64_t)x->start;
}

/* A number of them, or a time of one, times what it stands for. */
static inline double aif_exec_timeline_whole(const struct aif_exec_timeline *t,
					     const struct aif_timeline_exec *x, uint64_t amount)
{
	return (double)amount * (double)aif_timeline_weight_of(t, x) / AIF_WEIGHT_ONE;
}

/* Rounds to the nearest whole number, at most 2^63, the greatest that a cell can hold. */
static inline uint64_t aif_timed_rounded(double n)
{
	return n >= 0x1p63 ? UINT64_C(1) << 63 : n > 0 ? (uint64_t)(n + 0.5) : 0;
}

/* True if a time, ns since the recording's start, lies in the span that `w` (NULL: all) names. */
static inline bool aif_timed_in_span(const struct aif_selection *w, int64_t at)
{
	return !w || ((!w->from_ns || (at >= 0 && (uint64_t)at >= w->from_ns)) &&
		      (!w->to_ns || at < 0 || (uint64_t)at < w->to_ns));
}
