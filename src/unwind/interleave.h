/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/python.h"

/*
 * Makes one stack of two: native frames and Python frames in their true order.
 *
 * An evaluation loop is one C frame and runs one segment of Python frames, so a segment belongs
 * just inside its C frame. Which one that is shows by address: CPython keeps a structure of the
 * segment in that C frame (3.10 and newer). Where there is none, by the address range of the
 * evaluation function. Pure.
 */

struct aif_interleave {
	const uint64_t *pcs; /* native frames, innermost first, as aif_unwind() gives them */
	const uint64_t
		*sps; /* of each, its stack pointer (its caller's is its CFA); NULL: not known */
	unsigned native_len;
	bool native_cut;                       /* outer native frames are missing */
	const struct aif_python_frame *frames; /* as aif_python_walk() gives them */
	unsigned python_len;
	bool python_cut;
	uint64_t eval_lo, eval_hi; /* the evaluation function's code (struct aif_python); or 0, 0 */
};

enum aif_interleave_how {
	AIF_INTERLEAVE_BY_ADDRESS, /* exact */
	AIF_INTERLEAVE_BY_SYMBOL,  /* as many segments as frames of the evaluation function */
	AIF_INTERLEAVE_BLOCK, /* they disagree: the Python frames stand together, to be marked */
};

/* An element of the result: an index into pcs, or with this bit into frames. */
#define AIF_INTERLEAVE_PYTHON (UINT32_C(1) << 31)

/* Writes native_len + python_len elements, innermost first. Segments whose C frames are cut off
 * come last. */
enum aif_interleave_how aif_interleave(const struct aif_interleave *in, uint32_t *ret);
