/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/range_index.h"

#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct range {
	int64_t start, end;
	uint32_t thread, order;
	uint32_t name; /* string of the profile; later in the index's names */
	bool is_kept;
};

struct building {
	const struct aif_profile *p;
	struct aif_timeline *timeline;
	struct aif_range_index *x;
	struct range *ranges;
	size_t len, cap;
	struct aif_map chain_ids; /* parent, name, kept -> chain */
	struct range open[AIF_RANGE_CHAIN];
	uint32_t chains[AIF_RANGE_CHAIN]; /* up to each of .open */
	unsigned depth;
};

static int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct building *b = arg;

	if (b->len + n >= AIF_NONE ||
	    aif_grow(&b->ranges, &b->cap, b->len + n, sizeof(*b->ranges)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];
		struct range r = {
			.thread = row->thread, .order = (uint32_t)b->len, .name = row->name};
		uint32_t process;

		if (row->kind != AIF_OP_RANGE || row->thread == AIF_NONE || row->name == AIF_NONE)
			continue;
		process = b->p->threads[row->thread].process;
		r.start = aif_timeline_map(b->timeline, row->clock, process, row->start, NULL);
		r.end = aif_timeline_map(b->timeline, row->clock, process, row->end, NULL);
		if (r.end > r.start)
			b->ranges[b->len++] = r;
	}
	return 0;
}

/* Orders ranges by thread and begin, outer ones first. */
static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Appends the text with one '*' for each number in it. */
static void put_without_numbers(const char *text, struct aif_buf *b)
{
	for (; *text; text++) {
		bool is_digit = *text >= '0' && *text <= '9';

		if (!is_digit)
			aif_buf_putc(b, *text);
		else if (!b->len || b->data[b->len - 1] != '*')
			aif_buf_putc(b, '*');
	}
}

/* Finds for each name what the index calls it. variants: by id of the text without numbers, how many names have it. */
static int find_names(struct building *b, const uint32_t *strings, size_t n,
		      aif_range_is_kept *keep, void *arg, struct aif_map *kept)
{
	struct aif_strset shorts = {0};
	uint32_t *short_of = malloc((n + 1) * sizeof(*short_of));
	uint32_t *variants = calloc(n + 1, sizeof(*variants));
	struct aif_buf text = {0};
	int r = short_of && variants ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		aif_buf_clear(&text);
		put_without_numbers(aif_profile_str(b->p, strings[i]), &text);
		short_of[i] = aif_buf_failed(&text) ? AIF_STR_NONE
						    : aif_strset_put(&shorts, text.data, text.len);
		if (short_of[i] == AIF_STR_NONE || short_of[i] > n)
			r = -ENOMEM;
		else
			variants[short_of[i]]++;
	}
	for (size_t i = 0; i < n && !r; i++) {
		bool are_many = variants[short_of[i]] > AIF_RANGE_VARIANTS;
		const char *name = aif_profile_str(b->p, strings[i]);
		uint32_t id = aif_strset_puts(
			&b->x->names, are_many ? aif_strset_get(&shorts, short_of[i], NULL) : name);

		r = id == AIF_STR_NONE ? -ENOMEM
				       : aif_map_put(kept, strings[i],
						     (uint64_t)id << 1 | (keep && keep(arg, name)));
	}
	aif_strset_finish(&shorts);
	aif_buf_finish(&text);
	free(short_of);
	free(variants);
	return r;
}

static int name_ranges(struct building *b, aif_range_is_kept *keep, void *arg)
{
	struct aif_map names = {0};
	uint32_t *strings = malloc((b->len + 1) * sizeof(*strings));
	size_t n = 0;
	int r = strings ? 0 : -ENOMEM;

	for (size_t i = 0; i < b->len && !r; i++) {
		if (aif_map_get(&names, b->ranges[i].name, NULL))
			continue;
		strings[n++] = b->ranges[i].name;
		r = aif_map_put(&names, b->ranges[i].name, 0);
	}
	if (!r)
		r = find_names(b, strings, n, keep, arg, &names);
	for (size_t i = 0; i < b->len && !r; i++) {
		uint64_t found = 0;

		aif_map_get(&names, b->ranges[i].name, &found);
		b->ranges[i].name = (uint32_t)(found >> 1);
		b->ranges[i].is_kept = found & 1;
	}
	aif_map_finish(&names);
	free(strings);
	return r;
}

/* ---- moments --------------------------------------------------------------------------------- */

static int chain_of(struct building *b, uint32_t parent, const struct range *range, uint32_t *ret)
{
	struct aif_range_index *x = b->x;
	bool is_kept = range->is_kept || (parent != AIF_NONE && x->chains[parent].is_kept);
	uint64_t key = (uint64_t)parent << 32 | (uint64_t)range->name << 1 | is_kept, id;

	if (aif_map_get(&b->chain_ids, key, &id)) {
		*ret = (uint32_t)id;
		return 0;
	}
	if (x->chains_len >= AIF_NONE - 1 ||
	    aif_grow(&x->chains, &x->chains_cap, x->chains_len + 1, sizeof(*x->chains)) < 0 ||
	    aif_map_put(&b->chain_ids, key, x->chains_len) < 0)
		return -ENOMEM;
	x->chains[x->chains_len] = (struct aif_range_chain){parent, range->name, is_kept};
	*ret = (uint32_t)x->chains_len++;
	return 0;
}

/* Renews the chains from .open[i] on, and says so from `at` on. */
static int moment_add(struct building *b, unsigned i, int64_t at, size_t first)
{
	struct aif_range_index *x = b->x;
	uint32_t chain = i ? b->chains[i - 1] : AIF_NONE;
	int r = 0;

	for (; i < b->depth && !r; i++) {
		r = chain_of(b, chain, &b->open[i], &b->chains[i]);
		chain = b->chains[i];
	}
	if (r)
		return r;
	if (x->moments_len > first && x->moments[x->moments_len - 1].from == at) {
		x->moments[x->moments_len - 1].chain = chain;
		return 0;
	}
	if (aif_grow(&x->moments, &x->moments_cap, x->moments_len + 1, sizeof(*x->moments)) < 0)
		return -ENOMEM;
	x->moments[x->moments_len++] = (struct aif_range_moment){at, chain};
	return 0;
}

/* Ends the open ranges that end until then, in order. */
static int end_until(struct building *b, int64_t until, size_t first)
{
	int r = 0;

	while (b->depth && !r) {
		unsigned next = b->depth - 1;
		int64_t at;

		for (unsigned i = b->depth - 1; i-- > 0;)
			if (b->open[i].end < b->open[next].end)
				next = i;
		at = b->open[next].end;
		if (at > until)
			break;
		b->depth--;
		memmove(&b->open[next], &b->open[next + 1], (b->depth - next) * sizeof(b->open[0]));
		r = moment_add(b, next, at, first);
	}
	return r;
}

static int add_thread(struct building *b, const struct range *ranges, size_t n)
{
	size_t first = b->x->moments_len;
	int r = 0;

	b->depth = 0;
	for (size_t i = 0; i < n && !r; i++) {
		r = end_until(b, ranges[i].start, first);
		if (r || b->depth == AIF_RANGE_CHAIN)
			continue;
		b->open[b->depth++] = ranges[i];
		r = moment_add(b, b->depth - 1, ranges[i].start, first);
	}
	return r ? r : end_until(b, INT64_MAX, first);
}

static int add_moments(struct building *b)
{
	struct aif_range_index *x = b->x;
	size_t at = 0;
	int r = 0;

	x->threads = b->p->threads_len;
	x->first = calloc(x->threads + 1, sizeof(*x->first));
	if (!x->first)
		return -ENOMEM;
	if (b->len)
		qsort(b->ranges, b->len, sizeof(*b->ranges), by_start);
	for (size_t t = 0; t < x->threads && !r; t++) {
		size_t begin = at;

		x->first[t] = x->moments_len;
		while (at < b->len && b->ranges[at].thread == t)
			at++;
		if (at > begin)
			r = add_thread(b, b->ranges + begin, at - begin);
	}
	x->first[x->threads] = x->moments_len;
	return r;
}

int aif_range_index_make(const struct aif_profile *p, aif_range_is_kept *keep, void *arg,
			 struct aif_range_index *ret)
{
	struct building b = {.p = p, .x = ret};
	int r;

	*ret = (struct aif_range_index){0};
	r = aif_timeline_new(p, &b.timeline);
	if (!r)
		r = aif_profile_ops(p, take_ops, &b, &ret->damaged);
	if (!r)
		r = name_ranges(&b, keep, arg);
	if (!r)
		r = add_moments(&b);
	aif_timeline_free(b.timeline);
	aif_map_finish(&b.chain_ids);
	free(b.ranges);
	return r;
}

void aif_range_index_finish(struct aif_range_index *x)
{
	aif_strset_finish(&x->names);
	free(x->chains);
	free(x->moments);
	free(x->first);
	*x = (struct aif_range_index){0};
}

uint32_t aif_range_index_at(const struct aif_range_index *x, uint32_t thread, int64_t at)
{
	size_t lo, hi;

	if (thread >= x->threads)
		return AIF_NONE;
	lo = x->first[thread];
	hi = x->first[thread + 1];
	if (lo == hi || x->moments[lo].from > at)
		return AIF_NONE;
	/* The last one that is not later. */
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->moments[mid].from <= at)
			lo = mid;
		else
			hi = mid;
	}
	return x->moments[lo].chain;
}
