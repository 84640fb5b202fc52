/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_internal.h"

#include <errno.h>
#include <string.h>

/* More runs than this at once are no device's: a sample among them is not joined, or a hostile file could
 * ask for as many steps as it has samples times executions. */
#define MAX_SHARED 1024

/* The runs that are executing at the moment of the sweep, the one that ends first on top (a heap). */
struct active {
	struct aif_run **runs;
	size_t len, cap, kernels;
	/* What a run would have had that was there from the beginning: while kernels ran, and while
	 * there were copies only. A run's share is the difference between its end and its start. */
	aif_fraction with_kernel, copies_only;
	struct aif_device_sum *device;
	uint64_t *nothing; /* of the device's: where time goes in which nothing runs */
	/* When a process that uses the device was not collected: from the first that is not over. */
	const struct aif_gap *gaps;
	size_t gaps_len;
};

static int by_device_and_start(const void *a, const void *b)
{
	const struct aif_run *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_sample_row *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static bool is_kernel(const struct aif_run *r)
{
	return r->kernel_name != AIF_NONE;
}

static int push(struct active *act, struct aif_run *run)
{
	size_t i = act->len;

	if (aif_grow(&act->runs, &act->cap, act->len + 1, sizeof(*act->runs)) < 0)
		return -ENOMEM;
	for (act->len++; i && act->runs[(i - 1) / 2]->end > run->end; i = (i - 1) / 2)
		act->runs[i] = act->runs[(i - 1) / 2];
	act->runs[i] = run;
	act->kernels += is_kernel(run);
	return 0;
}

static struct aif_run *pop(struct active *act)
{
	struct aif_run *top = act->runs[0], *last = act->runs[--act->len];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < act->len; i = child) {
		if (child + 1 < act->len && act->runs[child + 1]->end < act->runs[child]->end)
			child++;
		if (act->runs[child]->end >= last->end)
			break;
		act->runs[i] = act->runs[child];
	}
	act->runs[i] = last;
	act->kernels -= is_kernel(top);
	return top;
}

static aif_fraction weighted_more(aif_fraction share, const struct aif_run *run)
{
	return share * (run->weight - AIF_WEIGHT_ONE) / AIF_WEIGHT_ONE;
}

/* The run has ended: its share of what passed since it began. */
static int settle(struct aif_attribution_work *w, const struct active *act,
		  const struct aif_run *run)
{
	struct aif_group *g = &w->groups[run->group];
	struct aif_device_sum *d = act->device;
	aif_fraction kernel = act->with_kernel - run->with_kernel,
		     copy = act->copies_only - run->copies_only;

	g->wall += kernel + copy;
	g->more_wall += weighted_more(kernel + copy, run);
	if (run->weight == AIF_WEIGHT_ONE)
		return 0;
	d->more_kernel += weighted_more(kernel, run);
	d->more_copy += weighted_more(copy, run);
	return aif_estimate_add(&d->busy, w->weights, run->cycle,
				(double)(kernel + copy) / (double)(1u << AIF_FRACTION_BITS));
}

/* How much of a time in which nothing is known to run was not collected. */
static uint64_t not_collected(struct active *act, uint64_t from, uint64_t to)
{
	uint64_t ns = 0;

	for (; act->gaps_len && act->gaps->end <= from; act->gaps_len--)
		act->gaps++;
	for (size_t i = 0; i < act->gaps_len && act->gaps[i].start < to; i++)
		ns += AIF_MIN(act->gaps[i].end, to) - AIF_MAX(act->gaps[i].start, from);
	return ns;
}

/* Time goes from *now to `to`, with no run beginning in between: what runs shares each ns. */
static int advance(struct aif_attribution_work *w, struct active *act, uint64_t *now, uint64_t to)
{
	struct aif_device_time *t = &act->device->t;
	uint64_t unknown;
	int r = 0;

	while (act->len && *now < to && !r) {
		uint64_t until = AIF_MIN(to, act->runs[0]->end), ns = until - *now;

		*(act->kernels ? &act->with_kernel : &act->copies_only) +=
			((aif_fraction)ns << AIF_FRACTION_BITS) / act->len;
		t->busy_ns += ns;
		w->c.overlap_ns += ns * (act->len - 1);
		*(act->kernels ? &t->kernel_ns : &t->copy_ns) += ns;
		*now = until;
		while (act->len && act->runs[0]->end <= until && !r)
			r = settle(w, act, pop(act));
	}
	if (*now >= to)
		return r;
	/* Nothing runs any more. */
	unknown = not_collected(act, *now, to);
	t->uncollected_ns += unknown;
	*act->nothing += to - *now - unknown;
	*now = to;
	return r;
}

static bool is_kept(const struct aif_attribution_work *w, uint32_t process)
{
	return process != AIF_NONE && (!w->opts->processes || w->opts->processes[process]);
}

/* When queues of the device were still busy with what was launched before. Where the overhead budget had
 * left launches out, it may have been those. */
static int backlog(const struct aif_attribution_work *w, uint32_t device, struct aif_gaps *ret)
{
	const struct aif_in_flight *f = &w->in_flight;

	for (size_t i = 0; i < f->queues_len; i++) {
		const struct aif_in_flight_queue *q = &f->queues[i];

		if (w->p->streams[q->stream].device != device || !is_kept(w, q->process) ||
		    !aif_in_flight_waited(q) ||
		    aif_weights_off(w->weights, q->process, q->begin + w->p->start_ns) ||
		    aif_weights_off(w->weights, q->process, q->launched + w->p->start_ns))
			continue;
		if (aif_grow(&ret->at, &ret->cap, ret->len + 1, sizeof(*ret->at)) < 0)
			return -ENOMEM;
		ret->at[ret->len++] = (struct aif_gap){.start = q->begin, .end = q->start};
	}
	return 0;
}

/* When it is not known what the device of these runs did, as a process that uses it was not collected. */
static int device_gaps(const struct aif_attribution_work *w, const struct aif_run *runs, size_t n,
		       struct aif_gaps *ret)
{
	const struct aif_profile *p = w->p;
	struct aif_gaps more = {0};
	bool *users;
	int r;

	if (!w->gaps.len)
		return 0;
	users = calloc(p->processes_len + 1, sizeof(*users));
	if (!users)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (runs[i].process != AIF_NONE)
			users[runs[i].process] = true;
	for (size_t i = 0; i < p->streams_len; i++)
		if (p->streams[i].device == runs->device && is_kept(w, p->streams[i].process))
			users[p->streams[i].process] = true;
	r = backlog(w, runs->device, &more);
	if (!r)
		r = aif_gaps_of(&w->gaps, users, &more, ret);
	aif_gaps_finish(&more);
	free(users);
	return r;
}

/* The device's first and last moment of work: of what is known, and of blocks in which launches were left out. */
static int find_reach(const struct aif_attribution_work *w, const struct aif_run *runs, size_t n,
		      struct aif_device_time *t)
{
	uint64_t start = w->p->start_ns;
	size_t processes = w->p->processes_len;
	struct aif_weights_span most = {w->from + start, w->to + start, 0},
				*by = malloc((processes + 1) * sizeof(*by));

	if (!by)
		return -ENOMEM;
	for (size_t i = 0; i <= processes; i++)
		by[i] = (struct aif_weights_span){UINT64_MAX, 0, 0};
	for (size_t i = 0; i < n; i++) {
		struct aif_weights_span *of = &by[AIF_MIN(runs[i].process, processes)];

		of->from = AIF_MIN(of->from, runs[i].start + start);
		of->to = AIF_MAX(of->to, runs[i].end + start);
	}
	t->first_ns = w->to;
	t->last_ns = w->from;
	for (uint32_t i = 0; i <= processes; i++) {
		if (by[i].from > by[i].to)
			continue;
		aif_weights_reach(w->weights, i < processes ? i : AIF_NONE, most, &by[i]);
		t->first_ns = AIF_MIN(t->first_ns, by[i].from - start);
		if (by[i].to - start >= t->last_ns) {
			t->last_ns = by[i].to - start;
			t->idle_error_ns = by[i].error; /* and that of busy, when it is known */
		}
	}
	free(by);
	return 0;
}

static int sweep_device(struct aif_attribution_work *w, struct aif_run *runs, size_t n)
{
	struct aif_device_sum *d = &w->devices[runs->device];
	struct active act = {.device = d, .nothing = &d->t.startup_ns};
	struct aif_gaps gaps = {0};
	uint64_t now = w->from;
	int r = device_gaps(w, runs, n, &gaps);

	d->is_used = true;
	d->t.device = runs->device;
	act.gaps = gaps.at;
	act.gaps_len = gaps.len;
	if (!r)
		r = find_reach(w, runs, n, &d->t);
	if (!r)
		r = advance(w, &act, &now, d->t.first_ns);
	act.nothing = &d->t.idle_ns;
	for (size_t i = 0; i < n && !r; i++) {
		r = advance(w, &act, &now, runs[i].start);
		if (r || runs[i].start == runs[i].end)
			continue; /* took no time that the clock could show */
		runs[i].with_kernel = act.with_kernel;
		runs[i].copies_only = act.copies_only;
		r = push(&act, &runs[i]);
	}
	if (!r)
		r = advance(w, &act, &now, d->t.last_ns);
	act.nothing = &d->t.tail_ns;
	if (!r)
		r = advance(w, &act, &now, w->to);
	free(act.runs);
	aif_gaps_finish(&gaps);
	return r;
}

int aif_attribution_append_inside(struct aif_attribution_work *w, const struct aif_inside *inside)
{
	if (aif_grow(&w->insides, &w->insides_cap, w->insides_len + 1, sizeof(*inside)) < 0)
		return -ENOMEM;
	w->insides[w->insides_len++] = *inside;
	return 0;
}

int aif_attribution_add_inside(struct aif_attribution_work *w, uint32_t group, uint32_t frame,
			       uint32_t reason, aif_fraction samples, bool shared, bool mixed)
{
	struct aif_inside inside = {.group = group, .frame = frame, .reason = reason};
	uint64_t key = aif_mix64(aif_mix64((uint64_t)group << 32 | frame) + reason), id;

	for (; aif_map_get(&w->inside_ids, key, &id); key++)
		if (w->insides[id].group == group && w->insides[id].frame == frame &&
		    w->insides[id].reason == reason)
			goto found;
	id = w->insides_len;
	if (aif_attribution_append_inside(w, &inside) < 0 ||
	    aif_map_put(&w->inside_ids, key, id) < 0)
		return -ENOMEM;
found:
	w->insides[id].samples += samples;
	w->insides[id].shared |= shared;
	w->insides[id].mixed |= mixed;
	return 0;
}

uint32_t aif_attribution_sampled_kernel(const struct aif_profile *p, uint32_t frame)
{
	uint32_t module = frame == AIF_NONE ? AIF_NONE : p->frames[frame].module;
	uint32_t kernel = module == AIF_NONE ? AIF_NONE : p->modules[module].kernel;

	return kernel == AIF_NONE ? AIF_NONE : p->kernels[kernel].name;
}

/* One sample against the runs that execute at its time. By the kernel's name, not its number: two
 * programs may hold a kernel of the same name, and the module does not say which. */
static int join(struct aif_attribution_work *w, const struct active *act,
		const struct aif_sample_row *s)
{
	uint32_t name = aif_attribution_sampled_kernel(w->p, s->frame);
	size_t n = 0, any = 0;
	aif_fraction left = (aif_fraction)s->count << AIF_FRACTION_BITS;
	size_t sharers;
	int r = 0;

	if (act->len > MAX_SHARED) {
		w->c.sampled_unmatched += s->count;
		return 0;
	}
	for (size_t i = 0; i < act->len; i++) {
		const struct aif_run *run = act->runs[i];
		bool own = is_kernel(run) && run->process == s->process;

		any += own;
		n += own && (name == AIF_NONE || run->kernel_name == name);
	}
	if (!n) {
		*(aif_weights_off(w->weights, s->process, s->time + w->p->start_ns) ||
				  (s->process != AIF_NONE &&
				   aif_gaps_at(&w->gaps, s->process, s->time).is_gap)
			  ? &w->c.samples_off
		  : aif_in_flight_sample(&w->in_flight, &w->gaps, s->process, name, s->time)
			  ? &w->c.samples_in_flight
		  : any || name != AIF_NONE ? &w->c.sampled_unmatched
					    : &w->c.samples_outside) += s->count;
		return 0;
	}
	w->c.sampled_attributed += s->count;
	sharers = n;
	for (size_t i = 0; i < act->len && !r; i++) {
		const struct aif_run *run = act->runs[i];
		aif_fraction part;

		if (!is_kernel(run) || run->process != s->process ||
		    (name != AIF_NONE && run->kernel_name != name))
			continue;
		part = left / sharers--; /* to the last unit */
		left -= part;
		r = aif_attribution_add_inside(w, run->group, s->frame, s->reason, part, n > 1,
					       false);
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct aif_run *x = *(struct aif_run *const *)a, *y = *(struct aif_run *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The samples of one process and time against all runs in order of start, whatever their device:
 * a process may drive several CPU devices, and a sample knows only its process. */
static int join_samples(struct aif_attribution_work *w)
{
	struct aif_run **order = malloc(AIF_MAX(w->runs_len, 1) * sizeof(*order));
	struct active act = {0};
	size_t next = 0;
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < w->runs_len; i++)
		order[i] = &w->runs[i];
	qsort(order, w->runs_len, sizeof(*order), by_start);
	for (size_t i = 0; i < w->samples_len && !r; i++) {
		uint64_t now = w->samples[i].time;

		while (next < w->runs_len && order[next]->start <= now && !r)
			r = push(&act, order[next++]);
		while (act.len && act.runs[0]->end < now)
			pop(&act);
		if (!r)
			r = join(w, &act, &w->samples[i]);
	}
	free(act.runs);
	free(order);
	return r;
}

int aif_attribution_sweep(struct aif_attribution_work *w)
{
	size_t i = 0;
	int r = 0;

	w->devices = calloc(w->p->devices_len + 1, sizeof(*w->devices));
	if (!w->devices)
		return -ENOMEM;
	if (w->runs_len)
		qsort(w->runs, w->runs_len, sizeof(*w->runs), by_device_and_start);
	if (w->samples_len)
		qsort(w->samples, w->samples_len, sizeof(*w->samples), by_time);
	while (i < w->runs_len && !r) {
		size_t j = i;

		while (j < w->runs_len && w->runs[j].device == w->runs[i].device)
			j++;
		r = sweep_device(w, w->runs + i, j - i);
		i = j;
	}
	return r ? r : join_samples(w);
}
