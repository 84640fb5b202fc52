/* SPDX-License-Identifier: Apache-2.0 */
#include "export/info.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"

struct values {
	const char *input;
};
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, offsetof(struct values, input), 0,
	 "the profile (aiflame.data)"},
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
		aif_info_write(&view.profile, &view.attribution, shown ? shown : "", &out);
		free(shown);
		status = aif_view_print_text(&out, err);
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
		"conservation report (what went in equals what is drawn), losses and their fixes, whose\n"
		"numbers are all in aiflame-reasons(7).\n"
		"\n"
		"launches: calls that were recorded. executions: what they ran; a graph or a command list that\n"
		"runs again has more of them, and the tables' column `launches` counts these.\n"
		"idle: between the first and the last work of a device nothing of the recorded processes is\n"
		"known to have run on it; what others did with it is not seen. start-up and tail: the same\n"
		"before the first and after the last. not collected: the same, but in a pause (--delay, ctl), before a\n"
		"running process was met or after it was told to stop, or while queues still worked on\n"
		"what was launched then. in flight: had begun before collection did, or had not ended when\n"
		"it stopped, at a pause or the end: nothing is wrong with that. unread at its process's end:\n"
		"the process ended, by _exit() or a signal perhaps, while it ran or before its times were\n"
		"read. seen from outside: by record --ebpf, in processes without the agent, so that their\n"
		"executions are not known. never heard of again: a later launch of the same in-order queue has ended. joined\n"
		"by its neighbours: a node of PyTorch's backward whose operator launched nothing; it\n"
		"lies between two that did.",
	.examples = "aiflame info\tof aiflame.data\naiflame info run.data\tof another\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_words = 1,
	.run = run,
};
