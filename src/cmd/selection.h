/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "cmd/opts.h"
#include "names/filter.h"

/* The options that say which part of a profile a view is of, the same for all views. */

struct aif_selection_values {
	const char *process, *rank, *tid, *device, *kernel, *range, *loop;
	struct aif_run_part time;
};

/* Rows of a table of options; `at(field)` is the offset of a field of struct aif_selection_values. */
/* clang-format off */
#define AIF_CHOICE_WHICH_OPTS(at) \
	{0, "time", "FROM,TO|loop|startup|tail|step:N|steps:N-M|all", AIF_OPT_SPAN, at(time), 0, \
	 "only what ran between these times since the start, or in that part of the run; steps by their " \
	 "number in report --steps, from 1; all, also of a profile of one cycle (record --schedule)"}, \
	{0, "loop", "N|TEXT", AIF_OPT_STRING, at(loop), 0, \
	 "take this one of the loops that aiflame why lists, by its number or by part of a function's or a file's name, for " \
	 "the loop of --time and of why; also where steps are marked"}, \
	{0, "range", "RE", AIF_OPT_STRING, at(range), 0, \
	 "only what threads did and launched in ranges whose name matches, as in report --ranges"}, \
	{0, "process", "PID|NAME|RE", AIF_OPT_STRING, at(process), 0, \
	 "only this process, or those whose pid or command matches"}, \
	{0, "rank", "N[,N...]", AIF_OPT_STRING, at(rank), 0, \
	 "only processes of these ranks of a job"}, \
	{0, "tid", "TID|RE", AIF_OPT_STRING, at(tid), 0, \
	 "only this thread, or those whose number or name matches"}, \
	{0, "device", "NAME|RE", AIF_OPT_STRING, at(device), 0, \
	 "only devices of this name, or whose name matches"}
#define AIF_CHOICE_OPTS(at) \
	{0, "kernel", "RE", AIF_OPT_STRING, at(kernel), 0, "only kernels that match"}, \
	AIF_CHOICE_WHICH_OPTS(at)
/* clang-format on */

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

/* Notes on standard error that `text` (may be NULL) is taken as a name, as it is no expression. */
void aif_selection_note_name(const char *option, const char *text);
