/* SPDX-License-Identifier: Apache-2.0 */
/* The same facts as one JSON object: times in ns, shares in 1/1,000,000. */
#include "report/why/why.h"

#include "base/u64_of.h"
#include "analysis/cpu_totals.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

/* The last character; 0 where there is none, or no memory. */
static uint8_t last(const struct aif_buf *b)
{
	return b->len ? b->data[b->len - 1] : 0;
}

static void open(struct aif_buf *b, const char *name, char bracket)
{
	aif_out_json_key(b, name);
	aif_buf_putc(b, bracket);
}

/* Begins an object of a list. */
static void item(struct aif_buf *b)
{
	aif_buf_puts(b, last(b) == '[' ? "{" : ",{");
}

static void put_phases(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b)
{
	static const char *const names[] = {"startup", "loop", "tail"};
	int64_t end = (int64_t)(p->end_ns - p->start_ns);
	const int64_t from[] = {w->since, w->phases.start, w->phases.end};
	const int64_t to[] = {w->phases.start, w->phases.end, end};

	open(b, "phases", '[');
	for (unsigned i = 0; w->phases.from && i < AIF_ARRAY_LEN(names); i++) {
		if (from[i] >= to[i])
			continue;
		item(b);
		aif_json_put_text(b, "phase", names[i]);
		aif_out_json_key(b, "from_ns");
		aif_out_json_i64(b, from[i]);
		aif_out_json_key(b, "to_ns");
		aif_out_json_i64(b, to[i]);
		aif_json_put_u64(b, "busy_ppm", w->phase_busy_ppm[i]);
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

static void put_loop(const struct aif_why *w, struct aif_buf *b)
{
	static const char *const from[] = {"none", "marks", "launches"};
	const struct aif_phases *f = &w->phases;

	open(b, "loop", '{');
	aif_json_put_text(b, "found_by", w->is_requests ? "requests" : from[f->from]);
	if (f->from) {
		if (w->loop_place != AIF_STR_NONE)
			aif_json_put_text(b, "place",
					  aif_strset_get(&w->places, w->loop_place, NULL));
		aif_json_put_u64(b, "steps", f->len);
		aif_json_put_u64(b, "median_ns", f->median_ns);
		aif_json_put_u64(b, "p95_ns", f->p95_ns);
		aif_json_put_u64(b, "trend_ppm", (uint64_t)(AIF_MIN(f->trend, 1e6) * 1e6));
		aif_json_put_u64(b, "is_sparse", f->is_sparse);
		open(b, "loops", '[');
		for (size_t i = 0; i < f->loops_len; i++) {
			const struct aif_loop_candidate *c = &f->loops[i];

			item(b);
			if (w->candidate_places[i] != AIF_STR_NONE)
				aif_json_put_text(
					b, "place",
					aif_strset_get(&w->places, w->candidate_places[i], NULL));
			aif_json_put_u64(b, "turns", c->turns);
			aif_json_put_u64(b, "median_ns", c->median_ns);
			aif_json_put_u64(b, "ns", c->ns);
			aif_json_put_u64(b, "from_ns", c->start > 0 ? (uint64_t)c->start : 0);
			aif_json_put_u64(b, "to_ns", c->end > 0 ? (uint64_t)c->end : 0);
			aif_buf_putc(b, '}');
		}
		aif_buf_putc(b, ']');
		open(b, "periods", '[');
		for (size_t i = 0; i < f->levels; i++) {
			item(b);
			if (w->level_places[i] != AIF_STR_NONE)
				aif_json_put_text(
					b, "place",
					aif_strset_get(&w->places, w->level_places[i], NULL));
			aif_json_put_u64(b, "turns", f->level[i].turns);
			aif_json_put_u64(b, "median_ns", f->level[i].median_ns);
			aif_json_put_u64(b, "are_steps", i == f->chosen);
			aif_buf_putc(b, '}');
		}
		aif_buf_putc(b, ']');
	}
	aif_buf_putc(b, '}');
}

static void put_queue(const struct aif_why *w, struct aif_buf *b)
{
	const struct aif_queue_sum *q = &w->ahead;

	open(b, "queue", '{');
	aif_json_put_text(b, "state", aif_why_queue_key(aif_why_queue_of(w)));
	aif_json_put_u64(b, "launches", q->launches);
	aif_json_put_u64(b, "known", q->known);
	aif_json_put_u64(b, "delay_median_ns", q->delay_median_ns);
	aif_json_put_u64(b, "delay_p95_ns", q->delay_p95_ns);
	if (q->known) {
		aif_json_put_u64(b, "found_idle_ppm", q->idle_ppm);
		aif_json_put_u64(b, "found_idle_error_ppm", q->idle_error_ppm);
		aif_json_put_u64(b, "after_wait_ppm", q->after_wait_ppm);
		if (w->phases.from)
			aif_json_put_u64(b, "step_ahead_ppm", q->step_ahead_ppm);
		aif_json_put_u64(b, "ahead_median", q->ahead_median);
		aif_json_put_u64(b, "ahead_p95", q->ahead_p95);
		aif_json_put_u64(b, "ahead_most", q->ahead_most);
		aif_json_put_u64(b, "ahead_median_ns", q->ahead_median_ns);
		aif_json_put_u64(b, "ahead_p95_ns", q->ahead_p95_ns);
	}
	aif_json_put_u64(b, "waits", q->waits);
	aif_json_put_u64(b, "waits_emptied", q->emptied);
	aif_buf_putc(b, '}');
}

/* Adds what is gained at most, where it was replayed. */
static void put_gain(struct aif_buf *b, double gain)
{
	if (gain > 0)
		aif_json_put_u64(b, "at_most_ppm", (uint64_t)(AIF_MIN(gain, 1e6) * 1e6));
}

/* Adds the groups of a function's idle time, most time first. */
static void put_groups_of(const struct aif_why_function *f, struct aif_buf *b)
{
	enum aif_why_group order[AIF_WHY_GROUPS];
	size_t n = aif_why_order(f->of_group, order);

	for (size_t i = 0; i < n; i++) {
		if (i)
			aif_buf_putc(b, ',');
		aif_out_json_text(b, aif_why_group_key(order[i]));
	}
}

/* Adds the group that has so much of the time that it bounds the program, or all. */
static void put_bounding_groups(const struct aif_why *w, const enum aif_why_group *order, size_t n,
				struct aif_buf *b)
{
	for (size_t i = 0;
	     i < n && !aif_why_has_few_runs(w) &&
	     (!i || aif_share_ppm(w->of_group[order[0]], w->time_ns) < AIF_WHY_BOUND_PPM);
	     i++) {
		if (i)
			aif_buf_putc(b, ',');
		aif_out_json_text(b, aif_why_group_key(aif_why_seems_idle(w, order[i])
							       ? AIF_WHY_UNKNOWN
							       : order[i]));
	}
}

static void put_groups(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b)
{
	enum aif_why_group order[AIF_WHY_GROUPS];
	size_t n = aif_why_order(w->of_group, order);
	bool is_late = aif_why_is_rank_late(w);
	const struct aif_why_function *function;

	open(b, "groups", '[');
	for (size_t i = 0; i < n; i++) {
		uint64_t ns = w->of_group[order[i]];

		item(b);
		aif_json_put_text(b, "group", aif_why_group_key(order[i]));
		aif_json_put_u64(b, "ns", ns);
		aif_json_put_u64(b, "share_ppm", aif_share_ppm(ns, w->time_ns));
		put_gain(b, w->bound_of_group[order[i]]);
		aif_json_put_text(b, "try", aif_why_advice(p, w, order[i]));
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
	function = n ? aif_why_bounding_function(w, order[0]) : NULL;
	aif_json_put_text(b, "bound_word",
			  is_late          ? "late-rank"
			  : !n || function ? ""
					   : aif_why_verdict(w, order[0]).key);
	open(b, "bound_by", '[');
	if (is_late)
		aif_out_json_text(b, aif_why_group_key(AIF_WHY_WAITING));
	else if (function && !aif_why_has_few_runs(w) && !aif_why_seems_idle(w, order[0]))
		put_groups_of(function, b);
	else
		put_bounding_groups(w, order, n, b);
	aif_buf_putc(b, ']');
}

static void put_causes(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b)
{
	open(b, "causes", '[');
	for (size_t i = 0; i < w->idle_len; i++) {
		const struct aif_idle_device *d = &w->idle[i];

		item(b);
		if (d->process != AIF_NONE)
			aif_json_put_u64(b, "process", p->processes[d->process].pid);
		aif_json_put_text(b, "device",
				  d->device == AIF_NONE
					  ? ""
					  : aif_profile_str(p, p->devices[d->device].name));
		aif_json_put_u64(b, "idle_ns", d->idle_ns);
		for (unsigned c = 0; c < AIF_IDLE_CAUSES; c++)
			if (d->of_cause[c])
				aif_json_put_u64(b, aif_idle_cause_name((enum aif_idle_cause)c),
						 d->of_cause[c]);
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

/* Adds in what a thread was seen to sleep: "in accept". */
static void put_seen(const struct aif_profile *p, uint32_t stack, struct aif_buf *b)
{
	const char *seen = stack == AIF_NONE ? NULL : aif_cpu_seen(p, stack);
	char name[128];

	if (!seen)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(seen, "]"), seen);
	aif_json_put_text(b, "seen", name);
}

/* Adds what an owner's sleeps waited for. */
static void put_wakes(const struct aif_profile *p, const struct aif_why *w,
		      const struct aif_why_owner *o, struct aif_buf *b)
{
	static const char *const kinds[] = {"unknown", "thread", "process", "timer", "interrupt"};
	size_t n;
	const struct aif_why_wake *wakes = aif_why_wakes_of(w, o, &n);

	if (!n)
		return;
	open(b, "waits_for", '[');
	for (size_t i = 0; i < n; i++) {
		item(b);
		aif_json_put_text(b, "kind", kinds[wakes[i].kind]);
		if (wakes[i].thread != AIF_NONE)
			aif_json_put_u64(b, "tid", p->threads[wakes[i].thread].tid);
		aif_json_put_text(b, "what", aif_strset_get(&w->places, wakes[i].text, NULL));
		aif_json_put_u64(b, "ns", wakes[i].ns);
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

/* Puts the calls of an AIU's runtime in which idle time passes; of other profiles nothing. */
static void put_calls(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b)
{
	if (!w->calls_len)
		return;
	open(b, "calls", '[');
	for (size_t i = 0; i < w->calls_len; i++) {
		item(b);
		aif_json_put_text(b, "call", aif_profile_str(p, w->calls[i].name));
		aif_json_put_u64(b, "ns", w->calls[i].ns);
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

static void put_owners(const struct aif_names *names, const struct aif_why *w, struct aif_buf *b)
{
	open(b, "idle", '[');
	for (size_t i = 0; i < w->owners_len; i++) {
		const struct aif_why_owner *o = &w->owners[i];

		item(b);
		aif_json_put_text(b, "group", aif_why_group_key(o->group));
		aif_json_put_text(b, "place", aif_strset_get(&w->places, o->place, NULL));
		aif_json_put_u64(b, "is_before", o->is_before);
		put_seen(names->p, o->seen, b);
		aif_json_put_u64(b, "ns", o->ns);
		put_wakes(names->p, w, o, b);
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

static void put_functions(const struct aif_why *w, struct aif_buf *b)
{
	open(b, "owners", '[');
	for (size_t i = 0; i < w->functions_len; i++) {
		const struct aif_why_function *f = &w->functions[i];

		item(b);
		aif_json_put_text(b, "place",
				  aif_strset_get(&w->places, w->owners[f->row].place, NULL));
		aif_json_put_u64(b, "is_before", f->is_before);
		aif_json_put_u64(b, "is_machine", aif_why_is_machine(w, f));
		aif_json_put_u64(b, "ns", f->ns);
		aif_json_put_u64(b, "share_of_idle_ppm", aif_share_ppm(f->ns, w->idle_ns));
		put_gain(b, f->bound_gain);
		open(b, "groups_ns", '{');
		for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
			if (f->of_group[g])
				aif_json_put_u64(b, aif_why_group_key((enum aif_why_group)g),
						 f->of_group[g]);
		aif_buf_puts(b, "}}");
	}
	aif_buf_putc(b, ']');
}

static void put_kernels(const struct aif_names *names, const struct aif_why *w, struct aif_buf *b)
{

	open(b, "kernels", '[');
	for (size_t i = 0; i < w->kernels_len; i++) {
		const struct aif_why_kernel *k = &w->kernels[i];

		item(b);
		aif_json_put_text(b, "kernel", aif_names_work_full(names, k->kind, k->kernel));
		aif_json_put_u64(b, "ns", k->ns);
		aif_json_put_u64(b, "runs", k->runs);
		put_gain(b, k->bound_gain);
		if (k->operator!= AIF_STR_NONE)
			aif_json_put_text(b, "operator",
					  aif_strset_get(&w->places, k->operator, NULL));
		if (k->caller != AIF_STR_NONE)
			aif_json_put_text(b, "caller", aif_strset_get(&w->places, k->caller, NULL));
		if (k->operator!= AIF_STR_NONE || k->caller != AIF_STR_NONE)
			aif_json_put_u64(b, "placed_runs", k->placed_runs);
		if (k->used >= 0) {
			aif_json_put_u64(b, "used_ppm", aif_u64_of(k->used * 1e6));
			aif_json_put_text(b, "of", k->bound);
			aif_json_put_u64(b, "opportunity_ns", k->saved_ns);
		}
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

/* Writes the share of the device's peak that products reach over all of the time; nothing where that is not known. */
static void put_mfu(const struct aif_why *w, struct aif_buf *b)
{
	struct aif_opportunity_mfu mfu;

	if (!aif_opportunity_mfu(&w->work, (double)w->time_ns, &mfu))
		return;
	open(b, "mfu", '{');
	aif_json_put_u64(b, "share_ppm", aif_u64_of(mfu.share * 1e6));
	aif_json_put_u64(b, "flop_s", aif_u64_of(mfu.per_s));
	aif_json_put_u64(b, "peak_flop_s", aif_u64_of(mfu.peak_per_s));
	aif_json_put_text(b, "of", aif_precision_name(mfu.precision));
	aif_json_put_u64(b, "known_ppm", aif_u64_of(mfu.known * 1e6));
	aif_buf_putc(b, '}');
}

/* An array of the devices whose clocks and energy were read. */
static void put_power(const struct aif_why *w, struct aif_buf *b)
{
	open(b, "power", '[');
	for (size_t i = 0; i < w->power.len; i++) {
		const struct aif_power_device *d = &w->power.devices[i];

		item(b);
		aif_json_put_u64(b, "device", d->device);
		aif_json_put_u64(b, "energy_uj", (uint64_t)(AIF_MIN(d->energy_j, 1e12) * 1e6));
		aif_json_put_u64(b, "energy_ns", d->energy_ns);
		aif_json_put_u64(b, "read_ns", d->read_ns);
		aif_json_put_u64(b, "slowed_ns", d->slowed_ns);
		open(b, "reasons_ns", '{');
		for (unsigned k = 0; k < AIF_CLOCK_REASONS; k++)
			if (d->reason_ns[k])
				aif_json_put_u64(b, aif_clock_reason_name(k), d->reason_ns[k]);
		aif_buf_putc(b, '}');
		aif_buf_putc(b, '}');
	}
	aif_buf_putc(b, ']');
}

static void put_run_delay(const struct aif_why *w, struct aif_buf *b)
{
	if (!w->run_delay.waited_ns)
		return;
	open(b, "run_delay", '{');
	aif_json_put_u64(b, "threads", w->run_delay.threads);
	aif_json_put_u64(b, "waited_ns", w->run_delay.waited_ns);
	aif_json_put_u64(b, "ran_ns", w->run_delay.ran_ns);
	aif_buf_putc(b, '}');
}

static void put_unknown(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b)
{
	enum aif_why_unknown what[AIF_WHY_UNKNOWNS];
	size_t n = aif_why_unknown(p, w, what);

	open(b, "unknown", '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			aif_buf_putc(b, ',');
		aif_out_json_text(b, aif_why_unknown_key(what[i]));
	}
	aif_buf_putc(b, ']');
}

void aif_why_json(const struct aif_names *names, const struct aif_why *w, const char *path,
		  struct aif_buf *out)
{
	aif_buf_putc(out, '{');
	if (path)
		aif_why_json_answer(names, w, path, out);
	put_phases(names->p, w, out);
	put_loop(w, out);
	open(out, "window", '{');
	aif_json_put_text(out, "of", w->is_part ? "asked" : w->is_loop ? "loop" : "all");
	aif_json_put_u64(out, "from_ns", w->from > 0 ? (uint64_t)w->from : 0);
	aif_json_put_u64(out, "to_ns", w->to > 0 ? (uint64_t)w->to : 0);
	aif_json_put_u64(out, "devices", w->devices);
	aif_buf_putc(out, '}');
	aif_json_put_u64(out, "time_ns", w->time_ns);
	aif_json_put_u64(out, "idle_ns", w->idle_ns);
	aif_json_put_u64(out, "busy_error_ns", w->error_ns);
	aif_json_put_u64(out, "not_collected_ns", w->not_collected_ns);
	aif_json_put_u64(out, "for_other_threads_ns", w->for_others_ns);
	aif_json_put_u64(out, "outside_ns", w->outside_ns);
	aif_json_put_u64(out, "launches_captured", w->captured);
	aif_json_put_u64(out, "launches_left_out", w->left_out);
	put_queue(w, out);
	put_groups(names->p, w, out);
	put_causes(names->p, w, out);
	put_calls(names->p, w, out);
	put_functions(w, out);
	put_owners(names, w, out);
	put_kernels(names, w, out);
	put_mfu(w, out);
	put_power(w, out);
	if (w->others.in_place_ns) {
		aif_buf_puts(out, ",\"others\":{\"place\":");
		aif_out_json_text(out, aif_strset_get(&w->places, w->others.place, NULL));
		aif_json_put_u64(out, "in_place_ns", w->others.in_place_ns);
		aif_json_put_u64(out, "ns", w->others.ns);
		aif_buf_putc(out, '}');
	}
	aif_why_ranks_json(names->p, w, out);
	aif_why_changes_json(names, w, out);
	put_run_delay(w, out);
	put_unknown(names->p, w, out);
	aif_buf_puts(out, "}\n");
}
