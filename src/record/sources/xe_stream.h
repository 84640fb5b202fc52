/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/reasons.h"
#include "record/sources/xe_clients.h"
#include "record/sources/xe_counts.h"

/*
 * EU-stall samples of all GTs of all cards of the xe driver, on a thread of its own: reads, decodes, sums up by
 * address, and hands over what came in about a second. Samples of this source have no process and no time of their own:
 * xe_join.h finds out whose they are.
 *
 * Nothing is left out: the hardware's rate is what --device-rate chooses. What the hardware or we drop is counted.
 */
struct aif_xe;

/* Samples of one card from `start` to `end`. */
struct aif_xe_window {
	uint32_t card, pci; /* its place among the cards; xe_card.h */
	bool wide;          /* its addresses have all 64 bits; else 32 */
	uint32_t period_ps; /* between two samples of one unit, of the first of its GTs */
	struct aif_xe_counts counts;
};
#define AIF_XE_USES 16
struct aif_xe_batch {
	struct aif_xe_batch *next;
	uint64_t start, end;                 /* CLOCK_MONOTONIC ns */
	struct aif_xe_use uses[AIF_XE_USES]; /* who worked on the cards meanwhile */
	unsigned uses_len, windows_len;
	struct aif_xe_window windows[];
};

/* Something to be told to the user. */
struct aif_xe_note {
	enum aif_reason reason;
	uint64_t count;
	char detail[160]; /* "" = none */
};

/* Starts the thread; whether there are cards, it sees then. hz: of --device-rate, not 0. is_sure: somebody works with one;
 * else it is no news that nodes may not be opened, which may be another driver's. 0 or -errno. */
int aif_xe_new(uint32_t hz, bool is_sure, struct aif_xe **ret);
/* Does it sample the card of that number (xe_card.h; 0: any), or will when who has it lets go? */
enum aif_xe_samples { AIF_XE_UNDECIDED, AIF_XE_NO, AIF_XE_YES };
enum aif_xe_samples aif_xe_samples(struct aif_xe *x, uint32_t pci);

/* The stream as its source and others have it. */
struct aif_xe_source {
	struct aif_xe *stream; /* NULL = not sampling */
	bool was_tried;        /* with -a: once, while we collect */
	bool rests;            /* it was stopped for want of code, and starts again with the next */
	uint64_t used_ns;      /* when there was last code that it can sample */
};
/* Does the recorder sample the card at `pci` (wire.h; 0: any)? Undecided while it may again. */
enum aif_xe_samples aif_xe_samples_card(const struct aif_xe_source *x, uint32_t pci);

/* The oldest batch that ended at `until` or before, or NULL. The caller frees it. */
struct aif_xe_batch *aif_xe_take(struct aif_xe *x, uint64_t until);
void aif_xe_batch_free(struct aif_xe_batch *b);
bool aif_xe_note(struct aif_xe *x, struct aif_xe_note *ret);
/* Reads what is left, and ends the thread; batches and notes can still be taken. */
void aif_xe_stop(struct aif_xe *x);
void aif_xe_free(struct aif_xe *x); /* NULL is accepted */
