/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/device_elf.h"

/* NVIDIA's device code: a cubin, an ELF image that the driver loads. */
struct aif_cubin {
	struct aif_device_elf elf;
	unsigned sm;   /* 90 */
	char arch[16]; /* "sm_90" */
};

enum { AIF_CUBIN_MACHINE = 190 };

/* Opens a cubin; see aif_device_elf_init(). */
int aif_cubin_init(struct aif_cubin *c, const void *bytes, size_t n);
void aif_cubin_finish(struct aif_cubin *c);
