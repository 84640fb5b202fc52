/* SPDX-License-Identifier: Apache-2.0 */
#include "export/report.h"

#include "cmd/choice.h"
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "export/summary.h"
#include "export/timed_report.h"

#include <errno.h>

struct values {
	const char *input, *sort;
	struct aif_choice_values choice;
	int kind, format, detail, by; /* kind: 1 + enum aif_report_kind, 0 = the first screen */
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
	{0, "ops", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_OPS,
	 "by operator, as torch's key_averages() has it"},
	{0, "ranges", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_RANGES,
	 "ranges that the program marked, by name"},
	{0, "steps", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_STEPS,
	 "each step, and what its devices did in it"},
	{0, "breakdown", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_BREAKDOWN,
	 "each device's time: compute, communication, memory, idle by cause"},
	{0, "comm", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_COMM,
	 "communication by kernel, and how much of it computation hides"},
	{0, "idle", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_IDLE,
	 "each interval in which a device ran nothing, and why"},
	{0, "streams", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_STREAMS,
	 "each queue: its waits, launch delays and length"},
	{0, "counters", NULL, AIF_OPT_SET, AT(kind), 1 + AIF_REPORT_COUNTERS,
	 "what devices' counters were (record --counters)"},
	{0, "by", "name|shape|stack", AIF_OPT_CHOICE, AT(by), 0,
	 "what tells operators of one name apart (name)"},
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

static bool is_for_tables(const struct values *v)
{
	return v->sort || v->format != AIF_TABLE_PLAIN || v->limit != NO_LIMIT_GIVEN ||
	       v->detail != AIF_NAME_NORMAL || v->by || v->choice.kernel;
}

static int table(const struct values *v, const struct aif_profile *p, struct aif_buf *out,
		 struct aif_err *err)
{
	struct aif_choice choice = {0};
	struct aif_attribution a = {0};
	struct aif_report_opts o = {.kind = (enum aif_report_kind)(v->kind - 1),
				    .format = (enum aif_table_format)v->format,
				    .detail = (enum aif_name_detail)v->detail,
				    .by = (enum aif_report_by)v->by,
				    .sort = v->sort,
				    .limit = v->limit == NO_LIMIT_GIVEN ? DEFAULT_LIMIT : v->limit,
				    .columns = aif_view_columns(),
				    .kernel = v->choice.kernel,
				    .which = &choice.which};
	int r = aif_choice_make(&v->choice, p, &choice, err);

	if (!r && aif_timed_report_is(&o)) {
		r = aif_timed_report_write(p, &o, out, err);
	} else if (!r) {
		r = aif_attribution_compute(p, &choice.which, &a, err);
		r = r ? r : aif_report_write(p, &a, &o, out, err);
	}
	aif_attribution_finish(&a);
	aif_choice_finish(&choice);
	return r;
}

static int summary(const struct values *v, const char *path, const struct aif_profile *p,
		   struct aif_buf *out, struct aif_err *err)
{
	struct aif_choice choice = {0};
	struct aif_attribution a = {0};
	char *shown = aif_view_path_for_people(path);
	int r = aif_choice_make(&v->choice, p, &choice, err);

	if (!r)
		r = aif_attribution_compute(p, &choice.which, &a, err);
	if (!r && aif_choice_is_set(&v->choice))
		aif_summary_part(p, &a, &choice.which, shown ? shown : "", out);
	else if (!r)
		aif_summary_write(p, &a, shown ? shown : "", out);
	free(shown);
	aif_attribution_finish(&a);
	aif_choice_finish(&choice);
	return r;
}

static bool is_for_people(const struct values *v)
{
	return !v->kind || v->format == AIF_TABLE_PLAIN;
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
			"report: --sort, --limit, --format, --detail, --by and --kernel are for "
			"tables; choose one: --kernels, --stalls, --stacks, "
			"--copies, --launches, --ops, --ranges, --steps, --breakdown, --comm, --idle, "
			"--streams or --counters");
		return AIF_EXIT_USAGE;
	}
	if (v->by && v->kind != 1 + AIF_REPORT_OPS) {
		aif_err_set(err, -EINVAL, "report: --by is for --ops");
		return AIF_EXIT_USAGE;
	}
	if ((is_for_people(v) ? aif_view_profile_for_people : aif_view_profile)(path, &p, err) ==
		    0 &&
	    (v->kind ? table(v, &p, &out, err) : summary(v, path, &p, &out, err)) == 0)
		status = is_for_people(v) ? aif_view_print_text(&out, err)
					  : aif_view_print(&out, err);
	aif_buf_finish(&out);
	aif_profile_finish(&p);
	return status;
}

const struct aif_command aif_command_report = {
	.name = "report",
	.words = "[FILE]",
	.summary =
		"tables: kernels, stalls, stacks, copies, launches, operators, steps, idle time, counters",
	.description =
		"Prints a table of a profile; without a choice, the summary that `record` ended with, or with\n"
		"--time, --process, --tid or --device that of a part. There busy and idle are of the time from the\n"
		"first to the last work of a device; what it waited before and after is start-up and tail.\n"
		"`time` sums durations, `wall` shares each moment among what ran in it: its sum, of which\n"
		"`wall_share` is a share, is the time in which the device was busy. `launches` of kernels and\n"
		"stacks are executions: of a graph or command list that runs again, each time. Where launches were\n"
		"left out (record --overhead), what was captured stands for the rest, and `error` is the standard\n"
		"error: of `time`, of --breakdown's busy time and idle time, of --streams' `busy`; 0 is exact. What\n"
		"cannot stand for more than itself (a gap, a step, a launch) says above the table of how much of\n"
		"the launches it is. Where several processes\n"
		"worked on devices, `process` tells their rows apart: by number, or where ranks in containers\n"
		"have the same one by name, which --process takes, too. `caller` is the application's function\n"
		"that launched most of it, `operator` PyTorch's innermost one, as torch.profiler has it; of a\n"
		"backward the caller is the forward's. Stacks are folded as in the flame graph; for people long\n"
		"ones lose their middle (--detail full, CSV and JSON have it), a caller that is the operator is\n"
		"not said twice, and columns without anything in them are left out.\n"
		"--ops has the rows of torch.profiler's key_averages(): operators, ranges, calls of the\n"
		"runtime, with their CPU time, and the device time that each launched (`self`) or had launched\n"
		"(`total`); then the device's own work. Of a recording that has stacks in place of operators'\n"
		"times it has the device's columns only.\n"
		"--breakdown, --comm, --idle, --steps and --streams define times as Holistic Trace Analysis does,\n"
		"for each process on each device: compute (kernels that are neither communication nor memory),\n"
		"communication and memory alone (nothing computes beside them), idle. A wait is `host` if what\n"
		"ended it was launched in it; else `kernel` below 30 us, and `other` above. `overlap_share` is how\n"
		"much of communication computation hides. A launch is `late` 100 us after its call, a call slow\n"
		"from 50 us on, an execution short that takes less time than its call.\n"
		"--counters has each counter of a device (busy, frequency, a GPU's metrics): its least, median,\n"
		"greatest and mean value.\n"
		"A table without rows is no failure, in any format: its status is 0. It is 1 where a profile\n"
		"cannot tell: --stalls without a device's samples, --ops without operators, a --time of which\n"
		"all launches were left out.",
	.examples =
		"aiflame report --kernels\tthe kernels with the most time\n"
		"aiflame report --kernels --process 4711 --time 2,3\tof one process and second\n"
		"aiflame report --kernels --process 'python3 (rank 1)'\tof one imported rank\n"
		"aiflame report --stalls --kernel gemm\twhat these kernels wait for\n"
		"aiflame report --ops --by shape --sort cpu_total\toperators by shapes of their inputs\n"
		"aiflame report --idle --limit 10\tthe longest times in which a device ran nothing\n"
		"aiflame report --copies --format csv\tfor a spreadsheet\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
