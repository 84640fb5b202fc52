/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calls/host_calls.h"
#include "analysis/cpu_totals.h"
#include "report/why/why.h"

enum aif_why_group aif_why_group_of(enum aif_idle_cause cause)
{
	switch (cause) {
	case AIF_IDLE_CAUSE_LAUNCH:
	case AIF_IDLE_CAUSE_HOST:
	case AIF_IDLE_CAUSE_CPU:
		return AIF_WHY_HOST;
	case AIF_IDLE_CAUSE_WAIT:
		return AIF_WHY_SYNC;
	case AIF_IDLE_CAUSE_LATE:
		return AIF_WHY_LATE;
	case AIF_IDLE_CAUSE_OFF_CPU:
		return AIF_WHY_OFF_CPU;
	case AIF_IDLE_CAUSE_COMPILE:
		return AIF_WHY_COMPILE;
	case AIF_IDLE_CAUSE_ALLOCATE:
		return AIF_WHY_ALLOCATE;
	case AIF_IDLE_CAUSE_COLLECT:
		return AIF_WHY_COLLECT;
	case AIF_IDLE_CAUSE_INPUT:
		return AIF_WHY_INPUT;
	case AIF_IDLE_CAUSE_GIL:
		return AIF_WHY_GIL;
	case AIF_IDLE_CAUSE_NO_CPU:
		return AIF_WHY_NO_CPU;
	case AIF_IDLE_CAUSE_DEMAND:
		return AIF_WHY_DEMAND;
	case AIF_IDLE_CAUSE_UNKNOWN:
	case AIF_IDLE_CAUSES:
		break;
	}
	return AIF_WHY_UNKNOWN;
}

/* Idle time behind waits that the host could spend in place of these. */
static uint64_t hidden_by_waits(const struct aif_idle_blame *b, uint64_t waiting_ns)
{
	uint64_t waits = b->of_cause[AIF_IDLE_CAUSE_WAIT];

	return waiting_ns > waits ? waiting_ns - waits : 0;
}

static double waited_part(const struct aif_idle_blame *b, uint64_t waiting_ns)
{
	uint64_t drained = 0, most = hidden_by_waits(b, waiting_ns);

	for (size_t i = 0; i < b->len; i++)
		drained += aif_why_group_of(b->rows[i].cause) == AIF_WHY_HOST
				   ? b->rows[i].drained_ns
				   : 0;
	return drained > most ? (double)most / (double)drained : 1;
}

/* Sets *ret to the time that threads waited for devices: recorded calls, where all devices' are, else `estimated`. */
static int measure_waits(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_idle_part *part, uint64_t estimated, uint64_t *ret)
{
	struct aif_host_calls calls = {0};
	bool has_calls = part->u->len > 0;
	int64_t to = sel->to_ns ? (int64_t)AIF_MIN(sel->to_ns, (uint64_t)INT64_MAX) : INT64_MAX;
	int e = 0;

	for (size_t i = 0; i < part->u->len; i++)
		has_calls &= aif_host_calls_recorded(p, part->u->devices[i].device);
	*ret = has_calls ? 0 : estimated;
	if (has_calls)
		e = aif_host_calls_read(p, sel, &calls);
	for (size_t i = 0; i < calls.len && !e; i++)
		if (aif_host_call_waits(calls.at[i].kind) && calls.at[i].start < to)
			*ret += (uint64_t)(AIF_MIN(calls.at[i].end, to) - calls.at[i].start);
	aif_host_calls_finish(&calls);
	return e;
}

int aif_why_waited_part(const struct aif_profile *p, const struct aif_selection *sel,
			const struct aif_idle_part *part, uint64_t *ret_damaged, double *ret)
{
	static const struct aif_selection all;
	struct aif_cpu_totals cpu = {0};
	uint64_t waiting_ns = 0;
	int e = aif_cpu_totals(p, sel, &cpu, NULL);

	if (!e)
		e = measure_waits(p, sel ? sel : &all, part, cpu.waiting_ns, &waiting_ns);
	if (!e)
		*ret = waited_part(&part->blame, waiting_ns);
	*ret_damaged += cpu.damaged;
	aif_cpu_totals_finish(&cpu);
	return e;
}
