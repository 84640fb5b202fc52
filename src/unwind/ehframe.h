/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/row.h"

/*
 * One row of unwinding for one pc, read from .eh_frame where it lies in memory. Pure: no state, no
 * allocation, no library call but memcpy and memcmp; every byte that is read lies in the spans
 * given to aif_ehframe_init(), whatever the tables say. ehframe.c opens with the essay.
 */

/* Readable bytes, [lo, hi). */
struct aif_span {
	const uint8_t *lo, *hi;
};

/* The unwind tables of a module, found and bounded. */
struct aif_ehframe {
	struct aif_span frames; /* from the first entry of .eh_frame to the end of its segment */
	const uint8_t *hdr;     /* .eh_frame_hdr: the sorted table's values are relative to it */
	const uint8_t *table;   /* NULL: not sorted, a small .eh_frame is searched linearly */
	size_t table_len;       /* pairs of (start, FDE) */
};

/* Reads the header at `hdr` (.eh_frame_hdr, PT_GNU_EH_FRAME), `len` bytes long as the program
 * header says. `spans` are the module's readable segments. 0, -EINVAL (malformed or outside the
 * spans) or -ENOTSUP (another version or encoding). */
int aif_ehframe_init(struct aif_ehframe *e, const uint8_t *hdr, size_t len,
		     const struct aif_span *spans, size_t n_spans);

/* The row for the instruction at pc. Never fails: what cannot be told is NONE or BAD. */
uint64_t aif_ehframe_row(const struct aif_ehframe *e, uint64_t pc);

/* Returns where the function at pc has saved its caller's rbx, as aif_cfi_bx(). x86-64 only. */
int64_t aif_ehframe_bx(const struct aif_ehframe *e, uint64_t pc);

/*
 * An .eh_frame that may vanish is copied before it is read. *at: where the next entry begins in the
 * copy, 0 at first; `moved`: the original's address less the copy's. False: no more functions. What
 * is malformed is left out.
 */
struct aif_ehframe_function {
	uint64_t start, end;
	uint32_t fde, fde_len, cie, cie_len; /* where its entries lie */
};
bool aif_ehframe_next(struct aif_span copy, uint64_t moved, uint32_t *at,
		      struct aif_ehframe_function *ret);

/* The row for pc, from copies of its two entries, of which the FDE's original is at fde_at. As
 * aif_ehframe_row(). */
uint64_t aif_ehframe_row_of(struct aif_span cie, struct aif_span fde, uint64_t fde_at, uint64_t pc);
