/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

#include <stddef.h>

/*
 * Launch -> row. Launches are numbered in runs, one for each thread of a process, so that a page of the table is
 * nearly full and the map of pages is small: 4 bytes a launch, and one access to memory that is near the last one.
 * Where numbers lie so far apart that pages would be empty, as in a hostile file, the map has the launches themselves.
 * A zeroed struct is an empty index.
 */
struct aif_launch_index {
	struct aif_map map; /* page -> its place in rows, or launch -> row */
	uint32_t *rows;     /* 256 of each page; AIF_NONE: there is none */
	uint64_t last_page; /* what was looked at last */
	uint32_t *last;     /* NULL: nothing yet */
	bool is_scattered;
};

/* Makes room for the launches of n rows of `size` bytes, which have their number (u64) at `offset`. Nothing is in it then.
 * 0 or -ENOMEM; finished by the caller in any case. */
int aif_launch_index_init(struct aif_launch_index *x, const void *rows, size_t n, size_t size,
			  size_t offset);
#define AIF_LAUNCH_INDEX_INIT(x, rows, n) \
	aif_launch_index_init(x, rows, n, sizeof(*(rows)), offsetof(__typeof__(*(rows)), launch))
void aif_launch_index_finish(struct aif_launch_index *x);

/* The launch is one of those that there is room for. Replaces. 0 or -ENOMEM. */
int aif_launch_index_put(struct aif_launch_index *x, uint64_t launch, uint32_t row);
/* AIF_NONE: it has no row. */
uint32_t aif_launch_index_get(struct aif_launch_index *x, uint64_t launch);
