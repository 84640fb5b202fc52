/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/code_map.h"

#include <string.h>

/* No function is larger: it would cover what is others'. */
#define MAX_SIZE (UINT64_C(256) << 20)
/* Live places of one function on one device: a process that makes more is broken. */
#define MAX_CHAIN 64
#define MAX_RAN   65536
#define COST      (2 * sizeof(struct aif_code_range) + 2 * AIF_QUOTA_ENTRY)

static void index_finish(struct aif_code_map_index *x)
{
	free(x->pieces);
	free(x->candidates);
}

void aif_code_map_finish(struct aif_code_map *p)
{
	free(p->at);
	aif_code_map_frames_finish(&p->frames);
	aif_map_finish(&p->by_code);
	aif_map_finish(&p->ran[0]);
	aif_map_finish(&p->ran[1]);
	for (unsigned i = 0; i < AIF_CODE_MAP_SPACES; i++)
		index_finish(&p->index[i]);
	*p = (struct aif_code_map){0};
}

static uint64_t key_of(const struct aif_code_range *place)
{
	uint32_t words[3] = {place->process, place->device, place->code};

	return aif_hash_bytes(words, sizeof(words));
}

static bool is_same_code(const struct aif_code_range *a, const struct aif_code_range *b)
{
	return a->process == b->process && a->device == b->device && a->code == b->code;
}

static void changed(struct aif_code_map *p)
{
	for (unsigned i = 0; i < AIF_CODE_MAP_SPACES; i++)
		p->index[i].is_made = false;
}

static void end(struct aif_code_map *p, struct aif_code_range *place, uint64_t at)
{
	if (place->to != UINT64_MAX)
		return;
	place->to = AIF_MAX(at, place->from);
	p->ended++;
}

static void chain(struct aif_code_map *p, uint32_t i)
{
	uint64_t key = key_of(&p->at[i]), first;

	p->at[i].next = aif_map_get(&p->by_code, key, &first) ? (uint32_t)first : 0;
	aif_map_put(&p->by_code, key, i + 1);
}

/* Ends those of the same code at `address`, 0 = at any. True if one of the same size lies there, which stays. What has
 * ended leaves the chain: it stays as short as there are live ones. */
static bool end_others(struct aif_code_map *p, const struct aif_code_range *place)
{
	uint64_t key = key_of(place), first;
	uint32_t head, *at = &head;
	unsigned n = 0;
	bool found = false;

	if (!aif_map_get(&p->by_code, key, &first))
		return false;
	head = (uint32_t)first;
	while (*at) {
		struct aif_code_range *x = &p->at[*at - 1];

		if (is_same_code(x, place) && x->to == UINT64_MAX) {
			if (x->address == place->address && place->size && x->size == place->size)
				found = true;
			else if (!place->address || x->address == place->address ||
				 ++n >= MAX_CHAIN)
				end(p, x, place->from);
		}
		if (x->to == UINT64_MAX)
			at = &x->next;
		else
			*at = x->next;
	}
	if (head != (uint32_t)first)
		aif_map_put(&p->by_code, key, head);
	return found;
}

void aif_code_map_put(struct aif_code_map *p, struct aif_store *s,
		      const struct aif_code_range *place)
{
	struct aif_code_range *x;

	if (place->size > MAX_SIZE || place->address > UINT64_MAX - place->size)
		return;
	p->device = place->device;
	p->has_device = true;
	changed(p);
	if (end_others(p, place) || !place->size)
		return;
	if (p->len >= AIF_CODE_MAP_MAX || !aif_store_charge_own(s, COST) ||
	    aif_grow(&p->at, &p->cap, p->len + 1, sizeof(*p->at)) < 0) {
		aif_store_loss(s, AIF_REASON_XE_PLACES_FULL, place->process, AIF_NONE, 1);
		return;
	}
	x = &p->at[p->len];
	*x = *place;
	x->to = UINT64_MAX;
	x->payer = s->payer;
	chain(p, (uint32_t)p->len++);
}

void aif_code_map_end(struct aif_code_map *p, uint32_t process, uint64_t at)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->at[i].process == process) {
			end(p, &p->at[i], at);
			p->at[i].payer = NULL;
		}
	changed(p);
}

void aif_code_map_forget(struct aif_code_map *p, struct aif_store *s, uint64_t before)
{
	size_t n = 0;

	if (p->ended && before > p->since)
		changed(p);
	p->since = AIF_MAX(p->since, before);
	/* Each time half of them: so it costs each place a few steps in all. */
	if (p->ended * 2 < p->len || !p->ended)
		return;
	aif_map_clear(&p->by_code);
	p->ended = 0;
	changed(p);
	for (size_t i = 0; i < p->len; i++) {
		struct aif_code_range x = p->at[i];

		if (x.to < before) {
			if (x.payer)
				aif_store_uncharge(s, x.payer, COST);
			continue;
		}
		p->at[n] = x;
		if (x.to == UINT64_MAX)
			chain(p, (uint32_t)n);
		else
			p->ended++;
		n++;
	}
	p->len = n;
}

/* ---- what ran ------------------------------------------------------------------------------------ */

void aif_code_map_ran(struct aif_code_map *p, uint32_t process, uint32_t name, uint64_t ns)
{
	uint64_t key = (uint64_t)process << 32 | name, sum = 0;

	if (!p->len)
		return;
	if (!aif_map_get(&p->ran[0], key, &sum) && p->ran[0].len >= MAX_RAN)
		return;
	sum = ns > UINT64_MAX / 4 - AIF_MIN(sum, UINT64_MAX / 4) ? UINT64_MAX / 4 : sum + ns;
	aif_map_put(&p->ran[0], key, sum);
}

uint64_t aif_code_map_time(const struct aif_code_map *p, const struct aif_code_range *place)
{
	uint64_t key = (uint64_t)place->process << 32 | place->name, now = 0, before = 0;

	aif_map_get(&p->ran[0], key, &now);
	aif_map_get(&p->ran[1], key, &before);
	return now + before;
}

void aif_code_map_turn(struct aif_code_map *p, uint64_t at)
{
	struct aif_map old = p->ran[1];

	p->ran[1] = p->ran[0];
	p->ran[0] = old;
	aif_map_clear(&p->ran[0]);
	p->turned_ns = at;
}

/* ---- the index ----------------------------------------------------------------------------------- */

struct border {
	uint64_t at;
	uint32_t place;
	bool begins;
};

static int by_address(const void *a, const void *b)
{
	const struct border *x = a, *y = b;

	return AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->place, y->place);
}

static size_t add_borders(struct border *b, uint64_t lo, uint64_t hi, uint32_t place)
{
	b[0] = (struct border){.at = lo, .place = place, .begins = true};
	b[1] = (struct border){.at = hi, .place = place};
	return 2;
}

/* 32 bits wrap: what crosses the end goes on at 0. */
static size_t borders_of(struct border *b, enum aif_code_map_space space,
			 const struct aif_code_range *x, uint32_t i)
{
	uint64_t lo = x->address, hi = lo + x->size;
	size_t n;

	if (space == AIF_CODE_MAP_64)
		return add_borders(b, lo, hi, i);
	lo &= UINT32_MAX;
	hi = lo + x->size;
	n = add_borders(b, lo, AIF_MIN(hi, UINT64_C(1) << 32), i);
	if (hi > UINT64_C(1) << 32)
		n += add_borders(b + n, 0, hi - (UINT64_C(1) << 32), i);
	return n;
}

static int add_piece(struct aif_code_map_index *x, uint64_t start, const uint32_t *active, size_t n)
{
	if (aif_grow(&x->pieces, &x->pieces_cap, x->pieces_len + 1, sizeof(*x->pieces)) < 0 ||
	    aif_grow(&x->candidates, &x->candidates_cap, x->candidates_len + n,
		     sizeof(*x->candidates)) < 0)
		return -1;
	x->pieces[x->pieces_len++] = (struct aif_code_map_piece){
		.start = start, .first = (uint32_t)x->candidates_len, .n = (uint32_t)n};
	if (n)
		memcpy(x->candidates + x->candidates_len, active, n * sizeof(*active));
	x->candidates_len += n;
	return 0;
}

/* Makes a range active. Older code of its process and device at the same addresses had ended by
 * then. */
static void begin(struct aif_code_map *p, uint32_t *active, size_t *n, uint32_t i)
{
	struct aif_code_range *x = &p->at[i];
	size_t first = 0;

	for (size_t k = 0; k < *n; k++) {
		struct aif_code_range *y = &p->at[active[k]], *older = x->from < y->from ? x : y;

		if (active[k] == i)
			return; /* it wraps onto itself */
		if (x->process == y->process && x->device == y->device)
			end(p, older, older == x ? y->from : x->from);
	}
	if (*n < AIF_CODE_MAP_HITS) {
		active[(*n)++] = i;
		return;
	}
	/* The range that ended first is missed least. */
	for (size_t k = 1; k < *n; k++)
		first = p->at[active[k]].to < p->at[active[first]].to ? k : first;
	if (p->at[active[first]].to < x->to)
		active[first] = i;
}

static int index_make(struct aif_code_map *p, enum aif_code_map_space space)
{
	struct aif_code_map_index *x = &p->index[space];
	struct border *b = calloc(4 * p->len + 1, sizeof(*b));
	uint32_t active[AIF_CODE_MAP_HITS];
	size_t n = 0, active_len = 0;
	int r = b ? 0 : -1;

	x->pieces_len = x->candidates_len = x->last = 0;
	for (size_t i = 0; i < p->len && b; i++)
		if (p->at[i].to > p->since)
			n += borders_of(b + n, space, &p->at[i], (uint32_t)i);
	if (n)
		qsort(b, n, sizeof(*b), by_address);
	for (size_t i = 0; i < n && !r;) {
		uint64_t at = b[i].at;
		size_t until = i, kept;

		while (until < n && b[until].at == at)
			until++;
		for (size_t k = i; k < until; k++) {
			if (b[k].begins)
				continue;
			kept = 0;
			for (size_t a = 0; a < active_len; a++)
				if (active[a] != b[k].place)
					active[kept++] = active[a];
			active_len = kept;
		}
		for (size_t k = i; k < until; k++)
			if (b[k].begins)
				begin(p, active, &active_len, b[k].place);
		r = add_piece(x, at, active, active_len);
		i = until;
	}
	free(b);
	x->is_made = !r;
	return r;
}

static const struct aif_code_map_piece *piece_at(struct aif_code_map_index *x, uint64_t address)
{
	size_t n = x->pieces_len, lo;

	for (size_t i = x->last; i < n && i < x->last + 2; i++)
		if (x->pieces[i].start <= address &&
		    (i + 1 == n || address < x->pieces[i + 1].start)) {
			x->last = i;
			return &x->pieces[i];
		}
	lo = AIF_BISECT(mid, 0, n, x->pieces[mid].start <= address);
	x->last = lo ? lo - 1 : 0;
	return lo ? &x->pieces[lo - 1] : NULL;
}

size_t aif_code_map_find(struct aif_code_map *p, enum aif_code_map_space space, uint64_t address,
			 uint32_t pci, uint64_t from, uint64_t to,
			 const struct aif_code_range *ret[AIF_CODE_MAP_HITS])
{
	const struct aif_code_map_piece *piece;
	size_t n = 0;

	if (!p->index[space].is_made && index_make(p, space) < 0)
		return 0;
	piece = piece_at(&p->index[space], address);
	for (uint32_t i = 0; piece && i < piece->n; i++) {
		const struct aif_code_range *x =
			&p->at[p->index[space].candidates[piece->first + i]];

		if (x->from < to && x->to > from && (!pci || !x->pci || pci == x->pci))
			ret[n++] = x;
	}
	return n;
}

uint64_t aif_code_map_until(const struct aif_code_map *p, enum aif_code_map_space space,
			    uint64_t address)
{
	const struct aif_code_map_index *x = &p->index[space];

	if (x->pieces_len && address < x->pieces[0].start)
		return x->pieces[0].start;
	return x->last + 1 < x->pieces_len ? x->pieces[x->last + 1].start : UINT64_MAX;
}

uint64_t aif_code_map_offset(const struct aif_code_range *place, enum aif_code_map_space space,
			     uint64_t address)
{
	uint64_t offset = address - place->address;

	return space == AIF_CODE_MAP_32 ? (uint32_t)offset : offset;
}
