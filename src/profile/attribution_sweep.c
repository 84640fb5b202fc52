/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_internal.h"

#include <errno.h>
#include <string.h>

/* The runs that are executing at the moment of the sweep. Few, but as many as a device has queues. */
struct active {
	struct aif_run **runs;
	size_t len, cap, kernels;
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

static uint64_t next_end(const struct active *act)
{
	uint64_t end = UINT64_MAX;

	for (size_t i = 0; i < act->len; i++)
		end = AIF_MIN(end, act->runs[i]->end);
	return end;
}

/* Time goes from *now to `to`, with no run beginning in between: what runs shares each ns. */
static void advance(struct aif_attribution_work *w, struct active *act, uint64_t *now, uint64_t to)
{
	while (act->len && *now < to) {
		uint64_t until = AIF_MIN(to, next_end(act)), ns = until - *now;
		size_t keep = 0;

		for (size_t i = 0; i < act->len; i++) {
			struct aif_group *g = &w->groups[act->runs[i]->group];
			aif_fraction share = ((aif_fraction)ns << AIF_FRACTION_BITS) / act->len,
				     more = share * (act->runs[i]->weight - AIF_WEIGHT_ONE) /
					    AIF_WEIGHT_ONE;

			g->wall += share;
			g->more_wall += more;
			*(act->kernels ? &w->more_kernel : &w->more_copy) += more;
		}
		w->c.busy_ns += ns;
		w->c.overlap_ns += ns * (act->len - 1);
		*(act->kernels ? &w->c.busy_kernel_ns : &w->c.busy_copy_ns) += ns;
		*now = until;
		for (size_t i = 0; i < act->len; i++) {
			if (act->runs[i]->end > until)
				act->runs[keep++] = act->runs[i];
			else
				act->kernels -= is_kernel(act->runs[i]);
		}
		act->len = keep;
	}
	w->c.idle_ns += to - *now; /* nothing runs any more */
	*now = to;
}

static int sweep_device(struct aif_attribution_work *w, struct aif_run *runs, size_t n)
{
	struct active act = {0};
	uint64_t now = w->from;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		advance(w, &act, &now, runs[i].start);
		if (runs[i].start == runs[i].end)
			continue; /* took no time that the clock could show */
		r = aif_grow(&act.runs, &act.cap, act.len + 1, sizeof(*act.runs));
		if (!r)
			act.runs[act.len++] = &runs[i];
		act.kernels += !r && is_kernel(&runs[i]);
	}
	advance(w, &act, &now, w->to);
	free(act.runs);
	return r;
}

static int add_inside(struct aif_attribution_work *w, uint32_t group,
		      const struct aif_sample_row *s, size_t shared_by)
{
	struct aif_inside inside = {.group = group, .frame = s->frame, .reason = s->reason};
	uint64_t key = aif_mix64(aif_mix64((uint64_t)group << 32 | s->frame) + s->reason), id;

	for (; aif_map_get(&w->inside_ids, key, &id); key++)
		if (w->insides[id].group == group && w->insides[id].frame == s->frame &&
		    w->insides[id].reason == s->reason)
			goto found;
	id = w->insides_len;
	if (aif_grow(&w->insides, &w->insides_cap, id + 1, sizeof(inside)) < 0 ||
	    aif_map_put(&w->inside_ids, key, id) < 0)
		return -ENOMEM;
	w->insides[w->insides_len++] = inside;
found:
	w->insides[id].samples += ((aif_fraction)s->count << AIF_FRACTION_BITS) / shared_by;
	w->insides[id].shared |= shared_by > 1;
	return 0;
}

/* The name of the kernel whose code the frame is, or AIF_NONE: what a kernel calls elsewhere. */
static uint32_t sampled_kernel(const struct aif_profile *p, uint32_t frame)
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
	uint32_t name = sampled_kernel(w->p, s->frame);
	size_t n = 0, any = 0;
	int r = 0;

	for (size_t i = 0; i < act->len; i++) {
		const struct aif_run *run = act->runs[i];
		bool own = is_kernel(run) && run->process == s->process;

		any += own;
		n += own && (name == AIF_NONE || run->kernel_name == name);
	}
	if (!n) {
		*(aif_weights_off(w->weights, s->process, s->time + w->p->start_ns)
			  ? &w->c.samples_off
		  : any || name != AIF_NONE ? &w->c.sampled_unmatched
					    : &w->c.samples_outside) += s->count;
		return 0;
	}
	w->c.sampled_attributed += s->count;
	for (size_t i = 0; i < act->len && !r; i++) {
		const struct aif_run *run = act->runs[i];

		if (is_kernel(run) && run->process == s->process &&
		    (name == AIF_NONE || run->kernel_name == name))
			r = add_inside(w, run->group, s, n);
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
		size_t keep = 0;

		while (next < w->runs_len && order[next]->start <= now && !r) {
			r = aif_grow(&act.runs, &act.cap, act.len + 1, sizeof(*act.runs));
			if (!r)
				act.runs[act.len++] = order[next++];
		}
		for (size_t k = 0; k < act.len; k++)
			if (act.runs[k]->end >= now)
				act.runs[keep++] = act.runs[k];
		act.len = keep;
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
