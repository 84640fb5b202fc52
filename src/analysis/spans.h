/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Disjoint spans of time in order: the union of what was added. Times in ns. */
#define AIF_SPANS_BLOCK 32
struct aif_spans {
	struct aif_span {
		int64_t start, end;
	} * at;
	size_t len, cap;
	uint64_t *sums; /* by block of AIF_SPANS_BLOCK spans: length of all spans before it */
	size_t sums_cap;
};

/* Adds a span; calls come by ascending start. Spans that overlap or touch become one. 0 or
 * -ENOMEM. */
int aif_spans_add(struct aif_spans *s, int64_t start, int64_t end);
void aif_spans_finish(struct aif_spans *s);

uint64_t aif_spans_total(const struct aif_spans *s);
/* Returns the length of the first n spans. */
uint64_t aif_spans_total_of(const struct aif_spans *s, size_t n);
/* Returns the memory that the spans take. */
size_t aif_spans_bytes(const struct aif_spans *s);
/* Returns how much of [from, to) the spans cover. O(log n). */
uint64_t aif_spans_covered(const struct aif_spans *s, int64_t from, int64_t to);
/* Returns how much lies before `at`, where calls come by ascending `at`, the first with a zeroed cursor. */
struct aif_spans_cursor {
	size_t next;    /* the first span that does not end before */
	uint64_t total; /* length of the spans before that */
};
uint64_t aif_spans_covered_until(const struct aif_spans *s, struct aif_spans_cursor *c, int64_t at);
