/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/replay/replay.h"
#include "report/why/why.h"

/* Owners of the rows of the blame. */
struct aif_why_rows {
	const struct aif_profile *p;
	uint32_t *owner; /* by row: index of .owners; AIF_NONE */
	size_t len;
};

/* Finds the gains of groups, of the functions and of the kernels that have the most time. 0 or -errno. */
int aif_why_bounds_find(const struct aif_why_rows *rows, const struct aif_idle_part *part,
			struct aif_why *w);
