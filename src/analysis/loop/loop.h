/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"

/*
 * The loop of a program that marks no steps, and its turns: what recurs in its launches.
 *
 * A thread's launches, in the order of their calls, are told apart by their host stacks, from the root on. Where all
 * of them share the frames so far, the next frame of each is its token; a launch whose stack ends there has its kernel
 * as token. An entry of a token is a launch of it that follows one of another token. Where two tokens or more are
 * entered AIF_LOOP_ENTRIES times, and have half of the device time, the function that calls them loops: the number of
 * its turns is how often most of these tokens are entered, and a turn begins where the first of them is. The turns must
 * resemble each other (regular.c), so that random launches and servers have none. What has one stack alternates
 * between kernels; one kernel with one stack that recurs makes a turn with each launch. Inner loops are found among
 * the launches of the token with the most device time.
 *
 * Where the profile has the program's source, its loops are what loops (source.h): a turn of one is known by which statement follows
 * which, whatever recurs. A loop that launches in one loop within it alone has turns where CPU samples tell them (outer.c). The following is for what has no source, such as imports.
 *
 * Where launches do not recur but follow one another, phases of a program, each of them that is long enough is looked into; the
 * loop is the one with the most of the run's time in steady turns and of its device work, of two that are much alike the later. A
 * step is a turn of the outermost level with AIF_LOOP_SURE turns; or of one within it that has most of its time and work, makes
 * most kinds of its launches and has as many turns in each of its own: what goes on around that, evaluations between epochs, makes
 * no steps. What loops
 * in a part of a step, a module or an optimizer (rules.def), makes none either. Launches of tuners (rules.def) are in no loop.
 *
 * A turn ends where the next begins, so the last one, whose end is not known, is none of the steps. Turns in which
 * nothing was collected for a while are none either.
 */
#define AIF_LOOP_ENTRIES 3
#define AIF_LOOP_LEVELS  8
#define AIF_LOOP_SURE    10 /* turns that make a level the loop */
#define AIF_LOOPS        8

/* ns since the recording's start: from the first launch call of a turn to that of the next. */
struct aif_loop_step {
	int64_t start, end;
};

/* A period of the launches. */
struct aif_loop_level {
	uint32_t stack; /* in the function whose loop it is; AIF_NONE: kernels recur */
	uint32_t frame; /* the innermost of this stack */
	/* The beginning of turns: the first launch below this stack; of .kernel, where it stands in the stack itself. */
	uint32_t begin, kernel; /* AIF_NONE: from the root; any */
	size_t turns;           /* whole ones */
	uint64_t launches;      /* in all turns, of what recurs */
	int64_t start, end;     /* ns: the first turn begins, the last ends */
	uint64_t median_ns;
	uint64_t weight; /* device time in its turns; launches, where none is known */
	uint32_t parts;  /* frames around it that do a part of a step */
	uint32_t kinds;  /* kernels that are launched in half of its turns, or more often */
	/* Line of a loop in the source, that of a call in it, and aif_loop.place of its turns; 0: launches recur. */
	uint32_t line, call_line;
	uint32_t
		inlined; /* which of the functions of its frame has it: what was inlined comes behind what it was inlined into */
	uint64_t place;
};

/* A loop of a program that may have several, one after the other or in several threads. */
struct aif_loop_candidate {
	uint32_t thread, stack, line, call_line,
		inlined; /* as of the level that its steps are of */
	uint64_t place;
	size_t turns;
	uint64_t median_ns, weight;
	uint64_t ns; /* the sum of all turns' lengths; turns of other loops may lie between them */
	int64_t start, end;
};

struct aif_loop {
	uint32_t thread;                              /* whose launches recur; AIF_NONE */
	struct aif_loop_level level[AIF_LOOP_LEVELS]; /* outermost first */
	size_t levels;
	size_t chosen;               /* the level that steps are of */
	struct aif_loop_step *steps; /* in order */
	size_t len, cap;
	int64_t start, end; /* of the loop: start-up ends and the tail begins there */
	int64_t last;       /* the last launch from within its function, or .end */
	uint64_t median_ns, p95_ns;
	/* The place where turns of the chosen level begin: a number that is the same in other runs of the program; 0: no loop. */
	uint64_t place;
	/* Launches were left out by the overhead budget: steps are those seen whole, between two turns captured in
	 * one block. */
	bool is_sparse;
	bool is_python; /* frames of Python are around it */
	/* All that were found, the most likely first; the first is this one, unless a place was asked for. */
	struct aif_loop_candidate loops[AIF_LOOPS];
	size_t loops_len;
};

/* Finds the loop of the launches of `t`: ret->levels is 0 if there is none. `place`: that of another run's loop, whose turns
 * are looked for alone, and whether they resemble each other is not asked; 0: whatever recurs. 0 or -errno; *ret is finished by the
 * caller in any case. */
int aif_loop_find(const struct aif_profile *p, const struct aif_exec_timeline *t, uint64_t place,
		  struct aif_loop *ret);
void aif_loop_finish(struct aif_loop *l);
