/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/spans.h"

#include <errno.h>

static uint64_t length(const struct aif_span *s)
{
	return (uint64_t)s->end - (uint64_t)s->start;
}

int aif_spans_add(struct aif_spans *s, int64_t start, int64_t end)
{
	struct aif_span *last = s->len ? &s->at[s->len - 1] : NULL;

	if (end <= start)
		return 0;
	if (last && start <= last->end) {
		last->end = AIF_MAX(last->end, end);
		return 0;
	}
	if (aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) < 0)
		return -ENOMEM;
	if (s->len % AIF_SPANS_BLOCK == 0) {
		size_t block = s->len / AIF_SPANS_BLOCK;

		if (aif_grow(&s->sums, &s->sums_cap, block + 1, sizeof(*s->sums)) < 0)
			return -ENOMEM;
		s->sums[block] = aif_spans_total(s);
	}
	s->at[s->len] = (struct aif_span){start, end};
	s->len++;
	return 0;
}

void aif_spans_finish(struct aif_spans *s)
{
	free(s->at);
	free(s->sums);
	*s = (struct aif_spans){0};
}

uint64_t aif_spans_total_of(const struct aif_spans *s, size_t n)
{
	size_t block = n ? (n - 1) / AIF_SPANS_BLOCK : 0;
	uint64_t sum = n ? s->sums[block] : 0;

	for (size_t i = block * AIF_SPANS_BLOCK; i < n; i++)
		sum += length(&s->at[i]);
	return sum;
}

uint64_t aif_spans_total(const struct aif_spans *s)
{
	return aif_spans_total_of(s, s->len);
}

size_t aif_spans_bytes(const struct aif_spans *s)
{
	return s->cap * sizeof(*s->at) + s->sums_cap * sizeof(*s->sums);
}

/* Returns the length of all spans, as far as they lie before `at`. */
static uint64_t covered_until(const struct aif_spans *s, int64_t at)
{
	size_t n = AIF_BISECT(mid, 0, s->len, s->at[mid].start < at);
	const struct aif_span *x;

	if (!n)
		return 0;
	x = &s->at[n - 1];
	return aif_spans_total_of(s, n - 1) + ((uint64_t)AIF_MIN(x->end, at) - (uint64_t)x->start);
}

uint64_t aif_spans_covered(const struct aif_spans *s, int64_t from, int64_t to)
{
	return from < to ? covered_until(s, to) - covered_until(s, from) : 0;
}

uint64_t aif_spans_covered_until(const struct aif_spans *s, struct aif_spans_cursor *c, int64_t at)
{
	while (c->next < s->len && s->at[c->next].end <= at)
		c->total += length(&s->at[c->next++]);
	if (c->next == s->len || s->at[c->next].start >= at)
		return c->total;
	return c->total + ((uint64_t)at - (uint64_t)s->at[c->next].start);
}
