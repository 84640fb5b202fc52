/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"
#include "base/map.h"

/*
 * The page's time: cells of one length from the recording's start on, and how the weight of groups lies in them. A group
 * is what has one course in time: of device work, a kernel launched from a stack; of CPU time, a thread's stack. A page
 * grows with (group, cell) pairs, not with executions or samples: of more than AIF_PAGE_PAIRS_MAX pairs, cells of
 * groups become twice as long until they fit.
 */
#define AIF_PAGE_CELLS_MIN 2000
#define AIF_PAGE_CELLS_MAX 60000
#define AIF_PAGE_PAIRS_MAX ((size_t)1 << 20)

struct aif_page_grid {
	uint64_t
		cell_ns; /* 1, 2 or 5 times a power of ten: a second has a whole number of the shorter ones */
	uint32_t cells;
	uint64_t end_ns; /* of the last row, since the recording's start */
};
/* Chooses cells for a time of end_ns: at least 2,000 but for what is shorter than 2 us, at most 60,000; 20 ms where that
 * allows, since a flame scope has 50 rows a second. */
struct aif_page_grid aif_page_grid_of(uint64_t end_ns);

struct aif_page_pair {
	uint32_t group, cell;
	uint64_t ns;
};
struct aif_page_cells {
	struct aif_page_grid grid;
	struct aif_page_pair *pairs; /* of a finished one: by group, cell, each once */
	size_t len, cap, max;
	struct aif_map last;  /* group -> its last pair */
	uint32_t join;        /* cells of the grid that one of these is */
	unsigned compactions; /* at the present length */
};

void aif_page_cells_init(struct aif_page_cells *c, const struct aif_page_grid *grid);
void aif_page_cells_finish(struct aif_page_cells *c);
/* Adds the weight of [from, to), ns since the recording's start, spread evenly; or of a moment. 0 or -ENOMEM. */
int aif_page_cells_add(struct aif_page_cells *c, uint32_t group, int64_t from, int64_t to,
		       double weight);
/* Orders and joins what was added, at last. */
void aif_page_cells_seal(struct aif_page_cells *c);
