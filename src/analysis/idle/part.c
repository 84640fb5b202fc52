/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/part.h"

#include "analysis/time.h"

/* Measures waits for CPUs in the part, and gives the machine what started late on a device that is made of CPUs. */
static int measure_machine(const struct aif_profile *p, const struct aif_selection *sel,
			   struct aif_idle_part *part)
{
	int64_t from = INT64_MAX, to = INT64_MIN;
	int e;

	for (size_t i = 0; i < part->t->execs_len; i++) {
		from = AIF_MIN(from, part->t->execs[i].start);
		to = AIF_MAX(to, part->t->execs[i].end);
	}
	if (sel->from_ns)
		from = aif_time_clamp((int64_t)AIF_MIN(sel->from_ns, (uint64_t)AIF_TIME_MAX));
	if (sel->to_ns)
		to = (int64_t)AIF_MIN(sel->to_ns, (uint64_t)AIF_TIME_MAX);
	if (from >= to)
		return 0;
	e = aif_run_delay_measure(p, sel, from, to, &part->run_delay);
	part->is_busy_machine =
		aif_run_delay_is_busy(&part->run_delay, (uint64_t)to - (uint64_t)from);
	for (size_t i = 0; i < part->blame.len; i++) {
		struct aif_idle_row *row = &part->blame.rows[i];
		uint32_t device = part->blame.devices[row->device].device;

		row->is_machine = part->is_busy_machine && row->cause == AIF_IDLE_CAUSE_LATE &&
				  device < p->devices_len &&
				  p->devices[device].kind == AIF_DEVICE_CPU;
	}
	for (size_t i = 0; i < p->devices_len; i++)
		part->is_crowded |= part->is_busy_machine && p->devices[i].kind == AIF_DEVICE_CPU;
	return e;
}

/* Variants of the fact. */
enum { WITHOUT_COURSE, WITH_COURSE };

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *value,
		struct aif_err *err)
{
	const struct aif_selection *sel = of->sel;
	struct aif_selection all = *sel;
	struct aif_idle_part *ret = value;
	bool is_part = all.from_ns || all.to_ns;
	int e;

	(void)err;
	ret->from = INT64_MIN;
	ret->to = INT64_MAX;
	all.from_ns = all.to_ns = 0;
	e = aif_exec_timeline_get(p, &all, &ret->t);
	ret->is_cut = !e && is_part && !ret->t->weights && !ret->t->left_out;
	if (ret->is_cut) {
		ret->from = aif_time_clamp((int64_t)AIF_MIN(sel->from_ns, (uint64_t)AIF_TIME_MAX));
		ret->to = sel->to_ns ? (int64_t)AIF_MIN(sel->to_ns, (uint64_t)AIF_TIME_MAX)
				     : AIF_TIME_MAX;
	} else if (!e && is_part) {
		aif_facts_put(ret->t);
		e = aif_exec_timeline_get(p, sel, &ret->t);
	}
	if (!e)
		e = aif_utilization_get(p, ret->t, &ret->u);
	if (!e)
		e = aif_idle_blame_within(p, ret->t, ret->u, ret->from, ret->to,
					  of->variant == WITH_COURSE ? &ret->course : NULL,
					  &ret->blame);
	return e ? e : measure_machine(p, sel, ret);
}

static void finish(void *value)
{
	struct aif_idle_part *i = value;

	aif_idle_blame_finish(&i->blame);
	aif_idle_course_finish(&i->course);
	aif_facts_put(i->u);
	aif_facts_put(i->t);
}

static size_t bytes_of(const void *value)
{
	const struct aif_idle_part *i = value;

	return i->blame.cap * sizeof(*i->blame.rows) +
	       i->blame.wakes_cap * sizeof(*i->blame.wakes) + aif_idle_course_bytes(&i->course);
}

static const struct aif_fact_kind kind = {.name = "idle time",
					  .size = sizeof(struct aif_idle_part),
					  .make = make,
					  .finish = finish,
					  .bytes = bytes_of};

static int get(const struct aif_profile *p, const struct aif_selection *sel, unsigned variant,
	       const struct aif_idle_part **ret)
{
	struct aif_fact_of of = {.sel = sel, .variant = variant};
	const void *fact;
	int e = 0;

	/* Takes one with its course, which has all that is asked for, if it is there. */
	of.variant = WITH_COURSE;
	if (!aif_facts_have(p, &kind, of))
		of.variant = variant;
	e = aif_facts_get(p, &kind, of, &fact, NULL);
	*ret = fact;
	return e;
}

int aif_idle_part_get(const struct aif_profile *p, const struct aif_selection *sel,
		      const struct aif_idle_part **ret)
{
	return get(p, sel, WITHOUT_COURSE, ret);
}

int aif_idle_part_get_course(const struct aif_profile *p, const struct aif_selection *sel,
			     const struct aif_idle_part **ret)
{
	return get(p, sel, WITH_COURSE, ret);
}

struct aif_utilization_parts aif_idle_part_of(const struct aif_idle_part *i, size_t d)
{
	const struct aif_device_utilization *of = &i->u->devices[d];
	struct aif_idle_window w;

	if (!i->is_cut)
		return of->whole.parts;
	w = aif_idle_window(i->t, i->u, of, i->from, i->to);
	return aif_utilization_parts(of, w.from, w.to);
}

bool aif_idle_part_has(const struct aif_idle_part *i, const struct aif_timeline_exec *x)
{
	return aif_idle_part_ns(i, x) ||
	       (x->start == x->end && x->start >= i->from && x->start < i->to);
}

uint64_t aif_idle_part_ns(const struct aif_idle_part *i, const struct aif_timeline_exec *x)
{
	int64_t from = AIF_MAX(x->start, i->from), to = AIF_MIN(x->end, i->to);

	return to > from ? (uint64_t)to - (uint64_t)from : 0;
}
