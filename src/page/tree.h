/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/tree.h"
#include "page/cells.h"
#include "page/columns.h"

/*
 * A call tree as columns. Each value is an entry: a frame, the metric, how much, and the group whose course in time it
 * shares, so that the page can tell the part of any selected time without a column for each cell.
 */
enum aif_page_metric {
	AIF_PAGE_TIME, /* ns; or what CPU samples count */
	AIF_PAGE_SAMPLES,
	AIF_PAGE_LAUNCHES,
	AIF_PAGE_IDLE,   /* ns */
	AIF_PAGE_ENERGY, /* nJ */
	AIF_PAGE_METRICS,
	AIF_PAGE_A = 0, /* metrics of a tree of two sides */
	AIF_PAGE_B
};
/* The mark of what was joined. */
#define AIF_PAGE_MARK_NONE UINT8_MAX

/* The most frames of a tree. Of more the narrowest are joined: those of one caller become one, which says how many. */
#define AIF_PAGE_FRAMES_MAX 2000000

struct aif_page_entry {
	uint32_t node, group; /* group AIF_NONE: of no known time */
	uint32_t root;        /* number of roots.h, where the tree has roots */
	uint32_t owner; /* 1 + number of the owner of idle time (report/why/owners.h); 0: none */
	enum aif_page_metric metric;
	uint64_t value;
};
struct aif_page_entries {
	struct aif_page_entry *at;
	size_t len, cap;
	uint32_t root, owner; /* root and owner of entries that are added from now on */
};
/* Adds an entry, but none of 0. 0 or -ENOMEM. */
int aif_page_entry_add(struct aif_page_entries *e, uint32_t node, uint32_t group,
		       enum aif_page_metric metric, uint64_t value);

/* Names of all trees of a page. */
struct aif_page_names {
	struct aif_strset names; /* strings of one byte of type, then the text */
	struct aif_strset full;
	struct aif_strset modules; /* libraries, packages and files of code */
	uint32_t *module_of;       /* 1 + number in .modules, by name; 0: not known */
	size_t module_of_cap;
};
void aif_page_names_finish(struct aif_page_names *n);
/* Appends "names":[...],"full":[...],"modules":[...]; columns name_type (enum aif_tree_type), name_colour (of the palette)
 * and name_module (1 + number; 0: none). */
void aif_page_names_write(const struct aif_page_names *n, struct aif_page_columns *c,
			  struct aif_buf *json);

struct aif_page_tree {
	const struct aif_tree *tree; /* sealed */
	/* profile with the strings of the frames' origins; NULL: frames have no origin */
	const struct aif_profile *p;
	struct aif_page_entries *entries;
	struct aif_page_cells *cells; /* sealed; NULL: nothing has a time */
	uint32_t groups;
	uint32_t frames_max;
	const uint8_t *marks;  /* mark of each node, for a tree with marks; NULL */
	bool has_roots;        /* entries know their root */
	bool has_owners;       /* entries know their owner */
	size_t joined;         /* frames that were joined, set by the write */
	uint64_t joined_below; /* joined frames are narrower than this */
};
/* Writes columns whose names begin with `prefix`: depth, name, full (1 + number; in order of a walk, callers first); e_node
 * e_group e_metric e_value (and e_root, e_owner); g_pairs (by group), p_cell, p_weight; look, the marks. 0 or -ENOMEM. */
int aif_page_tree_write(struct aif_page_tree *t, const char *prefix, struct aif_page_names *names,
			struct aif_page_columns *c);
