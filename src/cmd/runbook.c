/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "cmd/view.h"
#include "runbook/check.h"
#include "runbook/grown.h"
#include "runbook/run_config.h"
#include "runbook/run_dir.h"
#include "runbook/run_ledger.h"
#include "runbook/run_plan.h"
#include "text/json_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = AIF_RUNBOOK_MODES, RUNS_MAX = 100 };
struct values {
	const char *dir, *mode[LIST_MAX + 1], *expect, *family, *note, *baseline;
	const char *require[AIF_RUNBOOK_PLAN_LIST + 1], *metric[AIF_RUNBOOK_PLAN_LIST + 1];
	const char *cpus, *plan, *with;
	uint32_t runs, threads;
	int cannot_tell, cpu_clock;
	bool v7_exit, is_deep, with_roofline;
	const struct aif_runbook_plan *of_plan; /* none is an empty one */
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'d', "dir", "DIR", AIF_OPT_STRING, AT(dir), 0, "the run directory (runbook)"},
	{0, "plan", "FILE", AIF_OPT_STRING, AT(plan), 0,
	 "commands, pins, metrics and requirements; options replace what it says (runbook.json, where "
	 "it is there)"},
	{'m', "mode", "NAME", AIF_OPT_LIST, AT(mode), LIST_MAX,
	 "of run: a part of the program, decode, prefill or train: the ranges of that name, each of "
	 "which is a token or step, or the whole run where there are none (train); may be given several "
	 "times"},
	{'r', "runs", "N", AIF_OPT_COUNT, AT(runs), 1, "of run: how often it is counted (3)"},
	{0, "deep", NULL, AIF_OPT_FLAG, AT(is_deep), 0,
	 "of run: measure what this machine can do, for some seconds, and let VTune analyse the CPU's "
	 "slots and memory"},
	{0, "roofline", NULL, AIF_OPT_FLAG, AT(with_roofline), 0,
	 "of run: count what functions compute and move, and put them under the machine's roofs; needs "
	 "valgrind, under which the command runs some fifty times as long"},
	{0, "require", "FILE:WAY=VALUE|COMMAND", AIF_OPT_LIST, AT(require), AIF_RUNBOOK_PLAN_LIST,
	 "of check: a value of a file *.json, {} in FILE being the directory, or a shell command that "
	 "must succeed; else the exit status is 5 and nothing is judged; may be given several times"},
	{0, "metric", "NAME=FILE:.WAY|NAME=range:RANGE [higher|lower]", AIF_OPT_LIST, AT(metric),
	 AIF_RUNBOOK_PLAN_LIST,
	 "of compare and ledger: a number of a JSON file, {} in FILE being the directory, or the mean "
	 "milliseconds of the program's ranges of that name; 'higher' or 'lower' behind it says which is "
	 "better, if the name does not; may be given several times"},
	{0, "note", "TEXT", AIF_OPT_STRING, AT(note), 0, "of ledger: what was changed"},
	AIF_OPTS_FURTHER,
	{0, "cannot-tell", "fail|pass", AIF_OPT_CHOICE, AT(cannot_tell), 0,
	 "of check: exit with 3 or 0 in place of 4 where something is missing"},
	{0, "v7-exit", NULL, AIF_OPT_FLAG, AT(v7_exit), 0,
	 "of check: exit with 1 for a failure, and 2 for missing input, as perf_gate_v7.py does"},
	{0, "family", "NAME", AIF_OPT_STRING, AT(family), 0,
	 "of check: whose budgets: qwen2, qwen3, gemma or default (by the directory's name)"},
	{0, "expect", "LIST", AIF_OPT_STRING, AT(expect), 0,
	 "classes of functions in which time should go (gemm,attention)"},
	{0, "baseline", "NAME", AIF_OPT_STRING, AT(baseline), 0, "of ledger: against what"},
	{0, "threads", "N", AIF_OPT_COUNT, AT(threads), 1,
	 "of run: set CK_NUM_THREADS, OMP_NUM_THREADS and MKL_NUM_THREADS of the command"},
	{0, "cpus", "LIST", AIF_OPT_STRING, AT(cpus), 0,
	 "of run: let the command run on these CPUs only: 0-3,8"},
	{0, "cpu-clock", "auto|perf|tick", AIF_OPT_CHOICE, AT(cpu_clock), 0,
	 "of run: what starts CPU samples, as of record; perf keeps the rate whatever that costs (auto)"},
	{0, "with", "vtune,advisor", AIF_OPT_STRING, AT(with), 0,
	 "of run: let these analyse the command, too, where they are installed"},
	{0},
};
static const struct values defaults = {.dir = "runbook", .cannot_tell = -1};

/* ---- check, render, compare ------------------------------------------------------------------ */

static int judge(const struct values *v, struct aif_runbook_judged *ret, struct aif_err *err)
{
	return aif_runbook_dir_judge(v->dir, v->family, v->expect, ret, err);
}

/* Prints and finishes *text. */
static void show(struct aif_buf *text)
{
	struct aif_err err = {0};

	(void)aif_view_print_text(text, &err);
	aif_buf_finish(text);
}

static int write_page(const char *profile, const char *page, struct aif_err *err)
{
	const struct aif_page_values v = {.input = profile, .output = page};
	int status = aif_page_file(&v, false, NULL, 0, err);

	return status == AIF_EXIT_OK ? 0 : err->code ? err->code : -EIO;
}

static int do_check(const struct values *v, struct aif_err *err)
{
	const struct aif_runbook_check_opts o = {.who = "runbook",
						 .dir = v->dir,
						 .family = v->family,
						 .expect = v->expect,
						 .require = v->require,
						 .cannot_tell = v->cannot_tell,
						 .v7_exit = v->v7_exit,
						 .say = aif_message};
	struct aif_buf text = {0};
	int status = aif_runbook_check(&o, &text, err);

	show(&text);
	return status;
}

static int do_render(const struct values *v, struct aif_err *err)
{
	struct aif_runbook_judged j = {0};
	struct aif_buf text = {0};
	int lock = -1, e = aif_runbook_dir_lock(v->dir, &lock, err);

	if (!e)
		e = judge(v, &j, err);
	if (!e)
		e = aif_runbook_pages(v->dir, write_page, err);
	if (!e) {
		aif_runbook_hub(v->dir, &j.values, j.checks, j.signals, j.signals_len, &text);
		e = aif_runbook_dir_put(v->dir, "hub.html", &text, err);
	}
	if (!e)
		aif_message("runbook: wrote %s/hub.html", v->dir);
	if (lock >= 0)
		close(lock);
	aif_buf_finish(&text);
	aif_buf_finish(&j.values.outside);
	return e ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

/* Prints a value of both sides. direction: of a metric that the project names, 0: it has none. */
static void print_change(const char *name, size_t n, double x, double y, char direction)
{
	struct aif_buf shown = {0};

	aif_name_sanitize(name, n, &shown);
	aif_name_break_orders(&shown, 0);
	printf("%-24s %12.6g -> %12.6g", aif_buf_str(&shown), x, y);
	aif_buf_finish(&shown);
	if (x > 0)
		printf("  %+.1f %%", 100 * (y - x) / x);
	else if (x == 0 && (direction == '<' ? y < 0 : direction && y > 0))
		printf("  no limit: a part of 0");
	putchar('\n');
}

/* Prints the metrics that the project names; or, with `signals`, those that got worse. */
static void compare_metrics(const struct aif_runbook_plan *plan, const char *a, const char *b,
			    bool signals)
{
	struct aif_buf text = {0};

	for (size_t i = 0; i < plan->metrics.len; i++) {
		const char *metric = plan->metrics.at[i];
		char direction = aif_runbook_metric_direction(metric);
		struct aif_runbook_signal s;
		size_t n;
		double x = aif_runbook_plan_metric(plan, i, a, &n),
		       y = aif_runbook_plan_metric(plan, i, b, &n);

		if (isnan(x) || isnan(y))
			continue;
		if (!signals)
			print_change(metric, n, x, y, direction);
		else if (aif_runbook_metric_signal(metric, n, direction, x, y, &s))
			aif_runbook_put_signal(&s, NULL, &text);
	}
	show(&text);
}

/* Prints the functions whose share grew. */
static void compare_functions(const char *a, const char *b)
{
	struct aif_buf before = {0}, after = {0}, text = {0};

	if (aif_runbook_dir_folded(a, &before) && aif_runbook_dir_folded(b, &after) &&
	    aif_runbook_grown_functions(&before, &after, &text))
		show(&text);
	aif_buf_finish(&before);
	aif_buf_finish(&after);
	aif_buf_finish(&text);
}

static int do_compare(const struct values *v, const char *a, const char *b, struct aif_err *err)
{
	struct values of_a = *v, of_b = *v;
	struct aif_runbook_judged before = {0}, after = {0};
	struct aif_buf why = {0}, text = {0};
	bool differs = aif_runbook_config_differs(a, b, false, &why);
	int e;

	of_a.dir = a;
	of_b.dir = b;
	e = judge(&of_a, &before, err);
	if (!e)
		e = judge(&of_b, &after, err);
	for (unsigned i = 0; i < AIF_RUNBOOK_VALUES && !e; i++) {
		double x = before.values.of[i], y = after.values.of[i];

		if (isnan(x) || isnan(y))
			continue;
		print_change(aif_runbook_value_key((enum aif_runbook_value)i),
			     strlen(aif_runbook_value_key((enum aif_runbook_value)i)), x, y, 0);
	}
	if (!e) {
		compare_metrics(v->of_plan, a, b, false);
		compare_functions(a, b);
		after.signals_len = aif_runbook_signals(
			&after.values, differs ? NULL : &before.values, after.signals);
		aif_runbook_put_signals(&after, &text);
		show(&text);
		if (!differs)
			compare_metrics(v->of_plan, a, b, true);
	}
	aif_name_break_orders(&why, 0);
	if (!e && differs)
		printf("cannot tell  other configurations: %s\n", aif_buf_str(&why));
	aif_buf_finish(&why);
	aif_buf_finish(&before.values.outside);
	aif_buf_finish(&after.values.outside);
	return e ? AIF_EXIT_FAILURE : differs ? AIF_EXIT_CANNOT_TELL : AIF_EXIT_OK;
}

/* ---- ledger, make ---------------------------------------------------------------------------- */

static int do_ledger(const struct values *v, struct aif_err *err)
{
	const struct aif_runbook_ledger_opts o = {.dir = v->dir,
						  .family = v->family,
						  .expect = v->expect,
						  .note = v->note,
						  .baseline = v->baseline,
						  .plan = v->of_plan};

	return aif_runbook_ledger(&o, err) ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

static int do_make(void)
{
	fputs("# include it: aiflame runbook make >runbook.mk\n"
	      "V7_PERF_RUNTIME ?= cli\n"
	      "RUNBOOK_DIR ?= runbook\n"
	      "RUNBOOK_CLI ?= ./train\n"
	      "RUNBOOK_PYTHON ?= python3 train.py\n"
	      "RUNBOOK_CMD = $(if $(filter python,$(V7_PERF_RUNTIME)),$(RUNBOOK_PYTHON),$(RUNBOOK_CLI))\n"
	      "RUNBOOK_WHAT = $(if $(wildcard runbook.json),,-- $(RUNBOOK_CMD))\n"
	      "RUNBOOK = aiflame runbook\n"
	      "V7_WITH_VTUNE ?= 1\n"
	      "V7_WITH_ADVISOR ?= 1\n"
	      "V7_VTUNE_DEEP ?= 1\n"
	      "RUNBOOK_WITH = $(if $(filter 1,$(V7_WITH_VTUNE)),--with vtune$(if $(filter "
	      "1,$(V7_WITH_ADVISOR)),$(comma)advisor),$(if $(filter 1,$(V7_WITH_ADVISOR)),--with "
	      "advisor))\n"
	      "RUNBOOK_DEEP = $(if $(filter 1,$(V7_VTUNE_DEEP)),--deep)\n"
	      "comma := ,\n"
	      "export V7_PERF_RUNTIME\n"
	      ".PHONY: profile-v7-decode profile-v7-prefill profile-v7-perf-stat profile-v7-flamegraph "
	      "profile-v7-vtune profile-v7-advisor profile-v7-full v7-perf-gate\n"
	      "profile-v7-decode profile-v7-prefill:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) --mode $(@:profile-v7-%=%) $(RUNBOOK_WHAT)\n"
	      "profile-v7-perf-stat profile-v7-flamegraph:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) $(RUNBOOK_WHAT)\n"
	      "profile-v7-vtune profile-v7-advisor:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) --with $(@:profile-v7-%=%) $(RUNBOOK_DEEP) "
	      "$(RUNBOOK_WHAT)\n"
	      "profile-v7-full:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) --mode decode --mode prefill $(RUNBOOK_WITH) "
	      "$(RUNBOOK_DEEP) $(RUNBOOK_WHAT)\n"
	      "\t$(RUNBOOK) render --dir $(RUNBOOK_DIR)\n"
	      "v7-perf-gate: profile-v7-full\n"
	      "\t$(RUNBOOK) check --dir $(RUNBOOK_DIR) --v7-exit\n",
	      stdout);
	return AIF_EXIT_OK;
}

/* Makes a command in whose words {} is the directory. NULL: out of memory. The words that have none are the same. */
static char **with_dir(char *const *argv, const char *dir)
{
	size_t n = 0;
	char **ret;

	while (argv[n])
		n++;
	ret = calloc(n + 1, sizeof(*ret));
	for (size_t i = 0; i < n && ret; i++) {
		struct aif_buf word = {0};

		aif_json_path(argv[i], strlen(argv[i]), dir, strlen(dir), &word);
		ret[i] = aif_buf_failed(&word) ? NULL : strdup(aif_buf_str(&word));
		aif_buf_finish(&word);
		if (!ret[i])
			return NULL;
	}
	return ret;
}

/* Runs argv, or where that is empty the plan's command. */
static int do_run(const struct values *v, char **argv, struct aif_err *err)
{
	static const char *const train[] = {"train"};
	const char *modes[AIF_RUNBOOK_MODES + 1] = {NULL};
	const struct aif_runbook_plan *plan = v->of_plan;
	static const char *const clocks[] = {"auto", "perf", "tick"};
	char threads[16];
	cpu_set_t cpus;
	struct aif_runbook_run_opts o = {.dir = v->dir,
					 .modes = modes,
					 .rate = "999",
					 .cpu_clock = clocks[v->cpu_clock],
					 .runs = v->runs,
					 .warmup = plan->warmup,
					 .threads = v->threads,
					 .env = plan->env.at,
					 .with_vtune = plan->with_vtune,
					 .with_advisor = plan->with_advisor,
					 .is_deep = v->is_deep,
					 .with_roofline = v->with_roofline,
					 .argv = argv,
					 .open = aif_view_profile,
					 .say = aif_message};

	for (size_t i = 0; v->mode[i]; i++)
		modes[i] = v->mode[i];
	if (!*argv && aif_runbook_plan_command(plan, modes, &o.argv, err) < 0)
		return AIF_EXIT_USAGE;
	while (modes[o.modes_len])
		o.modes_len++;
	if (!o.modes_len) {
		o.modes = train;
		o.modes_len = 1;
	}
	if (v->cpus) {
		if (aif_parse_cpus("runbook", v->cpus, &cpus, err))
			return AIF_EXIT_USAGE;
		o.cpus = &cpus;
	}
	snprintf(threads, sizeof(threads), "%" PRIu32, v->threads);
	for (size_t i = 0; v->threads && i < plan->thread_env.len; i++)
		setenv(plan->thread_env.at[i], threads, 1);
	/* For the life of this process. */
	o.words = o.argv;
	o.argv = with_dir(o.words, v->dir);
	if (!o.argv)
		return aif_err_set(err, -ENOMEM, "runbook: out of memory"), AIF_EXIT_FAILURE;
	return aif_runbook_run(&o, err) || aif_runbook_pages(v->dir, write_page, err)
		       ? AIF_EXIT_FAILURE
		       : AIF_EXIT_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Takes tools of the command line in place of the plan's. */
static int take_tools(const char *with, struct aif_runbook_plan *plan, struct aif_err *err)
{
	if (with)
		plan->with_vtune = plan->with_advisor = false;
	for (size_t n; with && *with; with += n + (with[n] == ',')) {
		n = strcspn(with, ",");
		if (!aif_runbook_plan_tool(plan, with, n))
			return aif_err_set(
				err, -EINVAL,
				"runbook: --with '%s': give vtune, advisor, or both with "
				"a comma between",
				with);
	}
	return 0;
}

/* Takes from the plan what the command line does not say. */
static void complete(struct values *v, const struct aif_runbook_plan *plan)
{
	v->of_plan = plan;
	v->family = v->family ? v->family : plan->family;
	v->expect = v->expect ? v->expect : plan->expect ? plan->expect : AIF_RUNBOOK_EXPECT;
	v->cpus = v->cpus ? v->cpus : plan->cpus;
	v->threads = v->threads ? v->threads : plan->threads;
	v->runs = v->runs ? v->runs : plan->runs ? plan->runs : 3;
	for (size_t i = 0; i < plan->require.len && (i || !v->require[0]); i++)
		v->require[i] = plan->require.at[i];
}

/* Files are called as modes are, and hub.html is the page of all. */
#define MODE_MOST   200
#define MODE_WANTED "give a name of at most 200 bytes without /, and not hub"

static bool is_mode(const char *name)
{
	return *name && !strchr(name, '/') && strlen(name) <= MODE_MOST && strcmp(name, "hub") != 0;
}

static int check_values(const struct values *v, struct aif_err *err)
{
	if (v->runs > RUNS_MAX || v->of_plan->warmup > RUNS_MAX)
		return aif_err_set(err, -EINVAL, "runbook: --runs, warmup: give at most %d",
				   RUNS_MAX);
	if (v->of_plan->family && strcmp(v->family, aif_runbook_family(v->family)))
		return aif_err_set(err, -EINVAL,
				   "runbook: family '%s': give qwen2, qwen3, gemma or default",
				   v->family);
	for (size_t i = 0; v->mode[i]; i++) {
		for (size_t k = 0; k < i; k++)
			if (!strcmp(v->mode[k], v->mode[i]))
				return aif_err_set(err, -EINVAL,
						   "runbook: --mode '%s' stands twice", v->mode[i]);
		if (!is_mode(v->mode[i]))
			return aif_err_set(err, -EINVAL, "runbook: --mode '%s': " MODE_WANTED,
					   v->mode[i]);
	}
	for (size_t i = 0; i < v->of_plan->modes_len; i++)
		if (!is_mode(v->of_plan->modes[i].name))
			return aif_err_set(err, -EINVAL,
					   "runbook: mode '%s' of " AIF_RUNBOOK_PLAN
					   ": " MODE_WANTED,
					   v->of_plan->modes[i].name);
	return 0;
}

static int run_what(const struct values *v, char **words, int words_len, struct aif_err *err)
{
	static const struct {
		const char *what;
		int (*run)(const struct values *v, struct aif_err *err);
	} of_one[] = {{"check", do_check}, {"render", do_render}, {"ledger", do_ledger}};
	const char *what = words[0];

	if (!strcmp(what, "run") && (words_len > 1 || v->of_plan->modes_len))
		return do_run(v, words + 1, err);
	if (!strcmp(what, "compare") && words_len == 3)
		return do_compare(v, words[1], words[2], err);
	if (words_len == 1 && !strcmp(what, "make"))
		return do_make();
	for (size_t i = 0; i < sizeof(of_one) / sizeof(*of_one) && words_len <= 2; i++) {
		struct values of = *v;

		if (words_len == 2)
			of.dir = words[1];
		if (!strcmp(what, of_one[i].what))
			return of_one[i].run(&of, err);
	}
	aif_err_set(err, -EINVAL,
		    "runbook: give run -- COMMAND (or a " AIF_RUNBOOK_PLAN
		    " that has it), check [DIR], render [DIR], compare A B, ledger [DIR] or make; "
		    "see aiflame runbook -h");
	return AIF_EXIT_USAGE;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	struct values v = *(const struct values *)values;
	struct aif_runbook_plan plan = {0};
	const char *path = v.plan ? v.plan : AIF_RUNBOOK_PLAN;
	int status = AIF_EXIT_USAGE;

	if ((!v.plan && access(path, F_OK) < 0) || aif_runbook_plan_read(path, &plan, err) == 0) {
		plan.open = aif_view_profile;
		complete(&v, &plan);
		if (check_values(&v, err) == 0 && take_tools(v.with, &plan, err) == 0 &&
		    aif_runbook_plan_set_metrics(&plan, v.metric, err) == 0)
			status = run_what(&v, words, words_len, err);
	}
	aif_runbook_plan_finish(&plan);
	return status;
}

const struct aif_command aif_command_runbook = {
	.name = "runbook",
	.words = "run|check|render|compare|ledger|make [DIR [DIR]] [-- COMMAND...]",
	.summary = "a run directory: counters, flame graphs, budgets, signals, a ledger",
	.description =
		"Measures a command and keeps what was found as a directory of files, with the names and\n"
		"fields of C-Kernel-Engine's v7 runbook: its viewer and gate read them, too.\n\n"
		"    run      counts COMMAND, or that of runbook.json, records it, writes all files; {} in a\n"
		"             word of it is the run directory\n"
		"    check    judges by absolute budgets, writes perf_gate_report.json; prints which\n"
		"             signals of the decision table fire\n"
		"    render   writes hub.html, one page with everything in it\n"
		"    compare  values of two directories, and what got worse; 4: cannot tell, they are of\n"
		"             two commands or machines\n"
		"    ledger   adds a line to ledger.jsonl: commit, note, values, verdict, checksums\n"
		"    make     prints rules for make under v7's names of targets\n\n"
		"The exit status of check is 0: passed; 3: a budget is exceeded; 4: cannot tell,\n"
		"something is missing; 5: what --require names failed. docs/runbook.md has the loop.",
	.examples =
		"aiflame runbook run --mode decode -- ./generate\tranges called decode are tokens\n"
		"aiflame runbook check --require 'cmp out.txt expected.txt'\tcorrectness first\n"
		"aiflame runbook compare before after\ttwo directories\n"
		"aiflame runbook ledger --note 'blocked gemm'\tkeep what was found\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(struct values),
	.min_words = 1,
	.max_words = -1,
	.run = run,
};
