/* SPDX-License-Identifier: Apache-2.0 */
#include "page/cells.h"

#include <errno.h>
#include <stdlib.h>

#define SCOPE_NS UINT64_C(20000000)
/* Cells become longer after so many passes over all pairs, however few these are: bounds the work. */
#define COMPACTIONS_MAX 16

static uint32_t cells_of(uint64_t end_ns, uint64_t cell_ns)
{
	uint64_t n = end_ns / cell_ns + (end_ns % cell_ns != 0);

	return n > UINT32_MAX ? UINT32_MAX : n ? (uint32_t)n : 1;
}

struct aif_page_grid aif_page_grid_of(uint64_t end_ns)
{
	static const unsigned steps[] = {1, 2, 5};
	struct aif_page_grid g = {.cell_ns = 1, .end_ns = end_ns};

	for (uint64_t ten = 1; ten <= UINT64_MAX / 100; ten *= 10)
		for (unsigned i = 0; i < AIF_ARRAY_LEN(steps); i++) {
			uint32_t n = cells_of(end_ns, ten * steps[i]);

			if (ten * steps[i] <= SCOPE_NS && g.cells <= AIF_PAGE_CELLS_MAX
				    ? n >= AIF_PAGE_CELLS_MIN
				    : g.cells > AIF_PAGE_CELLS_MAX)
				g = (struct aif_page_grid){ten * steps[i], n, end_ns};
			else if (!g.cells)
				g.cells = n;
		}
	return g;
}

void aif_page_cells_init(struct aif_page_cells *c, const struct aif_page_grid *grid)
{
	*c = (struct aif_page_cells){.grid = *grid, .join = 1, .max = AIF_PAGE_PAIRS_MAX};
}

void aif_page_cells_finish(struct aif_page_cells *c)
{
	free(c->pairs);
	aif_map_finish(&c->last);
	*c = (struct aif_page_cells){0};
}

static int by_group(const void *pa, const void *pb)
{
	const struct aif_page_pair *a = pa, *b = pb;

	return AIF_ORDER(a->group, b->group) ?: AIF_ORDER(a->cell, b->cell);
}

static void compact(struct aif_page_cells *c)
{
	size_t n = 0;

	aif_map_clear(&c->last);
	if (c->len)
		qsort(c->pairs, c->len, sizeof(*c->pairs), by_group);
	for (size_t i = 0; i < c->len; i++) {
		struct aif_page_pair *to = n ? &c->pairs[n - 1] : NULL;

		if (to && by_group(to, &c->pairs[i]) == 0) {
			if (__builtin_add_overflow(to->ns, c->pairs[i].ns, &to->ns))
				to->ns = UINT64_MAX;
		} else {
			c->pairs[n++] = c->pairs[i];
		}
	}
	c->len = n;
	c->compactions++;
}

static void lengthen(struct aif_page_cells *c)
{
	c->join *= 2;
	c->compactions = 0;
	for (size_t i = 0; i < c->len; i++)
		c->pairs[i].cell /= 2;
	compact(c);
}

static int pair_add(struct aif_page_cells *c, uint32_t group, uint32_t cell, uint64_t ns)
{
	struct aif_page_pair *to;
	uint64_t at;

	if (aif_map_get(&c->last, group, &at) && c->pairs[at].cell == cell) {
		to = &c->pairs[at];
		if (__builtin_add_overflow(to->ns, ns, &to->ns))
			to->ns = UINT64_MAX;
		return 0;
	}
	if (aif_grow(&c->pairs, &c->cap, c->len + 1, sizeof(*c->pairs)) < 0 ||
	    aif_map_put(&c->last, group, c->len) < 0)
		return -ENOMEM;
	c->pairs[c->len++] = (struct aif_page_pair){group, cell, ns};
	return 0;
}

int aif_page_cells_add(struct aif_page_cells *c, uint32_t group, int64_t from, int64_t to,
		       double weight)
{
	uint64_t length, end = c->grid.cell_ns * (uint64_t)c->grid.cells, start;
	int r = 0;

	from = AIF_MAX(from, 0);
	start = AIF_MIN((uint64_t)from, end - 1);
	end = AIF_MIN(AIF_MAX((uint64_t)AIF_MAX(to, 0), start + 1), end);
	length = end - start;
	while (r == 0 && start < end) {
		uint64_t cell_ns = c->grid.cell_ns * c->join, cell = start / cell_ns,
			 next = AIF_MIN(end, (cell + 1) * cell_ns);

		r = pair_add(c, group, (uint32_t)cell,
			     aif_timed_rounded(weight * ((double)(next - start) / (double)length)));
		start = next;
		if (c->len < 2 * c->max)
			continue;
		compact(c);
		while (c->join < c->grid.cells &&
		       (c->len > c->max || c->compactions > COMPACTIONS_MAX))
			lengthen(c);
	}
	return r;
}

void aif_page_cells_seal(struct aif_page_cells *c)
{
	compact(c);
	while (c->len > c->max && c->join < c->grid.cells)
		lengthen(c);
}
