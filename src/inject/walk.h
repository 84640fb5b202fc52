/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/image.h"
#include "unwind/arch.h"

/* Whether a stopped thread may be made to call a function of its C library. */
enum aif_walk_answer {
	AIF_WALK_SAFE,
	AIF_WALK_UNSAFE,  /* it is in the allocator, the loader, or on its way out */
	AIF_WALK_HANDLER, /* it is in a handler of a signal */
	AIF_WALK_UNKNOWN, /* its stack cannot be told to the end */
	AIF_WALK_LIBRARY, /* `is_running`: it is in the C library */
	AIF_WALK_TABLES, /* of the frame that *regs is now in tables are missing: aif_image_read_tables() */
};

/* Walks the stack of *regs, from outside. `is_running`: the thread was interrupted anywhere, not in a system call. */
enum aif_walk_answer aif_walk(struct aif_image *im, struct aif_regs *regs, bool is_running);
