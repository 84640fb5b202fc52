/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/ehframe.h"

/* Rows of code that has no tables, told from its instructions. */

/*
 * aarch64. Two pieces of code are in nearly every stack's way and are described nowhere: the
 * kernel's trampoline through which a signal's handler returns (Linux 5.8 removed its tables, which
 * were wrong), and linkers' PLT entries, which a sample may interrupt. Both are always the same few
 * instructions.
 *
 * `code` is executable and readable, pc in it (or one less, as of a return address). NONE if it is
 * neither.
 */
uint64_t aif_stub_row_aarch64(struct aif_span code, uint64_t pc);
