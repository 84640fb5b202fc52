/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for people: at most 25 lines. */
#include "report/why/why.h"

#include "analysis/cpu_totals.h"
#include "base/human.h"
#include "text/elide.h"

#include <stdio.h>
#include <string.h>

#define MOST_OWNERS  6
#define MOST_KERNELS 3
#define MOST_ADVICE  4
/* Longer names of kernels lose their middle. */
#define NAME_COLUMNS 64
/* Owners and kernels below that are not worth a line: a hundredth, by which a program gets faster at most. */
#define LEAST_PPM 10000
/* A bound above that says no more than that the group is nearly all of the time. */
#define MOST_SPEEDUP 10
/* A trend is said from a change of a tenth on. */
#define TREND 0.1
/* Time of the loop without device work around it is said from a twentieth on: less of it is steps' edges. */
#define OUTSIDE 20

struct saying {
	const struct aif_names *names;
	const struct aif_why *w;
	uint32_t columns;
	struct aif_buf *out, line;
};

static uint64_t share(const struct saying *s, uint64_t ns)
{
	return aif_share_ppm(ns, s->w->time_ns);
}

static const char *place(const struct saying *s, uint32_t text)
{
	return text == AIF_STR_NONE ? "" : aif_strset_get(&s->w->places, text, NULL);
}

/* Appends the line that was made, cut to the terminal. */
static void end_line(struct saying *s)
{
	const char *text = aif_buf_str(&s->line);
	size_t len = strlen(text), max = s->columns;

	if (max && len > max) {
		while (max && (text[max] & 0xc0) == 0x80)
			max--;
		len = max;
	}
	aif_buf_append(s->out, text, len);
	aif_buf_putc(s->out, '\n');
	aif_buf_clear(&s->line);
}

/* ---- phases and the loop --------------------------------------------------------------------- */

static void say_phase(struct saying *s, const char *name, unsigned i, int64_t from, int64_t to)
{
	const struct aif_profile *p = s->names->p;

	if (to <= from)
		return;
	aif_buf_printf(&s->line, "%s%s ", i ? ", " : "", name);
	aif_human_ns(&s->line, (uint64_t)(to - from));
	aif_buf_puts(&s->line, " (");
	aif_human_share(&s->line, aif_share_ppm((uint64_t)(to - from), p->end_ns - p->start_ns));
	aif_buf_puts(&s->line, ", device busy ");
	aif_human_share(&s->line, s->w->phase_busy_ppm[i]);
	aif_buf_putc(&s->line, ')');
}

static void say_trend(struct saying *s, double trend)
{
	if (trend > 1 - TREND && trend < 1 + TREND)
		return;
	aif_buf_puts(&s->line, "; the last quarter takes ");
	aif_human_share(&s->line, (uint64_t)(trend * 1e6));
	aif_buf_puts(&s->line, " of the first's");
}

/* Says which periods are outside and inside of the steps: epochs, requests, tokens, layers. */
static void say_periods(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;

	for (size_t i = 0; i < f->levels; i++) {
		const struct aif_loop_level *l = &f->level[i];
		const char *in = place(s, s->w->level_places[i]);

		if (i == f->chosen)
			continue;
		aif_buf_puts(&s->line, i < f->chosen        ? "; inside of "
				       : i == f->chosen + 1 ? "; each with "
							    : ", each with ");
		if (i < f->chosen)
			aif_human_counted(&s->line, l->turns, "turn");
		else
			aif_buf_printf(&s->line, "%.1f turns",
				       (double)l->turns / (double)f->level[i - 1].turns);
		aif_buf_printf(&s->line, "%s%s of ", *in ? " of " : "", in);
		aif_human_ns(&s->line, l->median_ns);
	}
}

static void say_steps(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;
	const char *in = place(s, s->w->loop_place);
	bool is_marked = f->from == AIF_PHASES_MARKS;

	aif_buf_puts(&s->line, s->w->is_requests ? "loop     none, but " : "loop     ");
	aif_human_counted(&s->line, f->len,
			  is_marked           ? "step"
			  : s->w->is_requests ? "request"
					      : "turn");
	if (f->is_sparse)
		aif_buf_puts(&s->line, " seen whole");
	if (is_marked)
		aif_buf_puts(&s->line, ", as the program marks them");
	else
		aif_buf_printf(&s->line, "%s%s, found by launches that recur%s", *in ? " of " : "",
			       in, s->w->is_requests ? " behind waits for work from outside" : "");
	aif_buf_puts(&s->line, ": median ");
	aif_human_ns(&s->line, f->median_ns);
	aif_buf_puts(&s->line, ", p95 ");
	aif_human_ns(&s->line, f->p95_ns);
	if (!f->is_sparse)
		say_trend(s, f->trend);
	say_periods(s);
	end_line(s);
}

static void say_phases(struct saying *s)
{
	const struct aif_phases *f = &s->w->phases;
	const struct aif_profile *p = s->names->p;

	if (!f->from) {
		aif_buf_puts(
			&s->line,
			"loop     none found: no step is marked, and launches do not recur often or regularly enough");
		end_line(s);
		return;
	}
	aif_buf_puts(&s->line, "phases   ");
	if (s->w->since > 0) {
		aif_human_ns(&s->line, (uint64_t)s->w->since);
		aif_buf_puts(&s->line,
			     p->notes & AIF_NOTE_TRIMMED ? " not kept, " : " not collected, ");
	}
	say_phase(s, "start-up", 0, s->w->since, f->start);
	if (f->start <= s->w->since)
		aif_buf_puts(&s->line, "no start-up");
	say_phase(s, "loop", 1, f->start, f->end);
	say_phase(s, "tail", 2, f->end, (int64_t)(p->end_ns - p->start_ns));
	end_line(s);
	say_steps(s);
}

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
	end_line(s);
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
static void say_queue(struct saying *s)
{
	const struct aif_queue_sum *q = &s->w->ahead;

	if (!q->launches)
		return;
	aif_buf_puts(&s->line, "queue    ");
	if (q->known) {
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
	end_line(s);
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

/* True if most of the window lies before its first device work or behind the last. */
static bool is_mostly_outside(const struct aif_why *w)
{
	return (w->is_part || w->is_loop) && w->outside_ns > w->time_ns;
}

static void say_bound(struct saying *s, const enum aif_why_group *order, size_t n)
{
	const struct aif_why *w = s->w;
	size_t named = 1;

	aif_buf_puts(&s->line, "bound by ");
	if (is_mostly_outside(w)) {
		aif_buf_puts(&s->line,
			     "what comes before its first device work or behind the last: ");
		aif_human_share(&s->line, aif_share_ppm(w->outside_ns, w->outside_ns + w->time_ns));
		aif_buf_puts(&s->line, " of it; between these by ");
	}
	if (n && share(s, w->of_group[order[0]]) < AIF_WHY_BOUND_PPM) {
		aif_buf_puts(&s->line, "nothing alone: ");
		named = AIF_MIN(n, 3);
		for (size_t i = 0; i < named; i++) {
			aif_buf_printf(&s->line, "%s%s ", i ? ", " : "",
				       aif_why_group_name(order[i]));
			aif_human_share(&s->line, share(s, w->of_group[order[i]]));
		}
	} else if (n) {
		const char *verdict = aif_why_verdict(w, order[0]).text;

		aif_buf_printf(&s->line, "%s%s%s: for ", aif_why_group_name(order[0]),
			       *verdict ? ", " : "", verdict);
		aif_human_share(&s->line, share(s, w->of_group[order[0]]));
		aif_buf_printf(&s->line, " of the time %s", aif_why_group_evidence(order[0]));
		if (order[0] == AIF_WHY_HOST && !w->has_cpu)
			aif_buf_puts(&s->line, "; what it did meanwhile was not sampled");
		for (size_t i = 0; i < w->owners_len; i++)
			if (w->owners[i].group == order[0]) {
				say_seen(s, &w->owners[i], ": ");
				break;
			}
	}
	end_line(s);
}

/* Says that threads had to wait for CPUs: the program's times would be others on a machine of its own. */
static void say_machine(struct saying *s)
{
	if (!s->w->is_busy_machine)
		return;
	aif_buf_puts(&s->line, "machine  busy: ");
	aif_run_delay_say(&s->w->run_delay, &s->line);
	end_line(s);
}

/* ---- who has it ------------------------------------------------------------------------------ */

static void say_owners(struct saying *s)
{
	const struct aif_why *w = s->w;
	enum aif_why_unknown what[AIF_WHY_UNKNOWNS];
	size_t shown = 0, most;

	/* Lines for what is not known and for a busy machine take the place of one each. */
	most = MOST_OWNERS - (aif_why_unknown(s->names->p, w, what) > 0) - w->is_busy_machine;
	aif_buf_puts(&s->line, "idle     ");
	aif_human_share(&s->line, share(s, w->idle_ns));
	aif_buf_puts(&s->line, w->owners_len && share(s, w->owners[0].ns) >= LEAST_PPM
				       ? " of the time, with who launches next:"
				       : " of the time");
	end_line(s);
	for (size_t i = 0; i < w->owners_len && shown < most; i++) {
		const struct aif_why_owner *o = &w->owners[i];
		const char *at = place(s, o->place);

		if (share(s, o->ns) < LEAST_PPM)
			break;
		aif_buf_puts(&s->line, "         ");
		aif_human_share(&s->line, share(s, o->ns));
		while (s->line.len < 18)
			aif_buf_putc(&s->line, ' ');
		aif_buf_puts(&s->line, aif_why_group_name(o->group));
		say_seen(s, o, ", ");
		aif_buf_printf(&s->line, ", %s%s", o->is_before ? "before " : "",
			       *at ? at : "place not known");
		say_wake(s, o);
		end_line(s);
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
	aif_human_share(&s->line, (uint64_t)(k->used * 1e6));
	aif_buf_printf(&s->line, " of the %s peak", k->bound);
}

static void say_kernels(struct saying *s)
{
	const struct aif_why *w = s->w;
	uint64_t busy = w->time_ns - w->idle_ns;

	aif_buf_puts(&s->line, "busy     ");
	aif_human_share(&s->line, share(s, busy));
	aif_buf_puts(&s->line,
		     w->work.roof_ns > 0
			     ? " of the time, by what better use of the device saves at most:"
			     : " of the time");
	end_line(s);
	for (size_t i = 0; i < w->kernels_len && i < MOST_KERNELS; i++) {
		const struct aif_why_kernel *k = &w->kernels[i];
		const char *name;

		if (share(s, k->saved_ns) < LEAST_PPM)
			break;
		aif_buf_puts(&s->line, "         ");
		aif_human_share(&s->line, share(s, k->ns));
		while (s->line.len < 18)
			aif_buf_putc(&s->line, ' ');
		name = aif_names_work(s->names, k->kind, k->kernel);
		aif_elide(name, strlen(name), NAME_COLUMNS, &s->line);
		aif_buf_puts(&s->line, ", ");
		aif_human_counted(&s->line, k->runs, "run");
		say_kernel_facts(s, k);
		end_line(s);
	}
	aif_buf_puts(&s->line, "         ");
	aif_opportunity_say_precision(&w->work, s->names->p, &s->line);
	if (s->line.len > 9)
		end_line(s);
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
		end_line(s);
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
	end_line(s);
}

/* ---- what to try ----------------------------------------------------------------------------- */

static void say_advice(struct saying *s, const enum aif_why_group *order, size_t n)
{
	size_t said = 0;

	if (is_mostly_outside(s->w)) {
		aif_buf_puts(
			&s->line,
			"try      see what the program does before and behind its device work: ");
		aif_buf_puts(&s->line, s->names->p->traits.is_imported ? "aiflame report --ops"
				       : s->w->has_cpu                 ? "aiflame flame --of cpu"
						       : "record CPU samples (no --cpu-rate 0)");
		end_line(s);
		return;
	}
	for (size_t i = 0; i < n && said < MOST_ADVICE; i++) {
		const char *advice = aif_why_advice(s->names->p, s->w, order[i]);
		double most = aif_why_at_most(s->w, s->w->of_group[order[i]]);

		if (!*advice || share(s, s->w->of_group[order[i]]) < AIF_WHY_ADVICE_PPM)
			continue;
		aif_buf_printf(&s->line, "%s", said++ ? "         " : "try      ");
		if (order[i] == AIF_WHY_DEMAND ||
		    (order[i] == AIF_WHY_OFF_CPU && !s->w->has_off_cpu)) {
			aif_human_share(&s->line, share(s, s->w->of_group[order[i]]));
			aif_buf_puts(&s->line, " of the time: ");
		} else if (most >= MOST_SPEEDUP) {
			aif_buf_puts(&s->line, "nearly all of the time: ");
		} else {
			aif_buf_printf(&s->line, "at most %.2fx: ", most);
		}
		aif_buf_puts(&s->line, advice);
		end_line(s);
	}
}

/* Says in one line what the profile does not tell. */
static void say_unknown(struct saying *s)
{
	enum aif_why_unknown what[AIF_WHY_UNKNOWNS];
	size_t n = aif_why_unknown(s->names->p, s->w, what);

	for (size_t i = 0; i < n; i++) {
		aif_buf_puts(&s->line, i ? "; " : "unknown  ");
		aif_buf_puts(&s->line, aif_why_unknown_text(what[i]));
	}
	if (n)
		end_line(s);
}

static void say_next(struct saying *s, const char *path)
{
	const struct aif_why *w = s->w;
	char time[64] = "";

	if (w->is_loop)
		snprintf(time, sizeof(time), " --time loop");
	else if (w->is_part)
		snprintf(time, sizeof(time), " --time %.6f,%.6f", (double)w->from / 1e9,
			 (double)w->to / 1e9);
	aif_buf_printf(&s->line, "next     aiflame report --idle%s%s ", w->options, time);
	aif_buf_shell_path(&s->line, path);
	aif_buf_printf(&s->line, ", aiflame flame --of idle%s%s ", w->options, time);
	aif_buf_shell_path(&s->line, path);
}

void aif_why_say_briefly(const struct aif_why *w, struct aif_buf *out)
{
	enum aif_why_group order[AIF_WHY_GROUPS];
	size_t n = aif_why_order(w, order);
	uint64_t ppm = n ? aif_share_ppm(w->of_group[order[0]], w->time_ns) : 0;

	if (!n)
		return;
	aif_buf_printf(out, "%s%s: ", ppm < AIF_WHY_BOUND_PPM ? "nothing alone, most by " : "",
		       aif_why_group_name(order[0]));
	aif_human_share(out, ppm);
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
	size_t n = aif_why_order(w, order);

	if (!w->time_ns) {
		aif_buf_puts(
			out,
			"bound by what is not known: no device work with times is in it; aiflame flame --of cpu "
			"shows what threads did, aiflame info what was lost\n");
		return;
	}
	say_phases(&s);
	say_window(&s);
	say_bound(&s, order, n);
	say_queue(&s);
	say_machine(&s);
	say_owners(&s);
	say_kernels(&s);
	say_power(&s);
	say_advice(&s, order, n);
	say_unknown(&s);
	say_next(&s, path);
	end_line(&s);
	if (w->damaged) {
		aif_buf_puts(&s.line,
			     "damaged  part of the file could not be read: times are missing");
		end_line(&s);
	}
	aif_buf_finish(&s.line);
}
