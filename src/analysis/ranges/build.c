/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranges/building.h"
#include "analysis/ranges/xla.h"
#include "analysis/facts.h"

#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct aif_range_building *b = arg;

	if (b->len + n >= AIF_NONE ||
	    aif_grow(&b->ranges, &b->cap, b->len + n, sizeof(*b->ranges)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];
		struct aif_range r = {.thread = row->thread,
				      .order = (uint32_t)b->len,
				      .name = row->name,
				      .payload = row->shapes};
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
	const struct aif_range *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(y->end, x->end) ?: AIF_ORDER(x->order, y->order);
}

/* ---- names ----------------------------------------------------------------------------------- */

void aif_range_without_numbers(const char *text, struct aif_buf *b)
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
static int find_names(struct aif_range_building *b, const uint32_t *strings, size_t n,
		      aif_range_is_kept *keep, void *arg, struct aif_map *kept)
{
	struct aif_strset shorts = {0};
	uint32_t *short_of = malloc((n + 1) * sizeof(*short_of));
	uint32_t *variants = calloc(n + 1, sizeof(*variants));
	struct aif_buf text = {0};
	int r = short_of && variants ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		aif_buf_clear(&text);
		aif_range_without_numbers(aif_profile_str(b->p, strings[i]), &text);
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

static int element_add(struct aif_range_building *b, uint32_t name, enum aif_range_kind kind,
		       bool is_kept)
{
	if (name == AIF_STR_NONE ||
	    aif_grow(&b->elements, &b->elements_cap, b->elements_len + 1, sizeof(*b->elements)) < 0)
		return -ENOMEM;
	b->elements[b->elements_len++] = (struct aif_range_element){name, (uint8_t)kind, is_kept};
	return 0;
}

/* Adds the elements of a range of XLA's. -ENOENT: it is none. */
static int read_xla(struct aif_range_building *b, const struct aif_range *range,
		    aif_range_is_kept *keep, void *arg, struct aif_range_name *ret)
{
	const char *name = aif_profile_str(b->p, range->name);
	struct aif_xla_range x;
	int r = aif_xla_read(
		name, range->payload == AIF_NONE ? "" : aif_profile_str(b->p, range->payload), &x);
	bool is_kept = !r && keep && keep(arg, name);

	for (size_t i = 0; i < x.len && !r; i++) {
		const char *text = aif_xla_text(&x, i);

		r = element_add(b, aif_strset_puts(&b->x->names, text), x.frames[i].kind,
				is_kept || (keep && keep(arg, text)));
	}
	if (!r) {
		ret->len = (uint32_t)x.len;
		ret->is_thunk = x.is_thunk;
		b->has_thunks |= x.is_thunk;
	}
	aif_xla_finish(&x);
	return r;
}

/* Gives each range its elements; ranges of one name and payload have the same. */
static int name_ranges(struct aif_range_building *b, aif_range_is_kept *keep, void *arg)
{
	struct aif_map names = {0}, kept = {0};
	uint32_t *strings = malloc((b->len + 1) * sizeof(*strings));
	size_t n = 0;
	int r = strings ? 0 : -ENOMEM;

	for (size_t i = 0; i < b->len && !r; i++) {
		struct aif_range *range = &b->ranges[i];
		uint64_t key = (uint64_t)range->name << 32 | range->payload, id, seen;
		struct aif_range_name name = {.first = (uint32_t)b->elements_len,
					      .string = range->name,
					      .payload = range->payload};

		if (!aif_map_get(&names, key, &id)) {
			id = b->names_len;
			r = read_xla(b, range, keep, arg, &name);
			if (r == -ENOENT) {
				r = 0;
				if (!aif_map_get(&kept, range->name, &seen)) {
					strings[n++] = range->name;
					r = aif_map_put(&kept, range->name, 0);
				}
			}
			if (!r && (aif_grow(&b->names, &b->names_cap, b->names_len + 1,
					    sizeof(*b->names)) < 0 ||
				   aif_map_put(&names, key, id) < 0))
				r = -ENOMEM;
			if (!r)
				b->names[b->names_len++] = name;
		}
		range->name = (uint32_t)id;
	}
	if (!r)
		r = find_names(b, strings, n, keep, arg, &kept);
	for (size_t i = 0; i < b->names_len && !r; i++) {
		uint64_t found = 0;

		if (b->names[i].len)
			continue;
		aif_map_get(&kept, b->names[i].string, &found);
		b->names[i].first = (uint32_t)b->elements_len;
		b->names[i].len = 1;
		r = element_add(b, (uint32_t)(found >> 1), AIF_RANGE_PLAIN, found & 1);
	}
	aif_map_finish(&names);
	aif_map_finish(&kept);
	free(strings);
	return r;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* Renews the chains from .open[i] on, and says so from `at` on. */
static int moment_add(struct aif_range_building *b, unsigned i, int64_t at, size_t first)
{
	struct aif_range_index *x = b->x;
	uint32_t chain = i ? b->chains[i - 1] : AIF_NONE;
	int r = 0;

	for (; i < b->depth && !r; i++) {
		r = aif_range_chain_of(b, chain, b->open[i].name, false, &b->chains[i]);
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
static int end_until(struct aif_range_building *b, int64_t until, size_t first)
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

static int add_thread(struct aif_range_building *b, const struct aif_range *ranges, size_t n)
{
	size_t first = b->x->moments_len;
	int r = 0;

	b->depth = 0;
	for (size_t i = 0; i < n && !r; i++) {
		r = aif_sole_threads_add(&b->x->inside, b->x->processes[ranges->thread],
					 ranges->thread, ranges[i].start, ranges[i].end);
		if (!r)
			r = end_until(b, ranges[i].start, first);
		if (r || b->depth == AIF_RANGE_CHAIN)
			continue;
		b->open[b->depth++] = ranges[i];
		r = moment_add(b, b->depth - 1, ranges[i].start, first);
	}
	return r ? r : end_until(b, INT64_MAX, first);
}

static int add_moments(struct aif_range_building *b)
{
	struct aif_range_index *x = b->x;
	size_t at = 0;
	int r = 0;

	x->threads = b->p->threads_len;
	x->first = calloc(x->threads + 1, sizeof(*x->first));
	x->processes = malloc((x->threads + 1) * sizeof(*x->processes));
	if (!x->first || !x->processes)
		return -ENOMEM;
	if (b->len)
		qsort(b->ranges, b->len, sizeof(*b->ranges), by_start);
	for (size_t t = 0; t < x->threads && !r; t++) {
		size_t begin = at;

		x->first[t] = x->moments_len;
		x->processes[t] = b->p->threads[t].process;
		while (at < b->len && b->ranges[at].thread == t)
			at++;
		if (at > begin)
			r = add_thread(b, b->ranges + begin, at - begin);
	}
	x->first[x->threads] = x->moments_len;
	aif_sole_threads_ready(&x->inside);
	return r;
}

int aif_range_index_make(const struct aif_profile *p, aif_range_is_kept *keep, void *arg,
			 struct aif_range_index *ret)
{
	struct aif_range_building b = {.p = p, .x = ret};
	int r;

	*ret = (struct aif_range_index){0};
	r = aif_timeline_get(p, &b.timeline);
	if (!r)
		r = aif_profile_ops(p, take_ops, &b, &ret->damaged);
	if (!r)
		r = name_ranges(&b, keep, arg);
	if (!r)
		r = add_moments(&b);
	if (!r && b.has_thunks)
		r = aif_range_graphs(&b);
	aif_facts_put(b.timeline);
	aif_map_finish(&b.chain_ids);
	free(b.ranges);
	free(b.names);
	free(b.elements);
	return r;
}
