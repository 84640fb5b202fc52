/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for people: at most 25 lines. */
#include "report/why/saying.h"

#include "analysis/cpu_totals.h"
#include "analysis/no_samples.h"
#include "base/human.h"
#include "base/u64_of.h"
#include "text/elide.h"

#include <stdio.h>
#include <string.h>

#define MOST_OWNERS 6
/* Parts that are named where none bounds the program alone. */
#define NAMED 3
/* The function with the most of a group is named with it if it has this part of it, or more. */
#define NAMED_OF_GROUP 4
#define MOST_KERNELS   3
/* On narrower terminals, where lines are wrapped, what bounds the program and what to try come first. */
#define WIDE 120
/* Time of the loop without device work around it is said from a twentieth on: less of it is steps' edges. */
#define OUTSIDE 20

/* ---- what bounds it -------------------------------------------------------------------------- */

/* True if the window has time before the first device work in it, or behind the last, that is worth a word. */
static bool has_outside(const struct aif_why *w)
{
	return w->outside_ns > w->time_ns / OUTSIDE;
}

static void say_window(struct saying *s)
{
	const struct aif_why *w = s->w;

	aif_buf_puts(&s->line, "shares   of ");
	aif_human_ns(&s->line, w->time_ns);
	if (w->devices > 1)
		aif_buf_printf(&s->line, ", the time of %zu devices", w->devices);
	aif_buf_puts(&s->line, w->is_part   ? " of the part that was asked for"
			       : w->is_loop ? " of the loop"
					    : " from the first to the last device work");
	if (!w->is_part && !w->is_loop && has_outside(w)) {
		aif_buf_puts(&s->line, ", ");
		aif_human_share(&s->line, aif_share_ppm(w->time_ns, w->time_ns + w->outside_ns));
		aif_buf_puts(&s->line, " of the run");
	}
	if (w->phases.from && !w->is_part && !w->is_loop) {
		aif_buf_puts(&s->line, "; the loop has only ");
		aif_human_share(&s->line, w->loop_work_ppm);
		aif_buf_puts(&s->line, " of the work since it began");
	}
	if ((w->is_part || w->is_loop) && has_outside(w)) {
		aif_buf_puts(&s->line, ", without ");
		aif_human_ns(&s->line, w->outside_ns);
		aif_buf_puts(&s->line, " before the first device work in it and behind the last");
	}
	if (w->is_some_work)
		aif_buf_puts(&s->line,
			     ", idle where nothing of what was asked for ran, whatever else did");
	if (w->for_others_ns) {
		aif_buf_puts(&s->line, "; busy ");
		aif_selection_say_for_others(w->for_others_ns, &s->line);
	}
	if (w->left_out) {
		aif_buf_puts(&s->line, ", estimated from ");
		aif_human_share(&s->line, aif_share_ppm(w->captured, w->launches));
		aif_buf_puts(&s->line, " of the launches (busy time ±");
		aif_human_share(&s->line, share(s, w->error_ns));
		aif_buf_putc(&s->line, ')');
	}
	if (w->not_collected_ns) {
		aif_buf_puts(&s->line, "; of ");
		aif_human_ns(&s->line, w->not_collected_ns);
		aif_buf_puts(&s->line, " more nothing is known");
	}
	aif_why_end_line(s);
}

static void say_waits(struct saying *s)
{
	const struct aif_queue_sum *q = &s->w->ahead;

	if (!q->waits)
		return;
	aif_buf_puts(&s->line, "; ");
	aif_human_count(&s->line, q->emptied);
	aif_buf_puts(&s->line, " of ");
	aif_human_counted(&s->line, q->waits, "wait");
	aif_buf_puts(&s->line, " for it emptied the queue");
}

/* Says how far the host was ahead at its launch calls: evidence of what bounds it. */
void aif_why_say_queue(struct saying *s)
{
	const struct aif_queue_sum *q = &s->w->ahead;

	if (!q->launches)
		return;
	aif_buf_puts(&s->line, "queue    ");
	if (s->w->is_work_missing) {
		aif_buf_puts(&s->line, "its depth is not known, as work of the device is missing");
	} else if (q->known) {
		aif_buf_puts(&s->line, aif_why_queue_text(aif_why_queue_of(s->w)));
		aif_buf_puts(&s->line, "median ");
		aif_human_counted(&s->line, q->ahead_median, "launch");
		aif_buf_puts(&s->line, " ahead (p95 ");
		aif_human_count(&s->line, q->ahead_p95);
		aif_buf_putc(&s->line, ')');
		if (q->ahead_median_ns) {
			aif_buf_puts(&s->line, ", ");
			aif_human_ns(&s->line, q->ahead_median_ns);
			aif_buf_puts(&s->line, " of work");
		}
		aif_buf_puts(&s->line, "; ");
		aif_human_share(&s->line, q->idle_ppm);
		if (q->idle_error_ppm) {
			aif_buf_puts(&s->line, " ±");
			aif_human_share(&s->line, q->idle_error_ppm);
		}
		aif_buf_puts(&s->line, " of launches found the device idle");
		if (q->step_ahead_ppm) {
			aif_buf_puts(&s->line, ", ");
			aif_human_share(&s->line, q->step_ahead_ppm);
			aif_buf_puts(&s->line, " more than a step of work before them");
		}
	} else {
		aif_buf_puts(&s->line, "its depth is not known, as launches were left out");
	}
	aif_buf_puts(&s->line, "; work starts ");
	aif_human_ns(&s->line, q->delay_median_ns);
	aif_buf_puts(&s->line, " after its launch");
	say_waits(s);
	aif_why_end_line(s);
}

/* Appends what a thread was seen to sleep in: "in accept". */
static void say_seen(struct saying *s, const struct aif_why_owner *o, const char *between)
{
	const char *seen = o->seen == AIF_NONE ? NULL : aif_cpu_seen(s->names->p, o->seen);

	if (seen)
		aif_buf_printf(&s->line, "%s%.*s", between, (int)strcspn(seen, "]"), seen);
}

/* Appends what an owner's sleeps waited for, if most of its time did for one: ", waits for feeder: produce (feed.py:12)". */
static void say_wake(struct saying *s, const struct aif_why_owner *o)
{
	uint64_t ns, most = 0;
	uint32_t text = AIF_STR_NONE;
	size_t n;
	const struct aif_why_wake *wake = aif_why_wakes_of(s->w, o, &n);

	/* Threads of a pool that do the same are one. */
	for (size_t i = 0; i < n; i++) {
		ns = 0;
		for (size_t k = 0; k < n; k++)
			ns += wake[k].text == wake[i].text ? wake[k].ns : 0;
		if (ns > most) {
			most = ns;
			text = wake[i].text;
		}
	}
	if (n && 2 * most >= o->ns)
		aif_buf_printf(&s->line, ", waits for %s", place(s, text));
}

/* Returns what a function owns in a group, in its first place; NULL: nothing. */
static const struct aif_why_owner *
owner_in(const struct aif_why *w, const struct aif_why_function *f, enum aif_why_group group)
{
	for (size_t i = f->row; i < w->owners_len; i++) {
		const struct aif_why_owner *o = &w->owners[i];

		if (o->group == group && o->is_before == f->is_before &&
		    o->place == w->owners[f->row].place)
			return o;
	}
	return NULL;
}

/* Returns true of a place that another thread runs while the launching one sleeps. */
static bool is_run_by_other(const struct aif_why_owner *o)
{
	return o && o->is_other && o->group == AIF_WHY_OFF_CPU;
}

/* Says in what and for what a thread sleeps. */
static void say_sleep(struct saying *s, const struct aif_why_owner *o)
{
	say_seen(s, o, ", ");
	if (is_run_by_other(o))
		aif_buf_puts(&s->line, ", waits for another thread, which runs it");
	else
		say_wake(s, o);
}

/* Says which function owns the most of a group, if one has a quarter of it. */
static void say_most_of(struct saying *s, enum aif_why_group group)
{
	const struct aif_why *w = s->w;
	const struct aif_why_function *most = NULL;

	for (size_t i = 0; i < w->functions_len; i++)
		if (!most || w->functions[i].of_group[group] > most->of_group[group])
			most = &w->functions[i];
	if (!most || most->of_group[group] < w->of_group[group] / NAMED_OF_GROUP)
		return;
	aif_buf_puts(&s->line, "; ");
	aif_human_share(&s->line, share(s, most->of_group[group]));
	aif_buf_puts(&s->line, most->is_before ? " " : " in ");
	aif_why_say_function(s, most);
	if (is_run_by_other(owner_in(w, most, group)))
		aif_buf_puts(&s->line, ", which another thread runs");
}

/* A part of the time that may be named first: a busy group, or a function that owns idle time. */
struct part {
	uint64_t ns;
	enum aif_why_group group;
	const struct aif_why_function *function; /* NULL: the group */
};

static void take_part(struct part *parts, size_t *n, struct part p)
{
	size_t at = *n;

	while (at && parts[at - 1].ns < p.ns)
		at--;
	if (at == NAMED || !p.ns)
		return;
	*n = AIF_MIN(*n + 1, (size_t)NAMED);
	memmove(&parts[at + 1], &parts[at], (*n - 1 - at) * sizeof(*parts));
	parts[at] = p;
}

/* Says the parts with the most time, where none has enough to bound the program alone. */
static void say_parts(struct saying *s)
{
	const struct aif_why *w = s->w;
	struct part parts[NAMED];
	size_t n = 0;

	for (unsigned g = 0; g < AIF_WHY_HOST; g++) {
		uint64_t ns = w->of_group[g];

		/* Waiting has functions where the device is idle for it. */
		for (size_t i = 0; i < w->functions_len; i++)
			ns -= AIF_MIN(w->functions[i].of_group[g], ns);
		take_part(parts, &n, (struct part){ns, (enum aif_why_group)g, NULL});
	}
	for (size_t i = 0; i < w->functions_len; i++)
		take_part(parts, &n,
			  (struct part){w->functions[i].ns,
					aif_why_function_group(&w->functions[i]),
					&w->functions[i]});
	for (size_t i = 0; i < n; i++) {
		aif_buf_puts(&s->line, i ? ", " : "");
		if (parts[i].function)
			aif_why_say_function(s, parts[i].function);
		else
			aif_buf_puts(&s->line, aif_why_group_name(parts[i].group));
		aif_buf_putc(&s->line, ' ');
		aif_human_share(&s->line, share(s, parts[i].ns));
	}
}

/* Says what other threads compute meanwhile, if that is an eighth of the time: of threads that live for one request few samples are seen. */
static void say_others(struct saying *s)
{
	const struct aif_why_others *o = &s->w->others;

	if (!o->in_place_ns || 8 * o->in_place_ns < s->w->of_group[AIF_WHY_OFF_CPU])
		return;
	aif_buf_puts(&s->line, "; meanwhile other threads compute, ");
	aif_human_share(&s->line, aif_share_ppm(o->in_place_ns, o->ns));
	aif_buf_printf(&s->line, " of it in %s, ", place(s, o->place));
	aif_human_share(&s->line, share(s, o->in_place_ns));
	aif_buf_puts(&s->line, " of the time");
}

/* Says in what a function's idle time passed: ": the host 12.3 %, synchronisation 4.56 %"; shares where there are several. */
static void say_classes(struct saying *s, const struct aif_why_function *f)
{
	bool is_said[AIF_WHY_GROUPS] = {false};
	size_t n = 0;

	for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
		n += share(s, f->of_group[g]) >= AIF_WHY_LEAST_PPM;
	for (size_t i = 0; i < AIF_MAX(n, (size_t)1); i++) {
		unsigned most = AIF_WHY_GROUPS;
		const struct aif_why_owner *o;

		for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
			if (!is_said[g] &&
			    (most == AIF_WHY_GROUPS || f->of_group[g] > f->of_group[most]))
				most = g;
		is_said[most] = true;
		aif_buf_printf(&s->line, "%s%s", i ? ", " : ": ",
			       aif_why_group_name((enum aif_why_group)most));
		if (n > 1) {
			aif_buf_putc(&s->line, ' ');
			aif_human_share(&s->line, share(s, f->of_group[most]));
		}
		o = owner_in(s->w, f, (enum aif_why_group)most);
		if (o)
			say_sleep(s, o);
	}
}

void aif_why_say_bound(struct saying *s, const enum aif_why_group *order, size_t n)
{
	const struct aif_why *w = s->w;
	const struct aif_why_function *function = n ? aif_why_bounding_function(w, order[0]) : NULL;

	aif_buf_puts(&s->line, "bound by ");
	if (is_mostly_outside(w)) {
		aif_buf_puts(&s->line,
			     "what comes before its first device work or behind the last: ");
		aif_human_share(&s->line, aif_share_ppm(w->outside_ns, w->outside_ns + w->time_ns));
		aif_buf_puts(&s->line, " of it; between these by ");
	}
	if (n && aif_why_has_few_runs(w)) {
		aif_buf_puts(&s->line, "what is not known: all that ran on a device is ");
		for (size_t i = 0; i < w->kernels_len; i++) {
			const char *name =
				aif_names_work(s->names, w->kernels[i].kind, w->kernels[i].kernel);

			aif_buf_puts(&s->line, i ? " and " : "");
			aif_human_counted(&s->line, w->kernels[i].runs, "run");
			aif_buf_puts(&s->line, " of ");
			aif_elide(name, strlen(name), AIF_WHY_NAME_COLUMNS, &s->line);
		}
	} else if (n && aif_why_is_rank_late(w)) {
		aif_why_say_late_rank(s);
	} else if (n && aif_why_seems_idle(w, order[0])) {
		aif_buf_puts(&s->line,
			     "what is not known: work of the device is missing, which may have "
			     "run where it seems idle, for ");
		aif_human_share(&s->line, share(s, w->idle_ns));
		aif_buf_puts(&s->line, " of the time");
	} else if (function) {
		aif_why_say_function(s, function);
		aif_buf_puts(&s->line, ": for ");
		aif_human_share(&s->line, share(s, function->ns));
		aif_buf_puts(&s->line, " of the time no device works because of it");
		say_classes(s, function);
	} else if (n && share(s, w->of_group[order[0]]) < AIF_WHY_BOUND_PPM) {
		aif_buf_puts(&s->line, "nothing alone: ");
		say_parts(s);
	} else if (n) {
		const char *verdict = aif_why_verdict(w, order[0]).text;

		aif_buf_printf(&s->line, "%s%s%s", aif_why_group_name(order[0]),
			       *verdict ? ", " : "", verdict);
		aif_buf_puts(&s->line, ": for ");
		aif_human_share(&s->line, share(s, w->of_group[order[0]]));
		aif_buf_printf(&s->line, " of the time %s", aif_why_group_evidence(order[0]));
		if (order[0] == AIF_WHY_HOST && !w->has_cpu)
			aif_buf_puts(&s->line, "; what it did meanwhile was not sampled");
		for (size_t i = 0; i < w->owners_len; i++)
			if (w->owners[i].group == order[0]) {
				say_seen(s, &w->owners[i], ": ");
				break;
			}
		if (order[0] >= AIF_WHY_WAITING)
			say_most_of(s, order[0]);
		if (order[0] == AIF_WHY_OFF_CPU)
			say_others(s);
	}
	aif_why_end_line(s);
}

/* Says that threads had to wait for CPUs: the program's times would be others on a machine of its own. */
void aif_why_say_machine(struct saying *s)
{
	if (!s->w->is_busy_machine)
		return;
	aif_buf_puts(&s->line, "machine  busy: ");
	aif_run_delay_say(&s->w->run_delay, &s->line);
	aif_buf_puts(&s->line, "; such waits are others in each run, so no \"at most\" is said");
	aif_why_end_line(s);
}

/* ---- who has it ------------------------------------------------------------------------------ */

void aif_why_say_owners(struct saying *s)
{
	const struct aif_why *w = s->w;
	enum aif_why_unknown what[AIF_WHY_UNKNOWNS];
	struct aif_buf incomplete = {0};
	bool has_unknown = aif_why_incomplete(s->names->p, false, &incomplete) ||
			   aif_why_unknown(s->names->p, w, what);
	size_t shown = 0, most;

	aif_buf_finish(&incomplete);
	/* Lines for what is not known and for a busy machine take the place of one each. */
	most = MOST_OWNERS - has_unknown - w->is_busy_machine;
	s->ppm = -1;
	aif_buf_puts(&s->line, "idle     ");
	aif_human_share(&s->line, share(s, w->idle_ns));
	aif_buf_puts(&s->line, w->functions_len && share(s, w->functions[0].ns) >= AIF_WHY_LEAST_PPM
				       ? " of the time, which is owned by:"
				       : " of the time");
	aif_why_end_line(s);
	for (size_t i = 0; i < w->functions_len && shown < most; i++) {
		const struct aif_why_function *f = &w->functions[i];

		if (share(s, f->ns) < AIF_WHY_LEAST_PPM)
			break;
		s->ppm = (int64_t)share(s, f->ns);
		aif_buf_puts(&s->line, "         ");
		aif_human_share(&s->line, share(s, f->ns));
		while (s->line.len < 18)
			aif_buf_putc(&s->line, ' ');
		aif_why_say_function(s, f);
		say_classes(s, f);
		aif_why_end_line(s);
		shown++;
	}
}

/* Appends who launched a kernel, its operator or else its caller; and how much of the device's best it reaches. */
static void say_kernel_facts(struct saying *s, const struct aif_why_kernel *k)
{
	const char *by = place(s, k->operator);

	if (!*by)
		by = place(s, k->caller);
	if (*by && k->placed_runs < k->runs) {
		aif_buf_puts(&s->line, ", ");
		aif_human_count(&s->line, k->placed_runs);
		aif_buf_puts(&s->line, " of them");
	}
	if (*by)
		aif_buf_printf(&s->line, " of %s", by);
	if (k->used < 0)
		return;
	aif_buf_puts(&s->line, ", at ");
	aif_human_share(&s->line, aif_u64_of(k->used * 1e6));
	aif_buf_printf(&s->line, " of the %s peak", k->bound);
}

/* Says what products reach of the device's peak over all of the time. */
static void say_mfu(struct saying *s)
{
	struct aif_opportunity_mfu mfu;

	if (!aif_opportunity_mfu(&s->w->work, (double)s->w->time_ns, &mfu))
		return;
	aif_buf_puts(&s->line, " (MFU ");
	aif_human_share(&s->line, aif_u64_of(mfu.share * 1e6));
	aif_buf_printf(&s->line, ": %.*f of %.4g TFLOP/s in %s", mfu.per_s < 1e13 ? 2 : 0,
		       mfu.per_s / 1e12, mfu.peak_per_s / 1e12, aif_precision_name(mfu.precision));
	if (mfu.known < 0.995) {
		aif_buf_puts(&s->line, ", at least: work is known of ");
		aif_human_share(&s->line, aif_u64_of(mfu.known * 1e6));
		aif_buf_puts(&s->line, " of kernels' and copies' time");
	}
	aif_buf_putc(&s->line, ')');
}

void aif_why_say_kernels(struct saying *s)
{
	const struct aif_why *w = s->w;
	uint64_t busy = w->time_ns - w->idle_ns;

	s->ppm = -1;
	aif_buf_puts(&s->line, "busy     ");
	aif_human_share(&s->line, share(s, busy));
	aif_buf_puts(&s->line, " of the time");
	say_mfu(s);
	if (w->work.roof_ns > 0)
		aif_buf_puts(&s->line, ", by what better use of the device saves at most:");
	aif_why_end_line(s);
	for (size_t i = 0; i < w->kernels_len && i < MOST_KERNELS; i++) {
		const struct aif_why_kernel *k = &w->kernels[i];
		const char *name;

		if (share(s, k->saved_ns) < AIF_WHY_LEAST_PPM)
			break;
		s->ppm = (int64_t)share(s, k->ns);
		aif_buf_puts(&s->line, "         ");
		aif_human_share(&s->line, share(s, k->ns));
		while (s->line.len < 18)
			aif_buf_putc(&s->line, ' ');
		name = aif_names_work(s->names, k->kind, k->kernel);
		aif_elide(name, strlen(name), AIF_WHY_NAME_COLUMNS, &s->line);
		aif_buf_puts(&s->line, ", ");
		aif_human_counted(&s->line, k->runs, "run");
		say_kernel_facts(s, k);
		aif_why_end_line(s);
	}
	s->ppm = -1;
	aif_buf_puts(&s->line, "         ");
	aif_opportunity_say_precision(&w->work, s->names->p, &s->line);
	if (s->line.len > 9)
		aif_why_end_line(s);
	aif_buf_clear(&s->line);
}

/* ---- power ----------------------------------------------------------------------------------- */

/* Says what the window took, and whether clocks were held down in it: lines of recordings that have read it. */
static void say_power(struct saying *s)
{
	const struct aif_power_device *slowed = aif_power_slowed(&s->w->power);
	const struct aif_profile *p = s->names->p;
	const struct aif_why *w = s->w;
	uint64_t ns;
	double j;

	if (slowed) {
		aif_buf_puts(&s->line, "clocks   ");
		if (w->power.len > 1)
			aif_buf_printf(&s->line, "%s, the most: ",
				       aif_profile_str(p, p->devices[slowed->device].name));
		aif_power_say_slowed(slowed, &s->line);
		aif_why_end_line(s);
	}
	if (!aif_power_energy(&w->power, &j, &ns))
		return;
	aif_buf_puts(&s->line, "energy   ");
	aif_human_energy(&s->line, j);
	if (w->is_loop && w->phases.len && !w->phases.is_sparse) {
		aif_buf_puts(&s->line, ", ");
		/* Less may be covered by readings than the loop is long. */
		aif_human_energy(&s->line, j * (double)(w->to - w->from) * (double)w->power.len /
						   (double)ns / (double)w->phases.len);
		aif_buf_puts(&s->line, w->phases.from == AIF_PHASES_MARKS ? " a step" : " a turn");
	}
	aif_buf_printf(&s->line, ": %.0f W in the mean%s", j / ((double)ns / 1e9),
		       w->power.len > 1 ? " of each device" : "");
	aif_why_end_line(s);
}

/* Says in one line what the profile does not tell, and what of it is incomplete. */
static void say_unknown(struct saying *s)
{
	enum aif_why_unknown what[AIF_WHY_UNKNOWNS];
	size_t n = aif_why_unknown(s->names->p, s->w, what);
	struct aif_buf incomplete = {0};

	for (size_t i = 0; i < n; i++) {
		aif_buf_puts(&s->line, i ? "; " : "unknown  ");
		aif_buf_puts(&s->line, aif_why_unknown_text(what[i]));
	}
	if (aif_why_incomplete(s->names->p, false, &incomplete)) {
		aif_buf_printf(&s->line, "%s%s (aiflame info)", n ? "; " : "unknown  ",
			       aif_buf_str(&incomplete));
		n++;
	}
	if (n)
		aif_why_end_line(s);
	s->line.failed |= aif_buf_failed(&incomplete);
	aif_buf_finish(&incomplete);
}

void aif_why_say_selection(const struct aif_why *w, struct aif_buf *out)
{
	aif_buf_puts(out, w->options);
	if (w->is_loop)
		aif_buf_puts(out, " --time loop");
	else if (w->is_part)
		aif_buf_printf(out, " --time %.6f,%.6f", (double)w->from / 1e9,
			       (double)w->to / 1e9);
}

void aif_why_next(const struct aif_why *w, const char *ret[2])
{
	bool is_late = aif_why_is_rank_late(w);

	ret[0] = is_late ? "report --ranks" : "report --idle";
	ret[1] = is_late ? "flame --of waits" : "flame --of idle";
}

static void say_next(struct saying *s, const char *path)
{
	const char *next[2];

	aif_why_next(s->w, next);
	for (size_t i = 0; i < AIF_ARRAY_LEN(next); i++) {
		aif_buf_printf(&s->line, "%saiflame %s", i ? ", " : "next     ", next[i]);
		aif_why_say_selection(s->w, &s->line);
		aif_buf_putc(&s->line, ' ');
		aif_buf_shell_path(&s->line, path);
	}
}

void aif_why_say_briefly(const struct aif_names *names, const struct aif_why *w,
			 struct aif_buf *out)
{
	struct saying s = {.names = names, .w = w};
	enum aif_why_group order[AIF_WHY_GROUPS];
	size_t n = aif_why_order(w->of_group, order);
	uint64_t ppm = n ? aif_share_ppm(w->of_group[order[0]], w->time_ns) : 0;
	const struct aif_why_function *function;

	if (!n)
		return;
	if (aif_why_has_few_runs(w)) {
		aif_buf_puts(out, "what is not known, as too little ran on a device");
		return;
	}
	if (aif_why_is_rank_late(w)) {
		aif_why_say_late_rank(&s);
		aif_buf_append(out, s.line.data, s.line.len);
		out->failed |= aif_buf_failed(&s.line);
		aif_buf_finish(&s.line);
		return;
	}
	if (aif_why_seems_idle(w, order[0])) {
		aif_buf_puts(out, "what is not known, as work of the device is missing");
		return;
	}
	function = aif_why_bounding_function(w, order[0]);
	if (function) {
		aif_why_say_function(&s, function);
		aif_buf_append(out, s.line.data, s.line.len);
		aif_buf_puts(out, ": ");
		aif_human_share(out, aif_share_ppm(function->ns, w->time_ns));
		aif_buf_finish(&s.line);
	} else if (ppm < AIF_WHY_BOUND_PPM) {
		aif_buf_puts(out, "nothing alone: ");
		say_parts(&s);
		aif_buf_append(out, s.line.data, s.line.len);
		aif_buf_finish(&s.line);
	} else {
		aif_buf_printf(out, "%s: ", aif_why_group_name(order[0]));
		aif_human_share(out, ppm);
	}
	aif_buf_puts(out, w->is_loop && w->outside_ns <= w->time_ns ? " of the loop's time"
								    : " of the time");
	if (!w->is_loop)
		return;
	aif_buf_puts(out, "; ");
	aif_human_counted(out, w->phases.len, w->phases.from == AIF_PHASES_MARKS ? "step" : "turn");
	if (w->loop_place != AIF_STR_NONE)
		aif_buf_printf(out, " of %s", aif_strset_get(&w->places, w->loop_place, NULL));
	aif_buf_puts(out, ", median ");
	aif_human_ns(out, w->phases.median_ns);
}

void aif_why_say(const struct aif_names *names, const struct aif_why *w, const char *path,
		 uint32_t columns, struct aif_buf *out)
{
	struct saying s = {.names = names, .w = w, .columns = columns, .out = out};
	enum aif_why_group order[AIF_WHY_GROUPS];
	size_t n = aif_why_order(w->of_group, order);
	bool is_short;

	if (!w->time_ns) {
		aif_buf_printf(
			out, "bound by what is not known: %s\n",
			aif_no_cpu_samples(names->p)
				?: "no device work with times is in it; aiflame flame --of cpu "
				   "shows what threads did, aiflame info what was lost");
		say_unknown(&s);
		aif_buf_finish(&s.line);
		return;
	}
	is_short = columns && columns < WIDE;
	if (is_short) {
		aif_why_say_bound(&s, order, n);
		aif_why_say_advice(&s, order, n);
	}
	aif_why_say_phases(&s);
	say_window(&s);
	if (!is_short)
		aif_why_say_bound(&s, order, n);
	aif_why_say_queue(&s);
	aif_why_say_machine(&s);
	aif_why_say_ranks(&s);
	aif_why_say_changes(&s);
	aif_why_say_owners(&s);
	aif_why_say_calls(&s);
	aif_why_say_kernels(&s);
	say_power(&s);
	if (!is_short)
		aif_why_say_advice(&s, order, n);
	say_unknown(&s);
	say_next(&s, path);
	aif_why_end_line(&s);
	if (w->damaged) {
		aif_buf_puts(&s.line,
			     "damaged  part of the file could not be read: times are missing");
		aif_why_end_line(&s);
	}
	aif_buf_finish(&s.line);
}
