/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/sources/xe_records.h"

/*
 * Sums of a card's EU-stall records by address, up to a bound. A table takes no more when it is full; the caller then
 * goes on with an empty one, so that nothing is lost.
 */
#define AIF_XE_COUNTS_MAX 65536
/* 255 of each reason in so many records fit 32 bits. */
#define AIF_XE_COUNTS_RECORDS (UINT32_C(1) << 24)

struct aif_xe_counts {
	struct aif_xe_sum {
		uint64_t ip; /* in units of 8 bytes */
		uint32_t counts[AIF_XE_REASONS];
	} * at;          /* in the order in which they were first met */
	uint64_t *ips;   /* the same once more, close together: what is put in order */
	uint64_t *words; /* room for that, twice */
	size_t len;
	/* Hash table from an address to its sum: small, so that a look-up seldom leaves the core's caches. */
	struct aif_xe_slot {
		uint32_t tag, sum; /* of the address's hash; the sum's index + 1, 0 = free */
	} * slots;
	size_t slots_cap; /* a power of two, or 0 */
	uint64_t records;
};

void aif_xe_counts_finish(struct aif_xe_counts *c);
/* Room for as many as `like` has, if memory allows: a window is much like the one before. c is empty. */
void aif_xe_counts_reserve(struct aif_xe_counts *c, const struct aif_xe_counts *like);
/* Adds records. Returns how many of the n were taken: less than n if the table is nearly full, or memory runs out.
 * Records without counts are taken, and forgotten. */
size_t aif_xe_counts_add(struct aif_xe_counts *c, const struct aif_xe_record *r, size_t n);
/* The indexes of all sums in order of their addresses, as far as these lie within 2^47 of one another, which code does:
 * whoever looks for the code goes through it once. NULL: out of order. It is c's, until the next call for it. */
const uint64_t *aif_xe_counts_order(struct aif_xe_counts *c);
static inline uint32_t aif_xe_counts_index(uint64_t ordered)
{
	return (uint32_t)ordered & (2 * AIF_XE_COUNTS_MAX - 1);
}
/* Samples in all. */
uint64_t aif_xe_counts_samples(const struct aif_xe_counts *c);
