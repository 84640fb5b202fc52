/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "base/hash.h"

/*
 * Weights of CPU samples: which part of a thread's CPU time a sample stands for.
 *
 * Two things start samples. EVENTS, perf_events of the recorder, come once a period of the thread's CPU time and only in
 * user code: those due in the OS kernel are left out, since their signal would interrupt a system call. TICKS, timers of
 * the thread's CPU time, are looked at in the kernel's tick, in user code and in the kernel; their signal comes when the
 * thread returns to user code, so its stack is the one that made the system call, or the page fault.
 *
 *                    period   period   period   period   period
 *     events due       |        |        |        |        |
 *     the thread    user|-- read(), in the kernel --|user
 *     signals          E                             T     E
 *                              missed   missed         two periods passed: T has them, E has one
 *
 * With both, an event has one period. Periods of which no event came were in the kernel: they go to the next tick that
 * found the thread there, at most as much as the tick itself stands for, and one period more. Which functions have how
 * much of a program's time in the kernel is thus for ticks to say, how much that is for events. Ticks in user code are
 * left out: a program may run in step with them. Where events come late, as on a machine that others use, no tick finds
 * the thread in the kernel; the next event has such periods, too.
 *
 * With ticks alone each has the time since the one before.
 *
 * A thread that has just begun may be over before a period has passed: then each tick is credited with the time between two, and
 * a period's worth of credit makes the tick a sample (struct aif_cpu_credit).
 *
 * A busy CPU gives a thread slices that mostly begin just after a tick and end before the next one, so that ticks find it much
 * more seldom than once a tick of its own time. Each switch away from the thread hides up to one tick: the time between two
 * ticks that is not more than that is what ticks reach there (`reach_ns`), and counts as a period where that is shorter.
 *
 * No stack gets more than three periods that it is not known to have used; what is more has no stack (`unknown_ns`).
 */

struct aif_cpu_clocks {
	uint64_t period_ns;
	uint64_t
		cpu_ns; /* the thread's CPU time at its last event, or with ticks alone at its last sample */
	int64_t missed_ns; /* periods without an event, less what samples in the kernel got */
	bool has_sample;
	/* Ticks: the time between two, the kernel's accounts at the last one, and what they say of ticks in the
	 * kernel, less those that were taken for it. */
	uint64_t tick_ns, user_ns, system_ns, faults;
	int64_t ticks_ns;
	uint32_t user_ticks; /* since the last one that found the thread in the kernel */
	uint64_t tick_cpu_ns,
		switches;  /* the thread's CPU time and switches when the last tick came */
	uint64_t reach_ns; /* CPU time between two ticks, of late; 0: not known */
};

/* The thread as a signal finds it. */
struct aif_cpu_signal {
	bool is_alone;    /* ticks are all there is */
	bool is_call_end; /* the thread returns from a system call */
	uint64_t cpu_ns;  /* of the thread, so far */
	/* The kernel's accounts of that time, which mostly go by ticks, too; page faults so far. */
	uint64_t user_ns, system_ns, faults;
	uint64_t switches; /* how often another thread was given its CPU, so far */
};

struct aif_cpu_weight {
	uint64_t ns;         /* of the stack; 0: no sample */
	uint64_t unknown_ns; /* of no stack that is known */
	uint64_t before_ns;  /* with the first sample: what the thread used until its period */
	bool in_kernel;
};

#define AIF_CPU_PERIODS_MAX 3

/* Goes on with ticks alone, or with events again, in periods of so many ns. Ticks beside events have taken their time from
 * missed_ns: what they left is still to be given. */
static inline void aif_cpu_clocks_change(struct aif_cpu_clocks *c, uint64_t period_ns)
{
	c->cpu_ns = (uint64_t)AIF_MAX((int64_t)c->cpu_ns - c->missed_ns, 0);
	c->missed_ns = 0;
	c->period_ns = period_ns;
}

/* Returns true where the kernel's accounts since the last tick have more time in user code than in the kernel. */
static inline bool aif_cpu_is_mostly_user(const struct aif_cpu_clocks *c,
					  const struct aif_cpu_signal *s)
{
	return s->system_ns - c->system_ns < s->user_ns - c->user_ns;
}

/* Returns the period that samples reach. */
static inline uint64_t aif_cpu_reached(const struct aif_cpu_clocks *c)
{
	return AIF_MAX(AIF_MAX(c->period_ns, c->tick_ns), c->reach_ns);
}

/* Returns the most that a stack gets without being known to have used it. */
static inline uint64_t aif_cpu_limit(const struct aif_cpu_clocks *c)
{
	return AIF_CPU_PERIODS_MAX * aif_cpu_reached(c);
}

/* Returns how much of the CPU time since the last tick others may have hidden from ticks. */
static inline uint64_t aif_cpu_hidden(const struct aif_cpu_clocks *c,
				      const struct aif_cpu_signal *s)
{
	return AIF_MIN(s->cpu_ns - c->tick_cpu_ns, (s->switches - c->switches + 1) * c->tick_ns);
}

/* The part of the mean that a tick has, and the most that ticks are taken to reach, in ticks. */
#define AIF_CPU_REACH_PART 8
#define AIF_CPU_REACH_MAX  8

/* Counts a tick in what ticks reach, unless its signal was blocked since the one before. */
static inline void aif_cpu_reach(struct aif_cpu_clocks *c, const struct aif_cpu_signal *s,
				 bool was_blocked)
{
	int64_t tick = (int64_t)c->tick_ns, was = AIF_MAX((int64_t)c->reach_ns, tick),
		gap = AIF_MAX((int64_t)aif_cpu_hidden(c, s), tick);

	if (!was_blocked && c->tick_cpu_ns)
		c->reach_ns = (uint64_t)AIF_MIN(was + (gap - was) / AIF_CPU_REACH_PART,
						AIF_CPU_REACH_MAX * tick);
	c->tick_cpu_ns = s->cpu_ns;
	c->switches = s->switches;
}

/* A thread with a fifth of its time in the kernel has so many ticks in user code one after another in 3 cases of 100. */
#define AIF_CPU_USER_TICKS 16

static inline struct aif_cpu_weight aif_cpu_weigh_event(struct aif_cpu_clocks *c,
							const struct aif_cpu_signal *s)
{
	uint64_t passed = s->cpu_ns - c->cpu_ns,
		 periods = AIF_MAX((passed + c->period_ns / 2) / c->period_ns, UINT64_C(1));
	struct aif_cpu_weight w = {.ns = passed / periods};
	int64_t limit = (int64_t)aif_cpu_limit(c), most = 2 * limit, more;

	c->cpu_ns = s->cpu_ns;
	c->faults = s->faults;
	/* Says nothing of what the thread did before it was sampled. */
	if (!c->has_sample) {
		c->has_sample = true;
		w.ns = AIF_MIN(w.ns, c->period_ns);
		/* Ticks in the kernel have had their part. */
		w.before_ns = (uint64_t)AIF_MAX((int64_t)(passed - w.ns) + c->missed_ns, 0);
		c->missed_ns = 0;
		return w;
	}
	/* An event that was due while the kernel had interrupts off on the way back from a call comes at its end, too. But
	 * after so long, and not of the kernel's, this signal was blocked since. */
	if (s->is_call_end && passed > (uint64_t)limit && aif_cpu_is_mostly_user(c, s)) {
		/* Leaves out the part that ticks have given a stack. */
		more = (int64_t)(passed - w.ns) + AIF_MIN(c->missed_ns, 0);
		w.unknown_ns = (uint64_t)AIF_MAX(more, 0);
		if (c->missed_ns < 0)
			c->missed_ns = AIF_MIN(more, 0);
		return w;
	}
	c->missed_ns += (int64_t)(passed - w.ns);
	/* No tick found the thread in the kernel: it was not there, an event came late. Where others hide ticks the next one in the
	 * kernel may be far: twice as much waits for it, and only while some were there of late. */
	if (c->reach_ns <= c->tick_ns || c->user_ticks >= AIF_CPU_USER_TICKS)
		limit = (int64_t)(AIF_CPU_PERIODS_MAX * AIF_MAX(c->period_ns, c->tick_ns));
	else
		limit = most;
	if (c->missed_ns > limit) {
		more = AIF_MIN(c->missed_ns - limit,
			       (int64_t)((AIF_CPU_PERIODS_MAX - 1) * c->period_ns));
		w.ns += (uint64_t)more;
		c->missed_ns -= more;
	}
	if (c->missed_ns > most) {
		w.unknown_ns = (uint64_t)(c->missed_ns - most);
		c->missed_ns = most;
	}
	return w;
}

/*
 * True if the tick found the thread in the kernel, as far as the kernel's accounts tell: page faults do not show in its
 * registers. The kernel adds each tick to the thread's time in user code or in the kernel, then scales both so that their sum is
 * the CPU time R. So a tick in the kernel makes the latter, S, greater by what a tick stands for, which is a tick, or what
 * ticks reach where others hide them, when R grew by so much; where R grew by more or less, S changes by its share of the
 * difference in any case.
 */
static inline bool aif_cpu_tick_is_in_kernel(struct aif_cpu_clocks *c,
					     const struct aif_cpu_signal *s)
{
	int64_t tick = (int64_t)c->tick_ns, sum = (int64_t)(c->user_ns + c->system_ns),
		grown = (int64_t)(s->user_ns + s->system_ns) - sum,
		system = (int64_t)s->system_ns - (int64_t)c->system_ns,
		seen = AIF_MAX(grown - (int64_t)aif_cpu_hidden(c, s), 0),
		own = (seen + tick / 2) / tick * tick + AIF_MAX(tick, (int64_t)c->reach_ns);

	/* Neither goes back: where one stands still the tick was the other's. */
	if (s->system_ns == c->system_ns)
		system = 0;
	else if (s->user_ns == c->user_ns)
		system = own;
	else if (sum > 0)
		system -= (int64_t)((double)c->system_ns / (double)sum * (double)(grown - own));
	c->user_ns = s->user_ns;
	c->system_ns = s->system_ns;
	c->ticks_ns = AIF_MIN(AIF_MAX(c->ticks_ns + system, -own), 2 * own);
	if (!s->is_call_end && 2 * c->ticks_ns < own)
		return false;
	c->ticks_ns -= own;
	return true;
}

static inline struct aif_cpu_weight aif_cpu_weigh_tick(struct aif_cpu_clocks *c,
						       const struct aif_cpu_signal *s)
{
	uint64_t passed = s->cpu_ns - c->cpu_ns, max, system = s->system_ns - c->system_ns,
		 own = AIF_MAX(s->user_ns - c->user_ns + system, c->tick_ns),
		 limit = aif_cpu_limit(c), hidden = aif_cpu_hidden(c, s);
	int64_t missed = c->missed_ns + (int64_t)(passed - passed % c->period_ns);
	struct aif_cpu_weight w = {.in_kernel = aif_cpu_tick_is_in_kernel(c, s)};
	bool was_blocked;

	/* The accounts are wrong now and then. Beside calls and faults there are interrupts, which are rare. */
	w.in_kernel &= s->is_call_end || s->faults != c->faults ||
		       missed > (int64_t)(2 * aif_cpu_reached(c));
	c->faults = s->faults;

	/* Signals that were blocked come at the end of the call that lets them. */
	was_blocked = own > limit && 2 * system < own;
	w.in_kernel &= !was_blocked;
	aif_cpu_reach(c, s, was_blocked);
	w.in_kernel &= !s->is_alone || s->is_call_end;
	c->user_ticks = w.in_kernel ? 0 : AIF_MIN(c->user_ticks + 1, (uint32_t)AIF_CPU_USER_TICKS);
	/* A call has what no switch has hidden beyond the limit, too. */
	max = aif_cpu_limit(c) + (w.in_kernel ? own - AIF_MIN(own, hidden) : 0);
	if (s->is_alone) {
		c->cpu_ns = s->cpu_ns;
		w.ns = c->has_sample ? passed : AIF_MIN(passed, c->period_ns);
		w.before_ns = passed - w.ns;
		c->has_sample = true;
		if (w.ns > max) {
			w.unknown_ns = w.ns - max;
			w.ns = max;
		}
		return w;
	}
	if (!w.in_kernel)
		return w;
	if (missed < (int64_t)c->period_ns)
		return w;
	w.ns = AIF_MIN((uint64_t)missed, AIF_MIN(own + c->period_ns, max));
	c->missed_ns -= (int64_t)w.ns;
	return w;
}

/*
 * Samples of threads that live shortly. A tick comes upon any moment of a thread's life as likely as upon another, so each stands
 * for the time between two, and which ticks become samples must not depend on how old the thread is then: as it would if a
 * sample were due after a period of the thread's CPU time, which a young thread has not used, and an old one has. So the ticks
 * are counted, through all threads that have a place one after another. Each period of theirs has one sample, at random in
 * it: nothing that repeats itself keeps step, and all samples together stand for all ticks, but for the last period's.
 *
 * Where threads wait for CPUs they begin to run just after a tick more often than just before one, and ticks miss up to 15 percent of
 * their time. How much is known when they end: the ticks of later threads count for so much more, all those of one thread alike.
 */
struct aif_cpu_credit {
	uint64_t ns, due_ns; /* of ticks since the last sample; that makes the next one */
	uint64_t into_ns;    /* the next one is due so far into its period */
	int64_t owed_ns;     /* what ended threads have used, less what ticks were credited with */
	int64_t more_ns;     /* each tick of this thread counts for so much more, or less */
	uint64_t random;
};

/* The part of what is owed that a tick makes good, so that it counts for as many as others may hide, and down to half of one. */
#define AIF_CPU_OWED_PART 8
/* CPU time without a tick, in ticks, that a thread which shares its CPU hardly ever has. */
#define AIF_CPU_SHARED_TICKS 8

static inline void aif_cpu_credit_begin(struct aif_cpu_credit *c, uint64_t tick_ns)
{
	int64_t tick = (int64_t)tick_ns;

	c->more_ns = AIF_MIN(AIF_MAX(c->owed_ns / AIF_CPU_OWED_PART, -tick / 2),
			     (AIF_CPU_REACH_MAX - 1) * tick);
}

/* Ends what the thread has by ticks alone: it has used so much. */
static inline void aif_cpu_credit_end(struct aif_cpu_credit *c, uint64_t cpu_ns)
{
	c->owed_ns += (int64_t)cpu_ns;
}

static inline void aif_cpu_credit_next(struct aif_cpu_credit *c, uint64_t period_ns)
{
	/* The part of the last sample's period that lies behind it. */
	uint64_t rest = period_ns - AIF_MIN(c->into_ns, period_ns);

	c->random = aif_mix64(c->random + 1);
	c->into_ns = c->random % (period_ns + 1);
	c->due_ns = rest + c->into_ns;
}

/* Any phase at first. */
static inline void aif_cpu_credit_init(struct aif_cpu_credit *c, uint64_t seed, uint64_t period_ns)
{
	*c = (struct aif_cpu_credit){.random = aif_mix64(seed)};
	c->due_ns = c->into_ns = c->random % (period_ns + 1);
}

/* Weighs a tick of a thread that has had one at c->cpu_ns; 0: none. Ticks in the kernel come as one, at its end; those that
 * others hid are none. */
static inline struct aif_cpu_weight aif_cpu_weigh_young(struct aif_cpu_clocks *c,
							struct aif_cpu_credit *credit,
							uint64_t period_ns,
							const struct aif_cpu_signal *s)
{
	uint64_t passed = s->cpu_ns - c->cpu_ns, tick = c->tick_ns,
		 hidden = s->switches - c->switches,
		 each = (uint64_t)((int64_t)tick + credit->more_ns),
		 max = AIF_CPU_PERIODS_MAX * AIF_MAX(period_ns, each), ticks = 1, own;
	struct aif_cpu_weight w = {.in_kernel = s->is_call_end};

	/* Ticks wait for one another in the kernel, and where the thread blocked the signal: a thread that shares its CPU with
	 * others may have used any time since the tick before. */
	if (s->is_call_end || passed > (AIF_CPU_SHARED_TICKS + hidden) * tick)
		ticks = c->cpu_ns ? (passed + tick / 2) / tick
				  : 1 + (passed ? passed - 1 : 0) / tick;
	/* Makes good what others hide for one tick: those of a call have its own time. */
	own = AIF_MIN(AIF_MAX(ticks - AIF_MIN(ticks, hidden), UINT64_C(1)) * each,
		      AIF_MAX(passed, each));
	c->cpu_ns = AIF_MAX(s->cpu_ns, UINT64_C(1));
	c->switches = s->switches;
	credit->owed_ns -= (int64_t)own;
	credit->ns += own;
	for (; credit->ns >= credit->due_ns; aif_cpu_credit_next(credit, period_ns)) {
		credit->ns -= credit->due_ns;
		w.ns += period_ns;
	}
	max += w.in_kernel ? own : 0;
	if (w.ns > max) {
		w.unknown_ns = w.ns - max;
		w.ns = max;
	}
	return w;
}
