/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * The overhead that the user allows, kept by turning capture on and off in blocks of random length.
 *
 * Inside an on-block every launch is captured, whole; in an off-block launches are only counted. So
 * both kinds of block say how fast the application launches, and their difference is what capture
 * really costs it, whatever the reasons: our own time, the vendor's tracing, caches, a GPU that
 * starves. A loop that waits for its device anyway shows no difference, and stays captured.
 *
 *     c     how much longer a launch interval is in on-blocks than in off-blocks, minus 1
 *     duty  the share of time that is on
 *     B     the slowdown that was asked for: duty * c / (1 + c) = B / (1 + B)
 *
 * c is the median over the last AIF_BUDGET_PAIRS pairs of neighbouring blocks: a median, because a
 * pair across a change of the program's phase says nothing. Until it is known well enough its place is
 * taken by an upper bound: launches a second times what a launch costs at most. Where even the bound
 * is within the budget on the long run nothing is ever turned off, which is the usual case below a few
 * hundred launches a second; nothing is estimated then, and totals are exact. On the long run: bursts are
 * put on an account, from which the budget pays off; only when that is overdrawn are launches left out.
 *
 * Once c is known, so is what was spent lately: too much in the first blocks, too little while the bound
 * stood for c, or either by chance. The duty makes up for it, so that also a run of seconds gets what
 * was asked: in simulations 0.93 to 1.04 times that in 8 s, where it was 0.94 to 2.3 times before.
 *
 * Time is that in which the program works: of a gap between two launches in which no thread waits for its device
 * AIF_BUDGET_REST_NS count at most, the rest of it does not. So a server that answers for 0.3 s and then rests for a minute pays in those 0.3 s what was asked, and no more: neither
 * does the rest make its launches look rare, nor is anything saved up in it. A block that is under way when the program
 * rests goes on when it works again, whatever it is: what is launched first after a rest is captured as often as any other.
 *
 * When c was measured to be well within the budget, everything stays on for AIF_BUDGET_TRUST_NS, and then
 * it is measured again.
 *
 * Lengths are random, those of off-blocks exponential, so that when the next on-block comes hangs on
 * nothing, and no loop of the application can run in step with it. What was captured stands for what was not by ratio: the thread's launches in a
 * stretch of time, counted in all blocks, over those in its on-blocks (analysis/weights.h).
 *
 * Ranks of a job (aif_budget_join()) have their on-blocks at the same times (job_blocks.h): of these, too, hangs nothing on what the
 * program does. A rest shortens their blocks, and does not put them off.
 *
 * Thread safety: any launching thread calls aif_budget_turn(); one of them wins. Where a runtime switches its blocks itself
 * (aif_budget_own()) nobody else ends one: what the runtime has switched would not follow.
 */

#define AIF_BUDGET_PAIRS 63
/* At least a step of most loops; an off-block long enough to hold launches to compare with. */
#define AIF_BUDGET_ON_MIN_NS  UINT64_C(10000000)
#define AIF_BUDGET_OFF_MIN_NS UINT64_C(5000000)
#define AIF_BUDGET_CYCLE_NS   UINT64_C(200000000)
/* Most that the account may hold: what the budget pays off in this time. A short run may so become slower by 2.5 s of
 * it (50 ms at 2 %). Less saves little: with 1 s what changes at a phase was underestimated by 0.7 %, in simulations. */
#define AIF_BUDGET_DEBT_NS  2.5e9
#define AIF_BUDGET_TRUST_NS (30 * UINT64_C(1000000000))
/* Too much or too little spent in the first time is made up for in the second. */
#define AIF_BUDGET_LATELY_NS   10e9
#define AIF_BUDGET_CATCH_UP_NS 3e9
/* Longer gaps between launches are rests. */
#define AIF_BUDGET_REST_NS UINT64_C(10000000)
/* The precision with which launching threads note when the last launch was: the note is written for all of them. */
#define AIF_BUDGET_NOTE_NS UINT64_C(1000000)
/* With everything on, how often the launch rate is looked at, at least. */
#define AIF_BUDGET_LOOK_NS UINT64_C(100000000)

/* Counts of one of the last four blocks. */
struct aif_budget_block {
	_Atomic uint64_t launches; /* of all threads that have met a later block */
	_Atomic uint64_t busiest;  /* of the thread with most of them */
	_Atomic uint64_t more_ns;  /* cost that does not grow with launches, at most */
	uint32_t number;
	_Atomic uint32_t duty_ppm; /* a thread that is four blocks late reads a later one's */
	uint64_t length_ns;
	bool not_compared, not_judged; /* aif_budget_disturb() */
};

struct aif_budget {
	/* Read by every launch. */
	_Atomic uint64_t until; /* CLOCK_MONOTONIC ns: the block ends; UINT64_MAX: never */
	_Atomic uint32_t block; /* its number, which grows by 1 or 2; odd = on */
	_Atomic uint64_t seen;  /* the last launch, by at most AIF_BUDGET_NOTE_NS too early */

	/* A runtime ends the blocks, by aif_budget_turn_at(). */
	atomic_bool is_owned;

	/* The winner's. */
	_Atomic uint32_t turning;
	uint32_t asked_ppm; /* B in 1/1,000,000; 0: no limit */
	uint64_t bound_ns;  /* what one launch costs at most, vendor's part included */
	uint64_t random;
	_Atomic uint64_t began; /* the block; later by what the program has rested in it */
	double duty, debt_ns;
	uint64_t job;                   /* 0: no rank of one */
	uint64_t realtime;              /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	double lately_ns, lately_on_ns; /* time, and how much of it was on; what is past fades */
	struct aif_budget_block last[4];
	double pairs[AIF_BUDGET_PAIRS]; /* ring of c */
	uint32_t pairs_len;             /* ever */
	uint32_t trusted_pairs;         /* of pairs_len, when trust was given */
	uint64_t trusted_until;
	double spent;               /* slowdown that is there in off-blocks, too */
	uint32_t held;              /* the number of the last block of aif_budget_hold() */
	_Atomic uint64_t worked_ns; /* in the blocks before this one */

	/* For reports. */
	_Atomic uint32_t duty_ppm;                 /* now */
	_Atomic uint32_t cost_ppm, cost_error_ppm; /* c, its standard error; error 0: unknown */
};

/* Begins with an on-block. asked_ppm 0: everything is captured, always. `seed`: any number. */
void aif_budget_init(struct aif_budget *b, uint32_t asked_ppm, uint64_t bound_ns, uint64_t seed,
		     uint64_t now);

/* Makes the process one of the ranks of a job, whose number all of them know; 0: of none. `realtime`: CLOCK_REALTIME less
 * CLOCK_MONOTONIC. Before the first launch. */
void aif_budget_join(struct aif_budget *b, uint64_t job, uint64_t realtime);

/* The block has ended: decides the next. Any thread; cheap when another is at it. Does nothing where a runtime owns the
 * blocks. */
void aif_budget_turn(struct aif_budget *b, uint64_t now);

/* Gives the blocks to a runtime that switches them itself, or takes them back: aif_budget_block() ends none meanwhile. */
void aif_budget_own(struct aif_budget *b, bool is_owned);
/* For such runtimes: the block ends now, whatever was planned. */
void aif_budget_turn_at(struct aif_budget *b, uint64_t now);
/* The same, and the next is an off-block until then, which is no part of what is asked for or known of costs: neither
 * that it was off nor what was launched in it counts. False: not now. */
bool aif_budget_hold(struct aif_budget *b, uint64_t now, uint64_t until);
/* Sets by how much the program is slower in off-blocks, too, which takes at most three quarters of the budget. */
void aif_budget_spend(struct aif_budget *b, double slowdown);
/* For runtimes that own the blocks: the program has rested for ns more, which are no part of the block. That of aif_budget_hold()
 * ends when it would have all the same. */
void aif_budget_rest(struct aif_budget *b, uint64_t ns);
/* Notes that there is a launch at `now`, and whether the program has rested before. */
void aif_budget_note(struct aif_budget *b, uint64_t now);
/* Returns the time in which the program has worked, in ns. */
uint64_t aif_budget_worked(const struct aif_budget *b, uint64_t now);
/* Begins the block anew after a time in which nobody collected; it is not compared with others. */
void aif_budget_resume(struct aif_budget *b, uint64_t now);
/* Was capture measured to be well within the budget? */
bool aif_budget_trusts(const struct aif_budget *b, uint64_t now);

static inline bool aif_budget_is_on(uint32_t block)
{
	return block & 1;
}

/* The block that a launch at `now` is in. */
static inline uint32_t aif_budget_block(struct aif_budget *b, uint64_t now)
{
	uint64_t seen = atomic_load_explicit(&b->seen, memory_order_relaxed);

	/* A thread that has read the clock earlier than another comes later: seen > now. */
	if (aif_unlikely(now > seen + AIF_BUDGET_NOTE_NS))
		aif_budget_note(b, now);
	if (aif_unlikely(now >= atomic_load_explicit(&b->until, memory_order_relaxed)))
		aif_budget_turn(b, now);
	return atomic_load_explicit(&b->block, memory_order_acquire);
}

/* The share of time that was on, in 1/1,000,000, when `block`, one of the last four, was chosen. */
static inline uint32_t aif_budget_duty(const struct aif_budget *b, uint32_t block)
{
	return b->last[block % 4].duty_ppm;
}

/* Notes that a thread has waited for its device until now: that was no rest. */
static inline void aif_budget_waited(struct aif_budget *b, uint64_t now)
{
	/* A note that is lost to another thread's is of the same moment. */
	if (now > atomic_load_explicit(&b->seen, memory_order_relaxed) + AIF_BUDGET_NOTE_NS)
		atomic_store_explicit(&b->seen, now, memory_order_relaxed);
}

/* A thread's launches in `block`, told when it meets a later one. */
void aif_budget_add(struct aif_budget *b, uint32_t block, uint64_t launches);
/* Adds to what `block` has cost at most, beside bound_ns a launch: a launch of a graph is as dear as its nodes. Before the
 * block after it ends. */
void aif_budget_add_cost(struct aif_budget *b, uint32_t block, uint64_t ns);
/* Excludes `block` from the comparison of launch rates; what was captured in it is charged all the same. not_judged: no duty is
 * decided from it either, since something else took time in it. Called by who turns the blocks, before the next one ends. */
void aif_budget_disturb(struct aif_budget *b, uint32_t block, bool not_judged);
