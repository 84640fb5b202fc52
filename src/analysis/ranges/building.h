/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/range_index.h"
#include "analysis/time.h"

/* State that the files of this folder share while an index is made. */

struct aif_range {
	int64_t start, end; /* ns since the recording's start */
	uint32_t thread, order;
	uint32_t name;    /* string of the profile; later an index of .names */
	uint32_t payload; /* string of the profile, or AIF_NONE */
};

/* Elements of a range in a chain: one element, or those that XLA's name has. */
struct aif_range_name {
	uint32_t first, len; /* of .elements */
	uint32_t string;     /* of the profile */
	uint32_t payload;    /* the same, or AIF_NONE */
	bool is_thunk;
};
struct aif_range_element {
	uint32_t name; /* in the index's names */
	uint8_t kind;  /* enum aif_range_kind */
	bool is_kept;
};

struct aif_range_building {
	const struct aif_profile *p;
	const struct aif_timeline *timeline;
	struct aif_range_index *x;
	struct aif_range
		*ranges; /* by thread and start, outer ones first, once the moments are made */
	size_t len, cap;
	AIF_TABLE(aif_range_name, names);
	AIF_TABLE(aif_range_element, elements);
	bool has_thunks;          /* ranges of XLA's instructions */
	struct aif_map chain_ids; /* parent, name, kind, kept -> chain */
	struct aif_range open[AIF_RANGE_CHAIN];
	uint32_t chains[AIF_RANGE_CHAIN]; /* up to each of .open */
	unsigned depth;
};

/* Sets *ret to `parent` with the elements of a name. 0 or -ENOMEM. */
int aif_range_chain_of(struct aif_range_building *b, uint32_t parent, uint32_t name, bool in_graph,
		       uint32_t *ret);

/* Sets the index's .placed, by the launches and executions of graphs. 0 or -ENOMEM. */
int aif_range_graphs(struct aif_range_building *b);
