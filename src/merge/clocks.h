/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock_fit.h"

/*
 * Relates the clocks of two hosts by the ends of the operations between their ranks: nobody has the result before all have
 * given, so that an operation ends on all ranks within some tens of us, whatever the hosts' clocks say.
 *
 * Which end belongs to which? By the numbers of the operations where both have them. Else by the offset at which most ends
 * agree: each of some hundred neighbouring ends of one host votes for its distances to all ends of the other of the same
 * kernel or communicator. The offsets with the most votes are followed from there to both ends of the profiles, as clocks
 * drift. The best is right if no other explains nearly as many ends nearly as closely. A loop whose turns all last the same fits after a
 * shift by a turn, too: then the hosts' dates decide if one offset is much closer to them than the next, else nothing does.
 */
struct aif_merge_end {
	uint64_t group;    /* of the communicator or, where that is not known, of the kernel */
	int64_t at;        /* ns since its profile's beginning */
	uint32_t sequence; /* 1 + its number in its communicator; 0: not known */
};
struct aif_merge_ends {
	struct aif_merge_end *at; /* by .at */
	size_t len, cap;
};

enum aif_merge_related {
	AIF_MERGE_UNRELATED, /* too few operations in common, or their ends do not agree */
	AIF_MERGE_AMBIGUOUS, /* several offsets fit, and dates do not decide */
	AIF_MERGE_BY_NUMBER,
	AIF_MERGE_BY_VOTES,
	AIF_MERGE_BY_DATES, /* by votes, several: the one that the dates are close to */
};
struct aif_merge_relation {
	enum aif_merge_related is;
	size_t pairs;             /* of ends that the line goes through */
	struct aif_clock_fit fit; /* of `of`, against `to` */
};

/* Sorts the ends, as aif_merge_relate() wants them. */
void aif_merge_ends_sort(struct aif_merge_ends *e);
/* Relates the clock of `of` to that of `to`. by_dates (may be NULL): how much later the hosts' dates say that one moment is
 * by `of` than by `to`. 0 or -ENOMEM. */
int aif_merge_relate(const struct aif_merge_ends *of, const struct aif_merge_ends *to,
		     const int64_t *by_dates, struct aif_merge_relation *ret);
