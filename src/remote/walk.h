/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "remote/modules.h"
#include "unwind/arch.h"

/*
 * Unwinds the native stack of a thread of another process, by the rows of its modules, from a copy of the stack. As
 * unwind/unwind.h does within a process, with two differences: of a thread that was not stopped the frame pointer is not
 * known, and memory beyond the copy is read only where the caller allows it.
 */
struct aif_remote_regs {
	struct aif_regs regs;
	struct aif_regs_more more;
	bool knows_more; /* bp and *more are known; else pc and sp only */
};

/* A copy of [at, at + len), and whether words beyond it may be read from the process. */
struct aif_remote_stack {
	uint64_t at;
	size_t len;
	const uint8_t *bytes;
	bool may_read;
	/* For want of a frame pointer that is needed: take the word of the stack that looks like where it leads. */
	bool may_search;
};

enum aif_remote_end {
	AIF_REMOTE_END,       /* the stack is complete */
	AIF_REMOTE_REGISTERS, /* it needs a register that is not known */
	AIF_REMOTE_TRUNCATED, /* no table, a rule that is not followed, or malformed */
	AIF_REMOTE_DEEP,      /* `max` frames taken, or the copy has ended */
};

struct aif_remote_walk {
	unsigned depth;
	enum aif_remote_end end;
	bool guessed; /* a caller was found by the frame pointer where no table describes it, or a frame pointer was searched */
};

/* Innermost first: pcs[0] is where the thread is, the others are return addresses. sps[i] is the stack pointer of frame i.
 * `max` is at least 1. */
struct aif_remote_walk aif_remote_unwind(struct aif_remote_modules *m,
					 const struct aif_remote_regs *regs,
					 const struct aif_remote_stack *stack, uint64_t *pcs,
					 uint64_t *sps, unsigned max);
