/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run.h"

#include "compare/reduce_by.h"

#include "analysis/attribution.h"
#include "analysis/idle/part.h"
#include "analysis/traits.h"
#include "base/signals.h"
#include "base/u64_of.h"
#include "flame/build.h"
#include "report/why/why.h"

#include <errno.h>
#include <string.h>

/* Losses above that part of the launches leave nothing to decide by. */
#define MOST_LOST 0.01

struct reducing {
	const struct aif_names *names;
	const struct aif_profile *p;
	struct aif_run *run;
	struct aif_why why;
	const struct aif_idle_part *idle; /* of the window */
};

/* ---- texts ----------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Joins texts in order, equal ones once with their number. */
static void put_texts(const char **texts, size_t n, struct aif_buf *b)
{
	if (n)
		qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(texts[i], texts[end]); end++)
			;
		if (b->len)
			aif_buf_puts(b, ", ");
		if (end - i > 1)
			aif_buf_printf(b, "%zu x ", end - i);
		aif_buf_puts(b, texts[i]);
	}
}

static void put_major(const char *version, struct aif_buf *b)
{
	size_t digits = strspn(version + strcspn(version, "0123456789"), "0123456789");

	if (b->len)
		aif_buf_putc(b, ' ');
	aif_buf_append(b, version + strcspn(version, "0123456789"), digits);
}

/* Devices that worked in the recording. */
static int describe_machine(struct reducing *r, const struct aif_attribution *a)
{
	const struct aif_profile *p = r->p;
	const char **names = calloc(p->devices_len + 1, sizeof(*names));
	struct aif_buf machine = {0}, driver = {0};
	size_t n = 0;
	int e = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < a->devices_len && !e; i++) {
		const struct aif_device *d = &p->devices[a->devices[i].device];

		if (!a->devices[i].busy_ns || n == p->devices_len)
			continue;
		names[n++] = aif_profile_str(p, d->name);
		put_major(aif_profile_str(p, d->driver), &driver);
	}
	if (!e) {
		put_texts(names, n, &machine);
		e = aif_run_set(r->run, AIF_RUN_MACHINE, aif_buf_str(&machine));
	}
	if (!e)
		e = aif_run_set(r->run, AIF_RUN_DRIVER, aif_buf_str(&driver));
	if (!e)
		e = aif_run_set(r->run, AIF_RUN_COMMAND, aif_profile_meta(p, "command"));
	if (!e)
		e = aif_run_set(r->run, AIF_RUN_HOST, aif_profile_meta(p, "host"));
	if (!e)
		e = aif_run_set_lacks(r->run, p);
	if (aif_buf_failed(&machine) || aif_buf_failed(&driver))
		e = -ENOMEM;
	aif_buf_finish(&machine);
	aif_buf_finish(&driver);
	free(names);
	return e;
}

/* Returns a number of the recording: by when and where it was made. 0: it does not say when. */
static uint64_t recording_of(const struct aif_profile *p)
{
	const char *start = aif_profile_meta(p, "start_realtime_ns"),
		   *host = aif_profile_meta(p, "host"), *command = aif_profile_meta(p, "command");

	if (!*start)
		return 0;
	return aif_mix64(aif_hash_bytes(start, strlen(start)) +
			 aif_mix64(aif_hash_bytes(host, strlen(host)) + 1) +
			 aif_mix64(aif_hash_bytes(command, strlen(command)) + 2)) |
	       1;
}

/* Says why nothing may be decided by this run. */
static int find_problem(struct reducing *r, const struct aif_attribution *a)
{
	const struct aif_conservation *c = &a->conservation;
	struct aif_buf why = {0};
	double lost = c->launches ? (double)c->lost / (double)c->launches : 0;
	int e;

	if (r->p->notes & AIF_NOTE_CUT_SHORT)
		aif_buf_puts(&why, "the recording was cut short");
	else if (!aif_conservation_check(c, NULL))
		aif_buf_puts(&why, "the profile does not add up (see aiflame info)");
	else if (lost > MOST_LOST)
		aif_buf_printf(&why, "%.1f %% of its launches were lost", 100 * lost);
	else if (r->why.damaged || c->damaged)
		aif_buf_puts(&why, "parts of the file are damaged");
	else if (!r->run->is_part && aif_run_fatal_signal(r->p))
		aif_buf_printf(&why, "its command was ended by %s",
			       aif_signal_name(aif_run_fatal_signal(r->p)));
	e = aif_buf_failed(&why) ? -ENOMEM
				 : aif_run_set(r->run, AIF_RUN_PROBLEM, aif_buf_str(&why));
	aif_buf_finish(&why);
	return e;
}

/* ---- amounts --------------------------------------------------------------------------------- */

/* True if a time lies in one of the loop's steps that lie in the part. */
static bool is_in_step(const struct aif_why *w, int64_t at)
{
	size_t low = AIF_BISECT(mid, 0, w->phases.len, w->phases.steps[mid].start <= at);
	const struct aif_loop_step *s = low ? &w->phases.steps[low - 1] : NULL;
	return s && at < s->end && s->start >= w->from && s->end <= w->to;
}

/* Returns how many kernels were launched in steps that lie in the part, as captured. */
static uint64_t count_step_launches(const struct reducing *r)
{
	const struct aif_exec_timeline *t = r->idle->t;
	uint64_t n = 0;

	for (size_t i = 0; t && i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];

		if (aif_timeline_work_of(t, x)->kind == AIF_LAUNCH_KERNEL && x->launch != AIF_NONE)
			n += is_in_step(&r->why, r->why.phases.is_queued
							 ? x->start
							 : t->launches[x->launch].at);
	}
	return n;
}

/* Steps that lie in the part. Of those seen in part only, as many as the launches of all of it are: both are estimated by the
 * same blocks, so that their ratio varies less than a number by the length of steps does, some of which were slowed. */
static uint64_t count_steps(const struct reducing *r)
{
	const struct aif_why *w = &r->why;
	double all = (double)r->run->amount[AIF_RUN_LAUNCHES], in_steps;
	uint64_t n = 0, ns = 0;

	for (size_t i = 0; i < w->phases.len; i++) {
		const struct aif_loop_step *s = &w->phases.steps[i];

		if (s->start < w->from || s->end > w->to)
			continue;
		n++;
		ns += (uint64_t)(s->end - s->start);
	}
	if (!w->phases.is_sparse || !n || !ns)
		return n;
	in_steps = (double)count_step_launches(r);
	if (in_steps > 0 && all > 0)
		return aif_u64_of(all * (double)n / in_steps + 0.5);
	return aif_u64_of((double)(w->to - w->from) / ((double)ns / (double)n) + 0.5);
}

/* Finds out whether a part has more than whole steps, and where those are. Where only some steps
 * were seen their number is an estimate, count_steps(), and none is cut. */
static void find_cut(struct reducing *r)
{
	const struct aif_why *w = &r->why;
	int64_t from = INT64_MAX, to = 0;

	for (size_t i = 0; i < w->phases.len; i++) {
		const struct aif_loop_step *s = &w->phases.steps[i];

		if (s->start < w->from || s->end > w->to)
			continue;
		from = AIF_MIN(from, s->start);
		to = AIF_MAX(to, s->end);
	}
	r->run->is_cut = w->is_part && r->run->steps && !w->phases.is_sparse &&
			 (from > w->from || to < w->to);
	if (!r->run->is_cut)
		return;
	r->run->steps_from_ns = (uint64_t)from;
	r->run->steps_to_ns = (uint64_t)to;
}

static void take_amounts(struct reducing *r, const struct aif_attribution *a)
{
	const struct aif_why *w = &r->why;
	struct aif_run *run = r->run;
	int64_t from = w->from, to = w->to;

	run->steps_from = w->phases.from;
	run->loop = w->phases.place;
	run->is_part = w->is_part;
	run->is_open = aif_run_is_open(r->p);
	run->is_loop = w->is_loop;
	run->is_whole = !w->is_loop && !w->is_part && !run->is_open;
	run->start_s = strtoull(aif_profile_meta(r->p, "start_realtime_ns"), NULL, 10) / 1000000000;
	/* Without a loop, the time is that from the first to the last work. */
	if (!w->is_loop && !w->is_part && a->conservation.last_end_ns) {
		from = (int64_t)a->conservation.first_start_ns;
		to = (int64_t)a->conservation.last_end_ns;
	}
	run->amount[AIF_RUN_ELAPSED] = to > from ? (uint64_t)(to - from) : 0;
	if (run->is_whole) {
		run->amount[AIF_RUN_BEFORE] = from > w->from ? (uint64_t)(from - w->from) : 0;
		run->amount[AIF_RUN_AFTER] = w->to > to ? (uint64_t)(w->to - to) : 0;
	}
	run->amount[AIF_RUN_BUSY] = w->time_ns - w->idle_ns;
	run->amount[AIF_RUN_IDLE] = w->idle_ns;
	run->amount[AIF_RUN_COPY] = w->of_group[AIF_WHY_COPY];
	run->amount[AIF_RUN_COMMUNICATION] = w->of_group[AIF_WHY_COMMUNICATION];
	run->amount[AIF_RUN_ERROR] = w->error_ns;
	run->amount[AIF_RUN_STATUS] = strtoull(aif_profile_meta(r->p, "exit_status"), NULL, 10);
	for (size_t i = 0; i < w->kernels_len; i++)
		if (w->kernels[i].kind == AIF_LAUNCH_KERNEL)
			run->amount[AIF_RUN_LAUNCHES] += w->kernels[i].runs;
	run->steps = w->phases.from && (w->is_loop || w->is_part) ? count_steps(r) : 0;
	find_cut(r);
	for (size_t i = 0; i < a->rows_len; i++)
		run->amount[AIF_RUN_BYTES] += a->rows[i].bytes;
}

/* Takes what a run whose loop alone is reduced did from its first device work to its last. */
static void take_extent(struct reducing *r, const struct aif_attribution *whole)
{
	const struct aif_conservation *c = &whole->conservation;
	struct aif_run *run = r->run;

	if (!run->is_loop || run->is_part || run->is_open || c->last_end_ns <= c->first_start_ns)
		return;
	run->amount[AIF_RUN_EXTENT] = c->last_end_ns - c->first_start_ns;
	for (size_t i = 0; i < whole->devices_len; i++)
		run->amount[AIF_RUN_EXTENT_BUSY] += whole->devices[i].busy_ns;
}

static int take_kernels(struct reducing *r)
{
	struct aif_run *run = r->run;
	const struct aif_why *w = &r->why;

	if (aif_grow(&run->kernels, &run->kernels_cap, w->kernels_len, sizeof(*run->kernels)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < w->kernels_len; i++) {
		const struct aif_why_kernel *k = &w->kernels[i];
		struct aif_run_kernel *to = &run->kernels[i];

		*to = (struct aif_run_kernel){
			.is_copy = k->kind != AIF_LAUNCH_KERNEL, .ns = k->ns, .launches = k->runs};
		to->name = aif_strset_puts(&run->kernel_names,
					   aif_names_work(r->names, k->kind, k->kernel));
		to->full = aif_strset_puts(&run->kernel_names,
					   aif_names_work_full(r->names, k->kind, k->kernel));
		if (to->name == AIF_STR_NONE || to->full == AIF_STR_NONE)
			return -ENOMEM;
		run->kernels_len++;
	}
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Device time by stack, with idle time beside it where there is a time line. */
static int build_tree(struct reducing *r, const struct aif_selection *part,
		      const struct aif_attribution *a, struct aif_err *err)
{
	struct aif_flame_opts o = {
		.leaf = AIF_LEAF_KERNEL, .by = AIF_BY_WALL, .detail = AIF_NAME_NORMAL, .sel = part};

	if (aif_is_untimed(r->p, a)) {
		o.by = AIF_BY_SAMPLES;
		r->run->is_counts = true;
	} else if (!r->p->traits.is_lengths) {
		o.idle = &r->idle->blame;
	} else {
		r->run->is_counts = true;
	}
	return aif_flame_build(r->names, a, &o, &r->run->tree, err);
}

int aif_run_reduce(const struct aif_names *names, const struct aif_selection *sel, const char *path,
		   struct aif_run *ret, struct aif_err *err)
{
	struct reducing r = {.names = names, .p = names->p, .run = ret, .idle = aif_facts_none()};
	struct aif_selection part = sel ? *sel : (struct aif_selection){0};
	struct aif_attribution a = {0}, whole = {0};
	struct aif_range_index ranges = {0};
	bool is_whole;
	int e;

	*ret = (struct aif_run){.path = strdup(path)};
	e = ret->path ? aif_why_measure_amounts(names->p, sel, &r.why, &r.idle, err) : -ENOMEM;
	if (!names->p->devices_len && ((!e && !r.why.time_ns) || e == -ENODATA)) {
		struct aif_err none = {0};
		int cpu = aif_run_reduce_cpu(names, sel, ret, &none);

		if (cpu != -ENODATA) {
			if (err)
				*err = none;
			aif_facts_put(r.idle);
			aif_why_finish(&r.why);
			return cpu;
		}
	}
	is_whole = !r.why.is_loop && !aif_selection_is_part(sel);
	if (!e && r.why.is_loop) {
		part.from_ns = (uint64_t)AIF_MAX(r.why.from, 0);
		part.to_ns = (uint64_t)AIF_MAX(r.why.to, 1);
	}
	if (!e)
		e = aif_range_index_make(names->p, NULL, NULL, &ranges);
	if (!e && ranges.chains_len) {
		part.ranges = &ranges;
		part.by_range = true;
	}
	if (!e)
		e = aif_attribution_compute(names->p, &part, &a, err);
	if (!e)
		e = aif_run_reduce_by(names->p, &a, part.ranges, ret->by);
	if (!e && (ranges.chains_len || r.why.phases.from == AIF_PHASES_MARKS))
		e = aif_run_count_ranges(names->p, r.why.from, r.why.to, ret);
	part.ranges = NULL;
	part.by_range = false;
	if (!e)
		e = build_tree(&r, &part, &a, err);
	if (!e) {
		take_amounts(&r, &a);
		e = take_kernels(&r);
	}
	if (!e)
		e = describe_machine(&r, &a);
	if (!e)
		e = aif_run_read_devices(r.p, &a, sel, r.why.from, r.why.to, ret);
	if (!e)
		ret->recording = recording_of(r.p);
	/* Checks the whole recording: work that crosses the edge of a part is in part in it. */
	if (!e && !is_whole)
		e = aif_attribution_compute(names->p, NULL, &whole, err);
	if (!e && !is_whole)
		take_extent(&r, &whole);
	if (!e)
		e = find_problem(&r, is_whole ? &a : &whole);
	aif_range_index_finish(&ranges);
	aif_attribution_finish(&whole);
	aif_attribution_finish(&a);
	aif_facts_put(r.idle);
	aif_why_finish(&r.why);
	return e && err && !err->code ? aif_err_set(err, e, "%s", strerror(-e)) : e;
}
