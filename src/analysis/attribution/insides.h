/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/fraction.h"
#include "analysis/attribution/groups.h"

/* Samples of a group at one frame, for one reason. */
struct aif_inside {
	uint32_t group, frame, reason;
	bool shared; /* some of its samples were split over several groups */
	bool mixed;  /* which could not be told apart */
	aif_fraction samples;
};

struct aif_insides {
	struct aif_inside *at;
	size_t len, cap;
	struct aif_map ids; /* hash of group, frame and reason -> index */
};

/* Appends one, also of a group, frame and reason that has some already: sorting puts them
 * together. 0 or -ENOMEM. */
int aif_insides_append(struct aif_insides *s, const struct aif_inside *inside);
/* Adds samples to the one of that group, frame and reason. 0 or -ENOMEM. */
int aif_insides_add(struct aif_insides *s, const struct aif_inside *inside);
/* Sorts by group, frame and reason, and adds up equal ones. To be called after the last was
 * added. */
void aif_insides_sort(struct aif_insides *s);
void aif_insides_finish(struct aif_insides *s);
