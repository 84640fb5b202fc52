/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Theoretical occupancy of a multiprocessor by a kernel's blocks: threads of the blocks that fit on it at once, of
 * those that it can hold (CUDA C++ Programming Guide, "Hardware Implementation" and "Compute Capabilities"). Blocks are
 * limited by
 *
 *     warps      of 32 threads: unit_threads / 32 of them
 *     slots      unit_blocks
 *     registers  a warp takes 32 times a thread's, in units of 256; a quarter of the unit's are for a quarter of its warps
 *     shared     a block's and block_shared, in units of 128 bytes (before compute capability 8: of 256)
 */

/* Above 0, at most 1; 0: not known. Registers of a thread; shared: bytes of a block, static and dynamic. */
double aif_occupancy(const struct aif_device *device, uint64_t block_threads, uint32_t registers,
		     uint32_t shared);
/* Returns the occupancy of an execution. `launch` has its block's size; NULL, or a launch of a
 * whole graph: not known. */
double aif_exec_occupancy(const struct aif_profile *p, const struct aif_exec_row *exec,
			  const struct aif_launch_row *launch);
