/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/course.h"
#include "analysis/idle/part.h"
#include "analysis/queue/queue.h"

/*
 * Replay of a recorded schedule with a part of it set to zero: how long the same launches take then.
 *
 * The host is one chain of events, all launches and waits of the process in the order in which they were made: threads that launch
 * in turns wait for each other, and those that launch beside each other get no longer by it. Between two events the host takes
 * the time that it took, without what it waited. A wait ends when the work ends that it was for, the last that was launched before
 * it and ended before it returned; and as long behind it as it did. A copy may hold its call up until it is done, which
 * nothing tells: what came behind a copy's end is taken to have waited for it, so that no gain is said to be less than it is. An execution starts behind its launch call and behind the
 * execution before it in its stream, and where it started right behind the end of another stream's, behind that one too; by as
 * long as it did, or as is usual where something else than in the recording is the last to happen.
 *
 * A device that has rested, and a thread that has waited for long, are slower to go on than those that have just worked; so without what
 * makes them rest, delays and tails may be as short as the shortest tenth of them is (.latencies).
 *
 * What host time is set to zero is a part of each time between two events: as much of it as has the owner, or the cause, of the idle
 * time before the later event (idle/course.h); of those without idle time, as much as before others with the same stack, or else
 * as before all. Idle time between a launch call and what it launched is part of the call's cause: launching less, or by one call
 * (graphs), takes it away.
 *
 * The schedule of one process on one device is replayed. Where launches were left out, or a replay of all that there is differs by
 * more than AIF_REPLAY_ERROR_PPM from the recording, there is none; nor of 2^30 executions.
 *
 * A recording has millions of launches, and replays are many: so all that they read is packed, in the order in which they read it,
 * and the time line is read twice only. An execution takes 14 bytes, its launch 8, and what is asked of idle time 20 more.
 */
#define AIF_REPLAY_ERROR_PPM 30000

#define AIF_REPLAY_LONG_HOST ((1u << 30) - 1)
struct aif_replay_event {
	/* the host's own time before it; AIF_REPLAY_LONG_HOST: in .long_hosts */
	uint32_t host_ns : 30;
	/* Makes it the next of .waits; else it is a launch, of the next of .execs up to one that .is_last. */
	uint32_t is_wait : 1;
	uint32_t is_behind : 1; /* a copy before it may have held the host up: .behind has it */
};
struct aif_replay_wait {
	int64_t start, end;
	uint32_t until; /* the execution that it was for; AIF_NONE */
	double tail_ns; /* ns from the end of that execution to the return of the wait */
};
#define AIF_REPLAY_LONG ((1u << 29) - 1)
struct aif_replay_exec {
	uint32_t before;        /* the execution that comes before it in its stream; AIF_NONE */
	uint32_t ns;            /* duration; UINT32_MAX: in .long_execs */
	uint32_t delay_ns : 29; /* AIF_REPLAY_LONG: in .long_delays */
	/* .delay_ns is behind the launch call, else behind another execution */
	uint32_t is_behind_launch : 1;
	/* starts after an execution of another stream, too: .other has it */
	uint32_t is_behind_other : 1;
	uint32_t is_last : 1; /* last execution of the launch */
};
#define AIF_REPLAY_WORKS UINT16_MAX
struct aif_replay {
	const struct aif_profile *p;
	const struct aif_idle_part *part;
	const struct aif_exec_timeline *t;
	struct aif_replay_event *events;
	size_t events_len;
	struct aif_replay_wait *waits; /* sorted by end */
	size_t waits_len, waits_cap;
	struct aif_replay_exec *execs; /* in the order of launch calls */
	size_t execs_len;
	/* Executions of the time line, by execution; NULL: they are in that order from .first on. */
	uint32_t *of, first;
	/* Works, a kind and a kernel each: an execution of the time line that is one, and which one each of .execs is;
	 * AIF_REPLAY_WORKS: one more than fit. .zero is room for a replay: which take no time. */
	uint32_t *works;
	size_t works_len, works_cap;
	uint16_t *work;
	bool *zero;
	/* executions of other streams, by execution; NULL: none comes behind one */
	uint32_t *other;
	/* copies by the launch before, by event; NULL: none may have held the host up */
	uint32_t *behind;
	struct aif_map long_hosts, long_execs, long_delays; /* ns, by event and by execution */
	double usual_launch_ns, usual_gap_ns;
	/* A tenth of the delays behind launches, of those behind executions and of waits' tails are as short. */
	double quick_launch_ns, quick_gap_ns, quick_tail_ns;
	double length_ns; /* length of the whole replay; 0: there is no replay */
	/* A replay's ends of the latest executions, a power of two of them, of which it looks back to .reach at most. */
	double *ends;
	size_t ends_len, reach;
	double *sums; /* room for a sum of each event */
	/* Idle time of the part's course (times.c). */
	uint32_t *stacks; /* index of the launch's stack, by event; a wait's comes last */
	/* the host's own idle time before each event, ns; UINT32_MAX: in .long_idle */
	uint32_t *idle;
	struct aif_map long_idle;
	struct aif_buf places; /* the events to which each time belongs, packed */
};

/* Reads the schedule of a part of which `queue` is the whole run's, and its idle time if the part has its course. *ret is finished by
 * the caller in any case. 0 or -errno. */
int aif_replay_make(const struct aif_profile *p, const struct aif_idle_part *part,
		    const struct aif_queue *queue, int64_t from, int64_t to,
		    struct aif_replay *ret);
void aif_replay_finish(struct aif_replay *r);

struct aif_replay_without {
	const float *host; /* part of .host_ns that stays, by event; NULL: all of it */
	/* ns, by event, by which the call and what it launched take less; NULL: no change */
	const float *calls;
	bool waits; /* the host waits for nothing */
	bool late;  /* executions start no later than is usual */
	/* executions start and waits return no later than the quickest tenth of them */
	bool latencies;
	/* True if an execution takes no time, which its kind and its kernel decide; NULL: none does. */
	bool (*is_zero)(const void *arg, const struct aif_timeline_exec *x);
	const void *arg;
};
/* Returns how long the schedule takes, ns. */
double aif_replay_length(const struct aif_replay *r, const struct aif_replay_without *without);

/* Fills in, by event, the part of the host's time that stays if rows of the part's blame of which `is_gone` is true take none, and how
 * much less its call takes then. 0 or -ENOMEM. */
int aif_replay_host_without(struct aif_replay *r,
			    bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			    const void *arg, float *ret, float *ret_calls);
