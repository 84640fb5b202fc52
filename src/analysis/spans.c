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
	s->at[s->len] = (struct aif_span){start, end, aif_spans_total(s)};
	s->len++;
	return 0;
}

void aif_spans_finish(struct aif_spans *s)
{
	free(s->at);
	*s = (struct aif_spans){0};
}

uint64_t aif_spans_total(const struct aif_spans *s)
{
	return s->len ? s->at[s->len - 1].before + length(&s->at[s->len - 1]) : 0;
}

/* Returns the length of all spans, as far as they lie before `at`. */
static uint64_t covered_until(const struct aif_spans *s, int64_t at)
{
	size_t lo = 0, hi = s->len;
	const struct aif_span *x;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->at[mid].start < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	x = &s->at[lo - 1];
	return x->before + ((uint64_t)AIF_MIN(x->end, at) - (uint64_t)x->start);
}

uint64_t aif_spans_covered(const struct aif_spans *s, int64_t from, int64_t to)
{
	return from < to ? covered_until(s, to) - covered_until(s, from) : 0;
}
