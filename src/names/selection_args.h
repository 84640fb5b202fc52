/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/filter.h"
#include "text/values.h"

/* The part of a profile that options, or the words that name a run, ask for. */

struct aif_selection_values {
	const char *process, *rank, *tid, *device, *kernel, *range, *loop;
	struct aif_run_part time;
};

struct aif_selection_args {
	struct aif_selection sel; /* of the tables below */
	bool *processes, *threads, *devices;
	uint64_t
		steps; /* of a part that is the loop, or steps of it; 0: another part, or not all of its steps are known */
	struct aif_range_index ranges;
	struct aif_buf options; /* sel.options */
};

static inline bool aif_choice_is_set(const struct aif_selection_values *v)
{
	return v->process || v->rank || v->tid || v->device || v->kernel || v->range || v->loop ||
	       v->time.from_ns || v->time.to_ns || v->time.part;
}

/* *ret is finished by the caller, also after a failure. 0; -EINVAL with *err for what is no
 * expression, and for one that no row matches, -ENODATA for a part of the run that it has not, -ENOMEM. Kernels are left to who uses them. */
int aif_selection_args_make(const struct aif_selection_values *v, const struct aif_profile *p,
			    struct aif_selection_args *ret, struct aif_err *err);
/* Has rows be apart by the ranges that threads were in (struct aif_selection). 0 or -ENOMEM with *err. */
int aif_selection_args_by_range(const struct aif_profile *p, struct aif_selection_args *c,
				struct aif_err *err);
void aif_selection_args_finish(struct aif_selection_args *c);
