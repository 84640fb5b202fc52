/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* An allocation or a release, in the order of time (struct aif_memory_row). */
struct aif_memory_moment {
	int64_t at;
	uint64_t block, bytes, allocated, reserved;
	uint32_t process, thread, stack, device, order;
	bool is_release;
	bool is_beside; /* allocated by the runtime, while an allocator reports sums for this process and device */
	bool is_segment; /* memory that the allocator hands out in blocks of its own */
};

/*
 * A framework's allocator gets memory of the runtime and hands it out in blocks. Where a recording has both, what the
 * runtime gave counts for itself only if no block of the allocator's ever lay in it. Sets is_beside and is_segment of n
 * moments in the order of time, and the device of the runtime's releases. 0 or -ENOMEM.
 */
int aif_memory_find_segments(struct aif_memory_moment *rows, size_t n);
