/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cmd/message.h"
#include "cmd/opts.h"
#include "compare/side.h"
#include "names/selection_args.h"

/* The options that say which part of a profile a view is of, the same for all views. */

/* Rows of a table of options; `at(field)` is the offset of a field of struct aif_selection_values. */
/* clang-format off */
#define AIF_CHOICE_WHICH_OPTS(at) \
	{0, "time", "FROM,TO|loop|startup|tail|step:N|steps:N-M|all", AIF_OPT_SPAN, at(time), 0, \
	 "only what ran between these times since the start, or in that part of the run\f; steps by their " \
	 "number in report --steps, from 1; all, also of a profile of one cycle (record --schedule)"}, \
	{0, "process", "PID|NAME|RE", AIF_OPT_STRING, at(process), 0, \
	 "only this process, or those whose pid or command matches"}, \
	{0, "device", "NAME|RE", AIF_OPT_STRING, at(device), 0, \
	 "only devices of this name, or whose name matches"}
#define AIF_CHOICE_OPTS(at) \
	{0, "kernel", "RE", AIF_OPT_STRING, at(kernel), 0, "only kernels that match"}, \
	AIF_CHOICE_WHICH_OPTS(at)
#define AIF_CHOICE_FURTHER_OPTS(at) \
	{0, "loop", "N|TEXT", AIF_OPT_STRING, at(loop), 0, \
	 "take this one of the loops that aiflame why lists, by its number or by part of a function's or a file's name, for " \
	 "the loop of --time and of why; also where steps are marked"}, \
	{0, "range", "RE", AIF_OPT_STRING, at(range), 0, \
	 "only what threads did and launched in ranges whose name matches, as in report --ranges"}, \
	{0, "rank", "N[,N...]", AIF_OPT_STRING, at(rank), 0, \
	 "only processes of these ranks of a job"}, \
	{0, "tid", "TID|RE", AIF_OPT_STRING, at(tid), 0, \
	 "only this thread, or those whose number or name matches"}
/* clang-format on */

/* Options of commands that compare: baselines and units. */
#define AIF_BASELINES_OPT(at)                                            \
	{                                                                \
		0, "baselines", "DIR", AIF_OPT_STRING, at, 0,            \
			"the directory of baselines (" AIF_BASELINES ")" \
	}

#define AIF_UNIT_OPT(at)                                                                           \
	{                                                                                          \
		0, "unit", "auto|step|token|range:NAME|launch|second|run|cycles", AIF_OPT_STRING,  \
			at, 0,                                                                     \
			"what values are given by (auto: a step where all runs have them, else a " \
			"run; range:NAME: the program's ranges of that name, whatever number "     \
			"they end in; token: range:token; launch: of kernels by their own; "       \
			"cycles: as auto, with times as cycles of the device's clock)"             \
	}

/* Notes on standard error that `text` (may be NULL) is taken as a name, as it is no expression. */
static inline void aif_selection_note_name(const char *option, const char *text)
{
	char why[128];

	if (text && aif_regex_is_name(text, why, sizeof(why)))
		aif_message("%s '%s' is taken as a name: as an expression it has: %s", option, text,
			    why);
}
