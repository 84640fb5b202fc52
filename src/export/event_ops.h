/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/events.h"

/*
 * Operators, ranges and calls of the runtime for the formats that show a time line, beside aif_events' launches. A launch
 * whose call is among them begins when the call does: it is drawn as long as that, and is not there twice.
 */
struct aif_event_op {
	int64_t start; /* ns since the recording's start */
	uint64_t dur, id;
	int64_t sequence;
	uint32_t thread, name, kind, shapes, stack; /* as aif_op_row */
	uint32_t launch;                            /* what it launched, an index; AIF_NONE */
	bool is_kept; /* false: it is not to be exported, and here only for its launch */
};
struct aif_event_ops {
	struct aif_event_op *ops; /* by thread, then start, of equal ones the outer one first */
	size_t len, cap;
	/* Call of each launch, an index; AIF_NONE: not known. An operator, if nothing more is known of who
	 * launched it: the call is not in the profile. */
	uint32_t *calls;
};

/* Moves e->start_ns and e->end_ns so that they hold for these as well. 0 or -errno; finished by the caller in any case. */
int aif_event_ops_init(struct aif_event_ops *o, struct aif_events *e, const struct aif_export *x);
void aif_event_ops_finish(struct aif_event_ops *o);

/* Is it to be drawn? Then so is what it launched, if it launched anything. */
static inline bool aif_event_op_is_shown(const struct aif_event_op *o, const struct aif_events *e)
{
	return o->is_kept || (o->launch != AIF_NONE && e->launches[o->launch].is_kept);
}

static inline int64_t aif_event_op_end(const struct aif_event_op *o)
{
	return o->start + (int64_t)o->dur;
}

/* Kineto's category of a call of the runtime, by its name and what it belongs to ("cuda", "hip", ... as aif_device.runtime; ""):
 * "cuda_runtime", also ROCm's. "runtime" where Kineto has none. */
const char *aif_event_call_category(const char *name, size_t len, const char *runtime);
