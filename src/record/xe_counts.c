/* SPDX-License-Identifier: Apache-2.0 */
#include "record/xe_counts.h"

#include "base/hash.h"

#include <string.h>

#define FIRST 1024

void aif_xe_counts_finish(struct aif_xe_counts *c)
{
	free(c->at);
	*c = (struct aif_xe_counts){0};
}

static struct aif_xe_sum *slot_of(const struct aif_xe_counts *c, uint64_t ip, uint64_t hash)
{
	size_t i = hash & (c->cap - 1);

	while (c->at[i].used && c->at[i].ip != ip)
		i = (i + 1) & (c->cap - 1);
	return &c->at[i];
}

static bool grow(struct aif_xe_counts *c)
{
	struct aif_xe_counts bigger = {.len = c->len, .records = c->records};

	bigger.cap = c->cap ? 2 * c->cap : FIRST;
	if (bigger.cap > 2 * AIF_XE_COUNTS_MAX)
		return false;
	/* A slot is a cache line. */
	bigger.at = aligned_alloc(sizeof(*bigger.at), bigger.cap * sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	memset(bigger.at, 0, bigger.cap * sizeof(*bigger.at));
	for (size_t i = 0; i < c->cap; i++)
		if (c->at[i].used)
			*slot_of(&bigger, c->at[i].ip, aif_mix64(c->at[i].ip)) = c->at[i];
	free(c->at);
	*c = bigger;
	return true;
}

static void add(struct aif_xe_counts *c, const struct aif_xe_record *r, uint64_t hash)
{
	struct aif_xe_sum *s = slot_of(c, r->ip, hash);

	c->len += !s->used;
	s->used = true;
	s->ip = r->ip;
	for (unsigned k = 0; k < AIF_XE_REASONS; k++)
		s->counts[k] += aif_xe_count(r, k);
}

/* Some at a time: so that the misses of all their slots are waited for once. */
size_t aif_xe_counts_add(struct aif_xe_counts *c, const struct aif_xe_record *r, size_t n)
{
	uint64_t hashes[16];

	n = AIF_MIN(n, AIF_XE_COUNTS_RECORDS - AIF_MIN(c->records, AIF_XE_COUNTS_RECORDS));
	for (size_t i = 0; i < n; i += AIF_ARRAY_LEN(hashes)) {
		size_t some = AIF_MIN(n - i, AIF_ARRAY_LEN(hashes));

		if (2 * (c->len + some) >= c->cap && !grow(c)) {
			n = i;
			break;
		}
		for (size_t k = 0; k < some; k++) {
			hashes[k] = aif_mix64(r[i + k].ip);
			__builtin_prefetch(&c->at[hashes[k] & (c->cap - 1)], 1);
		}
		for (size_t k = 0; k < some; k++)
			if (r[i + k].low || r[i + k].high)
				add(c, &r[i + k], hashes[k]);
	}
	c->records += n;
	return n;
}

uint64_t aif_xe_counts_samples(const struct aif_xe_counts *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->cap; i++)
		for (unsigned k = 0; k < AIF_XE_REASONS && c->at[i].used; k++)
			sum += c->at[i].counts[k];
	return sum;
}
