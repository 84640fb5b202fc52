/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

/*
 * Finds instructions of system calls in a file's own code by which a program could install a seccomp filter past the C library's
 * functions: with the number of seccomp() or of prctl(), or with any number that the function is called with.
 *
 * Two bytes of x86's instruction come about by chance in each 64 KiB, so a place counts where decoding from many bytes
 * before comes upon it, and where the register of the number has one of the two, or what no instruction before says.
 */
enum aif_own_calls {
	AIF_OWN_CALLS_NONE,
	AIF_OWN_CALLS_ANY,    /* the number is an argument */
	AIF_OWN_CALLS_FILTER, /* the number is that of a call which installs filters */
};

/*
 * Returns an enum aif_own_calls, or -errno. *ret_address: of the instruction, in the file's own numbering. `least`: with
 * AIF_OWN_CALLS_FILTER no others are found, and of x86 only those whose number stands within 320 bytes before, which takes a tenth of the
 * time.
 */
int aif_own_calls_find(const struct aif_elf *elf, enum aif_own_calls least, uint64_t *ret_address);
