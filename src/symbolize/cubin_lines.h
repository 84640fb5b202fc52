/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/cubin.h"

/* Source lines and inlined functions of a cubin's instructions, from its .debug_line. */
struct aif_cubin_lines;

/* `c` must outlive the result. -ENODATA without line tables (compiled without -lineinfo), -ENOMEM.
 * 20 bytes a row, read once. */
int aif_cubin_lines_new(const struct aif_cubin *c, struct aif_cubin_lines **ret);
void aif_cubin_lines_free(struct aif_cubin_lines *l);

/*
 * The functions at the place `pc` bytes into symbol's function: [0] the one that really stands
 * there, then those inlined into it, inwards; `line` is the place inside that function: of all but
 * the last, where it calls the next. With more than `max` (> 0, or AIF_DEVICE_MAX_LEVELS) of them
 * the innermost takes the last place. Returns their number, 0 if no line is known, or -ENOMEM.
 * Strings are valid until the next call.
 */
int aif_cubin_lines_resolve(struct aif_cubin_lines *l, uint32_t symbol, uint64_t pc,
			    struct aif_device_level *ret, unsigned max);

/*
 * Finds the next part of .debug_line, from sequence *at (at first 0) on, with rows of the function alone; of all functions if
 * `of` is NULL. It lies between the opcodes that begin and end a sequence, so that a reader of what is left sees an
 * empty one. False: there is no other.
 */
bool aif_cubin_lines_next(const struct aif_cubin_lines *l, const struct aif_device_function *of,
			  size_t *at, uint64_t *ret_offset, uint64_t *ret_size);
/* Overwrites these parts of all functions, in a copy of .debug_line, with opcodes that do nothing. */
void aif_cubin_lines_blank(const struct aif_cubin_lines *l, uint8_t *lines);
