/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Gaps: times in which nothing was collected in a process. They are those before a recorder met
 * it while it ran already, pauses (--delay, ctl), those in which the recorder was silent, and
 * those after it had told the process to stop. In the file these are windows without device,
 * thread and p_ppm, a row a second. What happened in a gap is not known: time of a device that
 * is not busy there is neither idle, nor are samples there of anything that was missed.
 *
 * A span is what lies between two gaps of a process: it is collected from its start to its end.
 */
struct aif_gap {
	uint64_t start, end; /* ns since the recording's start */
	uint32_t process;
};

struct aif_gaps {
	struct aif_gap *at; /* by process and start; those of a process do not touch */
	size_t len, cap;
};

/* 0 or -ENOMEM; finished by aif_gaps_finish in any case. */
int aif_gaps_init(struct aif_gaps *g, const struct aif_profile *p);
/* With the time, too, in which the overhead budget left out launches of any of the process's
 * threads. */
int aif_gaps_init_with_off(struct aif_gaps *g, const struct aif_profile *p);
void aif_gaps_finish(struct aif_gaps *g);
/* Puts those of a process that touch together, and all in order: what was added to .at by hand. */
void aif_gaps_unite(struct aif_gaps *g);

struct aif_gaps_span {
	uint64_t number;     /* another for each span of each process */
	uint64_t start, end; /* 0, UINT64_MAX: no gap there */
	bool is_gap;         /* the time asked for lies in the gap before the span */
};
/* The span that holds `at`, or that comes after the gap which does. */
struct aif_gaps_span aif_gaps_at(const struct aif_gaps *g, uint32_t process, uint64_t at);

/* Returns the gaps of the processes p with keep[p], and those of `more` (NULL: none), as one
 * list of gaps that do not touch, by start; their `process` means nothing. *ret is freed by the
 * caller. 0 or -ENOMEM. */
int aif_gaps_of(const struct aif_gaps *g, const bool *keep, const struct aif_gaps *more,
		struct aif_gaps *ret);
