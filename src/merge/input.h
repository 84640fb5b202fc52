/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "merge/clocks.h"
#include "merge/merge.h"

/* A file that is merged, and its clock; shared by the files of this folder. */

struct aif_merge_input {
	const char *path;
	char *host; /* for free() */
	uint64_t start_ns, end_ns,
		date_ns; /* CLOCK_MONOTONIC of its beginning and end; date: CLOCK_REALTIME of its beginning, 0: not known */
	uint32_t ranks; /* processes that know theirs */
	unsigned notes; /* enum aif_profile_note */
	/* Hashes that tell recordings apart: its own, then of those that it was merged from. */
	uint64_t *recordings;
	size_t recordings_len, recordings_cap;
	struct aif_merge_ends ends;
	enum aif_merge_clock_is is;
	/* The line by which its times are put on the reference's clock: ns since the reference's beginning. */
	struct aif_merge_clock {
		int64_t from,
			to; /* a moment of the file, ns since its beginning, and the same of the reference's */
		double drift; /* by which its clock is fast */
	} clock;
	uint64_t error_ns;
	struct aif_merge_relation relation; /* of RELATED and APART */
	size_t related_to;                  /* index of the input that it was related to */
};

/* Opens a profile and reads what relates it to others; ends of operations are in the order of time. 0 or -errno with *err. */
int aif_merge_input_read(struct aif_merge_input *in, struct aif_err *err);
void aif_merge_input_finish(struct aif_merge_input *in);
/* Says in a merged profile which recordings it was merged from. 0 or -ENOMEM. */
int aif_merge_input_note(struct aif_profile *p, const struct aif_merge_input *in, size_t n);
/* Finds the clocks of all: sets .is, .clock, .error_ns. 0 or -ENOMEM. */
int aif_merge_align(struct aif_merge_input *in, size_t n, size_t *ret_reference);
/* Returns a time of the file on the merged profile's clock; `base`: the reference's beginning there. */
uint64_t aif_merge_time(const struct aif_merge_input *in, uint64_t base, uint64_t at);
