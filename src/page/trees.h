/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/course.h"
#include "analysis/idle/part.h"
#include "base/err.h"
#include "names/profile_names.h"
#include "page/timeline.h"
#include "page/tree.h"

/* The trees of a profile: device and idle time; threads on CPUs; threads off CPUs; memory at
 * its peak. */
struct aif_page_trees {
	const struct aif_names *names;
	const struct aif_attribution *a;
	const struct aif_idle_part *idle;
	const struct aif_page_grid *grid;
	uint32_t frames_max;
	struct aif_page_names *texts;
	struct aif_page_columns *columns;
	struct aif_buf *json;   /* a list of trees, each an object */
	struct aif_buf *roots;  /* JSON: of the device tree (roots.h), if it has several */
	struct aif_buf *owners; /* JSON: of idle time (report/why/owners.h); NULL: nobody asks */
	struct aif_buf
		*lacks; /* JSON texts, each behind a comma: what there is nothing of, and why */
	/* Filled with the groups of single events. NULL: nobody asks for them. */
	struct aif_page_event_groups *events;
};

/* Write what there is. 0 or -errno with *err. */
int aif_page_device_tree(const struct aif_page_trees *t, struct aif_err *err);
int aif_page_cpu_trees(const struct aif_page_trees *t, struct aif_err *err);
/* -ENODATA: there are no allocations. */
int aif_page_memory_tree(const struct aif_page_trees *t, struct aif_err *err);

/* Appends ",TEXT". */
void aif_page_lack(struct aif_buf *lacks, const char *text);
/* Writes a tree and its object. 0 or -ENOMEM with *err. */
int aif_page_tree_add(const struct aif_page_trees *t, const char *key, const char *unit,
		      struct aif_page_tree *tree, struct aif_err *err);
