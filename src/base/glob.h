/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The pattern language of the rule tables (fold_rules.def, frame_type.def): `*` any bytes, `?` one
 * byte, `[A-Z_]` one of a class, everything else itself; the whole text must match. Time is at most
 * pattern x text. */
struct aif_glob_part {
	size_t at, len;
};

/* *ret_first (may be NULL): what the first `*` stood for, the shortest that makes a match. */
bool aif_glob(const char *pattern, const char *text, size_t len, struct aif_glob_part *ret_first);
/* True if one of the `n` patterns matches. */
bool aif_glob_any(const char *const *patterns, size_t n, const char *text, size_t len);
