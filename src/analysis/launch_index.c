/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launch_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 8
#define PAGE      ((size_t)1 << PAGE_BITS)

/* With fewer launches in a page on average the map would take less: 24 bytes for each, and up to half of it empty. */
#define LEAST_FILL 32
/* Few launches of many threads: not worth a thought. */
#define ALWAYS_PAGES 4096

static int pages_find(struct aif_launch_index *x, const char *rows, size_t n, size_t size,
		      size_t offset)
{
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t launch, page;

		memcpy(&launch, rows + i * size + offset, sizeof(launch));
		page = launch >> PAGE_BITS;
		if ((i && page == last) || aif_map_get(&x->map, page, NULL))
			continue;
		last = page;
		if (x->map.len >= ALWAYS_PAGES + n * LEAST_FILL / PAGE) {
			x->is_scattered = true;
			aif_map_finish(&x->map);
			return 0;
		}
		if (aif_map_put(&x->map, page, x->map.len * PAGE) < 0)
			return -ENOMEM;
	}
	return 0;
}

int aif_launch_index_init(struct aif_launch_index *x, const void *rows, size_t n, size_t size,
			  size_t offset)
{
	*x = (struct aif_launch_index){0};
	if (n >= AIF_NONE || pages_find(x, rows, n, size, offset) < 0)
		return -ENOMEM;
	if (x->is_scattered || !n)
		return 0;
	x->rows = malloc(x->map.len * PAGE * sizeof(*x->rows));
	if (!x->rows)
		return -ENOMEM;
	memset(x->rows, 0xff, x->map.len * PAGE * sizeof(*x->rows)); /* AIF_NONE */
	return 0;
}

void aif_launch_index_finish(struct aif_launch_index *x)
{
	aif_map_finish(&x->map);
	free(x->rows);
	*x = (struct aif_launch_index){0};
}

/* NULL: there is no such page. */
static uint32_t *page_of(struct aif_launch_index *x, uint64_t launch)
{
	uint64_t page = launch >> PAGE_BITS, at;

	if (x->last && x->last_page == page)
		return x->last;
	if (!aif_map_get(&x->map, page, &at))
		return NULL;
	x->last_page = page;
	x->last = x->rows + at;
	return x->last;
}

int aif_launch_index_put(struct aif_launch_index *x, uint64_t launch, uint32_t row)
{
	uint32_t *page;

	if (x->is_scattered)
		return aif_map_put(&x->map, launch, row);
	page = page_of(x, launch);
	if (!page)
		return -ENOMEM; /* which it has no room for */
	page[launch & (PAGE - 1)] = row;
	return 0;
}

uint32_t aif_launch_index_get(struct aif_launch_index *x, uint64_t launch)
{
	const uint32_t *page;
	uint64_t row;

	if (x->is_scattered)
		return aif_map_get(&x->map, launch, &row) ? (uint32_t)row : AIF_NONE;
	page = page_of(x, launch);
	return page ? page[launch & (PAGE - 1)] : AIF_NONE;
}
