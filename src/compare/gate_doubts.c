/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/gate_doubts.h"

#include "base/human.h"
#include "base/u64_of.h"
#include "compare/gate_values.h"
#include "compare/words.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Names match much less if what they match lost more than that part of its time or launches. */
#define MUCH 0.1
/* The rest has taken that over if it grew by that part of the loss. */
#define TAKEN 0.5

/* ---- values that were not measured ----------------------------------------------------------- */

/* True if another budget says that a value so low may be: "drift >= -5". */
static bool is_allowed(const struct aif_budgets *budgets, const struct aif_budget *b, double value)
{
	for (size_t i = 0; i < budgets->len; i++) {
		const struct aif_budget *other = &budgets->budget[i];

		if (other->kind == AIF_BUDGET_AT_LEAST && value >= other->limit &&
		    !strcmp(other->name, b->name))
			return true;
	}
	return false;
}

static void find_unmeasured_limit(const struct aif_comparison *c, const struct aif_budgets *budgets,
				  const double *values, struct aif_gate_row *row)
{
	const struct aif_budget *b = row->budget;
	double least = 0;
	size_t none = 0;

	if (b->kind != AIF_BUDGET_AT_MOST || !(b->limit > 0))
		return;
	for (size_t i = 0; i < c->b->len; i++) {
		double of_b = values[c->a->len + i];

		if (of_b > 0 || is_allowed(budgets, b, of_b))
			continue;
		least = fmin(least, of_b);
		none++;
	}
	if (!none)
		return;
	row->is_missing = true;
	aif_buf_printf(&row->why,
		       "0 or less in %zu of %zu runs of B: was it measured? If it may be so low, a "
		       "limit from below says it: '%.60s >= %.6g'",
		       none, c->b->len, b->name, least);
}

void aif_gate_find_unmeasured(const struct aif_comparison *c, const struct aif_budgets *budgets,
			      const double *values, struct aif_gate_row *row)
{
	const struct aif_budget *b = row->budget;
	size_t none = 0;
	double least = INFINITY;

	if (b->of != AIF_BUDGET_VALUE || row->is_missing)
		return;
	if (b->kind != AIF_BUDGET_CHANGE) {
		find_unmeasured_limit(c, budgets, values, row);
		return;
	}
	if (b->better != AIF_BUDGET_LESS)
		return;
	for (size_t i = 0; i < c->a->len; i++)
		least = fmin(least, values[i]);
	/* A that goes below 0 has values of both signs. */
	if (!(least >= 0))
		return;
	for (size_t i = 0; i < c->b->len; i++) {
		double of_b = values[c->a->len + i];

		none += (least > 0 ? !(of_b > 0) : !(of_b >= 0)) && !is_allowed(budgets, b, of_b);
	}
	if (!none)
		return;
	row->is_missing = true;
	aif_buf_printf(&row->why, "%s in %zu of %zu runs of B, and in none of A: was it measured?",
		       least > 0 ? "0 or less" : "below 0", none, c->b->len);
}

/* ---- steps and runs -------------------------------------------------------------------------- */

static int doubt_steps(const struct aif_comparison *c, struct aif_gate_row *row)
{
	struct aif_budget by = *row->budget;
	bool of_device = by.metric == AIF_METRIC_DEVICE, known;
	double *values, a = aif_compare_mean_steps(c->a), b = aif_compare_mean_steps(c->b);
	struct aif_compared whole;

	if (by.of != AIF_BUDGET_METRIC || by.kind != AIF_BUDGET_CHANGE ||
	    (by.metric != AIF_METRIC_TIME && !of_device) || c->unit != AIF_UNIT_STEP ||
	    !c->chose_unit || !(a > 0))
		return 0;
	values = calloc(c->a->len + c->b->len + 1, sizeof(*values));
	if (!values)
		return -ENOMEM;
	/* A step more in a run is no regression of a budget of nothing. */
	by.part = fmax(by.part, c->margin);
	known = aif_compare_extents(c, of_device, values);
	whole = aif_gate_compare(c, &by, values, of_device);
	free(values);
	if (whole.answer != AIF_CHANGE_UP || (whole.change.b - whole.change.a) / a <= by.absolute)
		return 0;
	row->answer = AIF_GATE_UNKNOWN;
	row->is_doubted = true;
	aif_buf_printf(&row->why, "a run%s takes ",
		       known ? ", from its first work to its last," : "'s loop");
	aif_words_change(&whole.change, &row->why);
	if (a != b) /* means of whole numbers */
		aif_buf_printf(&row->why, ", of %.4g steps and not %.4g", b, a);
	aif_buf_puts(&row->why, ": judge it by --unit run, or steps alone by --unit step");
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Means a unit, of A and of B: what matches, and the rest. */
struct share {
	double matched[2], rest[2];
};

static void add_to(struct share *s, const struct aif_comparison *c, size_t run, double matched,
		   double all)
{
	bool is_b = run >= c->a->len;
	double n = (double)(is_b ? c->b->len : c->a->len);

	s->matched[is_b] += matched / n;
	s->rest[is_b] += fmax(all - matched, 0) / n;
}

/* True if much of what matched in A does not in B, where the rest grew for it. */
static bool is_taken_over(const struct share *s)
{
	double loss = s->matched[0] - s->matched[1];

	return loss > MUCH * s->matched[0] && s->rest[1] - s->rest[0] >= TAKEN * loss;
}

/* Measures what matches, in time and, of kernels, in launches. */
static int measure_shares(const struct aif_comparison *c, const struct aif_budget *b,
			  struct share *time, struct share *launches)
{
	size_t n = c->a->len + c->b->len;
	double *values = calloc(n + 1, sizeof(*values));
	int e = values ? aif_gate_values(c, b, NULL, values) : -ENOMEM;

	for (size_t i = 0; i < n && !e; i++) {
		const struct aif_run *r = aif_compare_run(c, i);
		double units = aif_compare_units_of(c, r), all = 0, launched = 0, of_re, ns;

		if (b->of != AIF_BUDGET_KERNEL) {
			add_to(time, c, i, isfinite(values[i]) ? values[i] : 0,
			       (double)r->amount[AIF_RUN_BUSY] / units);
			continue;
		}
		for (size_t k = 0; k < r->kernels_len; k++) {
			all += (double)r->kernels[k].ns;
			launched += (double)r->kernels[k].launches;
		}
		ns = aif_gate_kernel_ns(r, &b->re, &of_re);
		add_to(time, c, i, (isfinite(ns) ? ns : 0) / units, all / units);
		add_to(launches, c, i, of_re / units, launched / units);
	}
	free(values);
	return e;
}

static int doubt_names(const struct aif_comparison *c, struct aif_gate_row *row)
{
	struct share time = {0}, launches = {0};
	int e;

	if (!aif_budget_is_by_name(row->budget))
		return 0;
	e = measure_shares(c, row->budget, &time, &launches);
	if (e || (!is_taken_over(&time) && !is_taken_over(&launches)))
		return e;
	row->answer = AIF_GATE_UNKNOWN;
	row->is_doubted = true;
	if (is_taken_over(&launches)) {
		aif_buf_printf(&row->why, "%.4g launches a %s match in A, %.4g in B",
			       launches.matched[0], aif_compare_unit_name(c), launches.matched[1]);
	} else {
		const double all[2] = {time.matched[0] + time.rest[0],
				       time.matched[1] + time.rest[1]};

		aif_buf_puts(&row->why, "what matches is ");
		aif_human_share(&row->why, aif_u64_of(1e6 * time.matched[0] / all[0]));
		aif_buf_puts(&row->why, " of the device's time in A, ");
		aif_human_share(&row->why,
				aif_u64_of(all[1] > 0 ? 1e6 * time.matched[1] / all[1] : 0));
		aif_buf_puts(&row->why, " in B");
	}
	aif_buf_puts(&row->why, ", and the rest has grown for it: have names changed?");
	return 0;
}

int aif_gate_doubt(const struct aif_comparison *c, struct aif_gate_row *row)
{
	int e = doubt_steps(c, row);

	return e || row->answer != AIF_GATE_KEPT ? e : doubt_names(c, row);
}
