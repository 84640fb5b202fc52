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

/* Walks the stack of *regs, from outside. `is_running`: the thread was interrupted anywhere, not in a system call. tls: its
 * thread pointer, above which its stack ends, unless it is the first thread.
 *
 * Functions of Go have no tables. Behind one, each word of the stack that can be a return address counts as one, as far as the
 * thread is on its own stack, where Go's scheduler and its calls of C are: threads that wait for work are. A goroutine's stack
 * says nothing of what lies on the thread's. */
enum aif_walk_answer aif_walk(struct aif_image *im, struct aif_regs *regs, uint64_t tls,
			      bool is_running);
