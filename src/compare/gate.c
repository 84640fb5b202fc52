/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/gate.h"

#include "compare/gate_doubts.h"
#include "compare/gate_values.h"
#include "compare/words.h"
#include "stats/many.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void aif_gate_finish(struct aif_gate *g)
{
	for (size_t i = 0; i < g->len; i++)
		aif_buf_finish(&g->rows[i].why);
	free(g->rows);
	aif_buf_finish(&g->problem);
	*g = (struct aif_gate){0};
}

void aif_gate_fail(const char *a, const char *b, const char *why, struct aif_gate *ret)
{
	*ret = (struct aif_gate){.a = a, .b = b, .answer = AIF_GATE_UNKNOWN};
	aif_buf_puts(&ret->problem, why);
}

/* True for a metric of which a program may have none. */
static bool is_of_some(enum aif_metric m)
{
	return m == AIF_METRIC_COMMUNICATION || m == AIF_METRIC_COPIES || m == AIF_METRIC_BYTES;
}

static const struct aif_gate_value *value_of(const struct aif_gate_value *v, size_t n,
					     const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void judge_limit(const struct aif_comparison *c, double *values, struct aif_gate_row *row)
{
	const struct aif_budget *b = row->budget;
	bool is_most = b->kind == AIF_BUDGET_AT_MOST, all_break = true;
	double *of_b = values + c->a->len;
	size_t n = aif_compare_join_parts(c->b, of_b);

	aif_change_interval(of_b, n, &row->mean, &row->low, &row->high);
	for (size_t i = 0; i < n; i++)
		all_break &= is_most ? of_b[i] > b->limit : of_b[i] < b->limit;
	if (!c->decides)
		return;
	if (is_most ? row->high <= b->limit : row->low >= b->limit)
		row->answer = AIF_GATE_KEPT;
	/* A limit that each run breaks is exceeded, however far apart they are. */
	else if (all_break || (is_most ? row->low > b->limit : row->high < b->limit))
		row->answer = AIF_GATE_EXCEEDED;
}

static void measure_change(const struct aif_comparison *c, const double *values,
			   struct aif_gate_row *row)
{
	const struct aif_budget *b = row->budget;
	bool by_launch = c->unit == AIF_UNIT_LAUNCH,
	     is_one_launch = b->of == AIF_BUDGET_KERNEL && by_launch,
	     is_one = b->metric == AIF_METRIC_LAUNCHES && by_launch;

	row->of = aif_gate_compare(c, b, values,
				   (aif_budget_is_by_name(b) && !is_one_launch) ||
					   (b->of == AIF_BUDGET_METRIC && !is_one &&
					    aif_metric_is_estimated(b->metric)));
}

/* Says of kernels that nobody can tell by another unit what a launch of them takes, if that is known. */
static int add_launch(const struct aif_comparison *c, struct aif_gate_row *row)
{
	const struct aif_budget *b = row->budget;
	size_t n = c->a->len + c->b->len;
	double *values = calloc(n + 1, sizeof(*values));
	bool known = b->of == AIF_BUDGET_KERNEL && c->unit != AIF_UNIT_LAUNCH;
	struct aif_compared one;

	for (size_t i = 0; i < n && values && known; i++) {
		values[i] = aif_gate_launch_ns(aif_compare_run(c, i), &b->re);
		known = values[i] > 0;
	}
	if (values && known) {
		one = aif_gate_compare(c, b, values, false);
		if (one.answer != AIF_CHANGE_UNKNOWN) {
			aif_buf_puts(&row->why, "; one launch: ");
			aif_words_change(&one.change, &row->why);
			aif_buf_puts(&row->why, " (--unit launch)");
		}
	}
	free(values);
	return values ? 0 : -ENOMEM;
}

/* A change that differs from its budget by less than that part of it is close to it. */
#define CLOSE 0.1

/* Says why a change is neither below its budget nor above, by its own p. */
static void say_unknown(const struct aif_change *change, struct aif_buf *why)
{
	size_t needed = aif_change_needed(change);

	if (needed > AIF_MIN(change->a_len, change->b_len))
		aif_buf_printf(why, "about %zu runs a side would tell", needed);
	else if (!needed)
		aif_buf_printf(why, "%s: %d runs a side would not tell",
			       fabs(change->delta - change->margin) <= CLOSE * change->margin
				       ? "too close to the budget"
				       : "runs of a side differ too much",
			       AIF_CHANGE_RUNS_MAX);
	else if (change->delta >= change->margin && change->p < AIF_CHANGE_P)
		aif_buf_puts(why, "it may be chance among so many budgets: more runs a side, or "
				  "fewer budgets, would tell");
	else
		aif_buf_puts(why, "runs of a side differ too much: a few more would tell");
}

/* Judges by p, which has been adjusted. */
static void judge_change(const struct aif_comparison *c, struct aif_gate_row *row)
{
	const struct aif_budget *b = row->budget;
	struct aif_change change = row->of.change;
	double worse = change.b - change.a, most;

	if (!c->decides)
		return;
	if (b->better == AIF_BUDGET_MORE) {
		change.delta = -change.delta;
		worse = -worse;
	}
	/* The most that it can have got worse, in its own unit. */
	most = !change.has_interval                               ? INFINITY
	       : b->better == AIF_BUDGET_MORE && !change.is_ratio ? -change.low
	       : b->better == AIF_BUDGET_MORE ? change.a - change.a * (1 + change.low)
	       : change.is_ratio              ? change.a * (1 + change.high) - change.a
					      : change.high;
	if (aif_change_is_no_more(&change) || most <= b->absolute)
		row->answer = AIF_GATE_KEPT;
	else if (aif_change_answer(&change, row->of.p) == AIF_CHANGE_UP)
		row->answer = worse > b->absolute ? AIF_GATE_EXCEEDED : AIF_GATE_UNKNOWN;
	if (row->answer != AIF_GATE_UNKNOWN)
		return;
	if (aif_change_answer(&change, row->of.p) == AIF_CHANGE_UP)
		aif_buf_puts(&row->why, "the interval reaches beyond the budget's amount: more "
					"runs a side would tell");
	else
		say_unknown(&change, &row->why);
	if (change.is_by_errors)
		aif_buf_puts(&row->why,
			     "; launches that were left out make most of the interval (record "
			     "--all-launches)");
}

/* Says why all runs of a side may lack a metric. */
static void say_lack(const struct aif_comparison *c, enum aif_metric m, bool by_both,
		     struct aif_buf *why)
{
	bool is_cpu = c->a->runs[0].is_cpu || c->b->runs[0].is_cpu;

	if (c->a->runs[0].is_counts || c->b->runs[0].is_counts)
		aif_buf_puts(why, ": counts have no times");
	else if (m == AIF_METRIC_CPU)
		aif_buf_puts(why, ": CPU time is compared of programs without a device");
	else if (is_cpu && m != AIF_METRIC_TIME)
		aif_buf_puts(why, ": no device was used");
	else if (aif_gate_is_of_whole_runs(m))
		aif_buf_puts(why, ": whole runs have it, --unit run");
	else if (m == AIF_METRIC_MEMORY)
		aif_buf_puts(why, ": it is read of NVIDIA's devices, by NVML");
	else if (is_of_some(m))
		aif_buf_printf(why, ": no %s in %s",
			       m == AIF_METRIC_COMMUNICATION ? "communication" : "copies",
			       by_both ? "either side" : "it");
}

/* Notes runs that lack a value. A kernel that A never had is new, which is no lack; nor is one gone, which is. */
static void find_missing(const struct aif_comparison *c, const struct aif_gate_value *outside,
			 double *values, struct aif_gate_row *row)
{
	size_t lack[2] = {0};

	for (size_t i = 0; i < c->a->len + c->b->len; i++)
		lack[i >= c->a->len] += !isfinite(values[i]);
	if (row->budget->of == AIF_BUDGET_METRIC && row->budget->metric == AIF_METRIC_TIME &&
	    c->unit == AIF_UNIT_SECOND) {
		row->is_missing = true;
		aif_buf_puts(&row->why,
			     "by second, time says nothing: give another --unit, or budgets "
			     "of something else");
		return;
	}
	if (row->budget->kind != AIF_BUDGET_CHANGE)
		lack[0] = 0;
	if ((aif_budget_is_by_name(row->budget) ||
	     (row->budget->of == AIF_BUDGET_METRIC && is_of_some(row->budget->metric))) &&
	    lack[0] == c->a->len && !lack[1])
		lack[0] = 0;
	for (size_t i = 0; i < c->a->len + c->b->len; i++)
		values[i] = isfinite(values[i]) ? values[i] : 0;
	if (!lack[0] && !lack[1])
		return;
	row->is_missing = true;
	aif_buf_printf(&row->why, "missing in %zu of %zu runs of %c", lack[0] ? lack[0] : lack[1],
		       lack[0] ? c->a->len : c->b->len, lack[0] ? 'A' : 'B');
	if (row->budget->of == AIF_BUDGET_METRIC)
		say_lack(c, row->budget->metric, lack[0] && lack[1], &row->why);
	else if (row->budget->of == AIF_BUDGET_VALUE && outside && outside->why)
		aif_buf_printf(&row->why, ": %s", outside->why);
	else if (aif_budget_is_by_name(row->budget) && lack[0] == c->a->len && lack[1] == c->b->len)
		aif_buf_puts(&row->why, ": nothing matches in either side");
}

static int adjust(struct aif_gate *g)
{
	double *p = calloc(g->len + 1, sizeof(*p));
	size_t n = 0;
	int e = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < g->len && !e; i++)
		if (!g->rows[i].is_missing && g->rows[i].budget->kind == AIF_BUDGET_CHANGE)
			p[n++] = g->rows[i].of.change.p;
	if (!e)
		e = aif_holm_adjust(p, n);
	n = 0;
	for (size_t i = 0; i < g->len && !e; i++)
		if (!g->rows[i].is_missing && g->rows[i].budget->kind == AIF_BUDGET_CHANGE)
			g->rows[i].of.p = p[n++];
	free(p);
	return e;
}

int aif_gate_judge(const struct aif_comparison *c, const struct aif_budgets *budgets,
		   const struct aif_gate_value *values, size_t values_len, struct aif_gate *ret)
{
	double *v = calloc(c->a->len + c->b->len + 1, sizeof(*v));
	struct aif_gate *g = ret;
	int e;

	*g = (struct aif_gate){.c = c, .a = c->a->name, .b = c->b->name};
	g->rows = calloc(budgets->len + 1, sizeof(*g->rows));
	e = v && g->rows ? 0 : -ENOMEM;
	for (size_t i = 0; i < budgets->len && !e; i++) {
		struct aif_gate_row *row = &g->rows[g->len++];
		const struct aif_gate_value *outside =
			value_of(values, values_len, budgets->budget[i].name);

		*row = (struct aif_gate_row){.budget = &budgets->budget[i],
					     .answer = AIF_GATE_UNKNOWN};
		e = aif_gate_values(c, row->budget, outside, v);
		find_missing(c, outside, v, row);
		aif_gate_find_unmeasured(c, budgets, v, row);
		if (e || row->is_missing)
			continue;
		if (row->budget->kind == AIF_BUDGET_CHANGE)
			measure_change(c, v, row);
		else
			judge_limit(c, v, row);
	}
	if (!e)
		e = adjust(g);
	for (size_t i = 0; i < g->len && !e; i++) {
		struct aif_gate_row *row = &g->rows[i];

		if (!row->is_missing && row->budget->kind == AIF_BUDGET_CHANGE)
			judge_change(c, row);
		if (!row->is_missing && row->budget->kind == AIF_BUDGET_CHANGE && c->decides &&
		    row->answer == AIF_GATE_UNKNOWN)
			e = add_launch(c, row);
		if (!e && row->answer == AIF_GATE_KEPT)
			e = aif_gate_doubt(c, row);
		if (row->answer == AIF_GATE_EXCEEDED || g->answer == AIF_GATE_KEPT)
			g->answer = row->answer;
		if (!e)
			e = aif_buf_failed(&row->why) ? -ENOMEM : 0;
	}
	if (!g->len)
		g->answer = AIF_GATE_UNKNOWN;
	free(v);
	return e;
}
