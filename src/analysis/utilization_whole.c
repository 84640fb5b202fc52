/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates what a device did in its whole span, where captured executions stand also for those left out
 * (utilization.h). */
#include "analysis/utilization.h"

#include <math.h>

/* x: what ended a gap that began at `from`. */
static enum aif_idle idle_of(const struct aif_exec_timeline *t, const struct aif_timeline_exec *x,
			     int64_t from)
{
	if (x->launch == AIF_NONE)
		return AIF_IDLE_UNKNOWN;
	if (t->launches[x->launch].at > from)
		return AIF_IDLE_HOST;
	return (uint64_t)x->start - (uint64_t)from < AIF_IDLE_KERNEL_NS ? AIF_IDLE_KERNEL
									: AIF_IDLE_OTHER;
}

struct aif_utilization_parts aif_utilization_parts(const struct aif_device_utilization *w,
						   int64_t from, int64_t to)
{
	uint64_t busy = aif_spans_covered(&w->busy, from, to),
		 either = aif_spans_covered(&w->either, from, to);
	struct aif_utilization_parts r = {.compute = aif_spans_covered(&w->compute, from, to)};

	r.communication_alone = either - r.compute;
	r.memory_alone = busy - either;
	r.not_collected = aif_spans_covered(&w->not_collected, from, to);
	r.idle = from < to ? (uint64_t)to - (uint64_t)from - busy - r.not_collected : 0;
	return r;
}

uint64_t aif_utilization_reach(const struct aif_profile *p, const struct aif_exec_timeline *t,
			       uint32_t process, int64_t *from, int64_t *to)
{
	uint64_t start = p->start_ns;
	struct aif_weights_span span = {start + (uint64_t)AIF_MAX(*from, 0),
					start + (uint64_t)AIF_MAX(*to, 0), 0};

	aif_weights_reach(t->weights, process, t->span, &span);
	*from = AIF_MIN(*from, (int64_t)(span.from - start));
	*to = AIF_MAX(*to, (int64_t)(span.to - start));
	return span.error;
}

double aif_utilization_fits(const struct aif_estimate *e, double room)
{
	double more = e->whole - e->seen;

	return more > room ? AIF_MAX(room, 0) / more : 1;
}

uint64_t aif_utilization_estimate(const struct aif_estimate *e, double fits)
{
	return aif_timed_rounded(e->seen + (e->whole - e->seen) * fits);
}

uint64_t aif_utilization_error(struct aif_estimate *e, const struct aif_weights *w, double room)
{
	return aif_timed_rounded(ceil(AIF_MIN(aif_estimate_error(e, w), AIF_MAX(room, 0))));
}

/* Estimated parts of a device's time. */
enum { COMPUTE, COMMUNICATION_ALONE, MEMORY_ALONE, BUSY, COMMUNICATION, ESTIMATES };

/* Adds an execution to each estimate; executions come in order of start. `end`: the last end of its
 * class so far. */
static int add_exec(const struct aif_device_utilization *d, const struct aif_exec_timeline *t,
		    const struct aif_timeline_exec *x, enum aif_work_class of, int64_t *end,
		    struct aif_estimate *e)
{
	int64_t from = AIF_MAX(x->start, *end);
	const struct aif_weights *w = t->weights;
	uint32_t cycle = aif_timeline_cycle_of(t, x);
	uint64_t alone, ns;
	int r;

	if (x->end <= from)
		return 0;
	*end = x->end;
	ns = alone = (uint64_t)x->end - (uint64_t)from;
	if (of == AIF_WORK_COMMUNICATION)
		alone -= aif_spans_covered(&d->compute, from, x->end);
	else if (of == AIF_WORK_MEMORY)
		alone -= aif_spans_covered(&d->either, from, x->end);
	r = aif_estimate_add(&e[of == AIF_WORK_COMPUTE         ? COMPUTE
				: of == AIF_WORK_COMMUNICATION ? COMMUNICATION_ALONE
							       : MEMORY_ALONE],
			     w, cycle, (double)alone);
	if (!r)
		r = aif_estimate_add(&e[BUSY], w, cycle, (double)alone);
	if (!r && of == AIF_WORK_COMMUNICATION)
		r = aif_estimate_add(&e[COMMUNICATION], w, cycle, (double)ns);
	return r;
}

int aif_utilization_whole(const struct aif_profile *p, const struct aif_exec_timeline *t,
			  const struct aif_utilization *w, struct aif_device_utilization *d)
{
	struct aif_estimate e[ESTIMATES] = {{0}};
	struct aif_utilization_whole *ret = &d->whole;
	struct aif_utilization_parts *parts = &ret->parts;
	int64_t ends[] = {INT64_MIN, INT64_MIN, INT64_MIN};
	double room, fits;
	uint64_t end_error;
	int r = 0;

	end_error = aif_utilization_reach(p, t, d->process, &d->from, &d->to);
	ret->span = (uint64_t)d->to - (uint64_t)d->from;
	for (size_t i = d->first; i < d->end && !r; i++) {
		enum aif_work_class of = w->classes[w->order[i]];

		r = add_exec(d, t, &t->execs[w->order[i]], of, &ends[of], e);
	}
	parts->not_collected = aif_spans_covered(&d->paused, d->from, d->to);
	room = (double)(ret->span - parts->not_collected) - e[BUSY].seen;
	fits = aif_utilization_fits(&e[BUSY], room);
	parts->compute = aif_utilization_estimate(&e[COMPUTE], fits);
	parts->communication_alone = aif_utilization_estimate(&e[COMMUNICATION_ALONE], fits);
	parts->memory_alone = aif_utilization_estimate(&e[MEMORY_ALONE], fits);
	ret->busy = AIF_MIN(parts->compute + parts->communication_alone + parts->memory_alone,
			    ret->span - parts->not_collected);
	parts->idle = ret->span - parts->not_collected - ret->busy;
	ret->communication = aif_utilization_estimate(&e[COMMUNICATION], fits);
	ret->error = aif_utilization_error(&e[BUSY], t->weights, room);
	ret->idle_error = aif_timed_rounded(hypot((double)ret->error, (double)end_error));
	ret->compute_error = aif_utilization_error(&e[COMPUTE], t->weights, room);
	ret->communication_error = aif_utilization_error(&e[COMMUNICATION_ALONE], t->weights, room);
	ret->memory_error = aif_utilization_error(&e[MEMORY_ALONE], t->weights, room);
	for (size_t i = 0; i < ESTIMATES; i++)
		aif_estimate_finish(&e[i]);
	return r;
}

struct aif_utilization_gap aif_utilization_gap(const struct aif_exec_timeline *t,
					       const struct aif_device_utilization *d, int64_t from,
					       const struct aif_timeline_exec *x)
{
	uint64_t none = aif_spans_covered(&d->not_collected, from, x->start);
	struct aif_utilization_gap gap = {
		.ns = (uint64_t)x->start - (uint64_t)from - none,
		.is_cut = none > aif_spans_covered(&d->paused, from, x->start),
	};

	gap.cause = gap.is_cut ? AIF_IDLE_UNKNOWN : idle_of(t, x, from);
	return gap;
}

void aif_utilization_waits_add(struct aif_utilization_waits *w, const struct aif_exec_timeline *t,
			       const struct aif_timeline_exec *x,
			       const struct aif_utilization_gap *gap)
{
	if (gap->is_cut)
		return;
	w->seen[gap->cause] += gap->ns;
	w->whole[gap->cause] += aif_exec_timeline_whole(t, x, gap->ns);
}

void aif_utilization_waits_split(const struct aif_utilization_waits *w, uint64_t idle,
				 uint64_t ret[AIF_IDLE_COUNT])
{
	uint64_t seen = 0, left = idle;
	double whole = 0;
	size_t last = AIF_IDLE_UNKNOWN;

	for (size_t k = 0; k < AIF_IDLE_COUNT; k++) {
		seen += w->seen[k];
		whole += w->whole[k];
	}
	for (size_t k = 0; k < AIF_IDLE_COUNT; k++) {
		/* If nothing was left out, what was seen is all. */
		ret[k] = seen == idle ? w->seen[k]
			 : whole > 0
				 ? AIF_MIN(aif_timed_rounded((double)idle * w->whole[k] / whole),
					   left)
				 : 0;
		left -= ret[k];
		if (w->whole[k] > 0)
			last = k;
	}
	ret[last] += left;
}
