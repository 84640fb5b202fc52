/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "text/out.h"

/*
 * The time line above a flame graph: a row for each device, over all of the recording, in cells of equal length.
 * A cell is as high as the part of it in which the device was busy (the union of its executions as they were captured);
 * what was not collected is grey. Power and SM clock of a GPU, where NVML read them, are lines over its row. What a
 * picture leaves out of the recording (--time) is faded.
 */
enum { AIF_STRIP_CELLS = 600, AIF_STRIP_ROWS = 4, AIF_STRIP_ROW_PX = 34 };

struct aif_strip_row {
	uint32_t device;
	uint64_t busy_ns, known_ns;        /* of the recording; not known: not collected */
	uint64_t busy[AIF_STRIP_CELLS];    /* ns */
	uint64_t unknown[AIF_STRIP_CELLS]; /* ns, not busy and not collected */
	double power_w[AIF_STRIP_CELLS], clock_mhz[AIF_STRIP_CELLS];
	double most_w, most_mhz; /* the cells' height; 0: not known */
};

struct aif_strip {
	struct aif_strip_row *rows; /* at most AIF_STRIP_ROWS */
	size_t len, cap;
	size_t left_out;         /* devices without a row */
	uint64_t ns;             /* the recording's length, that of all cells */
	uint64_t from_ns, to_ns; /* what the picture shows of it */
};

/* Measures the devices that `sel` (NULL: all) keeps, of its processes and threads. No rows: nothing ran on a
 * device, or nobody knows when. *ret is
 * finished by the caller in any case. 0 or -errno. */
int aif_strip_make(const struct aif_profile *p, const struct aif_selection *sel,
		   struct aif_strip *ret);
void aif_strip_finish(struct aif_strip *s);

/* Appends the rows as SVG, AIF_STRIP_ROW_PX high each, from `y` down, between x and x + width px. `columns` of a caption have
 * room. */
void aif_strip_put(const struct aif_strip *s, const struct aif_profile *p, uint32_t x, uint32_t y,
		   uint32_t width, size_t columns, struct aif_buf *b);
