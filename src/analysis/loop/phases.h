/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/loop/loop.h"
#include "analysis/op_tree.h"

/*
 * Phases of a run: start-up, which ends where the first step begins, the loop, the tail. Steps are those that the program
 * or its framework marks, of the thread with the most of them; where none is marked, turns of the loop that recurs in the
 * launches (loop.h). A program that launches its turns or steps long before they run has them where they run: one then begins
 * where its first work starts on a device, and its device work is what it launched.
 */
enum aif_phases_from { AIF_PHASES_UNKNOWN, AIF_PHASES_MARKS, AIF_PHASES_TURNS };

/* Steps that a trend is told from. */
#define AIF_PHASES_TREND_STEPS 12

struct aif_phases {
	enum aif_phases_from from;
	uint32_t thread; /* thread that steps belong to; AIF_NONE */
	uint32_t
		stack; /* stack in the function that loops, if steps are turns; AIF_NONE: not known */
	uint64_t place; /* where turns begin (struct aif_loop); steps are no turns: 0 */
	struct aif_loop_step *steps; /* in order, ns since the recording's start */
	size_t len, cap;
	int64_t start, end; /* the loop's begin and end */
	uint64_t median_ns, p95_ns;
	double trend; /* median of the last quarter of steps by that of the first; 1 for few steps */
	bool is_sparse; /* some turns are missing: only those captured whole are here */
	/* Nested periods of turns, outermost first, of which .chosen is the one that steps are of. */
	struct aif_loop_level level[AIF_LOOP_LEVELS];
	size_t levels, chosen;
	struct aif_loop_candidate
		loops[AIF_LOOPS]; /* all that were found, this one first; of turns */
	size_t loops_len;
	bool is_queued; /* turns have the times of their device work, not of their launches */
};

/* Finds the phases of what `t` and `sel` (NULL: all) have, whatever ranges are asked for: a range is part of the program's steps.
 * ret->from is AIF_PHASES_UNKNOWN where there are none. The caller finishes *ret in any case. 0 or -errno. */
int aif_phases_find(const struct aif_profile *p, const struct aif_selection *sel,
		    const struct aif_exec_timeline *t, struct aif_phases *ret);
/* The same of turns alone, also where steps are marked. */
int aif_phases_find_turns(const struct aif_profile *p, const struct aif_selection *sel,
			  const struct aif_exec_timeline *t, struct aif_phases *ret);
/* Finds those of each process that marks steps, at once: *by_process has room for all processes of the profile. `sel` and `t` have
 * whole processes. The caller finishes each in any case. 0 or -errno. */
int aif_phases_marked(const struct aif_profile *p, const struct aif_selection *sel,
		      const struct aif_exec_timeline *t, struct aif_phases *by_process);
/* Returns the step that a time (ns since the recording's start) is in, or .len where it is in none. */
size_t aif_phases_step_at(const struct aif_phases *f, int64_t at);
void aif_phases_finish(struct aif_phases *f);

struct aif_loop_span {
	uint32_t thread, stack; /* thread and stack of the span's launches */
	int64_t from, to;       /* ns since the recording's start */
};
/* Sets *ret to the stack up to the function that loops, where all launches have one stack; without CPU samples to .stack; AIF_NONE
 * if the thread was mostly elsewhere. 0 or -errno. */
int aif_loop_enclosing(const struct aif_profile *p, const struct aif_loop_span *of, uint32_t *ret);
