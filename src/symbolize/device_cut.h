/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/cubin_lines.h"
#include "symbolize/zebin.h"

/*
 * A device object without what functions have for themselves: a file of the same length, in which the contents of sections
 * with code are zeros, and the sections say that they have none (SHT_NOBITS, as after objcopy --only-keep-debug). Data
 * and embedded sources of more than 64 KiB go, too. Headers, symbols, notes and debug information stay as they are, but
 * for the line tables of a cubin: those of each function are opcodes that do nothing. What a function had is put back by
 * writing its bytes where they were.
 */

/* Makes a copy of `image`, `n` bytes, which `e` and `lines` (NULL: none) are of. *ret: n bytes of malloc(). 0 or -ENOMEM. */
int aif_device_cut(const struct aif_device_elf *e, const struct aif_cubin_lines *lines,
		   const uint8_t *image, size_t n, uint8_t **ret);
