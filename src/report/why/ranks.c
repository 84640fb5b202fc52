/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for a job of several ranks: who is late, since when, by what, and what it costs. */
#include "base/human.h"
#include "report/why/saying.h"
#include "text/json.h"

#include <errno.h>
#include <string.h>

/* A late rank bounds a job whose steps are shorter by a tenth without it. */
#define LATE_PPM 100000
/* A place is named that has so much of the waiting for a rank: what is spread over all that a rank does is nobody's line. */
#define PLACE_PPM 300000

/* Returns one cause for all that the host's own code is late by: it computes, sleeps, or has no CPU, at the same place. */
static enum aif_idle_cause cause_of(const struct aif_wait_row *row)
{
	return row->cause == AIF_IDLE_CAUSE_CPU || row->cause == AIF_IDLE_CAUSE_NO_CPU ||
			       row->cause == AIF_IDLE_CAUSE_OFF_CPU
		       ? AIF_IDLE_CAUSE_HOST
		       : row->cause;
}

/* Finds the place with most of the waits for a rank: stacks of a place differ by the steps that they are in. */
static int find_cause(const struct aif_profile *p, struct aif_stack_names *stacks, uint32_t late,
		      struct aif_why *w)
{
	const struct aif_rank_waits *waits = w->waits;
	struct aif_why_rank_cause *sums = calloc(waits->rows_len + 1, sizeof(*sums));
	struct aif_map by_place = {0};
	size_t len = 0;
	int r = sums ? 0 : -ENOMEM;

	for (size_t i = 0; i < waits->rows_len && !r; i++) {
		const struct aif_wait_row *row = &waits->rows[i];
		struct aif_why_rank_cause c = {.row = row};
		uint32_t name = row->kernel == AIF_NONE ? AIF_NONE : p->kernels[row->kernel].name;
		const char *caller;
		uint64_t key, at;

		if (row->late != late || row->kind == AIF_WAIT_UNKNOWN)
			continue;
		caller = aif_stack_names_caller(stacks, row->stack);
		c.place = caller ? aif_strset_puts(&w->places, caller) : AIF_STR_NONE;
		key = aif_mix64((uint64_t)c.place << 32 | name) ^
		      ((uint64_t)row->kind << 8 | (uint64_t)cause_of(row) << 1 | row->is_before);
		if (c.place == AIF_STR_NONE) {
			r = -ENOMEM;
		} else if (!aif_map_get(&by_place, key, &at)) {
			at = len++;
			sums[at] = c;
			r = aif_map_put(&by_place, key, at);
		}
		if (!r)
			sums[at].ns += row->ns;
	}
	for (size_t i = 0; i < len; i++)
		if (sums[i].ns > w->rank_cause.ns)
			w->rank_cause = sums[i];
	aif_map_finish(&by_place);
	free(sums);
	return r;
}

/* Takes waiting from communication alone, of which it is a part. */
static void take_waiting(struct aif_why *w)
{
	uint64_t ns = AIF_MIN(w->waits->alone_ns, w->of_group[AIF_WHY_COMMUNICATION]);

	w->of_group[AIF_WHY_COMMUNICATION] -= ns;
	w->of_group[AIF_WHY_WAITING] += ns;
}

/* Time for which another thread may have a CPU before the kernel's tick takes it away (two ticks of 250 Hz at most): a rank that is now and then
 * late by less may have been interrupted, by a hypervisor too, which no wait for a CPU shows. */
#define SLICE_NS 8000000
/* Part of the steps that a rank is late in for a reason of its own, if its host is. */
#define NEARLY_ALL 0.8

/* True if what makes the rank late is not its host's doing. */
static bool is_by_device(const struct aif_why *w)
{
	const struct aif_wait_row *row = w->rank_cause.row;

	return w->ranks.slow > 0 || !row ||
	       (row->kind != AIF_WAIT_IDLE && row->kind != AIF_WAIT_HOST) ||
	       row->cause == AIF_IDLE_CAUSE_WAIT || row->cause == AIF_IDLE_CAUSE_LATE ||
	       row->cause == AIF_IDLE_CAUSE_LAUNCH;
}

/* Sums up what the thread of a rank waited for CPUs. 0 or -errno. */
static int measure_delay_of(const struct aif_profile *p, const struct aif_why *w,
			    const struct aif_rank *rank, uint64_t *ret)
{
	bool *threads = calloc(p->threads_len + 1, sizeof(*threads));
	struct aif_run_delay d;
	int r = -ENOMEM;

	if (threads && rank->thread != AIF_NONE) {
		threads[rank->thread] = true;
		r = aif_run_delay_measure(p, &(struct aif_selection){.threads = threads}, w->from,
					  w->to, &d);
		*ret = d.waited_ns;
	}
	free(threads);
	return r;
}

/*
 * Finds out whether the machine may have made ranks late: by less, all steps together, than a rank waited for a CPU, unless
 * a host is late in nearly all steps; or by a device that is made of CPUs of which others have most. A rank that uses no
 * device is late by each wait of its thread for a CPU, on a machine that is not busy, too.
 */
static int find_machine(const struct aif_profile *p, const struct aif_why *w, bool *ret)
{
	const struct aif_rank_verdict *v = &w->ranks;
	const struct aif_rank *late = NULL;
	uint64_t waited = w->run_delay.waited_ns / AIF_MAX(w->waits->ranks.ranks_len, 1);
	bool is_less;
	int r = 0;

	*ret = false;
	if (v->is != AIF_RANKS_ONE_LATE && v->is != AIF_RANKS_WANDER)
		return 0;
	if (aif_rank_verdict_is_in_turns(v) && v->delay_ns >= SLICE_NS)
		return 0;
	late = &w->waits->ranks.ranks[v->late];
	if (late->lane == AIF_RANK_NO_LANE && v->is == AIF_RANKS_WANDER)
		waited = w->run_delay.waited_ns;
	else if (late->lane == AIF_RANK_NO_LANE && late->thread != AIF_NONE)
		r = measure_delay_of(p, w, late, &waited);
	else if (!w->is_busy_machine)
		return 0;
	is_less = (double)v->delay_ns * (double)v->delayed < (double)waited ||
		  (late->lane == AIF_RANK_NO_LANE && v->delay_ns < SLICE_NS &&
		   2 * v->delayed < v->steps);
	if (v->is == AIF_RANKS_WANDER)
		*ret = is_less;
	else
		*ret = (is_less && (double)v->delayed < NEARLY_ALL * (double)v->steps) ||
		       (w->is_crowded && is_by_device(w));
	return r;
}

int aif_why_ranks_add(const struct aif_profile *p, struct aif_stack_names *stacks,
		      const struct aif_selection *sel, struct aif_why *w)
{
	struct aif_selection window = *sel;
	bool is_machine = false;
	int r;

	window.from_ns = w->from > 0 ? (uint64_t)w->from : 0;
	window.to_ns = w->to > 0 ? (uint64_t)w->to : 0;
	r = aif_rank_waits_get(p, &window, &w->waits);
	if (!r)
		r = aif_rank_verdict(p, w->waits, &window, &w->phases, &w->ranks);
	if (!r)
		take_waiting(w);
	if (!r && w->ranks.is == AIF_RANKS_ONE_LATE)
		r = find_cause(p, stacks, w->ranks.late, w);
	if (!r)
		r = find_machine(p, w, &is_machine);
	if (!r && is_machine)
		w->ranks.is = AIF_RANKS_EVEN;
	return r;
}

/* Returns the share of the waits for the late rank that its place has. */
static uint64_t cause_ppm(const struct aif_why *w)
{
	return aif_share_ppm(w->rank_cause.ns, w->waits->sums[w->ranks.late].given_ns);
}

bool aif_why_is_rank_late(const struct aif_why *w)
{
	return w->waits && w->ranks.is == AIF_RANKS_ONE_LATE && !w->is_some_work &&
	       !w->idle_unknown && aif_share_ppm(w->ranks.saved_ns, w->ranks.step_ns) >= LATE_PPM &&
	       (w->ranks.slow > 0 || aif_why_has_late_place(w));
}

bool aif_why_has_late_place(const struct aif_why *w)
{
	return w->rank_cause.row && cause_ppm(w) >= PLACE_PPM;
}

static void say_cause(struct saying *s)
{
	const struct aif_why_rank_cause *c = &s->w->rank_cause;
	const char *at = c->row ? place(s, c->place) : "";

	if (!c->row)
		return;
	if (!aif_why_has_late_place(s->w)) {
		aif_buf_puts(&s->line, "; the waiting is for no one place");
		return;
	}
	aif_buf_puts(&s->line, "; ");
	aif_human_share(&s->line, cause_ppm(s->w));
	aif_buf_puts(&s->line, " of the waiting is for ");
	if (c->row->kind == AIF_WAIT_IDLE || c->row->kind == AIF_WAIT_HOST)
		aif_buf_printf(&s->line, "%s%s (%s)", c->row->is_before ? "what comes before " : "",
			       *at ? at : "a place that is not known",
			       aif_idle_cause_name(c->row->cause));
	else
		aif_buf_printf(&s->line, "%s%s%s",
			       aif_names_work(s->names, c->row->exec_kind, c->row->kernel),
			       *at ? " of " : "", at);
}

/* Returns the share of operations that all ranks captured. */
static uint64_t captured_ppm(const struct aif_why *w)
{
	return aif_share_ppm(w->waits->known, aif_timed_rounded(w->waits->operations));
}

static void say_delayed(struct saying *s, size_t n)
{
	const struct aif_rank_verdict *v = &s->w->ranks;

	aif_buf_printf(&s->line, "%zu of ", n);
	aif_human_counted(&s->line, v->steps, v->are_operations ? "operation" : "step");
	aif_buf_puts(&s->line, ", by ");
	aif_human_ns(&s->line, v->delay_ns);
}

void aif_why_say_late_rank(struct saying *s)
{
	const struct aif_rank_verdict *v = &s->w->ranks;
	const struct aif_why_rank_cause *c = &s->w->rank_cause;
	const char *at = c->row ? place(s, c->place) : "";

	aif_rank_say(s->names->p, &s->w->waits->ranks.ranks[v->late], &s->line);
	aif_buf_puts(&s->line, ", which is late");
	if (v->slow > 0)
		aif_buf_puts(&s->line, " as its device is slow");
	else if (*at)
		aif_buf_printf(&s->line, ", %s%s", c->row->is_before ? "before " : "in ", at);
	aif_buf_puts(&s->line, ": others wait for it for ");
	aif_human_ns(&s->line, v->saved_ns);
	aif_buf_puts(&s->line, " of ");
	aif_human_ns(&s->line, v->step_ns);
	aif_buf_puts(&s->line, v->are_operations ? " between operations" : " that a step takes");
}

/* Says that work is shared unevenly, by how much, and what a step would take were it not. */
static void say_uneven(struct saying *s)
{
	const struct aif_rank_verdict *v = &s->w->ranks;

	aif_buf_puts(&s->line, "work is shared unevenly: ");
	if (10 * v->delayed >= 7 * v->steps)
		aif_rank_say(s->names->p, &s->w->waits->ranks.ranks[v->late], &s->line);
	else
		aif_buf_puts(&s->line, "another rank each time");
	aif_buf_puts(&s->line, " computes longest, ");
	aif_human_ns(&s->line, v->most_ns);
	aif_buf_puts(&s->line, " a step where the mean is ");
	aif_human_ns(&s->line, v->mean_ns);
	aif_buf_puts(&s->line, "; shared evenly a step would take about ");
	aif_human_ns(&s->line, v->step_ns - AIF_MIN(v->saved_ns, v->step_ns));
	aif_buf_puts(&s->line, " in place of ");
	aif_human_ns(&s->line, v->step_ns);
	aif_why_end_line(s);
}

void aif_why_say_ranks(struct saying *s)
{
	const struct aif_why *w = s->w;
	const struct aif_rank_verdict *v = &w->ranks;

	if (!w->waits || v->is == AIF_RANKS_UNKNOWN)
		return;
	aif_buf_puts(&s->line, "ranks    ");
	if (v->is == AIF_RANKS_EVEN) {
		aif_buf_puts(&s->line, "none is late: ");
		aif_human_share(&s->line, aif_share_ppm(w->waits->wait_ns, w->time_ns));
		aif_buf_puts(&s->line, " of the time they wait for each other");
		if (w->is_busy_machine)
			aif_buf_puts(&s->line, ", no more than a busy machine may make them");
		aif_why_end_line(s);
		return;
	}
	if (v->is == AIF_RANKS_UNEVEN) {
		say_uneven(s);
		return;
	}
	if (aif_rank_verdict_is_in_turns(v)) {
		aif_rank_say(s->names->p, &w->waits->ranks.ranks[v->first], &s->line);
		aif_buf_puts(&s->line, " is late at first, ");
		aif_rank_say(s->names->p, &w->waits->ranks.ranks[v->last], &s->line);
		aif_buf_printf(&s->line, " since %s %zu, one of them or another in ",
			       v->are_operations ? "operation" : "step", v->since);
		say_delayed(s, v->delayed);
	} else if (v->is == AIF_RANKS_WANDER) {
		aif_buf_puts(&s->line, "another one is late each time, in ");
		say_delayed(s, v->delayed);
		aif_buf_puts(&s->line, ": work is shared unevenly, no rank is slow");
	} else {
		aif_rank_say(s->names->p, &w->waits->ranks.ranks[v->late], &s->line);
		aif_buf_puts(&s->line, " is late in ");
		say_delayed(s, v->delayed);
		if (v->since > 1)
			aif_buf_printf(&s->line, ", since %s %zu",
				       v->are_operations ? "operation" : "step", v->since);
		if (v->slow > 0)
			aif_buf_printf(&s->line,
				       ": its device is slow, kernels take %.2f times as long",
				       v->slow);
		else
			say_cause(s);
	}
	aif_buf_puts(&s->line, v->are_operations
				       ? "; without that one operation follows another in "
				       : "; without that a step takes ");
	aif_human_ns(&s->line, v->step_ns - v->saved_ns);
	aif_buf_puts(&s->line, " in place of ");
	aif_human_ns(&s->line, v->step_ns);
	if (w->waits->ranks.is_estimate) {
		aif_buf_puts(&s->line, ", by ");
		aif_human_share(&s->line, captured_ppm(w));
		aif_buf_puts(&s->line, " of the operations, which all ranks captured");
	}
	aif_why_end_line(s);
}

/* Takes the line without the word that begins it. */
static void take_line(struct saying *s, const char *text)
{
	aif_buf_puts(s->taker, text + AIF_MIN(strlen(text), strlen("ranks    ")));
}

void aif_why_say_job(const struct aif_names *names, const struct aif_why *w, struct aif_buf *out)
{
	struct saying s = {.names = names, .w = w, .take = take_line, .taker = out};

	aif_why_say_ranks(&s);
	out->failed |= aif_buf_failed(&s.line);
	aif_buf_finish(&s.line);
}

void aif_why_ranks_json(const struct aif_profile *p, const struct aif_why *w, struct aif_buf *b)
{
	static const char *const words[] = {"unknown", "even", "one_late", "wander", "uneven"};
	const struct aif_rank_verdict *v = &w->ranks;
	const struct aif_rank *late;

	if (!w->waits || v->is == AIF_RANKS_UNKNOWN)
		return;
	aif_buf_printf(b, ",\"ranks\":{\"verdict\":\"%s\"", words[v->is]);
	aif_json_put_u64(b, "wait_ns", w->waits->wait_ns);
	aif_json_put_u64(b, "steps", v->steps);
	aif_buf_printf(b, ",\"are_operations\":%s", v->are_operations ? "true" : "false");
	aif_json_put_u64(b, "step_ns", v->step_ns);
	aif_json_put_u64(b, "clock_error_ns", w->waits->ranks.error_ns);
	if (w->waits->ranks.is_estimate) {
		aif_json_put_u64(b, "wait_error_ns", w->waits->error_ns);
		aif_json_put_u64(b, "captured_ppm", captured_ppm(w));
	}
	if (v->is == AIF_RANKS_ONE_LATE || v->is == AIF_RANKS_WANDER) {
		aif_json_put_u64(b, "delayed", v->delayed);
		aif_json_put_u64(b, "delay_ns", v->delay_ns);
		aif_json_put_u64(b, "step_without_ns", v->step_ns - v->saved_ns);
	}
	if (v->is == AIF_RANKS_UNEVEN) {
		late = &w->waits->ranks.ranks[v->late];
		if (late->number != AIF_NONE)
			aif_json_put_u64(b, "longest", late->number);
		aif_json_put_u64(b, "longest_steps", v->delayed);
		aif_json_put_u64(b, "longest_compute_ns", v->most_ns);
		aif_json_put_u64(b, "mean_compute_ns", v->mean_ns);
		aif_json_put_u64(b, "step_without_ns",
				 v->step_ns - AIF_MIN(v->saved_ns, v->step_ns));
	}
	if (v->is == AIF_RANKS_ONE_LATE) {
		late = &w->waits->ranks.ranks[v->late];
		if (late->number != AIF_NONE)
			aif_json_put_u64(b, "late", late->number);
		if (late->process != AIF_NONE)
			aif_json_put_u64(b, "late_process", p->processes[late->process].pid);
		aif_json_put_u64(b, "since", v->since);
		if (v->slow > 0)
			aif_buf_printf(b, ",\"slow\":%.3f", v->slow);
		if (w->rank_cause.row) {
			aif_buf_puts(b, ",\"cause\":");
			aif_out_json_text(b, aif_wait_kind_name(w->rank_cause.row->kind));
			aif_buf_puts(b, ",\"place\":");
			aif_out_json_text(b, aif_strset_get(&w->places, w->rank_cause.place, NULL));
			aif_json_put_u64(b, "cause_ppm", cause_ppm(w));
		}
	}
	aif_buf_putc(b, '}');
}
