/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/arch.h"

/*
 * A row: how to get from a frame to its caller's. CFA is the stack pointer of the caller after the
 * call returns; the return address lies at CFA - 8 except for END and SIGNAL. 64 bits (x86-64):
 *
 *     63      32 31     16 15    8 7     0
 *    |   off    |   aux   |  bp   | kind  |
 *
 * `bp` says where the caller's rbp was saved: 0 = it was not, AIF_ROW_BP_AT_BP = at the address in
 * rbp, else at CFA + 8 * bp (for SIGNAL: at rsp + 8 * bp).
 *
 * aarch64: the same with x29 and sp, but the return address lies at CFA + 8 * aux, and x29 at that
 * + 8 * bp: frames may have 256 KB, and the two words lie side by side. (LR has no aux, its x29
 * lies at CFA + 8 * bp.)
 *
 * REG: the CFA is in a register that only an interruption tells (aif_unwind_interrupted_frames):
 * while an over-aligned function sets up or takes down its frame, where gcc takes r10, and r13
 * where r10 is needed; in r11 while the pages of a large frame are touched one after the other
 * (-fstack-clash-protection); and in the loader's code that binds a function at its first call,
 * whose rbx the functions further in may have saved.
 */
enum aif_row_kind {
	AIF_ROW_RSP,       /* CFA = rsp + off */
	AIF_ROW_RBP,       /* CFA = rbp + off */
	AIF_ROW_PLT,       /* CFA = rsp + 8, and 8 more from (rip & 15) == aux on */
	AIF_ROW_RBP_DEREF, /* CFA = *(rbp + aux): over-aligned frames */
	AIF_ROW_RSP_DEREF, /* CFA = *(rsp + aux) */
	AIF_ROW_REG,       /* CFA = off + r10, r11, r13 or rbx: aux says which */
	AIF_ROW_LR,        /* CFA = sp + off, the return address is still in x30 */
	AIF_ROW_SIGNAL,    /* interrupted: its rsp is at rsp + off, its rip at rsp + aux */
	AIF_ROW_END,       /* outermost frame: nobody called */
	AIF_ROW_NONE,      /* no function covers this pc */
	AIF_ROW_BAD,       /* malformed, or a rule that a row cannot hold; aux = enum aif_row_bad */
	AIF_ROW_KIND_COUNT
};

enum aif_row_bad {
	AIF_ROW_BAD_TABLE = 1, /* malformed, or an encoding that is not supported */
	AIF_ROW_BAD_CFA,       /* CFA from another register or expression (rdx, ...) */
	AIF_ROW_BAD_BP,        /* rbp in another register or by another expression */
	AIF_ROW_BAD_RA,        /* return address not at CFA - 8, or not where a row can say */
};

#define AIF_ROW_BP_AT_BP 127

static inline uint64_t aif_row_make(enum aif_row_kind kind, int8_t bp, int16_t aux, int32_t off)
{
	return (uint64_t)kind | (uint64_t)(uint8_t)bp << 8 | (uint64_t)(uint16_t)aux << 16 |
	       (uint64_t)(uint32_t)off << 32;
}

static inline enum aif_row_kind aif_row_kind(uint64_t row)
{
	return (enum aif_row_kind)(row & 0xff);
}

static inline int8_t aif_row_bp(uint64_t row)
{
	return (int8_t)(row >> 8);
}

static inline int16_t aif_row_aux(uint64_t row)
{
	return (int16_t)(row >> 16);
}

static inline int32_t aif_row_off(uint64_t row)
{
	return (int32_t)(row >> 32);
}

/* Returns the address of the return address; the next function, of the caller's frame pointer if
 * it was saved relative to the CFA. Not for LR, SIGNAL. */
static inline uint64_t aif_row_ra_at(uint64_t row, uint64_t cfa)
{
	return AIF_ARCH_LINK ? cfa + 8 * (uint64_t)(int64_t)aif_row_aux(row) : cfa - 8;
}

static inline uint64_t aif_row_bp_at(uint64_t row, uint64_t cfa)
{
	const uint64_t from = AIF_ARCH_LINK ? aif_row_ra_at(row, cfa) : cfa;

	return from + 8 * (uint64_t)(int64_t)aif_row_bp(row);
}
