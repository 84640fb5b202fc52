/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/xe_records.h"

/*
 * What EU-stall records of a card say, summed up by address: a hash table that grows up to a bound. It takes no more
 * when it is full; the caller then goes on with an empty one, so that nothing is lost.
 */
#define AIF_XE_COUNTS_MAX 65536
/* 255 of each reason in so many records fit 32 bits. */
#define AIF_XE_COUNTS_RECORDS (UINT32_C(1) << 24)

struct aif_xe_counts {
	struct aif_xe_sum {
		uint64_t ip; /* in units of 8 bytes */
		uint32_t counts[AIF_XE_REASONS];
		bool used;
		uint64_t rest; /* a cache line in all */
	} * at;
	size_t len, cap; /* of them used; a power of two, or 0 */
	uint64_t records;
};

static_assert(sizeof(struct aif_xe_sum) == 64, "a cache line");

void aif_xe_counts_finish(struct aif_xe_counts *c);
/* How many of the n records were taken: less than n if it is nearly full, or memory runs out. Those without counts are
 * taken, and forgotten. */
size_t aif_xe_counts_add(struct aif_xe_counts *c, const struct aif_xe_record *r, size_t n);
/* Samples in all. */
uint64_t aif_xe_counts_samples(const struct aif_xe_counts *c);
