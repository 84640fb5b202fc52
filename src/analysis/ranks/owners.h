/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/part.h"
#include "analysis/ranks/waits.h"
#include "base/map.h"

/* Activity of each rank at each time, by owner. */
struct aif_rank_segment {
	int64_t from, to;
	uint32_t owner; /* index into .owners, or AIF_RANK_MIX | index into .mixes */
};
/* Owners that share a time: what samples say of all times between the same two launches. */
#define AIF_RANK_MIX (UINT32_C(1) << 31)
struct aif_rank_mix {
	size_t first, end; /* of .parts */
};
struct aif_rank_segments {
	struct aif_rank_segment *at; /* disjoint, in order */
	size_t len, cap;
	/* Sums for long spans: before each .stride-th segment the ns of each owner so far, .owners of them; NULL: there are few segments. */
	double *sums;
	size_t stride, owners;
};
/*
 * A rank's two courses: what its device did, and what kept it. A launch that a device was idle for could have come earlier only if its
 * host had been faster, from the host's last wait for the device until then: also while the device still ran what was launched
 * before. So up to the last such launch .critical holds, and behind it .device.
 */
struct aif_rank_did {
	struct aif_rank_segments device, critical;
	/* Launches that their device was idle for, by when it went on. */
	struct aif_rank_awaited {
		int64_t start;  /* of the execution */
		int64_t launch; /* the latest call of these so far */
	} * awaited;
	size_t awaited_len, awaited_cap;
};
struct aif_rank_owners {
	const struct aif_profile *p;
	struct aif_wait_row *owners; /* .late and .ns are nothing's */
	size_t owners_len, owners_cap;
	struct aif_map by_key;
	/* Says what class each owner is of, those of one being compared together. The same stack is seldom sampled twice. */
	uint32_t *class_of;
	size_t class_of_cap, classes;
	struct aif_map class_by_key;
	struct aif_rank_mix *mixes;
	size_t mixes_len, mixes_cap;
	struct aif_rank_part {
		uint32_t owner;
		double share; /* of a mix: they sum to 1 */
	} * parts;
	size_t parts_len, parts_cap;
	struct aif_map mix_of; /* by course */
	uint64_t *
		stacks; /* by stack: a number that stacks with the same names share; 0: not yet known */
	struct aif_rank_did *ranks;
	size_t ranks_len;
};

/* Makes the segments of all ranks of `r`. `idle` has its course, and the whole run. 0 or -errno; finished by the caller in any case. */
int aif_rank_owners_make(const struct aif_profile *p, const struct aif_ranks *r,
			 const struct aif_idle_part *idle, struct aif_rank_owners *ret);
/* Makes the sums of segments, to which none is added any more. Spans take time by owners then, and not by segments: a communicator that
 * is seldom used has long ones, and a rank may be in thousands. 0 or -ENOMEM. */
int aif_rank_segments_sum(const struct aif_rank_owners *o, struct aif_rank_segments *s);
void aif_rank_owners_finish(struct aif_rank_owners *o);

/* Calls take(arg, owner, ns) for what a rank did in [from, to), with what kept it from what begins at `to`. */
void aif_rank_owners_in(const struct aif_rank_owners *o, uint32_t rank, int64_t from, int64_t to,
			void (*take)(void *arg, uint32_t owner, double ns), void *arg);
