/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/name_sanitize.h"

/* Names of functions and kernels for labels. The rules are data: name_rules.def. */
enum aif_name_detail {
	AIF_NAME_BRIEF = 0,
	AIF_NAME_NORMAL = 1,
	AIF_NAME_FULL = 2, /* as it is */
};

/* Appends the name without what a reader does not need: parameters, return type, noise of
 * templates, tags, hashes. What is no C++ comes out as it is, but for suffixes and length. */
void aif_name_short(const char *name, size_t n, enum aif_name_detail detail, struct aif_buf *ret);

/* The same with all template arguments and of any length. */
void aif_name_bare(const char *name, size_t n, struct aif_buf *ret);

/* For each bracket of a name where it closes, 0 = it is none or does not; for free(), NULL when memory runs
 * out. */
uint32_t *aif_name_closings(const char *name, size_t n);

/* Cuts the text from `begin` on to `max` bytes, not within a character. */
void aif_name_cut(struct aif_buf *b, size_t begin, size_t max);
