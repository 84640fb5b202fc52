/* SPDX-License-Identifier: Apache-2.0 */
#include "export/report.h"

#include "cmd/choice.h"
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "export/summary.h"

#include <errno.h>

struct values {
	const char *input, *sort;
	struct aif_choice_values choice;
	int kind, format, detail; /* kind: 1 + enum aif_report_kind, 0 = the first screen */
	uint32_t limit;
};

#define DEFAULT_LIMIT    40
#define NO_LIMIT_GIVEN   UINT32_MAX
#define AT(field)        offsetof(struct values, field)
#define CHOICE_AT(field) offsetof(struct values, choice.field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	{0, "kernels", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_KERNELS, "time by kernel"},
	{0, "stacks", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_STACKS, "time by launch stack"},
	{0, "stalls", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_STALLS,
	 "what kernels wait for, and what that means"},
	{0, "copies", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_COPIES,
	 "transfers with bytes and rate"},
	{0, "launches", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_LAUNCHES, "each launch"},
	{0, "sort", "COLUMN", AIF_OPT_STRING, AT(sort), 0, "order by this column"},
	{0, "limit", "N", AIF_OPT_COUNT, AT(limit), 0,
	 "at most N rows, of --stalls kernels, 0 for all (40; launches too)"},
	{0, "detail", "brief|normal|full", AIF_OPT_CHOICE, AT(detail), 0,
	 "how much of stacks and kernels' names to show; full has all (normal)"},
	AIF_CHOICE_OPTS(CHOICE_AT),
	{0, "format", "table|csv|json", AIF_OPT_CHOICE, AT(format), 0,
	 "for people or for programs"},
	{0},
};
static const struct values defaults = {.limit = NO_LIMIT_GIVEN, .detail = AIF_NAME_NORMAL};

/* The summary is of all there is. */
static bool is_for_tables(const struct values *v)
{
	return v->sort || v->format != AIF_TABLE_PLAIN || v->limit != NO_LIMIT_GIVEN ||
	       v->detail != AIF_NAME_NORMAL || aif_choice_is_set(&v->choice);
}

static int table(const struct values *v, const struct aif_profile *p, struct aif_buf *out,
		 struct aif_err *err)
{
	struct aif_choice choice = {0};
	struct aif_attribution a = {0};
	struct aif_report_opts o = {.kind = (enum aif_report_kind)(v->kind - 1),
				    .format = (enum aif_table_format)v->format,
				    .detail = (enum aif_name_detail)v->detail,
				    .sort = v->sort,
				    .limit = v->limit == NO_LIMIT_GIVEN ? DEFAULT_LIMIT : v->limit,
				    .columns = aif_view_columns(),
				    .kernel = v->choice.kernel,
				    .which = &choice.which};
	int r = aif_choice_make(&v->choice, p, &choice, err);

	if (!r)
		r = aif_attribution_compute(p, &choice.which, &a, err);
	if (!r)
		r = aif_report_write(p, &a, &o, out, err);
	aif_attribution_finish(&a);
	aif_choice_finish(&choice);
	return r;
}

static int summary(const char *path, const struct aif_profile *p, struct aif_buf *out,
		   struct aif_err *err)
{
	struct aif_attribution a = {0};
	int r = aif_attribution_compute(p, NULL, &a, err);

	if (!r)
		aif_summary_write(p, &a, path, out);
	aif_attribution_finish(&a);
	return r;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const char *path = aif_view_path(v->input, words, words_len, err);
	struct aif_profile p = {0};
	struct aif_buf out = {0};
	int status = AIF_EXIT_FAILURE;

	if (!path)
		return AIF_EXIT_USAGE;
	if (!v->kind && is_for_tables(v)) {
		aif_err_set(
			err, -EINVAL,
			"report: --sort, --limit, --format, --detail and what chooses a part of "
			"the profile are for tables; choose one: --kernels, --stalls, --stacks, "
			"--copies or --launches");
		return AIF_EXIT_USAGE;
	}
	if (aif_view_profile(path, &p, err) == 0 &&
	    (v->kind ? table(v, &p, &out, err) : summary(path, &p, &out, err)) == 0)
		status = v->kind && v->format != AIF_TABLE_PLAIN ? aif_view_print(&out, err)
								 : aif_view_print_text(&out, err);
	aif_buf_finish(&out);
	aif_profile_finish(&p);
	return status;
}

const struct aif_command aif_command_report = {
	.name = "report",
	.words = "[FILE]",
	.summary = "tables: kernels, stalls, stacks, copies, launches",
	.description =
		"Prints a table of a profile; without a choice, the summary that `record` ended with.\n"
		"`time` sums durations, `wall` shares each moment among what ran in it: its sum, of which\n"
		"`wall_share` is a share, is the time in which the device was busy. `error` is the standard\n"
		"error of `time`, where launches were left out (record --overhead). Where several processes\n"
		"worked on devices, `process` tells their rows apart. `caller` is the application's function\n"
		"that launched most of it, `operator` PyTorch's innermost one, as torch.profiler has it; of a\n"
		"backward the caller is the forward's. Stacks are folded as in the flame graph.",
	.examples =
		"aiflame report --kernels\tthe kernels with the most time\n"
		"aiflame report --kernels --process 4711 --time 2,3\tof one process and second\n"
		"aiflame report --stalls --kernel gemm\twhat these kernels wait for\n"
		"aiflame report --copies --format csv\tfor a spreadsheet\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
