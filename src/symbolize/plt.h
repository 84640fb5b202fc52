/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

/* The function that the PLT stub at `address` jumps to, into to[max], and the stub's extent. The
 * name's length; -ENOENT if no stub is there (or none of this machine: x86-64 only). */
ssize_t aif_plt_name(const struct aif_elf *elf, uint64_t address, char *to, size_t max,
		     uint64_t *ret_start, uint64_t *ret_end);
