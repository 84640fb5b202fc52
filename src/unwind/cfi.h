/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/ehread.h"
#include "unwind/row.h"

/* Call frame instructions: the small program that tells where the caller's registers are. */

/* DWARF register numbers. */
enum {
#if defined(__x86_64__)
	AIF_CFI_REG_BX = 3,
	AIF_CFI_REG_BP = 6,
	AIF_CFI_REG_SP = 7,
	AIF_CFI_REG_R10 = 10,
	AIF_CFI_REG_R11 = 11,
	AIF_CFI_REG_R13 = 13,
	AIF_CFI_REG_RA = 16,
#else
	AIF_CFI_REG_BP = 29,
	AIF_CFI_REG_SP = 31,
	AIF_CFI_REG_RA = 30,
#endif
};

/* The parameters of one CIE, shared by its functions. */
struct aif_cfi_cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t pointer_enc;          /* of the FDEs' pointers */
	bool has_augmentation;        /* FDEs have augmentation data too, to skip */
	bool signal_frame;            /* the "caller" was interrupted, it did not call */
	struct aif_eh_reader program; /* runs before each FDE's own */
};

/* The row at pc of the function that begins at `start` (<= pc) and has `program`. */
uint64_t aif_cfi_row(const struct aif_cfi_cie *c, struct aif_eh_reader program, uint64_t start,
		     uint64_t pc);

/* Returns how far above the CFA the caller's rbx is saved at pc, AIF_CFI_SAME or AIF_CFI_UNKNOWN.
 * x86-64 only. */
enum { AIF_CFI_SAME = 0, AIF_CFI_UNKNOWN = 1 };
int64_t aif_cfi_bx(const struct aif_cfi_cie *c, struct aif_eh_reader program, uint64_t start,
		   uint64_t pc);
