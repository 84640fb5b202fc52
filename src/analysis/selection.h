/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Part of a profile that a view shows. A zeroed struct, like NULL, is all of it. */
struct aif_selection {
	/* Only what ran then, ns since the recording's start; to_ns 0: until the end. */
	uint64_t from_ns, to_ns;
	/* Rows kept, by id: true keeps it; NULL: all. */
	const bool *processes, *threads, *devices;
};

/* False: it is all of the profile. */
bool aif_selection_is_part(const struct aif_selection *sel);

/* True if a row of `id` is kept by one of the lists of a selection (NULL: all are); AIF_NONE is
 * in none. */
static inline bool aif_selection_keeps(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

/* The error of a view that is empty because the overhead budget left out all launches: -ENODATA
 * with *err. 0 if none was left out. `command` begins the message. */
int aif_left_out_error(uint64_t left_out, const char *command, struct aif_err *err);
