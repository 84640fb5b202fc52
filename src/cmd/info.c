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
	int status = AIF_EXIT_FAILURE;

	if (aif_view_open(&view, v->input, words, words_len, NULL, err) == 0) {
		aif_info_write(&view.profile, &view.attribution, view.path, &out);
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
		"conservation report (what went in equals what is drawn), losses and their fixes.",
	.examples = "aiflame info\tof aiflame.data\naiflame info run.data\tof another\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_words = 1,
	.run = run,
};
