/* SPDX-License-Identifier: Apache-2.0 */
#include "export/query_print.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"

#include <inttypes.h>
#include <stdio.h>

struct values {
	const char *input;
	int format;
};
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, offsetof(struct values, input), 0,
	 "the profile (aiflame.data)"},
	{0, "format", "table|csv|json", AIF_OPT_CHOICE, offsetof(struct values, format), 0,
	 "for people or for programs"},
	{0},
};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const char *path = v->input ? v->input : words_len > 1 ? words[0] : AIF_DEFAULT_FILE;
	struct aif_query *q = NULL;
	struct aif_profile p = {0};
	struct aif_buf out = {0};
	int status = AIF_EXIT_FAILURE;

	if (aif_profile_open(path, &p, err) == 0 && aif_query_new(&p, &q, err) == 0 &&
	    aif_query_print(q, words[words_len - 1], (enum aif_table_format)v->format, &out, err) ==
		    0)
		status = aif_view_print(&out, err);
	if (q && aif_query_damaged(q))
		fprintf(stderr,
			"aiflame: %s: %" PRIu64
			" parts of it are damaged: their rows are missing above\n",
			path, aif_query_damaged(q));
	aif_buf_finish(&out);
	aif_query_free(q);
	aif_profile_finish(&p);
	return status;
}

const struct aif_command aif_command_query = {
	.name = "query",
	.words = "[FILE] SQL",
	.summary = "SQL over a profile",
	.description =
		"Runs one SELECT over the profile's tables: launches, executions, copies, samples, windows,\n"
		"attributed, kernels, stacks, frames, frame_names, modules, processes, threads, devices,\n"
		"clocks, losses, meta, strings, programs, codes, and the view kernel_times. Times are ns\n"
		"since the recording began. docs/FORMAT.md lists the columns.",
	.examples =
		"aiflame query 'SELECT * FROM kernel_times'\ttime by kernel\n"
		"aiflame query 'SELECT kind, sum(bytes) FROM copies GROUP BY kind'\tbytes copied\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
