/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "unwind/interleave.h"
#include "unwind/unwind.h"

/* Scratch memory for making a stack, for a thread that launches and for one that is sampled. Its pages are touched when
 * they are needed. */
struct aif_scratch {
	uint64_t *pcs;                   /* AIF_MEMO_MAX_DEPTH */
	struct aif_unwind_frame *frames; /* AIF_MEMO_MAX_DEPTH + 1 */
	uint64_t *sps;                   /* AIF_MEMO_MAX_DEPTH */
	struct aif_python_frame *python; /* AIF_THREAD_PYTHON */
	uint32_t *order;                 /* AIF_WIRE_MAX_DEPTH */
	uint8_t *code;                   /* AIF_PYTHON_CODE_BUFFER */
};

#define AIF_SCRATCH_PARTS 6

/* For aif_pages_shared(): the sizes of the parts, and the parts. */
void aif_scratch_bytes(size_t bytes[AIF_SCRATCH_PARTS]);
void aif_scratch_init(struct aif_scratch *s, void *const parts[AIF_SCRATCH_PARTS]);

/* For aif_interleave(): the Python stack in this scratch; the native one is still to be said. */
struct aif_interleave aif_scratch_interleave(const struct aif_scratch *s,
					     const struct aif_python_stack *py);
