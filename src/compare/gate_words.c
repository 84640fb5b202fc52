/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "base/u64_of.h"
#include "compare/gate.h"
#include "compare/words.h"

#include <math.h>

const char *aif_gate_word(enum aif_gate_answer a)
{
	return a == AIF_GATE_KEPT ? "kept" : a == AIF_GATE_EXCEEDED ? "exceeded" : "cannot tell";
}

static void put_value(const struct aif_gate *g, const struct aif_budget *b, double v,
		      struct aif_buf *out)
{
	if (b->of == AIF_BUDGET_METRIC)
		aif_words_value(g->c, b->metric, v, out);
	else if (b->of == AIF_BUDGET_BUSY)
		aif_human_share(out, aif_u64_of(1e6 * AIF_MAX(v, 0)));
	else if (b->of == AIF_BUDGET_VALUE)
		aif_buf_printf(out, "%.6g", v);
	else
		aif_words_ns(aif_compare_run(g->c, 0)->in_cycles ? g->c : NULL, v, out);
}

static void put_unit(const struct aif_gate *g, const struct aif_budget *b, struct aif_buf *out)
{
	if (b->of == AIF_BUDGET_METRIC ? aif_metric_is_by_unit(b->metric)
				       : b->of != AIF_BUDGET_VALUE && b->of != AIF_BUDGET_BUSY)
		aif_buf_printf(out, " a %s", aif_compare_unit_name(g->c));
}

/* Answers for the change by itself: by the usual margin where the budget's is wider. */
static enum aif_change_answer plain_answer(const struct aif_gate *g, const struct aif_gate_row *row)
{
	struct aif_change c = row->of.change;
	bool by_log;

	if (!g->c->decides)
		return AIF_CHANGE_UNKNOWN;
	/* On the scale of the test: that of logarithms, or that of A's mean. */
	by_log = c.margin == log1p(row->budget->part);
	c.margin = AIF_MIN(c.margin, by_log ? log1p(g->c->margin) : g->c->margin * fabs(c.a));
	return aif_change_answer(&c, row->of.p);
}

static void say_change(const struct aif_gate *g, const struct aif_gate_row *row,
		       struct aif_buf *out)
{
	const struct aif_change *c = &row->of.change;

	enum aif_change_answer a = aif_change_answer(c, row->of.p), plain = plain_answer(g, row);
	bool of_time = aif_budget_is_time(row->budget);
	bool is_within = row->answer == AIF_GATE_KEPT && a != plain && plain != AIF_CHANGE_UNKNOWN;

	if (is_within)
		a = plain;
	/* The same by the budget's margin alone is no sameness. */
	if (row->answer == AIF_GATE_KEPT && a == AIF_CHANGE_SAME && plain == AIF_CHANGE_UNKNOWN)
		aif_buf_puts(out, "within the budget, ");
	else if (row->answer == AIF_GATE_KEPT && a == AIF_CHANGE_UNKNOWN)
		aif_buf_puts(out, row->budget->better == AIF_BUDGET_MORE ? "not less, "
				  : of_time                              ? "not slower, "
									 : "not more, ");
	else if (row->answer != AIF_GATE_UNKNOWN)
		aif_buf_printf(out, "%s, ", aif_words_answer(a, of_time));
	aif_words_change(c, out);
	if (is_within &&
	    a == (row->budget->better == AIF_BUDGET_MORE ? AIF_CHANGE_DOWN : AIF_CHANGE_UP))
		aif_buf_puts(out, ", within the budget");
	aif_buf_puts(out, ": ");
	put_value(g, row->budget, c->a, out);
	aif_buf_puts(out, " -> ");
	put_value(g, row->budget, c->b, out);
	put_unit(g, row->budget, out);
}

static void say_limit(const struct aif_gate *g, const struct aif_gate_row *row, struct aif_buf *out)
{
	put_value(g, row->budget, row->mean, out);
	if (row->high > row->low) {
		aif_buf_puts(out, " (");
		put_value(g, row->budget, row->low, out);
		aif_buf_puts(out, " to ");
		put_value(g, row->budget, row->high, out);
		aif_buf_putc(out, ')');
	}
	put_unit(g, row->budget, out);
}

void aif_gate_say(const struct aif_gate *g, const struct aif_gate_row *row, struct aif_buf *out)
{
	if (row->is_missing) {
		aif_buf_append(out, row->why.data, row->why.len);
		return;
	}
	if (row->budget->kind == AIF_BUDGET_CHANGE)
		say_change(g, row, out);
	else
		say_limit(g, row, out);
	if (row->why.len) {
		aif_buf_puts(out, "; ");
		aif_buf_append(out, row->why.data, row->why.len);
	}
}
