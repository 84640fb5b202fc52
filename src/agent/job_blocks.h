/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "base/map.h"

/*
 * On-blocks of the overhead budget that all ranks of a job have at the same time, without a word between them: what one rank
 * captures while another does not cannot be compared.
 *
 * Time (CLOCK_REALTIME, which hosts share) has slots of AIF_JOB_SLOT_NS. In each, one instant at random begins a block, if a second
 * random number is below what the rank's duty wants; both are hashes of the job and the slot. So a rank with less duty has a part of
 * the blocks of one with more, or the beginnings of them. From a duty of one half on, it is off-blocks that are short, and end at the
 * instants. Instants hang on nothing that a program does, and no loop can run in step with them.
 */
#define AIF_JOB_SLOT_NS UINT64_C(200000000)
/* Looks for a rank's next block in so many slots. */
#define AIF_JOB_SLOTS 256

static inline double aif_job_uniform(uint64_t job, uint64_t slot, uint64_t which)
{
	uint64_t h = aif_mix64(aif_mix64(job + which * UINT64_C(0x9e3779b97f4a7c15)) ^
			       slot * UINT64_C(0xbf58476d1ce4e5b9));

	return (double)(h >> 11) / (double)(UINT64_C(1) << 53);
}

/* Returns the slot's instant. */
static inline uint64_t aif_job_instant(uint64_t job, uint64_t slot)
{
	return slot * AIF_JOB_SLOT_NS +
	       (uint64_t)((double)AIF_JOB_SLOT_NS * aif_job_uniform(job, slot, 1));
}

/* A rank's part of the blocks: on-blocks are at least this long. */
struct aif_job_part {
	uint64_t job;
	double duty;
	double least_ns;
};

/* Returns when the slot's on-block ends; 0: the rank has none. */
static inline uint64_t aif_job_end(const struct aif_job_part *p, uint64_t slot)
{
	uint64_t at = aif_job_instant(p->job, slot), next;
	double wanted = p->duty * (double)AIF_JOB_SLOT_NS, ns = AIF_MAX(wanted, p->least_ns);

	if (p->duty <= 0.5)
		return aif_job_uniform(p->job, slot, 2) * ns < wanted ? at + (uint64_t)ns : 0;
	next = aif_job_instant(p->job, slot + 1) -
	       (uint64_t)((1 - p->duty) * (double)AIF_JOB_SLOT_NS);
	return next > at ? next : 0;
}

/* Sets *ret_until to the end of the on-block that `now` lies in, one that begins before its end included. False: none. */
static inline bool aif_job_is_on(const struct aif_job_part *p, uint64_t now, uint64_t *ret_until)
{
	uint64_t slot = now / AIF_JOB_SLOT_NS, from = slot > 2 ? slot - 2 : 0, end = 0;

	for (uint64_t i = from; i < slot + AIF_JOB_SLOTS; i++) {
		uint64_t at = aif_job_instant(p->job, i);

		if (at > now && (end <= now || at > end))
			break;
		end = AIF_MAX(end, aif_job_end(p, i));
	}
	*ret_until = end;
	return end > now;
}

/* Returns when the rank's next on-block begins. */
static inline uint64_t aif_job_next(const struct aif_job_part *p, uint64_t now)
{
	uint64_t slot = now / AIF_JOB_SLOT_NS, i = slot;

	for (; i < slot + AIF_JOB_SLOTS; i++)
		if (aif_job_instant(p->job, i) > now && aif_job_end(p, i))
			break;
	return aif_job_instant(p->job, i);
}
