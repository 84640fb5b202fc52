/* SPDX-License-Identifier: Apache-2.0 */
#include "report/why/why.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "cmd/selection.h"

#include <errno.h>

enum { FORMAT_TEXT, FORMAT_JSON };

struct values {
	const char *input;
	struct aif_selection_values choice; /* .kernel is not asked for */
	int format;
};

#define AT(field)        offsetof(struct values, field)
#define CHOICE_AT(field) offsetof(struct values, choice.field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	{0, "format", "text|json", AIF_OPT_CHOICE, AT(format), 0,
	 "text for people, JSON for programs"},
	AIF_CHOICE_WHICH_OPTS(CHOICE_AT),
	AIF_OPTS_FURTHER,
	AIF_CHOICE_FURTHER_OPTS(CHOICE_AT),
	{0},
};

static int write_answer(const void *values, const char *path, const struct aif_names *names,
			struct aif_buf *out, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_selection_args choice = {0};
	struct aif_why why = {0};
	bool is_json = v->format == FORMAT_JSON;
	char *shown = is_json ? NULL : aif_view_path_for_people(path);
	const char *named = is_json ? path : shown ? shown : "";
	int r = aif_selection_args_make(&v->choice, names->p, &choice, err);

	if (!r)
		r = aif_why_measure(names, &choice.sel, &why, err);
	if ((!r && !why.time_ns) || r == -ENODATA) {
		struct aif_err none = {0};
		int c = aif_why_cpu(names, &choice.sel, named, is_json, out, &none);

		if (c != -ENODATA) {
			*err = none;
			r = c;
			goto out;
		}
	}
	if (!r && is_json)
		aif_why_json(names, &why, named, out);
	else if (!r)
		aif_why_say(names, &why, named, aif_view_columns(), out);
out:
	free(shown);
	aif_why_finish(&why);
	aif_selection_args_finish(&choice);
	return r;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const char *path = aif_view_path(v->input, words, words_len, err);

	return path ? aif_view_show(path, v->format == FORMAT_TEXT, write_answer, v, err)
		    : AIF_EXIT_USAGE;
}

const struct aif_command aif_command_why = {
	.name = "why",
	.words = "[FILE]",
	.summary = "what bounds a program, whose idle time it is, and what to try",
	.description =
		"Says in at most 25 lines where the time of a program's loop goes. Steps are those\n"
		"that the program marks (docs/program.md) or PyTorch's profiler; without any, turns\n"
		"of the loop that recurs in the launches. Start-up ends with the first step.\n\n"
		"All shares are of one time: the devices', in the loop, or with --time in that part;\n"
		"from the first to the last device work where no loop has half of the work since it\n"
		"began. They sum to 100 %: computing, copying and communicating alone, and idle by\n"
		"what the thread did that launched next (aiflame report --idle has the causes). `the\n"
		"host` is its time on CPU, in launches and between them; where it had waited for the\n"
		"device just before, as much of that as it could have done instead of waiting is\n"
		"`synchronisation`.\n\n"
		"`queue` has how far the host was ahead at its launch calls: work launched and not\n"
		"finished. Launches that find the device idle are what a host is too slow for\n"
		"(aiflame report --queue). `the host is behind`: half of them and more did, and no\n"
		"wait is why; a program that the host bounds is `launch-bound` then. `the host is\n"
		"ahead`: at most a tenth did. `in lock step`: it waits for the device in every other\n"
		"step at least, and that leaves nothing queued.\n\n"
		"`at most 2.5x` is how much faster it would be if that took no time at all; less\n"
		"comes true, since the next bound comes into sight. A program is bound by what has\n"
		"40 % of the time, else by nothing alone. Times of kernels are durations: of kernels that\n"
		"overlap they sum to more than the device was busy.\n\n"
		"Of a program that used no device (record --cpu) it says how many CPUs were used, by\n"
		"which threads, and which functions had the time; with --wall, what main threads compute\n"
		"and in which calls they wait. Of a job of several ranks it says which one is late, in\n"
		"which line, since when, and what that costs.",
	.examples = "aiflame why\tof the loop in aiflame.data\n"
		    "aiflame why --time startup run.data\twhat the start-up spends its time on\n"
		    "aiflame why --time step:120 run.data\tone step: a row of report --steps\n"
		    "aiflame why --format json run.data | jq .bound_by\tfor programs\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_words = 1,
	.run = run,
};
