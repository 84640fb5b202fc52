/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "profile/model.h"

/*
 * Memory that allocators handed out (struct aif_memory_row), as blocks: from their allocation to their release.
 *
 * A release ends the block at its address, of its process and device. Traces of 2021 have no addresses: there it ends
 * the newest block of its size. What the allocator says that it has in all (`allocated`) and the blocks that are known
 * differ by what was allocated before the recording began; without such a sum, that is at least what is released
 * without having been allocated. It is `before`, so that a device's peak is the allocator's own, to the byte.
 *
 * A recording has the runtime's blocks, too: those that an allocator hands out in smaller ones do not count
 * (memory_rows.h), the others are `beside` it.
 */

struct aif_memory_block {
	int64_t start, end; /* ns since the recording began; end INT64_MAX: it was not released */
	size_t first, last; /* places of both among .events; last SIZE_MAX: none */
	uint64_t bytes;
	uint32_t process, thread, stack;
	uint32_t device; /* AIF_NONE: the host's memory */
	bool is_beside; /* allocated by the runtime, while an allocator reports sums for this process and device */
};

struct aif_memory_event { /* in the order of time */
	int64_t at;
	uint32_t block;
	bool is_release;
};

/* A device's memory, or (AIF_NONE) the host's. */
struct aif_memory_device {
	uint32_t device;
	uint64_t peak; /* bytes, of what was asked for */
	int64_t peak_at;
	size_t peak_event; /* number of events up to the peak */
	uint64_t before;   /* bytes of the peak that were allocated before the recording began */
	uint64_t
		beside; /* and those that the runtime gave beside the allocator that says .reserved */
	uint64_t reserved; /* by the allocator, then; AIF_MEMORY_UNKNOWN */
	uint64_t allocated, released, allocations, releases;
	uint64_t by_size; /* releases without an address */
};

struct aif_memory {
	AIF_TABLE(aif_memory_block, blocks);
	AIF_TABLE(aif_memory_event, events);
	AIF_TABLE(aif_memory_device, devices);
	uint64_t damaged; /* chunks that could not be read */
	bool any;         /* the profile has rows, whatever was asked for */
};

/* Reads what `sel` (NULL: all) keeps: blocks by who allocated them, the peak by time. *ret is finished by the caller in any
 * case. 0 or -errno. */
int aif_memory_read(const struct aif_profile *p, const struct aif_selection *sel,
		    struct aif_memory *ret);
void aif_memory_finish(struct aif_memory *m);

/* True if the block was there at its device's peak. */
bool aif_memory_is_at_peak(const struct aif_memory *m, const struct aif_memory_block *b);

/* Appends a sentence: each device's peak, when it was, and what of it is not known. */
void aif_memory_say(const struct aif_profile *p, const struct aif_memory *m, struct aif_buf *out);
