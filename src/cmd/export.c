/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "export/query_print.h"

#include <errno.h>

struct values {
	const char *input, *output;
	int format;
};
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, offsetof(struct values, input), 0,
	 "the profile (aiflame.data)"},
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct values, output), 0,
	 "the file to write, - is standard output (aiflame.sqlite)"},
	{0, "format", "sqlite", AIF_OPT_CHOICE, offsetof(struct values, format), 0,
	 "plain SQLite tables, for any other program"},
	{0},
};
static const struct values defaults = {.output = "aiflame.sqlite"};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const char *path = aif_view_path(v->input, words, words_len, err);
	struct aif_query *q = NULL;
	struct aif_profile p = {0};
	int r;

	if (!path)
		return AIF_EXIT_USAGE;
	if (aif_view_is_same_file(path, v->output)) {
		aif_err_set(err, -EINVAL, "export: %s is the profile itself; choose another -o",
			    path);
		return AIF_EXIT_USAGE;
	}
	r = aif_view_profile(path, &p, err);
	if (!r)
		r = aif_query_new(&p, &q, err);
	if (!r)
		r = aif_query_export(q, v->output, err);
	aif_query_free(q);
	aif_profile_finish(&p);
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_export = {
	.name = "export",
	.words = "[FILE]",
	.summary = "write a profile in another format",
	.description =
		"Writes the tables that `aiflame query` shows as plain tables of an SQLite database,\n"
		"which any other program can open.",
	.examples =
		"aiflame export -o run.sqlite\tof aiflame.data\n"
		"sqlite3 run.sqlite 'SELECT * FROM kernel_times'\tand then, anywhere\n"
		"aiflame export -o - | ssh host 'cat >run.sqlite'\tstraight to another machine\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
