/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Disjoint spans of time in order: the union of what was added. Times in ns. */
struct aif_spans {
	struct aif_span {
		int64_t start, end;
		uint64_t before; /* length of all spans before this one */
	} * at;
	size_t len, cap;
};

/* Adds a span; calls come by ascending start. Spans that overlap or touch become one. 0 or
 * -ENOMEM. */
int aif_spans_add(struct aif_spans *s, int64_t start, int64_t end);
void aif_spans_finish(struct aif_spans *s);

uint64_t aif_spans_total(const struct aif_spans *s);
/* Returns how much of [from, to) the spans cover. O(log n). */
uint64_t aif_spans_covered(const struct aif_spans *s, int64_t from, int64_t to);
