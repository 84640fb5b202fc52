/* SPDX-License-Identifier: Apache-2.0 */
#include "export/report.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "export/summary.h"

#include <errno.h>

struct values {
	const char *input, *sort;
	int kind, format; /* kind: 1 + enum aif_report_kind, 0 = the first screen */
	uint32_t limit;
};

#define DEFAULT_LIMIT  40
#define NO_LIMIT_GIVEN UINT32_MAX
#define AT(field)      offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	{0, "kernels", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_KERNELS, "time by kernel"},
	{0, "stacks", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_STACKS, "time by launch stack"},
	{0, "copies", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_COPIES,
	 "transfers with bytes and rate"},
	{0, "launches", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_LAUNCHES, "each launch"},
	{0, "sort", "COLUMN", AIF_OPT_STRING, AT(sort), 0, "order by this column"},
	{0, "limit", "N", AIF_OPT_COUNT, AT(limit), 0,
	 "at most N rows, 0 for all (40; launches too)"},
	{0, "format", "table|csv|json", AIF_OPT_CHOICE, AT(format), 0,
	 "for people or for programs"},
	{0},
};
static const struct values defaults = {.limit = NO_LIMIT_GIVEN};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_view view = {0};
	struct aif_buf out = {0};
	int status = AIF_EXIT_FAILURE;

	if (!v->kind && (v->sort || v->format != AIF_TABLE_PLAIN || v->limit != NO_LIMIT_GIVEN)) {
		aif_err_set(err, -EINVAL,
			    "report: --sort, --limit and --format are for tables; choose one: "
			    "--kernels, --stacks, --copies or --launches");
		return AIF_EXIT_USAGE;
	}
	if (aif_view_open(&view, v->input, words, words_len, NULL, err) < 0)
		goto out;
	if (!v->kind) {
		aif_summary_write(&view.profile, &view.attribution, view.path, &out);
	} else {
		struct aif_report_opts o = {.kind = (enum aif_report_kind)(v->kind - 1),
					    .format = (enum aif_table_format)v->format,
					    .sort = v->sort,
					    .limit = v->limit == NO_LIMIT_GIVEN ? DEFAULT_LIMIT
										: v->limit};

		if (aif_report_write(&view.profile, &view.attribution, &o, &out, err) < 0)
			goto out;
	}
	status = v->kind && v->format != AIF_TABLE_PLAIN ? aif_view_print(&out, err)
							 : aif_view_print_text(&out, err);
out:
	aif_buf_finish(&out);
	aif_view_finish(&view);
	return status;
}

const struct aif_command aif_command_report = {
	.name = "report",
	.words = "[FILE]",
	.summary = "tables: kernels, stacks, copies, launches",
	.description =
		"Prints a table of a profile; without a choice, the summary that `record` ended with.\n"
		"`time` sums durations, `wall` shares each moment among what ran in it: its sum, of which\n"
		"`wall_share` is a share, is the time in which the device was busy.",
	.examples = "aiflame report --kernels\tthe kernels with the most time\n"
		    "aiflame report --copies --format csv\tfor a spreadsheet\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
