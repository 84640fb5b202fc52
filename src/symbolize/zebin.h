/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/device_elf.h"

/* Intel's device code: a zebin, the ELF image that IGC makes and the Level Zero and OpenCL
 * drivers load. */
struct aif_zebin {
	struct aif_device_elf elf;
	char arch[16];                          /* zebin_families.def: "xe_hpc" */
	const struct aif_device_section *spirv; /* what it was compiled from; NULL: not in it */
};

enum { AIF_ZEBIN_MACHINE = 205 };

#define AIF_ZEBIN_SPIRV 0xff000009u /* type of the section that has it */

/* The architecture of an unknown product. */
#define AIF_ZEBIN_ARCH_UNKNOWN "intel_gpu"

/* Opens a zebin; see aif_device_elf_init(). */
int aif_zebin_init(struct aif_zebin *z, const void *bytes, size_t n);
void aif_zebin_finish(struct aif_zebin *z);

/* Whether it is what IGC made before zebin ("patchtokens"), which nothing here reads. */
bool aif_zebin_is_patchtokens(const void *bytes, size_t n);
