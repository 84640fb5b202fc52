/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/delays.h"

#include "analysis/idle/blaming.h"
#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int aif_idle_delays_wait(struct aif_idle_delays *d, size_t segment, double ns)
{
	if (aif_grow(&d->waits, &d->waits_cap, d->waits_len + 1, sizeof(*d->waits)) < 0)
		return -ENOMEM;
	d->waits[d->waits_len++] = (struct aif_idle_delay){.segment = (uint32_t)segment, .ns = ns};
	return 0;
}

int aif_idle_delays_seen(struct aif_idle_delays *d, size_t segment, size_t share, double ns,
			 bool is_asleep)
{
	if (aif_grow(&d->seen, &d->seen_cap, d->seen_len + 1, sizeof(*d->seen)) < 0)
		return -ENOMEM;
	d->seen[d->seen_len++] =
		(struct aif_idle_delay){(uint32_t)segment, (uint32_t)share, is_asleep, ns};
	return 0;
}

static int by_segment(const void *a, const void *b)
{
	const struct aif_idle_delay *x = a, *y = b;

	return AIF_ORDER(x->segment, y->segment);
}

/* Gives the waits of one gap to what was seen in it: samples, else sleeps. */
static void place(struct aif_idle_blaming *b, const struct aif_idle_delay *seen, size_t n,
		  double waits)
{
	struct aif_idle_bracket *of = &b->brackets[b->segments[seen[0].segment].bracket];
	double sum[2] = {0}, worth = 0;
	size_t samples = 0;
	bool is_asleep;

	for (size_t i = 0; i < n; i++) {
		sum[seen[i].is_asleep] += seen[i].ns;
		samples += !seen[i].is_asleep;
	}
	is_asleep = !samples;
	if (!(sum[is_asleep] > 0))
		return;
	if (samples)
		worth = exp(1 - (double)samples) / (double)samples;
	for (size_t i = 0; i < n; i++) {
		struct aif_idle_share *s = &b->shares[seen[i].share];

		if (seen[i].is_asleep != is_asleep)
			continue;
		s->delayed += waits * seen[i].ns / sum[is_asleep];
		s->unseen += worth * seen[i].ns;
	}
	of->placed += waits;
	of->unseen += worth * sum[is_asleep];
}

void aif_idle_delays_place(struct aif_idle_blaming *b)
{
	struct aif_idle_delays *d = &b->delays;
	size_t at = 0;

	if (!d->waits_len || !d->seen_len)
		return;
	aif_sort(d->waits, d->waits_len, sizeof(*d->waits), by_segment);
	aif_sort(d->seen, d->seen_len, sizeof(*d->seen), by_segment);
	for (size_t from = 0, to; from < d->seen_len; from = to) {
		const uint32_t segment = d->seen[from].segment;
		double waits = 0;

		for (to = from; to < d->seen_len && d->seen[to].segment == segment; to++)
			;
		for (; at < d->waits_len && d->waits[at].segment <= segment; at++)
			waits += d->waits[at].segment == segment ? d->waits[at].ns : 0;
		place(b, d->seen + from, to - from, waits);
	}
}

void aif_idle_delays_finish(struct aif_idle_delays *d)
{
	free(d->waits);
	free(d->seen);
	*d = (struct aif_idle_delays){0};
}
