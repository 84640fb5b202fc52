/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_counts.h"

#include "base/buf.h"
#include "base/hash.h"

#include <endian.h>
#include <string.h>

#define FIRST 1024
/* Bits of an index; those above them in an ordered word are the address. */
#define INDEX_BITS 17
static_assert(AIF_XE_COUNTS_MAX <= 1 << (INDEX_BITS - 1), "an index fits");

void aif_xe_counts_finish(struct aif_xe_counts *c)
{
	free(c->at);
	free(c->ips);
	free(c->words);
	free(c->slots);
	*c = (struct aif_xe_counts){0};
}

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

/* Addresses with the same tag are told apart by the sums themselves. */
static inline struct aif_xe_slot *slot_of(const struct aif_xe_counts *c, uint64_t ip, uint64_t hash)
{
	size_t i = hash & (c->slots_cap - 1);

	while (c->slots[i].sum &&
	       (c->slots[i].tag != tag_of(hash) || c->at[c->slots[i].sum - 1].ip != ip))
		i = (i + 1) & (c->slots_cap - 1);
	return &c->slots[i];
}

/* Grows to `cap` slots, which are made anew from the sums. */
static bool grow(struct aif_xe_counts *c, size_t cap)
{
	struct aif_xe_slot *slots;
	struct aif_xe_sum *at;
	uint64_t *ips, *words;

	if (cap > 2 * AIF_XE_COUNTS_MAX)
		return false;
	at = malloc(cap / 2 * sizeof(*at));
	ips = malloc(cap / 2 * sizeof(*ips));
	words = malloc(cap * sizeof(*words));
	slots = calloc(cap, sizeof(*slots));
	if (!at || !ips || !words || !slots) {
		free(at);
		free(ips);
		free(words);
		free(slots);
		return false;
	}
	if (c->len) {
		memcpy(at, c->at, c->len * sizeof(*at));
		memcpy(ips, c->ips, c->len * sizeof(*ips));
	}
	free(c->at);
	free(c->ips);
	free(c->words);
	free(c->slots);
	c->at = at;
	c->ips = ips;
	c->words = words;
	c->slots = slots;
	c->slots_cap = cap;
	for (size_t i = 0; i < c->len; i++) {
		uint64_t hash = aif_mix64(c->at[i].ip);

		*slot_of(c, c->at[i].ip, hash) =
			(struct aif_xe_slot){tag_of(hash), (uint32_t)i + 1};
	}
	return true;
}

void aif_xe_counts_reserve(struct aif_xe_counts *c, const struct aif_xe_counts *like)
{
	size_t cap = FIRST;

	while (cap < like->slots_cap && cap < 2 * like->len)
		cap *= 2;
	grow(c, cap);
}

/* Seven bytes and a zero at a time: a third faster than one by one. */
static void add_low(uint32_t counts[8], uint64_t low)
{
	typedef uint8_t bytes __attribute__((vector_size(8)));
	typedef uint32_t words __attribute__((vector_size(32)));
	bytes b;
	words sums, more;

	low = htole64(low << 8 >> 8);
	memcpy(&b, &low, sizeof(b));
	more = __builtin_convertvector(b, words);
	memcpy(&sums, counts, sizeof(sums));
	sums += more;
	memcpy(counts, &sums, sizeof(sums));
}

static void add(struct aif_xe_counts *c, const struct aif_xe_record *r, uint64_t hash)
{
	struct aif_xe_slot *slot = slot_of(c, r->ip, hash);
	struct aif_xe_sum *s;

	if (!slot->sum) {
		*slot = (struct aif_xe_slot){tag_of(hash), (uint32_t)c->len + 1};
		c->ips[c->len] = r->ip;
		c->at[c->len++] = (struct aif_xe_sum){.ip = r->ip};
	}
	s = &c->at[slot->sum - 1];
	add_low(s->counts, r->low);
	for (unsigned k = 7; k < AIF_XE_REASONS; k++)
		s->counts[k] += aif_xe_count(r, k);
}

/* Some at a time: so that the misses of all their slots are waited for once. */
size_t aif_xe_counts_add(struct aif_xe_counts *c, const struct aif_xe_record *r, size_t n)
{
	uint64_t hashes[16];

	n = AIF_MIN(n, AIF_XE_COUNTS_RECORDS - AIF_MIN(c->records, AIF_XE_COUNTS_RECORDS));
	for (size_t i = 0; i < n; i += AIF_ARRAY_LEN(hashes)) {
		size_t some = AIF_MIN(n - i, AIF_ARRAY_LEN(hashes));

		if (2 * (c->len + some) >= c->slots_cap &&
		    !grow(c, c->slots_cap ? 2 * c->slots_cap : FIRST)) {
			n = i;
			break;
		}
		for (size_t k = 0; k < some; k++) {
			hashes[k] = aif_mix64(r[i + k].ip);
			__builtin_prefetch(&c->slots[hashes[k] & (c->slots_cap - 1)], 1);
		}
		for (size_t k = 0; k < some; k++) {
			uint32_t sum = c->slots[hashes[k] & (c->slots_cap - 1)].sum;

			__builtin_prefetch(&c->at[sum ? sum - 1 : c->len], 1);
		}
		for (size_t k = 0; k < some; k++)
			if (r[i + k].low || r[i + k].high)
				add(c, &r[i + k], hashes[k]);
	}
	c->records += n;
	return n;
}

/* ---- order --------------------------------------------------------------------------------------- */

/* 4096 places to write to at a time: a page of the core's first cache each. */
enum { DIGIT_MAX = 12, BUCKETS = 1 << DIGIT_MAX };

/* Sorts words that differ in `bits` bits above the index: by digits, the lowest first, in as few passes as possible. */
static uint64_t *sort(uint64_t *from, uint64_t *to, size_t n, unsigned bits)
{
	unsigned passes = (bits + DIGIT_MAX - 1) / DIGIT_MAX,
		 digit = passes ? (bits + passes - 1) / passes : 0;

	for (unsigned p = 0, shift = INDEX_BITS; p < passes; p++, shift += digit) {
		uint64_t mask = (UINT64_C(1) << digit) - 1;
		uint32_t first[BUCKETS] = {0}, at = 0;
		uint64_t *old = from;

		for (size_t i = 0; i < n; i++)
			first[from[i] >> shift & mask]++;
		for (size_t i = 0; i <= mask; i++) {
			uint32_t len = first[i];

			first[i] = at;
			at += len;
		}
		for (size_t i = 0; i < n; i++)
			to[first[from[i] >> shift & mask]++] = from[i];
		from = to;
		to = old;
	}
	return from;
}

const uint64_t *aif_xe_counts_order(struct aif_xe_counts *c)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < c->len; i++) {
		least = AIF_MIN(least, c->ips[i]);
		most = AIF_MAX(most, c->ips[i]);
	}
	if (!c->len || (most - least) >> (64 - INDEX_BITS))
		return NULL;
	for (size_t i = 0; i < c->len; i++)
		c->words[i] = (c->ips[i] - least) << INDEX_BITS | i;
	return sort(c->words, c->words + c->len, c->len,
		    most == least ? 0 : 64 - (unsigned)__builtin_clzll(most - least));
}

uint64_t aif_xe_counts_samples(const struct aif_xe_counts *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->len; i++)
		for (unsigned k = 0; k < AIF_XE_REASONS; k++)
			sum += c->at[i].counts[k];
	return sum;
}
