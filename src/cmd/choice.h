/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cmd/opts.h"
#include "export/filter.h"
#include "profile/attribution.h"

/* The options that say which part of a profile a view is of, the same for all views. */

struct aif_choice_values {
	const char *process, *tid, *device, *kernel;
	struct aif_opt_span time;
};

/* Rows of a table of options; `at(field)` is the offset of a field of struct aif_choice_values. */
/* clang-format off */
#define AIF_CHOICE_OPTS(at) \
	{0, "kernel", "RE", AIF_OPT_STRING, at(kernel), 0, "only kernels that match"}, \
	{0, "time", "FROM,TO", AIF_OPT_SPAN, at(time), 0, "only what ran then, since the start"}, \
	{0, "process", "PID|NAME|RE", AIF_OPT_STRING, at(process), 0, \
	 "only this process, or those whose pid or command matches"}, \
	{0, "tid", "TID|RE", AIF_OPT_STRING, at(tid), 0, \
	 "only this thread, or those whose number or name matches"}, \
	{0, "device", "NAME|RE", AIF_OPT_STRING, at(device), 0, \
	 "only devices of this name, or whose name matches"}
/* clang-format on */

struct aif_choice {
	struct aif_attribution_opts which; /* of the tables below */
	bool *processes, *threads, *devices;
};

static inline bool aif_choice_is_set(const struct aif_choice_values *v)
{
	return v->process || v->tid || v->device || v->kernel || v->time.from_ns || v->time.to_ns;
}

/* *ret is finished by the caller, also after a failure. 0; -EINVAL with *err for what is no expression, and for
 * one that no row matches, -ENOMEM. Kernels are left to who uses them. */
int aif_choice_make(const struct aif_choice_values *v, const struct aif_profile *p,
		    struct aif_choice *ret, struct aif_err *err);
void aif_choice_finish(struct aif_choice *c);
