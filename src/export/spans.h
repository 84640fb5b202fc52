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

/* By ascending start; what overlaps or touches is one. 0 or -ENOMEM. */
int aif_spans_add(struct aif_spans *s, int64_t start, int64_t end);
void aif_spans_finish(struct aif_spans *s);

uint64_t aif_spans_total(const struct aif_spans *s);
/* How much of [from, to) they cover. O(log n). */
uint64_t aif_spans_covered(const struct aif_spans *s, int64_t from, int64_t to);
