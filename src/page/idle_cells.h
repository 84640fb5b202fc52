/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/course.h"
#include "analysis/idle/part.h"
#include "page/cells.h"
#include "report/why/why.h"

/* Groups of `why` that are idle time. */
#define AIF_PAGE_IDLE_FIRST  AIF_WHY_WAITING
#define AIF_PAGE_IDLE_GROUPS (AIF_WHY_GROUPS - AIF_PAGE_IDLE_FIRST)

/* Idle time of devices by group of `why`, by cell. Gaps that samples explain share what these say of all gaps of their bracket
 * (analysis/idle/course.h). */
struct aif_page_idle_cells {
	size_t devices;
	float *(*of)[AIF_PAGE_IDLE_GROUPS]; /* by device and group: ns of each cell; NULL: none */
};

/* Fills in the devices of `idle` that `is_shown` marks. *ret is finished by the caller, also after a
 * failure. 0 or -ENOMEM. */
int aif_page_idle_cells_make(const struct aif_idle_part *idle, const struct aif_page_grid *grid,
			     const bool *is_shown, struct aif_page_idle_cells *ret);
void aif_page_idle_cells_finish(struct aif_page_idle_cells *c);
