/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/sweep.h"
#include "analysis/estimate.h"

#include <errno.h>

/* A device at a moment of its sweep. */
struct sweeping {
	const struct aif_scope *s;
	const struct aif_loaded *l;
	const struct aif_classified *c;
	struct aif_swept *ret;
	struct aif_swept_device *device;
	struct aif_active active;
	/* Share of a run that was there from the beginning: while kernels ran, and while there were
	 * copies only. A run's share is the difference between its end and its start. */
	aif_fraction with_kernel, copies_only;
	struct aif_estimate busy;
	uint64_t *nothing; /* of the device's: where time goes in which nothing runs */
	/* Gaps in which a process that uses the device was not collected, from the first that
	 * is not over. */
	const struct aif_gap *gaps;
	size_t gaps_len;
};

static aif_fraction weighted_more(aif_fraction share, uint64_t weight)
{
	return share * (weight - AIF_WEIGHT_ONE) / AIF_WEIGHT_ONE;
}

/* Gives a run that has ended its share of what passed since it began. */
static int end_run(struct sweeping *x, const struct aif_active_run *ended)
{
	const struct aif_run *run = ended->run;
	struct aif_swept_group *g = &x->ret->groups[run->group];
	struct aif_swept_device *d = x->device;
	aif_fraction kernel = x->with_kernel - ended->with_kernel,
		     copy = x->copies_only - ended->copies_only;
	uint64_t weight = aif_run_weight(x->c, run);

	g->wall += kernel + copy;
	g->more_wall += weighted_more(kernel + copy, weight);
	if (weight == AIF_WEIGHT_ONE)
		return 0;
	d->more_kernel += weighted_more(kernel, weight);
	d->more_copy += weighted_more(copy, weight);
	return aif_estimate_add(&x->busy, x->l->weights, run->cycle,
				(double)(kernel + copy) / (double)(1u << AIF_FRACTION_BITS));
}

/* Returns how much of [from, to), in which nothing is known to run, was not collected. */
static uint64_t not_collected(struct sweeping *x, uint64_t from, uint64_t to)
{
	uint64_t ns = 0;

	for (; x->gaps_len && x->gaps->end <= from; x->gaps_len--)
		x->gaps++;
	for (size_t i = 0; i < x->gaps_len && x->gaps[i].start < to; i++)
		ns += AIF_MIN(x->gaps[i].end, to) - AIF_MAX(x->gaps[i].start, from);
	return ns;
}

/* Moves *now to `to`, with no run beginning in between: what runs shares each ns. */
static int advance(struct sweeping *x, uint64_t *now, uint64_t to)
{
	struct aif_device_time *t = &x->device->t;
	struct aif_active *a = &x->active;
	uint64_t unknown;
	int r = 0;

	while (a->len && *now < to && !r) {
		uint64_t until = AIF_MIN(to, a->at[0].run->end), ns = until - *now;

		*(a->kernels ? &x->with_kernel : &x->copies_only) +=
			((aif_fraction)ns << AIF_FRACTION_BITS) / a->len;
		t->busy_ns += ns;
		x->ret->overlap_ns += ns * (a->len - 1);
		*(a->kernels ? &t->kernel_ns : &t->copy_ns) += ns;
		*now = until;
		while (a->len && a->at[0].run->end <= until && !r) {
			struct aif_active_run ended = aif_active_pop(a);

			r = end_run(x, &ended);
		}
	}
	if (*now >= to)
		return r;
	/* Only idle and uncollected time is left before `to`. */
	unknown = not_collected(x, *now, to);
	t->uncollected_ns += unknown;
	*x->nothing += to - *now - unknown;
	*now = to;
	return r;
}

static bool is_asked(const struct sweeping *x, uint32_t process)
{
	return process != AIF_NONE && aif_selection_keeps(x->s->sel->processes, process);
}

/* Finds when queues of the device were still busy with what was launched before. Where the
 * overhead budget had left launches out, it may have been those. */
static int find_backlog(const struct sweeping *x, uint32_t device, struct aif_gaps *ret)
{
	const struct aif_in_flight *f = &x->c->in_flight;
	const struct aif_profile *p = x->s->p;

	for (size_t i = 0; i < f->queues_len; i++) {
		const struct aif_in_flight_queue *q = &f->queues[i];

		if (p->streams[q->stream].device != device || !is_asked(x, q->process) ||
		    !aif_in_flight_waited(q) ||
		    aif_weights_off(x->l->weights, q->process, q->begin + p->start_ns) ||
		    aif_weights_off(x->l->weights, q->process, q->launched + p->start_ns))
			continue;
		if (aif_grow(&ret->at, &ret->cap, ret->len + 1, sizeof(*ret->at)) < 0)
			return -ENOMEM;
		ret->at[ret->len++] = (struct aif_gap){.start = q->begin, .end = q->start};
	}
	return 0;
}

/* Finds when it is not known what the device of these runs did, as a process that uses it was
 * not collected. */
static int find_gaps(const struct sweeping *x, const struct aif_run *runs, size_t n,
		     struct aif_gaps *ret)
{
	const struct aif_profile *p = x->s->p;
	struct aif_gaps more = {0};
	bool *users;
	int r;

	if (!x->l->gaps.len)
		return 0;
	users = calloc(p->processes_len + 1, sizeof(*users));
	if (!users)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (aif_group_of(x->c, &runs[i])->process != AIF_NONE)
			users[aif_group_of(x->c, &runs[i])->process] = true;
	for (size_t i = 0; i < p->streams_len; i++)
		if (p->streams[i].device == x->device->t.device &&
		    is_asked(x, p->streams[i].process))
			users[p->streams[i].process] = true;
	r = find_backlog(x, x->device->t.device, &more);
	if (!r)
		r = aif_gaps_of(&x->l->gaps, users, &more, ret);
	aif_gaps_finish(&more);
	free(users);
	return r;
}

/* Finds the device's first and last moment of work: of what is known, and of blocks in which
 * launches were left out. */
static int find_reach(const struct sweeping *x, const struct aif_run *runs, size_t n,
		      struct aif_device_time *t)
{
	const struct aif_scope *s = x->s;
	uint64_t start = s->p->start_ns;
	size_t processes = s->p->processes_len;
	struct aif_weights_span most = {s->from + start, s->to + start, 0},
				*by = malloc((processes + 1) * sizeof(*by));

	if (!by)
		return -ENOMEM;
	for (size_t i = 0; i <= processes; i++)
		by[i] = (struct aif_weights_span){UINT64_MAX, 0, 0};
	for (size_t i = 0; i < n; i++) {
		struct aif_weights_span *of =
			&by[AIF_MIN(aif_group_of(x->c, &runs[i])->process, processes)];

		of->from = AIF_MIN(of->from, runs[i].start + start);
		of->to = AIF_MAX(of->to, runs[i].end + start);
	}
	t->first_ns = s->to;
	t->last_ns = s->from;
	for (uint32_t i = 0; i <= processes; i++) {
		if (by[i].from > by[i].to)
			continue;
		aif_weights_reach(x->l->weights, i < processes ? i : AIF_NONE, most, &by[i]);
		t->first_ns = AIF_MIN(t->first_ns, by[i].from - start);
		if (by[i].to - start >= t->last_ns) {
			t->last_ns = by[i].to - start;
			t->idle_error_ns = by[i].error; /* and that of busy, when it is known */
		}
	}
	free(by);
	return 0;
}

static int add_runs(struct sweeping *x, const struct aif_run *runs, size_t n, uint64_t *now)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		r = advance(x, now, runs[i].start);
		if (r || runs[i].start == runs[i].end)
			continue; /* took no time that the clock could show */
		r = aif_active_push(
			&x->active,
			&(struct aif_active_run){
				.run = &runs[i],
				.is_kernel = aif_group_of(x->c, &runs[i])->kernel_name != AIF_NONE,
				.with_kernel = x->with_kernel,
				.copies_only = x->copies_only});
	}
	return r;
}

/* Sweeps over what was asked for: until the first work, idle time until the last, what is after it. */
static int sweep_device(struct sweeping *x, const struct aif_run *runs, size_t n)
{
	struct aif_swept_device *d = x->device;
	struct aif_gaps gaps = {0};
	uint64_t now = x->s->from;
	int r;

	d->is_used = true;
	r = find_gaps(x, runs, n, &gaps);
	x->gaps = gaps.at;
	x->gaps_len = gaps.len;
	if (!r)
		r = find_reach(x, runs, n, &d->t);
	x->nothing = &d->t.before_ns;
	if (!r)
		r = advance(x, &now, d->t.first_ns);
	x->nothing = &d->t.idle_ns;
	if (!r)
		r = add_runs(x, runs, n, &now);
	if (!r)
		r = advance(x, &now, d->t.last_ns);
	x->nothing = &d->t.after_ns;
	if (!r)
		r = advance(x, &now, x->s->to);
	d->busy_error = aif_estimate_error(&x->busy, x->l->weights);
	aif_estimate_finish(&x->busy);
	aif_active_finish(&x->active);
	aif_gaps_finish(&gaps);
	return r;
}

int aif_sweep(const struct aif_scope *s, const struct aif_loaded *l, const struct aif_classified *c,
	      struct aif_swept *ret)
{
	int r = 0;

	ret->groups = calloc(c->groups.len + 1, sizeof(*ret->groups));
	ret->devices = calloc(s->p->devices_len + 1, sizeof(*ret->devices));
	if (!ret->groups || !ret->devices)
		return -ENOMEM;
	for (size_t i = 0, j; i < c->runs_len && !r; i = j) {
		uint32_t device = aif_group_of(c, &c->runs[i])->device;
		struct sweeping x = {
			.s = s, .l = l, .c = c, .ret = ret, .device = &ret->devices[device]};

		x.device->t.device = device;
		for (j = i; j < c->runs_len && aif_group_of(c, &c->runs[j])->device == device;)
			j++;
		r = sweep_device(&x, c->runs + i, j - i);
	}
	return r;
}

void aif_swept_finish(struct aif_swept *w)
{
	free(w->groups);
	free(w->devices);
	*w = (struct aif_swept){0};
}
