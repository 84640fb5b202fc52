/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "top/model.h"

/* Facts of a window beside its model. */
struct aif_top_info {
	const char *what;      /* whose device work it is: a command, "process 4711" */
	const char *recording; /* name of the recording that is watched; NULL: top's own */
	uint32_t recorder;     /* its process */
	/* Shares of one CPU, since the window before; below 0: not known. */
	double recorder_cpu, own_cpu;
	uint64_t missed; /* chunks that did not arrive, or found no memory */
};

/* Appends a window as text: devices, quality, cost, and the rows of the views that were made, `limit` (0: all) of each. */
void aif_top_text(const struct aif_top_model *m, const struct aif_profile *p,
		  const struct aif_top_info *info, size_t limit, struct aif_buf *out);
/* The same as one JSON object (docs/top.md has its members). */
void aif_top_json(const struct aif_top_model *m, const struct aif_profile *p,
		  const struct aif_top_info *info, size_t limit, struct aif_buf *out);

/* Appends "1,234 launches, joined 100.0 %, lost 0". */
void aif_top_quality(const struct aif_top_model *m, const struct aif_top_info *info,
		     struct aif_buf *out);
/* Appends "recorder 0.6 %, top 0.4 % of a CPU". */
void aif_top_cost(const struct aif_top_info *info, struct aif_buf *out);
/* Appends "1980 MHz, 512 W, 61 C, 40.1 GiB", what of it is known. */
void aif_top_counters(const struct aif_top_device *d, struct aif_buf *out);
/* Head of the column of a view's names, and of what stands behind them: "kernel", "launched by". */
const char *aif_top_name_head(enum aif_top_view v);
const char *aif_top_detail_head(enum aif_top_view v);
/* Says why a view of the window has no rows. */
const char *aif_top_none(const struct aif_top_model *m, enum aif_top_view v);
