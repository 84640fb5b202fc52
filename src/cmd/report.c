/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "cmd/selection.h"
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "report/summary/summary.h"
#include "text/json_answer.h"

#include <errno.h>
#include <limits.h>

/* The tables' numbers, which are those of aif_report_tables. */
enum {
#define AIF_REPORT(name, help) TABLE_##name,
#include "report/reports.def"
#undef AIF_REPORT
};

struct values {
	const char *input, *sort;
	struct aif_selection_values choice;
	int table; /* 1 + the number of a table, 0 = the summary */
	int format, detail, by, style;
	uint32_t limit;
};

#define DEFAULT_LIMIT    40
#define NO_LIMIT_GIVEN   UINT32_MAX
#define AT(field)        offsetof(struct values, field)
#define CHOICE_AT(field) offsetof(struct values, choice.field)
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, AT(input), 0, "the profile (aiflame.data)"},
	AIF_OPTS_HEADING("tables"),
#define AIF_REPORT(name, help) {0, #name, NULL, AIF_OPT_SET, AT(table), 1 + TABLE_##name, help},
#include "report/reports.def"
#undef AIF_REPORT
	AIF_OPTS_HEADING("rows, and how they are written"),
	{0, "by", "name|shape|stack|caller|role", AIF_OPT_CHOICE, AT(by), 0,
	 "group --ops by shape or stack too, --memory by stack, --idle by caller (name); "
	 "role: the table of --roles"},
	{0, "sort", "COLUMN", AIF_OPT_STRING, AT(sort), 0, "order by this column"},
	{0, "limit", "N", AIF_OPT_COUNT, AT(limit), 0,
	 "show at most N rows, of --stalls N kernels; 0 for all (40)"},
	{0, "format", "table|csv|json", AIF_OPT_CHOICE, AT(format), 0,
	 "text for people, CSV and JSON for programs"},
	AIF_CHOICE_OPTS(CHOICE_AT),
	AIF_OPTS_FURTHER,
	{0, "detail", "brief|normal|full", AIF_OPT_CHOICE, AT(detail), 0,
	 "how much of stacks and kernels' names to show; full shows all (normal)"},
	AIF_CHOICE_FURTHER_OPTS(CHOICE_AT),
	{0, "style", "aiflame|torch|aiu", AIF_OPT_CHOICE, AT(style), 0,
	 "print --ops to the blank as torch does, or IBM's AIU guide (aiflame)"},
	{0, "sort-by", "WORD", AIF_OPT_STRING, AT(sort), 0,
	 "--sort; with --ops also torch's words (cpu_time_total)"},
	{0, "row-limit", "N", AIF_OPT_COUNT, AT(limit), 0, "--limit, as torch calls it"},
	{0},
};
static const char *const table_words[] = {
#define AIF_REPORT(name, help) #name,
#include "report/reports.def"
#undef AIF_REPORT
};
static const struct values defaults = {.limit = NO_LIMIT_GIVEN, .detail = AIF_NAME_NORMAL};

static bool is_for_tables(const struct values *v)
{
	return v->sort || v->format != AIF_TABLE_PLAIN || v->limit != NO_LIMIT_GIVEN ||
	       v->detail != AIF_NAME_NORMAL || v->by || v->style || v->choice.kernel;
}

static const struct aif_report_table *table_of(const struct values *v)
{
	return v->table ? aif_report_tables[v->table - 1] : NULL;
}

/* Begins the object of which the table's rows are a member. */
static void begin_json(const struct aif_profile *p, const char *table, const char *path,
		       struct aif_buf *out)
{
	struct aif_json_answer head = {.verdict = {0}};
	struct aif_buf text = {0};

	if (aif_lacks_say(&p->traits, UINT_MAX, &text))
		aif_json_answer_abstain(&head, "incomplete", aif_buf_str(&text));
	aif_buf_clear(&text);
	aif_buf_puts(&text, "aiflame why ");
	aif_buf_shell_path(&text, path);
	aif_json_answer_next(&head, aif_buf_str(&text));
	aif_buf_putc(out, '{');
	aif_json_answer_put(&head, "report", out);
	aif_buf_printf(out, ",\"table\":\"%s\",\"rows\":", table);
	out->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

static int table(const void *values, const char *path, const struct aif_names *names,
		 struct aif_buf *out, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_selection_args choice = {0};
	struct aif_attribution a = {0};
	struct aif_report_opts o = {.table = table_of(v),
				    .format = (enum aif_table_format)v->format,
				    .detail = (enum aif_name_detail)v->detail,
				    .by = (enum aif_report_by)v->by,
				    .style = (enum aif_report_style)v->style,
				    .sort = v->sort,
				    .limit = v->limit == NO_LIMIT_GIVEN ? DEFAULT_LIMIT : v->limit,
				    .columns = aif_view_columns(),
				    .kernel = v->choice.kernel,
				    .sel = &choice.sel};
	int r = aif_selection_args_make(&v->choice, names->p, &choice, err);

	if (!r && aif_report_needs_attribution(o.table))
		r = aif_attribution_compute(names->p, &choice.sel, &a, err);
	if (!r && o.format == AIF_TABLE_JSON)
		begin_json(names->p, table_words[v->table - 1], path, out);
	if (!r)
		r = aif_report_write(names, &a, &o, out, err);
	if (!r && o.format == AIF_TABLE_JSON)
		aif_buf_puts(out, "}\n");
	aif_attribution_finish(&a);
	aif_selection_args_finish(&choice);
	return r;
}

static int summary(const void *values, const char *path, const struct aif_names *names,
		   struct aif_buf *out, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_selection_args choice = {0};
	struct aif_attribution a = {0};
	char *shown = aif_view_path_for_people(path);
	int r = aif_selection_args_make(&v->choice, names->p, &choice, err);

	if (!r)
		r = aif_attribution_compute(names->p, &choice.sel, &a, err);
	if (!r && (aif_choice_is_set(&v->choice) || aif_selection_is_part(&choice.sel)))
		aif_summary_part(names, &a, &choice.sel, shown ? shown : "", out);
	else if (!r)
		aif_summary_write(names, &a, shown ? shown : "", out);
	free(shown);
	aif_attribution_finish(&a);
	aif_selection_args_finish(&choice);
	return r;
}

/* Says which tables there are, one of which must be chosen. */
static void no_table(struct aif_err *err)
{
	struct aif_buf list = {0};
	const char *before = "";

	for (const struct aif_opt *o = opts; o->name; o++) {
		if (o->type != AIF_OPT_SET)
			continue;
		aif_buf_printf(&list, "%s--%s", before, o->name);
		before = o[1].type == AIF_OPT_SET && o[2].type != AIF_OPT_SET ? " or " : ", ";
	}
	aif_err_set(
		err, -EINVAL,
		"report: --sort, --limit, --format, --detail, --by, --style and --kernel are for "
		"tables; choose one: %s",
		aif_buf_str(&list));
	aif_buf_finish(&list);
}

/* Says which tables --by groups that way. */
static void refuse_by(int by, struct aif_err *err)
{
	static const char *const words[] = {
		[AIF_REPORT_BY_SHAPE] = "shape",
		[AIF_REPORT_BY_STACK] = "stack",
		[AIF_REPORT_BY_CALLER] = "caller",
		[AIF_REPORT_BY_ROLE] = "role",
	};
	struct aif_buf list = {0};

	for (size_t i = 0; aif_report_tables[i]; i++)
		if (aif_report_has_by(aif_report_tables[i], (enum aif_report_by)by))
			aif_buf_printf(&list, "%s--%s", list.len ? ", " : "", table_words[i]);
	aif_err_set(err, -EINVAL, "report: --by %s is for %s", words[by], aif_buf_str(&list));
	aif_buf_finish(&list);
}

static bool is_for_people(const struct values *v)
{
	return !v->table || v->format == AIF_TABLE_PLAIN;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	struct values chosen = *(const struct values *)values;
	const struct values *v = &chosen;
	const char *path = aif_view_path(v->input, words, words_len, err);

	if (!path)
		return AIF_EXIT_USAGE;
	aif_selection_note_name("--kernel", v->choice.kernel);
	/* Kernels by role are a table of their own. */
	if (chosen.by == AIF_REPORT_BY_ROLE && (!chosen.table || chosen.table == 1 + TABLE_kernels))
		chosen.table = 1 + TABLE_roles;
	if (!v->table && is_for_tables(v)) {
		no_table(err);
		return AIF_EXIT_USAGE;
	}
	if (v->by && !aif_report_has_by(table_of(v), (enum aif_report_by)v->by)) {
		refuse_by(v->by, err);
		return AIF_EXIT_USAGE;
	}
	if (v->style && !aif_report_has_style(table_of(v))) {
		aif_err_set(err, -EINVAL, "report: --style is for --ops");
		return AIF_EXIT_USAGE;
	}
	if (v->style && (v->format != AIF_TABLE_PLAIN || v->by == AIF_REPORT_BY_STACK)) {
		aif_err_set(
			err, -EINVAL,
			"report: --style is for --format table, by name or by shape; leave one out");
		return AIF_EXIT_USAGE;
	}
	return aif_view_show(path, is_for_people(v), v->table ? table : summary, v, err);
}

const struct aif_command aif_command_report = {
	.name = "report",
	.words = "[FILE]",
	.summary =
		"tables: kernels, stalls, stacks, copies, launches, operators, steps, idle time, counters",
	.description =
		"Prints a table of a profile; without a choice, the summary that `record`\n"
		"printed, or with --time, --process or --device the summary of a part.\n\n\f"
		"`time` sums durations. `wall` shares each moment among the work that ran in it:\n"
		"it sums to the time in which the device was busy, and `wall_share` is the share\n"
		"of that. busy and idle cover the time from a device's first to its last work.\n"
		"`launches` of kernels and stacks counts executions: each run of a graph or\n"
		"command list. If launches were left out (record --overhead), captured ones stand for the rest, and `error` is\n"
		"the standard error: of `time`, of busy and idle time of --breakdown, of `busy`\n"
		"of --streams; 0 is exact. Tables of single items (gaps, steps, launches) say\n"
		"above how much of the launches they have.\n\n"
		"`process` is the number of the process, or its name (as --process takes it) if\n"
		"ranks in containers have the same number. `caller` is the\n"
		"function of the application that launched most of a row, `operator` PyTorch's\n"
		"innermost operator, as torch.profiler has it; for a backward the caller is that\n"
		"of its forward. Stacks are folded as in the flame graph. Text output cuts the\n"
		"middle of long stacks (not with --detail full), omits a caller that equals the\n"
		"operator, and omits empty columns; CSV and JSON have everything.\n\n"
		"--ops has the rows of torch.profiler's key_averages(): operators, ranges and\n"
		"runtime calls with their CPU time, and the device time that each launched itself\n"
		"(`self`) or with its children (`total`); then the device's own work. Recordings\n"
		"with stacks instead of operators' times have CPU time from samples and calls from\n"
		"launches; `-` is a number of calls that is not known.\n\n"
		"--breakdown, --comm, --gaps, --steps and --streams use the definitions of\n"
		"Holistic Trace Analysis, for each process on each device: compute (kernels that\n"
		"are neither communication nor memory), communication and memory alone (while\n"
		"nothing computes), idle. A wait is `host` if the work that ended it was launched\n"
		"during it, else `kernel` below 30 us, else `other`. `overlap_share` is the part\n"
		"of communication that computation hides. A launch is `late` 100 us after its\n"
		"call, a call is slow from 50 us on, an execution is short if it takes less time\n"
		"than its call.\n\n"
		"--idle blames the thread that launched what ended each gap: the part behind the\n"
		"launch call is `launch` (`late start` if it is longer than 100 us, or the call was\n"
		"before the gap), the part before it is what that thread did: `wait` in a call\n"
		"that waits for the device, `on CPU` (or `compile`, `allocate`, `data loader` by\n"
		"the functions on its stack), `off CPU`, or `host` where no sample shows it.\n"
		"`after_wait` is the part for which a wait of the thread for the device was seen\n"
		"since its last launch; `before F` is time before a launch in F that no sample\n"
		"explains.\n\n"
		"--queue has, for each step or part of the time, the launches of which the device\n"
		"was idle at the call (`found_idle`; `after_wait`: it had just been waited for),\n"
		"and how much was launched and not finished then: `ahead` launches, `work_ahead`\n"
		"of device time; `step_ahead` is the share with more than a median step. `delay`\n"
		"is from the call to the start. A wait `emptied` the queue if nothing was left when\n"
		"it returned. Behind launches that were left out depth is not `known` at first.\n\n"
		"--counters has the least, median, greatest and mean value of each counter of a\n"
		"device.\n"
		"A table without rows exits with 0 in any format. The status is 1 if a profile\n"
		"cannot answer: --stalls without a device's samples, --ops without operators, a\n"
		"--time of which all launches were left out.",
	.examples =
		"aiflame report --kernels\tthe kernels with the most time\n"
		"aiflame report --kernels --process 4711 --time 2,3\tof one process and second\n"
		"aiflame report --kernels --process 'python3 (rank 1)'\tof one imported rank\n"
		"aiflame report --by role\ttime of attention, matrix products, KV cache\n"
		"aiflame report --stalls --kernel gemm\twhat these kernels wait for\n"
		"aiflame report --ops --by shape --sort cpu_total\toperators by shapes of their inputs\n"
		"aiflame report --memory --by stack\twho holds memory at its peak\n"
		"aiflame report --idle\twhy devices ran nothing: causes, with the stacks to blame\n"
		"aiflame report --gaps --limit 10\tthe longest times in which a device ran nothing\n"
		"aiflame report --queue\tis the host ahead of the device, or late at each launch?\n"
		"aiflame report --copies --format csv\tfor a spreadsheet\n"
		"aiflame report --cpu\tfunctions on CPUs, with a device or without\n"
		"aiflame report --ranks\twho waits for whom in a job of many ranks\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.max_words = 1,
	.run = run,
};
