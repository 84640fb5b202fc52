/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Line information for optimised kernels of PoCL 3.
 *
 * What runs is the work group's function, into which the kernel's is inlined. PoCL 3 makes it
 * without a DISubprogram, so that LLVM drops the lines of all that is inlined into it; but the
 * kernel's own function stays in the file, as it must be exported, with its lines. It is the same
 * code, optimised the same way: of its instructions nine in ten stand in the work group's function
 * in the same order (138 of 151, 246 of 270 and 245 of 259 in examples/matmul). So the two are
 * aligned, and an instruction has the line of its twin. One without a twin has none. As this is
 * inference, such lines stand under the kernel's name with AIF_POCL_MATCHED behind it.
 */
#define AIF_POCL_MATCHED " (line matched)"

struct aif_pocl_twin;

struct aif_pocl_code {
	const uint8_t *bytes;
	size_t n;
	uint64_t address;
};

/* Aligns `code` with `twin`, both of an ELF machine. 0; -ENOENT when they are not the same code;
 * -ENOTSUP for an instruction set that is not decoded; -E2BIG; -ENOMEM. */
int aif_pocl_twin_new(uint16_t machine, const struct aif_pocl_code *code,
		      const struct aif_pocl_code *twin, struct aif_pocl_twin **ret);
void aif_pocl_twin_free(struct aif_pocl_twin *t); /* NULL is fine */

/* The twin's address of the instruction that `address` lies in, or 0. */
uint64_t aif_pocl_twin_of(const struct aif_pocl_twin *t, uint64_t address);
