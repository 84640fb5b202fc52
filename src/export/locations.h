/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/host_stacks.h"

/*
 * Stacks as lists of locations, and these as lists of lines of functions, as pprof and OTLP have them: a location is an
 * address, a line is one of the functions that stand there, the innermost first. All are numbered from 0 in the
 * order in which they were first met.
 */
struct aif_locations {
	struct aif_host_stacks *stacks;
	struct aif_strset strings;   /* 0 is "" */
	struct aif_strset functions; /* bytes are a struct aif_location_function */
	struct aif_strset
		locations; /* bytes: the frame, AIF_NONE for none and for a mark, then struct aif_location_line */
	struct aif_location_of *of; /* by node */
	size_t of_len, of_cap;
	uint32_t *ids;
	size_t ids_cap;
	struct aif_buf key;
};
struct aif_location_function {
	uint32_t name, system_name, file; /* of .strings */
};
struct aif_location_line {
	uint32_t function, line;
};

/* `stacks` stays the caller's and must outlive it. 0 or -ENOMEM; finished in any case. */
int aif_locations_init(struct aif_locations *l, struct aif_host_stacks *stacks);
void aif_locations_finish(struct aif_locations *l);

/* The locations from a node to the root, the leaf first. Valid until the next call; NULL when memory runs out. */
const uint32_t *aif_locations_get(struct aif_locations *l, uint32_t node, size_t *ret_len);

struct aif_location_function aif_locations_function(const struct aif_locations *l, uint32_t i);
/* Returns a location's frame and the number of its lines, which are stored unaligned:
 * aif_locations_line() reads them. */
uint32_t aif_locations_frame(const struct aif_locations *l, uint32_t location, size_t *ret_lines);
struct aif_location_line aif_locations_line(const struct aif_locations *l, uint32_t location,
					    size_t i);
/* The number of a string in .strings; 0, which is "", when memory runs out and .strings has no room. */
uint32_t aif_locations_string(struct aif_locations *l, const char *text);
