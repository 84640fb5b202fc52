/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/profile_names.h"
#include "runbook/callgrind.h"
#include "stat/roofs.h"

/*
 * The roofline of a program: its functions with most CPU time, by what they compute for each byte that they move. Times are
 * those of the recording's samples; operations and bytes are counted in a run of the same command under callgrind, whose
 * model of the caches says which lines came from and went to memory. A function is one of the machine's code: what was
 * inlined into it is of it.
 */
struct aif_runbook_point {
	char *symbol;
	double seconds;  /* CPU time */
	bool is_counted; /* the counted run was in it: else the rest is 0 */
	double flops;
	double memory_bytes; /* from and to memory */
	double access_bytes; /* of its loads and stores, whatever cache had them */
};
struct aif_runbook_roofline {
	struct aif_runbook_point *at; /* most time first */
	size_t len;
	double seconds; /* CPU time of all functions */
	double elapsed_s;
	struct aif_callgrind_totals totals;
};
#define AIF_RUNBOOK_POINTS 25

/* The roof that is the lower one at a function's intensity. */
enum aif_runbook_bound {
	AIF_RUNBOOK_BOUND_UNKNOWN, /* not counted, or no floating point */
	AIF_RUNBOOK_BOUND_MEMORY,  /* the roof of memory is the lower one at its intensity */
	AIF_RUNBOOK_BOUND_COMPUTE,
};

/* Finds the points of a profile in the counts of `paths` (callgrind's files). 0 or -errno with *err; *ret is finished by
 * the caller in any case. */
int aif_runbook_roofline_find(const struct aif_names *names, char *const *paths, size_t paths_len,
			      double elapsed_s, struct aif_runbook_roofline *ret,
			      struct aif_err *err);
void aif_runbook_roofline_finish(struct aif_runbook_roofline *r);

/* The roofs that one CPU has while the program runs: of one alone, or its part of all where it kept several busy. */
struct aif_runbook_roof {
	double flops, memory; /* FLOP/s, bytes/s; 0: not measured */
};
struct aif_runbook_roof aif_runbook_roof(const struct aif_runbook_roofline *r,
					 const struct aif_roofs *roofs);
/* *ret_of: the part of its roof that the function reaches. */
enum aif_runbook_bound aif_runbook_bound(const struct aif_runbook_point *p,
					 const struct aif_runbook_roof *roof, double *ret_of);
/* Returns the percent of the CPU time that is spent in functions bound by memory that reach two fifths of its roof; NAN:
 * less than half of the time was in functions that were counted. */
double aif_runbook_memory_bound(const struct aif_runbook_roofline *r,
				const struct aif_runbook_roof *roof);

/* Append the object "roofline" of advisor_summary.json, and a picture. */
void aif_runbook_roofline_json(const struct aif_runbook_roofline *r, const struct aif_roofs *roofs,
			       struct aif_buf *out);
void aif_runbook_roofline_svg(const struct aif_runbook_roofline *r, const struct aif_roofs *roofs,
			      struct aif_buf *out);
