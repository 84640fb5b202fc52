/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/filter.h"
#include "report/annotate.h"

/* Places in the source of a host function, and the time of each. */

struct aif_place {
	uint32_t file, line,
		frame; /* strings; a frame there. file AIF_NONE: the line is not known */
	uint64_t address, ns;
	int64_t row; /* of its line in "lines", -1: none; of JSON alone */
};

struct aif_places {
	const struct aif_profile *p;
	struct aif_place *at;
	size_t len, cap;
};

/* Adds the place of a frame at an inline depth. 0 or -ENOMEM. */
int aif_places_add(struct aif_places *l, uint32_t frame, uint32_t depth, uint64_t ns);

/* True if the expression matches a function's name, with or without the " (file.py)" of Python's. */
bool aif_annotate_matches(const struct aif_regex *wanted, const char *name);

/* Appends a place's share of the whole as a number and a bar, in columns of the same width. */
#define AIF_PLACE_SHARE_COLUMNS 15
void aif_place_put_share(uint64_t ns, uint64_t all_ns, struct aif_buf *out);

/* Appends the lines in the order of their files, without those below o->min_ppm. Sorts the places. 0
 * or -ENOMEM. */
int aif_places_put_lines(struct aif_places *l, const struct aif_annotate_opts *o, uint64_t all_ns,
			 struct aif_buf *out);
/* Appends "head":[...],"lines":[...] of a function (annotate_json.h) and sets .row. Sorts the
 * places. 0 or -ENOMEM. */
int aif_places_json(struct aif_places *l, uint64_t all_ns, struct aif_buf *json);
