/* SPDX-License-Identifier: Apache-2.0 */
#include "report/thread_times.h"

#include "analysis/calls/host_calls.h"
#include "analysis/cpu_totals.h"

/* True if the calls of all devices' runtimes are recorded, so that estimates of waiting are not needed. */
static bool has_all_calls(const struct aif_profile *p)
{
	bool has = p->devices_len > 0;

	for (uint32_t i = 0; i < p->devices_len; i++)
		has &= aif_host_calls_recorded(p, i);
	return has;
}

int aif_thread_times_add(struct aif_report *r, struct aif_thread_times *of, struct aif_err *err)
{
	struct aif_host_calls calls = {0};
	struct aif_cpu_totals cpu = {0};
	bool is_exact = has_all_calls(r->p);
	int e = aif_cpu_totals_by_thread(r->p, r->o->sel, &cpu, err);

	for (size_t i = 0; i < cpu.stacks_len && !e; i++) {
		const struct aif_cpu_stack *s = &cpu.stacks[i];
		struct aif_thread_times *d = s->thread == AIF_NONE ? NULL : &of[s->thread];

		if (d)
			*(s->off_cpu   ? &d->off_cpu
			  : s->waiting ? &d->waiting
				       : &d->cpu) += s->weight_ns;
	}
	if (!e)
		e = aif_host_calls_read(r->p, r->o->sel, &calls);
	for (size_t i = 0; is_exact && i < r->p->threads_len; i++)
		of[i].waiting = 0;
	for (size_t i = 0; i < calls.len && !e; i++) {
		const struct aif_host_call *c = &calls.at[i];
		uint64_t ns = (uint64_t)c->end - (uint64_t)c->start;

		if (r->o->sel && !aif_selection_keeps_moment(r->o->sel, c->thread, c->start))
			continue;
		if (!aif_host_call_waits(c->kind))
			of[c->thread].calls += ns;
		else if (is_exact)
			of[c->thread].waiting += ns;
	}
	for (size_t i = 0; i < r->timeline->launches_len; i++)
		if (r->timeline->launches[i].is_asked &&
		    aif_timeline_thread_of(r->timeline, i) != AIF_NONE)
			of[aif_timeline_thread_of(r->timeline, i)].launches++;
	r->damaged += cpu.damaged + calls.damaged;
	aif_host_calls_finish(&calls);
	aif_cpu_totals_finish(&cpu);
	return e;
}

bool aif_thread_times_seen(const struct aif_thread_times *d)
{
	return d->cpu || d->waiting || d->calls || d->off_cpu || d->launches;
}
