/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_named.h"
#include "compare/gate.h"

#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "cmd/selection.h"
#include "compare/side.h"
#include "runbook/check.h"
#include "runbook/require.h"
#include "text/json_value.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN, FORMAT_JUNIT };
/* A budget file that is longer is none. */
#define MOST_BYTES (1 << 20)
#define MARGIN     0.03 /* allowed growth of a metric that has no budget */
enum { LIST_MAX = 64 };
/* A word of these may have been meant to be a metric. */
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct values {
	const char *baselines, *dir, *family, *unit;
	const char *budgets[LIST_MAX + 1], *metric[LIST_MAX + 1], *require[LIST_MAX + 1],
		*budget[LIST_MAX + 1];
	int format, cannot_tell;
	bool any_machine, annotations, v7_exit;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{0, "budgets", "FILE", AIF_OPT_LIST, AT(budgets), LIST_MAX,
	 "what may get worse by how much, a line each (time and device +3%); may be given "
	 "several times"},
	{0, "budget", "LINE", AIF_OPT_LIST, AT(budget), LIST_MAX,
	 "one such line: 'kernel:/gemm/ +5% +20us'; may be given several times"},
	{0, "metric", "NAME=FILE:.WAY", AIF_OPT_LIST, AT(metric), LIST_MAX,
	 "a value of each run from a JSON file, {} in FILE being the run's path without its "
	 "ending: tok_s={}.json:.tok_s"},
	{0, "require", "NAME|FILE:WAY=VALUE|COMMAND", AIF_OPT_LIST, AT(require), LIST_MAX,
	 "a --metric that each run must have, a value of a file *.json ({} as for --metric, or the "
	 "--dir), or a shell command that must succeed; else the exit status is 5 and nothing is "
	 "judged"},
	{0, "cannot-tell", "fail|pass", AIF_OPT_CHOICE, AT(cannot_tell), 0,
	 "exit with 3 or 0 in place of 4 where nobody can tell; what is missing never passes"},
	{0, "dir", "DIR", AIF_OPT_STRING, AT(dir), 0,
	 "judge a run directory by the absolute budgets of its family, as aiflame runbook check "
	 "does, in place of A and B"},
	AIF_UNIT_OPT(AT(unit)),
	{0, "format", "text|json|md|junit", AIF_OPT_CHOICE, AT(format), 0,
	 "text for people, JSON, Markdown, or JUnit's XML"},
	AIF_OPTS_FURTHER,
	{0, "annotations", NULL, AIF_OPT_FLAG, AT(annotations), 0,
	 "also write at most 10 lines ::error and ::warning, which CI shows"},
	{0, "any-machine", NULL, AIF_OPT_FLAG, AT(any_machine), 0,
	 "judge though devices or drivers differ"},
	AIF_BASELINES_OPT(AT(baselines)),
	{0, "family", "NAME", AIF_OPT_STRING, AT(family), 0,
	 "of --dir: whose budgets: qwen2, qwen3, gemma or default (by the directory's name)"},
	{0, "v7-exit", NULL, AIF_OPT_FLAG, AT(v7_exit), 0,
	 "exit with 1 in place of 3, 4 and 5, and with 2 where input is missing, as perf_gate_v7.py "
	 "does"},
	{0},
};
static const struct values defaults = {.cannot_tell = -1};

/* ---- budgets --------------------------------------------------------------------------------- */

static int read_file(const char *path, struct aif_buf *ret, struct aif_err *err)
{
	FILE *f = aif_fopen_named(path, err);
	size_t n = 0;
	void *room;

	if (!f)
		return err->code;
	room = aif_buf_reserve(ret, MOST_BYTES + 1);
	if (room)
		n = fread(room, 1, MOST_BYTES + 1, f);
	ret->len += n;
	if (room && (ferror(f) || n > MOST_BYTES || memchr(room, '\0', n)))
		aif_err_set(err,
			    ferror(f)        ? -EIO
			    : n > MOST_BYTES ? -EFBIG
					     : -EINVAL,
			    "%s: %s", path,
			    ferror(f)        ? "cannot be read"
			    : n > MOST_BYTES ? "too large for budgets"
					     : "no text: a byte in it is 0");
	else if (!room)
		aif_err_set(err, -ENOMEM, "out of memory");
	fclose(f);
	return err->code;
}

/* Adds the budgets of a gate that was given none. */
static int add_defaults(const char *metric, struct aif_budgets *ret, struct aif_err *err)
{
	struct aif_buf text = {0};
	int r;

	aif_buf_printf(&text, "time +3%%\n%s +3%%", metric);
	r = aif_budgets_add_text(ret, aif_buf_str(&text), "default budgets", err);
	aif_buf_finish(&text);
	return r;
}

static int read_budget_file(const char *path, struct aif_budgets *ret, struct aif_err *err)
{
	struct aif_buf text = {0};
	size_t before = ret->len;
	int r = read_file(path, &text, err);

	/* Editors of some systems begin text with a mark. */
	if (!r)
		r = aif_budgets_add_text(
			ret,
			aif_buf_str(&text) +
				(strncmp(aif_buf_str(&text), "\xef\xbb\xbf", 3) ? 0 : 3),
			path, err);
	if (!r && ret->len == before)
		r = aif_err_set(err, -EINVAL, "%s: no budget in it", path);
	aif_buf_finish(&text);
	return r;
}

static bool has_budgets(const struct values *v)
{
	return v->budgets[0] || v->budget[0];
}

static int read_budgets(const struct values *v, struct aif_budgets *ret, struct aif_err *err)
{
	int r = 0;

	for (size_t i = 0; v->budgets[i] && !r; i++)
		r = read_budget_file(v->budgets[i], ret, err);
	for (size_t i = 0; v->budget[i] && !r; i++)
		r = aif_budgets_add(ret, v->budget[i], "--budget", err);
	if (!r && !has_budgets(v))
		r = add_defaults("device", ret, err);
	if (!r && !ret->len)
		r = aif_err_set(err, -EINVAL, "--budget: no budget in it");
	return r;
}

/* True if `name` is that of a --metric. */
static bool is_metric(const struct values *v, const char *name)
{
	for (size_t i = 0; v->metric[i]; i++)
		if (!strncmp(v->metric[i], name, strlen(name)) && v->metric[i][strlen(name)] == '=')
			return true;
	return false;
}

/* For aif_nearest(). */
static const char *next_metric(const void *arg, size_t i)
{
	(void)arg;
	return i < AIF_METRICS    ? aif_metric_key((enum aif_metric)i)
	       : i == AIF_METRICS ? "busy"
				  : NULL;
}

/* Refuses a --metric that would never be read: aiflame has one of that name, or another --metric has. */
static int check_metrics(const struct values *v, struct aif_err *err)
{
	for (size_t i = 0; v->metric[i]; i++) {
		size_t len = strcspn(v->metric[i], "=");
		bool is_taken = false;

		for (size_t m = 0; next_metric(NULL, m); m++)
			is_taken |= strlen(next_metric(NULL, m)) == len &&
				    !strncmp(next_metric(NULL, m), v->metric[i], len);
		for (size_t j = 0; j < i; j++)
			is_taken |= !strncmp(v->metric[j], v->metric[i], len + 1);
		if (is_taken)
			return aif_err_set(
				err, -EINVAL,
				"gate: --metric '%.200s': a metric of that name is there; "
				"give another name",
				v->metric[i]);
	}
	return 0;
}

/* Refuses a budget of a metric that nothing defines, a slip that would never be judged, and one of a value of which nobody said
 * whether more or less is better: a loss of tokens a second would pass. */
static int check_values(const struct values *v, const struct aif_budgets *budgets,
			struct aif_err *err)
{
	for (size_t i = 0; i < budgets->len; i++) {
		const struct aif_budget *b = &budgets->budget[i];
		struct aif_buf names = {0}, defined = {0};
		const char *near = aif_nearest(b->name, next_metric, NULL);

		if (b->of == AIF_BUDGET_VALUE && is_metric(v, b->name) &&
		    b->kind == AIF_BUDGET_CHANGE && b->better == AIF_BUDGET_NOT_SAID)
			return aif_err_set(err, -EINVAL,
					   "gate: budget '%.200s': is more of it better, or less? "
					   "give '%.100s -3%%' or '%.100s higher 0' if more is, "
					   "'%.100s lower +3%%' if less",
					   b->text, b->name, b->name, b->name);
		if (b->of != AIF_BUDGET_VALUE || is_metric(v, b->name))
			continue;
		for (size_t m = 0; !near && next_metric(NULL, m); m++)
			aif_buf_printf(&names, "%s, ", next_metric(NULL, m));
		for (size_t m = 0; v->metric[m]; m++)
			aif_buf_printf(&defined, "%s%.*s", m ? ", " : "",
				       (int)strcspn(v->metric[m], "="), v->metric[m]);
		aif_err_set(err, -EINVAL,
			    "gate: budget '%.200s': no metric is called '%.100s'; give %s%s%s, or "
			    "define it by --metric%s%s%s",
			    b->text, b->name, near ? near : aif_buf_str(&names),
			    near ? "" : "kernel:/RE/, stack:/RE/, op:/RE/, range:/RE/",
			    near ? ", if that was meant" : "", defined.len ? ", which has " : " ",
			    defined.len ? aif_buf_str(&defined) : b->name,
			    defined.len ? "" : "={}.json:.WAY");
		aif_buf_finish(&defined);
		aif_buf_finish(&names);
		return -EINVAL;
	}
	return 0;
}

/* Refuses budgets in units of time where values are cycles. */
static int check_units(const struct aif_compare_opts *o, const struct aif_budgets *budgets,
		       struct aif_err *err)
{
	for (size_t i = 0; i < budgets->len && o->unit == AIF_UNIT_CYCLES; i++) {
		const struct aif_budget *b = &budgets->budget[i];

		if (!aif_budget_is_time(b) || (b->kind == AIF_BUDGET_CHANGE && !(b->absolute > 0)))
			continue;
		return aif_err_set(err, -EINVAL,
				   "gate: budget '%.200s' has a time, and --unit cycles has none: "
				   "give a percentage",
				   b->text);
	}
	return 0;
}

/* ---- values from files ----------------------------------------------------------------------- */

struct outside {
	char *name;
	double *values;
	char *why; /* of the first run that has none; NULL */
};

/* "{}" stands for the run's path without its part and its ending. */
static void put_path(const char *file, size_t len, const char *run, struct aif_buf *out)
{
	const char *at = strrchr(run, '@'), *dot;
	size_t n = at && access(run, F_OK) != 0 ? (size_t)(at - run) : strlen(run);

	dot = memrchr(run, '.', n);
	if (dot && !memchr(dot, '/', n - (size_t)(dot - run)))
		n = (size_t)(dot - run);
	aif_json_path(file, len, run, n, out);
}

static int read_metric(const char *arg, const struct aif_comparison *c, struct outside *ret,
		       struct aif_err *err)
{
	const char *is = strchr(arg, '='), *colon = is ? strrchr(is, ':') : NULL;
	size_t n = c->a->len + c->b->len;

	if (!is || is == arg || !colon || colon == is + 1 || (colon[1] != '.' && colon[1] != '['))
		return aif_err_set(err, -EINVAL,
				   "--metric '%s': give NAME=FILE:.WAY, as in tok_s={}.json:.tok_s",
				   arg);
	if (!memmem(is, (size_t)(colon - is), "{}", 2))
		return aif_err_set(err, -EINVAL,
				   "--metric '%s': one file for all runs: write {} where the run's "
				   "name stands, as in {}.json",
				   arg);
	*ret = (struct outside){.name = strndup(arg, (size_t)(is - arg)),
				.values = calloc(n + 1, sizeof(double))};
	if (!ret->name || !ret->values)
		return aif_err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		struct aif_buf path = {0};
		struct aif_err why = {0};

		put_path(is + 1, (size_t)(colon - is - 1), aif_compare_run(c, i)->path, &path);
		if (aif_json_value(aif_buf_str(&path), colon + 1, &ret->values[i], &why) < 0) {
			ret->values[i] = NAN;
			if (!ret->why)
				ret->why = strdup(why.text);
		}
		aif_buf_finish(&path);
	}
	return 0;
}

static const struct outside *find_outside(const struct outside *o, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(o[i].name, name))
			return &o[i];
	return NULL;
}

/* ---- what is required ------------------------------------------------------------------------ */

/* Commands, and values of files that are not of each run, before anything else. */
static int require_first(const struct values *v, struct aif_err *why)
{
	for (size_t i = 0; v->require[i]; i++) {
		const char *arg = v->require[i];

		if (is_metric(v, arg) || aif_require_is_of_each(arg) ||
		    !aif_require("gate", arg, "", aif_message, why))
			continue;
		if (v->metric[0] && !arg[strspn(arg, NAME_LETTERS)])
			aif_message("gate: no --metric is called '%s', so it was run as a command",
				    arg);
		return AIF_EXIT_REQUIRED;
	}
	return 0;
}

/* Values of files that each run has. */
static int require_of_each(const struct values *v, const struct aif_comparison *c,
			   struct aif_err *why)
{
	int status = 0;

	for (size_t i = 0; v->require[i]; i++)
		for (size_t run = 0; run < c->a->len + c->b->len && !status; run++) {
			struct aif_buf path = {0};

			if (!aif_require_is_of_each(v->require[i]))
				break;
			put_path("{}", 2, aif_compare_run(c, run)->path, &path);
			status = aif_require("gate", v->require[i], aif_buf_str(&path), aif_message,
					     why);
			aif_buf_finish(&path);
		}
	return status;
}

static int require_metrics(const struct values *v, const struct outside *o, size_t n,
			   struct aif_err *why)
{
	for (size_t i = 0; v->require[i]; i++) {
		const struct outside *of = find_outside(o, n, v->require[i]);

		if (of && of->why) {
			aif_err_set(why, -EPERM, "--require %s: %s: nothing is judged", of->name,
				    of->why);
			aif_message("gate: %s", why->text);
			return AIF_EXIT_REQUIRED;
		}
	}
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* True if each budget had values to be judged by, of the same thing in both sides. */
static bool has_all_values(const struct aif_gate *g)
{
	for (size_t i = 0; i < g->len; i++)
		if (g->rows[i].is_missing || g->rows[i].is_doubted)
			return false;
	return g->len > 0;
}

static int exit_status(const struct values *v, const struct aif_gate *g)
{
	if (g->is_required)
		return AIF_EXIT_REQUIRED;
	switch (g->answer) {
	case AIF_GATE_KEPT:
		return AIF_EXIT_OK;
	case AIF_GATE_EXCEEDED:
		return AIF_EXIT_REGRESSION;
	case AIF_GATE_UNKNOWN:
		break;
	}
	if (!v->cannot_tell)
		return AIF_EXIT_REGRESSION;
	/* Noise may pass; what is missing, cannot be read or compared, or is the other side itself, is no win. */
	return v->cannot_tell > 0 && has_all_values(g) && g->c->is_comparable
		       ? AIF_EXIT_OK
		       : AIF_EXIT_CANNOT_TELL;
}

static int print(const struct values *v, const struct aif_gate *g, struct aif_err *err)
{
	static void (*const write[])(const struct aif_gate *, struct aif_buf *) = {
		[FORMAT_TEXT] = aif_gate_text,
		[FORMAT_JSON] = aif_gate_json,
		[FORMAT_MARKDOWN] = aif_gate_markdown,
		[FORMAT_JUNIT] = aif_gate_junit,
	};
	struct aif_buf out = {0};
	int status;

	write[v->format](g, &out);
	status = v->format == FORMAT_TEXT || v->format == FORMAT_MARKDOWN
			 ? aif_view_print_text(&out, err)
			 : aif_view_print(&out, err);
	if (v->annotations) {
		aif_buf_clear(&out);
		aif_gate_annotations(g, &out);
		if (v->format != FORMAT_TEXT)
			fwrite(out.data, 1, out.len, stderr);
		else if (status == AIF_EXIT_OK)
			status = aif_view_print(&out, err);
	}
	aif_buf_finish(&out);
	return status == AIF_EXIT_OK ? exit_status(v, g) : status;
}

/* Says in the format that was asked for what is required and does not hold; text is on standard error already. Returns an
 * exit status. */
static int not_judged(const struct values *v, const char *a, const char *b, const char *why,
		      struct aif_err *err)
{
	struct aif_gate g = {0};
	int status = AIF_EXIT_REQUIRED;

	aif_gate_fail(a, b, why, &g);
	g.is_required = true;
	if (v->format != FORMAT_TEXT || v->annotations)
		status = print(v, &g, err);
	aif_gate_finish(&g);
	return status;
}

/* Judges what could be compared. Returns an exit status. */
static int judge(const struct values *v, const struct aif_comparison *c,
		 const struct aif_budgets *budgets, struct aif_err *err)
{
	struct outside outside[LIST_MAX] = {{0}};
	struct aif_gate_value given[LIST_MAX];
	struct aif_gate g = {0};
	struct aif_err why = {0};
	size_t n = 0;
	int r = 0, status = AIF_EXIT_FAILURE;

	for (; v->metric[n] && !r; n++) {
		r = read_metric(v->metric[n], c, &outside[n], err);
		given[n] =
			(struct aif_gate_value){outside[n].name, outside[n].values, outside[n].why};
	}
	if (!r)
		status = require_metrics(v, outside, n, &why);
	if (!r && !status)
		status = require_of_each(v, c, &why);
	if (!r && status == AIF_EXIT_REQUIRED)
		status = not_judged(v, c->a->name, c->b->name, why.text, err);
	if (!r && !status) {
		r = aif_gate_judge(c, budgets, given, n, &g);
		g.columns = aif_view_columns();
		g.unknown_fails = !v->cannot_tell;
		status = r ? AIF_EXIT_FAILURE : print(v, &g, err);
	}
	if (r && !err->code)
		aif_err_set(err, r, "gate: %s", strerror(-r));
	aif_gate_finish(&g);
	for (size_t i = 0; i < n; i++) {
		free(outside[i].name);
		free(outside[i].values);
		free(outside[i].why);
	}
	return r == -EINVAL ? AIF_EXIT_USAGE : status;
}

/* Says that the sides cannot be compared, in the format that was asked for. */
static int not_compared(const struct values *v, char **words, struct aif_err *err)
{
	struct aif_gate g = {0};
	int status;

	aif_gate_fail(words[0], words[1], err->text, &g);
	g.unknown_fails = !v->cannot_tell;
	*err = (struct aif_err){0};
	status = print(v, &g, err);
	aif_gate_finish(&g);
	/* Missing input is 2 in v7, whatever may pass. */
	return v->v7_exit ? AIF_EXIT_FAILURE : status;
}

static int compare_sides(const struct values *v, char **words, struct aif_err *err)
{
	struct aif_compare_opts o = {.margin = MARGIN, .any_machine = v->any_machine};
	struct aif_budgets budgets = {0};
	const struct aif_side_opts from = {.baselines = v->baselines,
					   .open = aif_view_profile_for_people};
	struct aif_sides s = {0};
	struct aif_err why = {0};
	int r, status = AIF_EXIT_USAGE;

	r = aif_unit_arg(v->unit, &o, err);
	if (!r)
		r = read_budgets(v, &budgets, err);
	if (!r)
		r = check_metrics(v, err);
	if (!r)
		r = check_values(v, &budgets, err);
	if (!r)
		r = check_units(&o, &budgets, err);
	if (!r)
		r = aif_require_check("gate", v->require, err);
	if (!r)
		status = require_first(v, &why);
	if (!r && status == AIF_EXIT_REQUIRED)
		status = not_judged(v, words[0], words[1], why.text, err);
	if (!r && !status) {
		r = aif_sides_compare(words, &from, &o, &s, err);
		/* Programs without a device have CPU time in its place. */
		if (!r && !has_budgets(v) && aif_compare_run(&s.c, 0)->is_cpu) {
			aif_budgets_finish(&budgets);
			r = add_defaults("cpu", &budgets, err);
		}
		status = !r             ? judge(v, &s.c, &budgets, err)
			 : r == -ENOMEM ? AIF_EXIT_FAILURE
					: not_compared(v, words, err);
	}
	aif_sides_finish(&s);
	aif_budgets_finish(&budgets);
	return status;
}

/* v7's statuses: 1 for whatever did not pass, 2 for input that is missing or none. */
static int v7_status(int status)
{
	return status == AIF_EXIT_OK ? 0
	       : status == AIF_EXIT_REGRESSION || status == AIF_EXIT_CANNOT_TELL ||
			       status == AIF_EXIT_REQUIRED
		       ? 1
		       : 2;
}

static int judge_dir(const struct values *v, struct aif_err *err)
{
	const struct aif_runbook_check_opts o = {.who = "gate",
						 .dir = v->dir,
						 .family = v->family,
						 .expect = AIF_RUNBOOK_EXPECT,
						 .require = v->require,
						 .cannot_tell = v->cannot_tell,
						 .v7_exit = v->v7_exit,
						 .say = aif_message};
	struct aif_buf text = {0};
	struct aif_err shown = {0};
	int status;

	if (has_budgets(v) || v->metric[0] || v->annotations || v->format) {
		aif_err_set(
			err, -EINVAL,
			"gate: --dir takes budgets from the environment (docs/runbook.md), and "
			"no --budget, --budgets, --metric, --annotations or --format: leave them out");
		return AIF_EXIT_USAGE;
	}
	status = aif_runbook_check(&o, &text, err);
	if (aif_view_print_text(&text, &shown) != AIF_EXIT_OK && shown.code && !err->code) {
		*err = shown;
		status = AIF_EXIT_FAILURE;
	}
	aif_buf_finish(&text);
	return status;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	int status;

	if (v->dir && !words_len)
		return judge_dir(v, err);
	if (v->dir || v->family || words_len != 2) {
		aif_err_set(err, -EINVAL,
			    v->dir      ? "gate: --dir and sides: give --dir DIR alone, or A B"
			    : v->family ? "gate: --family is of --dir: give --dir DIR"
					: "gate: give two sides, A B, or --dir DIR");
		return AIF_EXIT_USAGE;
	}
	status = compare_sides(v, words, err);
	return v->v7_exit ? v7_status(status) : status;
}

const struct aif_command aif_command_gate = {
	.name = "gate",
	.words = "A B | --dir DIR",
	.summary = "pass or fail a change by budgets, for CI",
	.description =
		"Judges side B (after) against side A (before); sides are written as for aiflame\n"
		"diff. A budget is a metric and how much worse it may get:\n\n"
		"    time +3%                    device +3% +50us      idle +10ms\n"
		"    kernel:/gemm/ +5% +20us     stack:/attention/ +5% launches 0\n"
		"    op:/^aten::mm$/ +3%         range:/prefill/ +3%   busy >= 60%\n"
		"    tok_s -2%                   ttft lower +3%    time <= 12ms\n\n\f"
		"Of values that --metric reads, say which way is better: -2% or the word higher where\n"
		"more is, lower where less is. Where a percentage and an amount are given, both must be\n"
		"exceeded. Metrics are time, device, cpu, idle, communication, copies, launches and bytes,\n"
		"a step or other unit each; before_work and after_work, the time before the first and\n"
		"after the last device work of whole runs (--unit run); memory, the\n"
		"most in use on the devices; kernel:/RE/, stack:/RE/, op:/RE/ and range:/RE/, the device\n"
		"time of kernels, under functions, in operators, and in ranges that the program marked;\n"
		"busy; and names given by --metric.\n\n"
		"A budget is exceeded if the change reaches it and is no chance, over all budgets\n"
		"together (Holm, 2 %); kept if the whole 95 % interval lies below it. Else nobody can\n"
		"tell, nor where something is missing or empty, runs are fewer than three a side,\n"
		"machines differ, a step keeps the budget and a run does not, a name matches much\n"
		"less than before and the rest has grown for it, or a value under an upper limit\n"
		"above 0 is 0 or less ('errors >= 0' beside 'errors <= 3' allows it).\n\n"
		"The exit status is 0: all are kept; 3: one is exceeded; 4: cannot tell; 5: what\n"
		"--require names failed.",
	.examples =
		"aiflame gate old new\tby the default budgets: time and device (or CPU) +3%\n"
		"aiflame gate --budgets perf.budgets old new\tby those of a file\n"
		"aiflame gate --format junit old new >gate.xml\tfor a CI server\n"
		"aiflame gate --require '{}.json:.loss_ok=true' old new\tcorrect first: each run's file says so\n"
		"aiflame gate --dir runbook\ta run directory, by its absolute budgets\n"
		"aiflame gate --metric r={}.json:.tok_s --budget 'r -2%' old new\twith values from files\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(struct values),
	.min_words = 0,
	.max_words = 2,
	.run = run,
};
