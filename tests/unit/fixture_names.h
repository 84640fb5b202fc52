/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Names made of what trips parsers up: name i < n is the i-th part again and again, later ones are parts by chance. */
static inline void fixture_hostile_name(const char *const *parts, size_t n, size_t i, size_t len,
					uint64_t *random, struct aif_buf *ret)
{
	aif_buf_clear(ret);
	while (ret->len < len) {
		*random = *random * 6364136223846793005u + 1442695040888963407u;
		aif_buf_puts(ret, parts[i < n ? i : (*random >> 40) % n]);
	}
}
