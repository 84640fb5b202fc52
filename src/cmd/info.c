/* SPDX-License-Identifier: Apache-2.0 */
#include "report/info.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"

struct values {
	const char *input;
	int format;
};
enum { FORMAT_TEXT, FORMAT_JSON };
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, offsetof(struct values, input), 0,
	 "the profile (aiflame.data)"},
	{0, "format", "text|json", AIF_OPT_CHOICE, offsetof(struct values, format), 0,
	 "text for people, or JSON with times in ns (text)"},
	{0},
};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_view view = {0};
	struct aif_buf out = {0};
	const char *path = aif_view_path(v->input, words, words_len, err);
	int status = AIF_EXIT_FAILURE;
	char *shown;

	if (!path)
		return AIF_EXIT_USAGE;
	if (aif_view_open(&view, path, err) == 0) {
		shown = aif_view_path_for_people(path);
		if (v->format == FORMAT_JSON)
			aif_info_json(&view.profile, &view.attribution, path, &out);
		else
			aif_info_write(&view.profile, &view.attribution, shown ? shown : "", &out);
		free(shown);
		if (aif_profile_check(&view.profile, path, err) == 0)
			status = v->format == FORMAT_JSON ? aif_view_print(&out, err)
							  : aif_view_print_text(&out, err);
	}
	aif_buf_finish(&out);
	aif_view_finish(&view);
	return status;
}

const struct aif_command aif_command_info = {
	.name = "info",
	.words = "[FILE]",
	.summary = "what is in a profile, and whether it adds up",
	.description =
		"Prints the machine, the command, how much of everything the profile holds, the\n"
		"conservation report (what was recorded equals what is drawn), losses and how to\n"
		"avoid them; aiflame-reasons(7) lists their numbers.\n\n"
		"launches: calls that were recorded. executions: what they ran; a graph or\n"
		"command list that runs again has more of them, and the column `launches` of\n"
		"tables counts these.\n"
		"busy, idle: of the time from a device's first to its last work; idle is when no\n"
		"work of the recorded processes is known to have run, work of others is not seen.\n"
		"not collected: during a pause (--delay, ctl), before a running process was\n"
		"attached or after it was asked to stop, or while queues still worked on what was\n"
		"launched then. in progress at start/stop: executions that began before collection did,\n"
		"or had not ended when it stopped. unread at its process's end: the process\n"
		"ended, perhaps by _exit() or a signal, during the execution or before its times\n"
		"were read. seen from outside: by record --ebpf, in processes without the agent,\n"
		"whose executions are not known. never heard of again: a later launch of the same\n"
		"in-order queue has ended.\n"
		"idle time by cause: as in report --idle, of each process on each device; the causes\n"
		"sum to the idle time between its first and last work there.\n"
		"joined by its neighbours: a node of PyTorch's backward whose operator launched\n"
		"nothing, between two whose operators did.",
	.examples = "aiflame info\tof aiflame.data\n"
		    "aiflame info run.data\tof another\n"
		    "aiflame info --format json run.data | jq .losses\tfor programs\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_words = 1,
	.run = run,
};
