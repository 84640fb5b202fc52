/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/demand.h"

#include "base/reasons.h"

#include "base/buf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int aif_idle_demand_init(struct aif_idle_demand *ret, const struct aif_profile *p)
{
	*ret = (struct aif_idle_demand){
		.p = p,
		.is_wall = p->traits.cpu_weights == AIF_CPU_WEIGHTS_WALL,
		.sleep_of_stack = calloc(p->stacks_len + 1, 1),
		.is_server = calloc(p->processes_len + 1, sizeof(*ret->is_server))};
	return ret->sleep_of_stack && ret->is_server ? aif_idle_sleeping_init(&ret->sleeping, p)
						     : -ENOMEM;
}

void aif_idle_demand_finish(struct aif_idle_demand *d)
{
	aif_idle_sleeping_finish(&d->sleeping);
	free(d->sleep_of_stack);
	free(d->is_server);
	free(d->askers);
	aif_map_finish(&d->asker_of);
}

enum aif_idle_sleep aif_idle_demand_sleep(struct aif_idle_demand *d, uint32_t stack)
{
	if (stack == AIF_NONE)
		return AIF_IDLE_SLEEP_NONE;
	if (!d->sleep_of_stack[stack])
		d->sleep_of_stack[stack] =
			(uint8_t)(1 + aif_idle_sleep_of(d->p, &d->sleeping, stack));
	return (enum aif_idle_sleep)(d->sleep_of_stack[stack] - 1);
}

bool aif_idle_demand_is_for(struct aif_idle_demand *d, uint32_t thread, uint32_t stack)
{
	enum aif_idle_sleep sleep = aif_idle_demand_sleep(d, stack);
	uint32_t process = d->p->threads[thread].process;

	if (sleep == AIF_IDLE_SLEEP_SERVE && process != AIF_NONE)
		d->is_server[process] = true;
	return sleep >= AIF_IDLE_SLEEP_PEER;
}

int aif_idle_demand_asked(struct aif_idle_demand *d, uint32_t thread)
{
	uint64_t i;

	if (aif_map_get(&d->asker_of, thread, &i))
		return 0;
	if (aif_grow(&d->askers, &d->askers_cap, d->askers_len + 1, sizeof(*d->askers)) < 0 ||
	    aif_map_put(&d->asker_of, thread, d->askers_len) < 0)
		return -ENOMEM;
	d->askers[d->askers_len++] = thread;
	return 0;
}

double aif_idle_sampling_period(const struct aif_profile *p)
{
	double rate = strtod(aif_profile_meta(p, "cpu_rate"), NULL);

	return rate > 0 && isfinite(rate) && p->traits.cpu_weights == AIF_CPU_WEIGHTS_TIME
		       ? (double)AIF_NS_PER_S / rate
		       : 0;
}

void aif_idle_trust_samplers(const struct aif_profile *p, bool *is_sampled)
{
	if (!*aif_profile_meta(p, "cpu_sampling"))
		return;
	for (size_t i = 0; i < p->processes_len; i++)
		is_sampled[i] = true;
	for (size_t i = 0; i < p->losses_len; i++)
		if (p->losses[i].reason >= AIF_REASON_CPU_LOST &&
		    p->losses[i].reason <= AIF_REASON_CPU_TOO_MANY)
			for (size_t k = 0; k < p->processes_len; k++)
				is_sampled[k] &= p->losses[i].process != AIF_NONE &&
						 p->losses[i].process != k;
}

void aif_idle_distrust_samplers(const struct aif_profile *p, bool *is_sampled)
{
	static const enum aif_reason ends[] = {
		AIF_REASON_CPU_NO_PERF, AIF_REASON_CPU_SIGNAL_TAKEN, AIF_REASON_CPU_FILTER_CODE,
		AIF_REASON_SECCOMP,     AIF_REASON_HELPER_GONE,      AIF_REASON_CPU_NO_MEMORY};

	for (size_t i = 0; i < p->losses_len; i++)
		for (size_t k = 0; k < AIF_ARRAY_LEN(ends); k++)
			for (size_t of = 0; p->losses[i].reason == ends[k] && of < p->processes_len;
			     of++)
				is_sampled[of] &= p->losses[i].process != AIF_NONE &&
						  p->losses[i].process != of;
}
