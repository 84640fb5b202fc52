/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare.h"

#include "compare/internal.h"
#include "compare/words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the unit -------------------------------------------------------------------------------- */

static enum aif_compare_unit choose_unit(struct aif_comparison *c)
{
	size_t n = aif_compare_runs(c);
	const struct aif_run *first = aif_compare_run(c, 0), *other = NULL;
	bool is_whole = true, has_steps = true, has_loops = true;

	for (size_t i = 0; i < n; i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		is_whole &= !r->is_part && !r->is_open;
		has_loops &= !r->is_whole;
		has_steps &= r->steps > 0 && r->amount[AIF_RUN_LAUNCHES];
	}
	for (size_t i = 1; i < n && has_steps && !other; i++) {
		const struct aif_run *r = aif_compare_run(c, i),
				     *own = i < c->a->len ? first : &c->b->runs[0];

		if (!aif_compare_has_same_steps(first, r, AIF_SAME_STEPS)) {
			other = r;
		} else if (!aif_compare_has_same_steps(own, r, AIF_SAME_STEPS_OF_SIDE)) {
			first = own;
			other = r;
		}
	}
	if (has_steps && !other && has_loops)
		return AIF_UNIT_STEP;
	if (has_steps && other)
		aif_buf_printf(&c->notes,
			       "not compared by step: other loops were found, in %s %" PRIu64
			       " steps of %.4g launches, in %s %" PRIu64 " of %.4g\n",
			       first->path, first->steps, aif_compare_launches_a_step(first),
			       other->path, other->steps, aif_compare_launches_a_step(other));
	return is_whole ? AIF_UNIT_RUN : AIF_UNIT_SECOND;
}

/* Says that a run has no range of the name that is the unit, and some that it has. */
static int lacks_range(const struct aif_comparison *c, const struct aif_run *r, struct aif_err *err)
{
	enum { MOST_SHOWN = 8 };
	struct aif_buf b = {0};

	for (size_t i = 0; i < r->ranges_len && i < MOST_SHOWN; i++)
		aif_buf_printf(&b, "%s%.60s", i ? ", " : "; it has ",
			       aif_strset_get(&r->range_names, (uint32_t)i, NULL));
	aif_err_set(
		err, -ENODATA,
		"%s: no range called '%.100s' in it to give values by%s%s; choose another --unit",
		r->path, c->range, b.len ? aif_buf_str(&b) : "",
		r->ranges_len > MOST_SHOWN ? " and more" : "");
	aif_buf_finish(&b);
	return -ENODATA;
}

/* Sets .is_whole, and says so where runs are whole in part only. */
static void find_whole(struct aif_comparison *c, enum aif_compare_unit asked)
{
	size_t n = aif_compare_runs(c), whole = 0, loops = 0, parts = 0;
	const struct aif_run *loop = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		whole += r->is_whole;
		parts += r->is_part;
		loops += r->is_loop;
		loop = r->is_loop && !loop ? r : loop;
	}
	c->is_whole = whole == n;
	if (c->by_share)
		return;
	if (parts && parts < n)
		aif_buf_puts(
			&c->problems,
			"of some runs a part is compared, of others the whole: choose the same "
			"part of all, as in FILE@steps:10-50\n");
	else if (loops && (loops < n || asked == AIF_UNIT_RUN))
		aif_buf_printf(&c->problems,
			       "%s is the loop of a run, without its start-up and end: compare by "
			       "--unit step, or whole runs (aiflame baseline set --whole)\n",
			       loop->path);
	else if (loops)
		aif_buf_puts(&c->notes, "the loop alone is compared: start-up and end are not in "
					"these runs (aiflame baseline set --whole)\n");
}

static int set_unit(struct aif_comparison *c, enum aif_compare_unit unit, struct aif_err *err)
{
	size_t n = aif_compare_runs(c);

	c->unit = unit == AIF_UNIT_AUTO || unit == AIF_UNIT_CYCLES ? choose_unit(c) : unit;
	for (size_t i = 0; i < n; i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		if (c->unit == AIF_UNIT_RANGE && !aif_run_ranges(r, c->range))
			return lacks_range(c, r, err);
		if (!(aif_compare_units_of(c, r) > 0))
			return aif_err_set(err, -ENODATA,
					   "%s: no %s in it to give values by; choose another "
					   "--unit",
					   r->path, aif_compare_unit_name(c));
		if (c->unit == AIF_UNIT_STEP && r->is_whole)
			return aif_err_set(err, -ENODATA,
					   "%s is a whole run, whose start-up and end are no "
					   "steps: compare by --unit run, or the loop alone "
					   "(aiflame baseline set without --whole)",
					   r->path);
	}
	if (c->unit == AIF_UNIT_RUN)
		find_whole(c, unit);
	return 0;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static int measure_metrics(struct aif_comparison *c)
{
	size_t n = aif_compare_runs(c);
	double *values = calloc(n + 1, sizeof(*values));
	double busy[2] = {0}, all[2] = {0};

	if (!values)
		return -ENOMEM;
	for (unsigned m = 0; m < AIF_METRICS; m++) {
		bool any = false, lacks = false;

		for (size_t i = 0; i < n; i++) {
			const struct aif_run *r = aif_compare_run(c, i);

			values[i] = r->is_counts || c->by_share
					    ? 0
					    : aif_metric_of(c, r, (enum aif_metric)m);
			lacks |= !(values[i] > 0);
			any |= values[i] > 0;
		}
		c->metric[m] = aif_compare_values(c, values, aif_metric_is_by_unit(m),
						  aif_metric_is_estimated((enum aif_metric)m));
		/* Memory is read, not measured: a run without it has no zero. */
		c->has_metric[m] = any && !(lacks && m == AIF_METRIC_MEMORY) &&
				   !(m == AIF_METRIC_TIME && c->unit == AIF_UNIT_SECOND);
	}
	for (size_t i = 0; i < n; i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		busy[i >= c->a->len] += (double)r->amount[AIF_RUN_BUSY];
		all[i >= c->a->len] +=
			(double)r->amount[AIF_RUN_BUSY] + (double)r->amount[AIF_RUN_IDLE];
	}
	c->busy_share_a = all[0] > 0 ? busy[0] / all[0] : 0;
	c->busy_share_b = all[1] > 0 ? busy[1] / all[1] : 0;
	free(values);
	return 0;
}

/* ---- steps of another size ------------------------------------------------------------------- */

/* Numbers of steps a run that are further apart are others. */
#define SAME_STEP_COUNT 1.1

double aif_compare_mean_steps(const struct aif_side *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->len; i++)
		sum += (double)s->runs[i].steps / (double)s->len;
	return sum;
}

/* True if a change reaches the margin. */
static bool is_much(const struct aif_compared *x)
{
	return fabs(x->change.delta) >= x->change.margin;
}

/*
 * Finds steps of another size: a smaller batch takes less time a step, which is no win where it needs so many more steps that a
 * run takes longer. Nothing is decided by step then, unless the caller asked for it.
 */
static int find_batch(struct aif_comparison *c, enum aif_compare_unit asked)
{
	size_t n = aif_compare_runs(c);
	double *by_run = calloc(n + 1, sizeof(double)), *by_step = calloc(n + 1, sizeof(double));
	double a = aif_compare_mean_steps(c->a), b = aif_compare_mean_steps(c->b);
	bool known = c->has_metric[AIF_METRIC_TIME] && a > 0 && b > 0 &&
		     (c->unit == AIF_UNIT_STEP || c->unit == AIF_UNIT_RUN);
	struct aif_compared step = {0};

	for (size_t i = 0; i < n && by_run && by_step; i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		by_run[i] =
			(double)r->amount[r->amount[AIF_RUN_LOOP] ? AIF_RUN_LOOP : AIF_RUN_ELAPSED];
		by_step[i] = r->steps ? by_run[i] / (double)r->steps : 0;
		known &= r->steps && !r->is_part && !r->is_open && by_run[i] > 0 &&
			 r->steps_from == aif_compare_run(c, 0)->steps_from;
	}
	if (by_run && by_step && known) {
		c->batch = aif_compare_values(c, by_run, false, false);
		step = aif_compare_values(c, by_step, false, false);
		c->steps_a = a;
		c->steps_b = b;
		c->is_batch = is_much(&c->batch) && is_much(&step) &&
			      (c->batch.change.delta > 0) != (step.change.delta > 0);
	}
	free(by_run);
	free(by_step);
	if (!by_run || !by_step)
		return -ENOMEM;
	if (!c->is_batch || c->unit != AIF_UNIT_STEP)
		return 0;
	aif_buf_printf(
		asked == AIF_UNIT_STEP ? &c->notes : &c->problems,
		"a step is not the same work: it takes %s in B, and a run, of %.4g steps and not "
		"%.4g, %s%s\n",
		step.change.delta < 0 ? "less" : "more", b, a,
		c->batch.change.delta < 0 ? "less" : "more",
		asked == AIF_UNIT_STEP
			? ""
			: "; compare whole runs by --unit run, or steps all the same by --unit step");
	return 0;
}

/* Returns how many units a run of a side has on average: steps, where a whole run is the unit. */
static double mean_units(const struct aif_comparison *c, const struct aif_side *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->len; i++)
		sum += (c->unit == AIF_UNIT_RUN ? (double)s->runs[i].steps
						: aif_compare_units_of(c, &s->runs[i])) /
		       (double)s->len;
	return sum;
}

/* Notes that runs of one side did more steps: a step of half the steps is no slower, and a run is less work. */
static void note_work(struct aif_comparison *c)
{
	bool by_run = c->unit == AIF_UNIT_RUN;
	const char *unit = by_run ? "step" : aif_compare_unit_name(c);
	double a = mean_units(c, c->a), b = mean_units(c, c->b);

	if ((!by_run && c->unit != AIF_UNIT_STEP && c->unit != AIF_UNIT_RANGE) || !(a > 0) ||
	    !(b > 0) || (a > b ? a / b : b / a) <= SAME_STEP_COUNT)
		return;
	aif_buf_printf(&c->notes, "a run of A has %.4g %s%s, of B %.4g: ", a, unit,
		       a == 1 ? "" : "s", b);
	if (by_run)
		aif_buf_puts(&c->notes, "whole runs are not the same work\n");
	else
		aif_buf_printf(&c->notes,
			       "one %s is compared, not the work of a run (--unit run)\n", unit);
}

bool aif_compare_extents(const struct aif_comparison *c, bool of_device, double *values)
{
	size_t n = aif_compare_runs(c);
	bool known = true;

	for (size_t i = 0; i < n; i++) {
		values[i] = (double)aif_compare_run(c, i)
				    ->amount[of_device ? AIF_RUN_EXTENT_BUSY : AIF_RUN_EXTENT];
		known &= values[i] > 0;
	}
	for (size_t i = 0; i < n && !known; i++)
		values[i] = (double)aif_compare_run(c, i)
				    ->amount[of_device ? AIF_RUN_BUSY : AIF_RUN_ELAPSED];
	return known;
}

/* Notes that runs of B take longer, by work outside of their steps or by more steps, and their steps do not. */
static int note_extent(struct aif_comparison *c)
{
	double *values = calloc(aif_compare_runs(c) + 1, sizeof(*values));
	double a = aif_compare_mean_steps(c->a), b = aif_compare_mean_steps(c->b);
	struct aif_compared whole;
	bool known;

	if (!values)
		return -ENOMEM;
	known = aif_compare_extents(c, false, values);
	whole = aif_compare_values(c, values, false, false);
	free(values);
	if (c->unit != AIF_UNIT_STEP || c->is_batch || whole.answer != AIF_CHANGE_UP ||
	    c->metric[AIF_METRIC_TIME].answer == AIF_CHANGE_UP)
		return 0;
	aif_buf_puts(&c->notes, known ? "a run, from its first work to its last, takes "
				      : "the loop of a run takes ");
	aif_words_change(&whole.change, &c->notes);
	aif_buf_puts(&c->notes, " in B, a step does not");
	if (a != b) /* means of whole numbers */
		aif_buf_printf(&c->notes, "; it has %.4g steps and not %.4g", b, a);
	aif_buf_puts(&c->notes, ": --unit run judges whole runs\n");
	return 0;
}

/* True if some runs have counts and others times, whose numbers are not of one unit. */
static bool has_counts_and_times(const struct aif_comparison *c)
{
	size_t counts = 0, n = aif_compare_runs(c);

	for (size_t i = 0; i < n; i++)
		counts += aif_compare_run(c, i)->is_counts;
	return counts && counts < n;
}

int aif_compare(const struct aif_side *a, const struct aif_side *b,
		const struct aif_compare_opts *o, struct aif_comparison *ret, struct aif_err *err)
{
	struct aif_map aliases = {0};
	int e;

	*ret = (struct aif_comparison){.a = a, .b = b, .margin = o->margin, .range = o->range};
	ret->chose_unit = o->unit == AIF_UNIT_AUTO || o->unit == AIF_UNIT_CYCLES;
	ret->recordings[0] = aif_compare_recordings(a);
	ret->recordings[1] = aif_compare_recordings(b);
	ret->by_share = has_counts_and_times(ret);
	e = set_unit(ret, o->unit, err);
	if (!e) {
		aif_compare_find_problems(ret, o);
		e = measure_metrics(ret);
	}
	if (!e)
		e = find_batch(ret, o->unit);
	if (!e)
		note_work(ret);
	if (!e && ret->decides)
		e = note_extent(ret);
	if (!e && ret->decides && ret->problems.len) {
		/* Answers were given before. */
		ret->decides = false;
		e = measure_metrics(ret);
	}
	if (!e && !ret->by_share)
		e = aif_compare_kernels(ret, &aliases);
	if (!e)
		e = aif_compare_stacks(ret, &aliases);
	if (!e && (aif_buf_failed(&ret->problems) || aif_buf_failed(&ret->notes)))
		e = -ENOMEM;
	aif_map_finish(&aliases);
	return e && err && !err->code ? aif_err_set(err, e, "%s", strerror(-e)) : e;
}
