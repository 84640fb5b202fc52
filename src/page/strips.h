/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "page/alike.h"
#include "page/columns.h"
#include "page/idle_cells.h"

/*
 * The page's strips: what devices did in each cell of its time, in 1/10,000 of the cell: the groups of `why`
 * (report/why/groups.def), and not collected (off). The rest is before a device's first and behind its last work. And
 * how many samples of devices and CPUs were taken in it.
 */

/* Writes columns s0_compute ... of what is drawn, n_device, n_cpu, and appends "strips":[...], with `many` and `whose` where one stands for
 * others. 0 or -ENOMEM. */
int aif_page_strips_write(const struct aif_profile *p, const struct aif_idle_part *idle,
			  const struct aif_page_alike *alike, const struct aif_page_grid *grid,
			  struct aif_page_columns *c, struct aif_buf *json);

/* The first of a profile's counters; how many there are more is said. */
#define AIF_PAGE_COUNTERS_MAX 24
/* Appends "counters":[{"name","unit","device","most"}]; columns cN, by cell the mean in parts of `most`. 0 or -errno. */
int aif_page_counters_write(const struct aif_profile *p, const struct aif_page_grid *g,
			    struct aif_page_columns *columns, struct aif_buf *json);
/* Appends objects of the same form, for devices with allocations and the host: the most that was held in each cell, from
 * column c`first` on. 0 or -errno. */
int aif_page_memory_write(const struct aif_profile *p, const struct aif_page_grid *g, size_t first,
			  struct aif_page_columns *columns, struct aif_buf *json);
