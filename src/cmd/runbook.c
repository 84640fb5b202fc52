/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "cmd/cpu_list.h"
#include "cmd/json_value.h"
#include "cmd/message.h"
#include "cmd/runbook_check.h"
#include "cmd/runbook_config.h"
#include "cmd/runbook_dir.h"
#include "cmd/runbook_plan.h"
#include "cmd/tool.h"
#include "runbook/grown.h"
#include "text/iso_time.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = AIF_RUNBOOK_MODES, RUNS_MAX = 100 };
#define MOST_FOLDED (64 << 20)

extern char **environ;

struct values {
	const char *dir, *mode[LIST_MAX + 1], *expect, *family, *note, *baseline;
	const char *require[AIF_RUNBOOK_PLAN_LIST + 1], *rate, *cpus, *plan;
	uint32_t runs, threads;
	int cannot_tell;
	bool v7_exit;
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
	{0, "threads", "N", AIF_OPT_COUNT, AT(threads), 1,
	 "of run: set CK_NUM_THREADS, OMP_NUM_THREADS and MKL_NUM_THREADS of the command"},
	{0, "cpus", "LIST", AIF_OPT_STRING, AT(cpus), 0,
	 "of run: let the command run on these CPUs only: 0-3,8"},
	{'F', "cpu-rate", "HZ", AIF_OPT_STRING, AT(rate), 0,
	 "of run: CPU samples a second of each thread (999)"},
	{0, "require", "FILE:WAY=VALUE|COMMAND", AIF_OPT_LIST, AT(require), AIF_RUNBOOK_PLAN_LIST,
	 "of check: a value of a file *.json, {} in FILE being the directory, or a shell command that "
	 "must succeed; else the exit status is 5 and nothing is judged; may be given several times"},
	{0, "family", "NAME", AIF_OPT_STRING, AT(family), 0,
	 "of check: whose budgets: qwen2, qwen3, gemma or default (by the directory's name)"},
	{0, "expect", "LIST", AIF_OPT_STRING, AT(expect), 0,
	 "classes of functions in which time should go (gemm,attention)"},
	{0, "cannot-tell", "fail|pass", AIF_OPT_CHOICE, AT(cannot_tell), 0,
	 "of check: exit with 3 or 0 in place of 4 where something is missing"},
	{0, "v7-exit", NULL, AIF_OPT_FLAG, AT(v7_exit), 0,
	 "of check: exit with 1 for a failure, and 2 for missing input, as perf_gate_v7.py does"},
	{0, "note", "TEXT", AIF_OPT_STRING, AT(note), 0, "of ledger: what was changed"},
	{0, "baseline", "NAME", AIF_OPT_STRING, AT(baseline), 0, "of ledger: against what"},
	{0},
};
static const struct values defaults = {.dir = "runbook", .rate = "999", .cannot_tell = -1};

/* ---- check, render, compare ------------------------------------------------------------------ */

static int judge(const struct values *v, struct aif_runbook_judged *ret, struct aif_err *err)
{
	return aif_runbook_dir_judge(v->dir, v->family, v->expect, ret, err);
}

static int do_check(const struct values *v, struct aif_err *err)
{
	const struct aif_runbook_check_opts o = {.who = "runbook",
						 .dir = v->dir,
						 .family = v->family,
						 .expect = v->expect,
						 .require = v->require,
						 .cannot_tell = v->cannot_tell,
						 .v7_exit = v->v7_exit};

	return aif_runbook_check(&o, err);
}

static int do_render(const struct values *v, struct aif_err *err)
{
	struct aif_runbook_judged j = {0};
	struct aif_buf text = {0};
	int e = judge(v, &j, err);

	if (!e)
		e = aif_runbook_pages(v->dir, err);
	if (!e) {
		aif_runbook_hub(v->dir, &j.values, j.checks, j.signals, j.signals_len, &text);
		e = aif_runbook_dir_put(v->dir, "hub.html", &text, err);
	}
	if (!e)
		aif_message("runbook: wrote %s/hub.html", v->dir);
	aif_buf_finish(&text);
	aif_buf_finish(&j.values.outside);
	return e ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

static void print_change(const char *name, size_t n, double x, double y)
{
	struct aif_buf shown = {0};

	aif_name_sanitize(name, n, &shown);
	printf("%-24s %12.6g -> %12.6g", aif_buf_str(&shown), x, y);
	aif_buf_finish(&shown);
	if (x > 0)
		printf("  %+.1f %%", 100 * (y - x) / x);
	putchar('\n');
}

static int do_compare(const struct values *v, const char *a, const char *b, struct aif_err *err)
{
	struct values of_a = *v, of_b = *v;
	struct aif_runbook_judged before = {0}, after = {0};
	struct aif_buf why = {0};
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
			     strlen(aif_runbook_value_key((enum aif_runbook_value)i)), x, y);
	}
	for (size_t i = 0; i < v->of_plan->metrics.len && !e; i++) {
		size_t n;
		double x = aif_runbook_plan_metric(v->of_plan, i, a, &n),
		       y = aif_runbook_plan_metric(v->of_plan, i, b, &n);

		if (!isnan(x) && !isnan(y))
			print_change(v->of_plan->metrics.at[i], n, x, y);
	}
	if (!e) {
		after.signals_len = aif_runbook_signals(
			&after.values, differs ? NULL : &before.values, after.signals);
		aif_runbook_print_signals(&after);
	}
	if (!e && differs)
		printf("cannot tell  other configurations: %s\n", aif_buf_str(&why));
	aif_buf_finish(&why);
	aif_buf_finish(&before.values.outside);
	aif_buf_finish(&after.values.outside);
	return e ? AIF_EXIT_FAILURE : differs ? AIF_EXIT_CANNOT_TELL : AIF_EXIT_OK;
}

/* ---- ledger, make ---------------------------------------------------------------------------- */

/* Appends the first word that a tool prints; nothing where it fails. */
static bool tool_word(const char *const *argv, struct aif_buf *out)
{
	posix_spawn_file_actions_t files;
	struct aif_buf text = {0};
	int ends[2], e;
	pid_t pid;
	bool ok = false;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	e = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (aif_tool_output(e ? -1 : pid, ends[0], 1 << 20, &text) == 0) {
		const char *word = aif_buf_str(&text);

		aif_buf_append(out, word, strcspn(word, " \n"));
		ok = true;
	}
	aif_buf_finish(&text);
	return ok;
}

static void put_artifacts(const char *dir, struct aif_buf *out)
{
	static const char *const names[] = {"profile_summary.json",     "perf_stat_summary.json",
					    "flamegraph_manifest.json", "vtune_summary.json",
					    "advisor_summary.json",     "perf_gate_report.json"};
	const char *before = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct aif_buf path = {0}, sum = {0};
		const char *argv[] = {"sha256sum", "--", NULL, NULL};

		aif_buf_printf(&path, "%s/%s", dir, names[i]);
		argv[2] = aif_buf_str(&path);
		if (tool_word(argv, &sum)) {
			aif_buf_printf(out, "%s\"%s\": {\"path\": ", before, names[i]);
			aif_out_json_text(out, aif_buf_str(&path));
			aif_buf_puts(out, ", \"sha256\": ");
			aif_out_json_text(out, aif_buf_str(&sum));
			aif_buf_putc(out, '}');
			before = ", ";
		}
		aif_buf_finish(&path);
		aif_buf_finish(&sum);
	}
}

static void put_git(struct aif_buf *out)
{
	static const char *const commit[] = {"git", "rev-parse", "HEAD", NULL};
	static const char *const changed[] = {"git", "status", "--porcelain", "-uno", NULL};
	struct aif_buf id = {0}, dirty = {0};

	if (tool_word(commit, &id)) {
		bool is_dirty = tool_word(changed, &dirty);

		aif_buf_puts(out, "{\"commit\": ");
		aif_out_json_text(out, aif_buf_str(&id));
		aif_buf_printf(out, ", \"dirty\": %s}", is_dirty ? "true" : "false");
	} else {
		aif_buf_puts(out, "null");
	}
	aif_buf_finish(&id);
	aif_buf_finish(&dirty);
}

/* Reads the stacks of a directory's first mode. The manifest may be somebody else's: its paths are not followed. */
static bool read_folded(const char *dir, struct aif_buf *ret)
{
	struct aif_buf path = {0}, mode = {0};
	struct aif_err none = {0};
	bool is_number, ok;

	aif_buf_printf(&path, "%s/flamegraph_manifest.json", dir);
	ok = aif_json_scalar(aif_buf_str(&path), ".mode", &mode, &is_number, &none) == 0 &&
	     mode.len && !memchr(mode.data, '/', mode.len);
	if (ok) {
		aif_buf_puts(&mode, ".folded");
		ok = aif_runbook_dir_read(dir, aif_buf_str(&mode), MOST_FOLDED, ret, &none) == 0;
	}
	aif_buf_finish(&path);
	aif_buf_finish(&mode);
	return ok;
}

/* Appends the stacks that grew since the baseline, null where that is no run directory. */
static void put_grown(const char *dir, const char *baseline, struct aif_buf *out)
{
	struct aif_buf before = {0}, after = {0};

	if (!baseline || !read_folded(baseline, &before) || !read_folded(dir, &after) ||
	    !aif_runbook_grown(&before, &after, out))
		aif_buf_puts(out, "null");
	aif_buf_finish(&before);
	aif_buf_finish(&after);
}

static void put_metrics(const struct values *v, const struct aif_runbook_values *values,
			struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, ", \"metrics\": {");
	for (unsigned i = 0; i < AIF_RUNBOOK_VALUES; i++) {
		if (isnan(values->of[i]))
			continue;
		aif_buf_printf(out, "%s\"%s\": %.10g", before,
			       aif_runbook_value_key((enum aif_runbook_value)i), values->of[i]);
		before = ", ";
	}
	for (size_t i = 0; i < v->of_plan->metrics.len; i++) {
		size_t n;
		double value = aif_runbook_plan_metric(v->of_plan, i, v->dir, &n);

		if (!isfinite(value))
			continue;
		aif_buf_puts(out, before);
		aif_out_json_string(out, v->of_plan->metrics.at[i], n);
		aif_buf_printf(out, ": %.10g", value);
		before = ", ";
	}
	aif_buf_putc(out, '}');
}

/* Adds a line to ledger.jsonl by one write: two at once do not mix. */
static int do_ledger(const struct values *v, struct aif_err *err)
{
	struct aif_runbook_judged j = {0};
	struct aif_buf line = {0}, rest = {0}, path = {0}, hash = {0};
	int e = judge(v, &j, err), fd = -1;

	if (!e) {
		aif_buf_puts(&line, "\"at\": \"");
		aif_iso_time_now(&line);
		aif_buf_puts(&line, "\", \"git\": ");
		put_git(&line);
		aif_buf_puts(&line, ", \"note\": ");
		aif_out_json_text(&line, v->note ? v->note : "");
		aif_buf_puts(&line, ", \"baseline\": ");
		if (v->baseline)
			aif_out_json_text(&line, v->baseline);
		else
			aif_buf_puts(&line, "null");
		aif_runbook_config_hash(v->dir, &hash);
		aif_buf_puts(&line, ", \"config_hash\": ");
		aif_out_json_text(&line, aif_buf_str(&hash));
		put_metrics(v, &j.values, &line);
		aif_buf_printf(&line, ", \"verdict\": \"%s\", \"grown\": ",
			       aif_runbook_verdict_word(j.verdict));
		put_grown(v->dir, v->baseline, &line);
		aif_buf_puts(&line, ", \"artifacts\": {");
		put_artifacts(v->dir, &line);
		aif_buf_puts(&line, "}}\n");
		/* The id is a hash of all that the line says. */
		rest = line;
		line = (struct aif_buf){0};
		aif_buf_printf(&line,
			       "{\"schema\": \"aiflame.ledger.v1\", \"id\": \"%016" PRIx64 "\", %s",
			       aif_hash_bytes(rest.data, rest.len), aif_buf_str(&rest));
		aif_buf_printf(&path, "%s/ledger.jsonl", v->dir);
		fd = open(aif_buf_str(&path), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
		if (aif_buf_failed(&line) || aif_buf_failed(&rest))
			e = aif_err_set(err, -ENOMEM, "runbook: out of memory");
		else if (fd < 0 || write(fd, line.data, line.len) != (ssize_t)line.len)
			e = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&path), strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	aif_buf_finish(&line);
	aif_buf_finish(&rest);
	aif_buf_finish(&path);
	aif_buf_finish(&hash);
	aif_buf_finish(&j.values.outside);
	return e ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
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
	      "export V7_PERF_RUNTIME\n"
	      ".PHONY: profile-v7-decode profile-v7-prefill profile-v7-perf-stat profile-v7-flamegraph "
	      "profile-v7-vtune profile-v7-advisor profile-v7-full v7-perf-gate\n"
	      "profile-v7-decode profile-v7-prefill:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) --mode $(@:profile-v7-%=%) $(RUNBOOK_WHAT)\n"
	      "profile-v7-perf-stat profile-v7-flamegraph profile-v7-vtune profile-v7-advisor:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) $(RUNBOOK_WHAT)\n"
	      "profile-v7-full:\n"
	      "\t$(RUNBOOK) run --dir $(RUNBOOK_DIR) --mode decode --mode prefill $(RUNBOOK_WHAT)\n"
	      "\t$(RUNBOOK) render --dir $(RUNBOOK_DIR)\n"
	      "v7-perf-gate: profile-v7-full\n"
	      "\t$(RUNBOOK) check --dir $(RUNBOOK_DIR) --v7-exit\n",
	      stdout);
	return AIF_EXIT_OK;
}

/* Runs argv, or where that is empty the plan's command. */
static int do_run(const struct values *v, char **argv, struct aif_err *err)
{
	static const char *const train[] = {"train"};
	const char *modes[AIF_RUNBOOK_MODES + 1] = {NULL};
	const struct aif_runbook_plan *plan = v->of_plan;
	char threads[16];
	cpu_set_t cpus;
	struct aif_runbook_run_opts o = {.dir = v->dir,
					 .modes = modes,
					 .rate = v->rate,
					 .runs = v->runs,
					 .warmup = plan->warmup,
					 .threads = v->threads,
					 .env = plan->env.at,
					 .argv = argv};

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
		if (aif_cpu_list("runbook", v->cpus, &cpus, err))
			return AIF_EXIT_USAGE;
		o.cpus = &cpus;
	}
	snprintf(threads, sizeof(threads), "%" PRIu32, v->threads);
	for (size_t i = 0; v->threads && i < plan->thread_env.len; i++)
		setenv(plan->thread_env.at[i], threads, 1);
	return aif_runbook_run(&o, err) || aif_runbook_pages(v->dir, err) ? AIF_EXIT_FAILURE
									  : AIF_EXIT_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

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

static int check_values(const struct values *v, struct aif_err *err)
{
	if (v->runs > RUNS_MAX || v->of_plan->warmup > RUNS_MAX)
		return aif_err_set(err, -EINVAL, "runbook: --runs, warmup: give at most %d",
				   RUNS_MAX);
	if (v->of_plan->family && strcmp(v->family, aif_runbook_family(v->family)))
		return aif_err_set(err, -EINVAL,
				   "runbook: family '%s': give qwen2, qwen3, gemma or default",
				   v->family);
	for (size_t i = 0; v->mode[i]; i++)
		if (strchr(v->mode[i], '/') || !*v->mode[i])
			return aif_err_set(err, -EINVAL,
					   "runbook: --mode '%s': give a name without /",
					   v->mode[i]);
	for (size_t i = 0; i < v->of_plan->modes_len; i++)
		if (strchr(v->of_plan->modes[i].name, '/'))
			return aif_err_set(err, -EINVAL,
					   "runbook: mode '%s' of " AIF_RUNBOOK_PLAN
					   ": give a name without /",
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
		complete(&v, &plan);
		if (check_values(&v, err) == 0)
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
		"    run      counts COMMAND, or that of runbook.json, records it, writes all files\n"
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
