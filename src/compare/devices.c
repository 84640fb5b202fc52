/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of a run's devices, memory in use, and times as cycles. */
#include "compare/run.h"

#include "base/u64_of.h"
#include "analysis/counters.h"
#include "analysis/power/power.h"
#include "text/table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Cycles of a clock above this are none. */
#define MOST_KHZ 10e6
/* Reasons that come from outside of the work: cooling, supply, the board. */
#define THROTTLED (1U << 3 | 1U << 5 | 1U << 6 | 1U << 7)

static_assert(THROTTLED == (AIF_CLOCK_SLOWED & ~(unsigned)AIF_CLOCK_POWER_CAP), "the same bits");

static bool has_worked(const struct aif_attribution *a, uint32_t device)
{
	for (size_t i = 0; i < a->devices_len; i++)
		if (a->devices[i].device == device && a->devices[i].busy_ns)
			return true;
	return false;
}

/* Returns the time for the one of several reasons that held longest: together they may be more than all. */
static uint64_t longest(const struct aif_power_device *d, unsigned reasons)
{
	uint64_t ns = 0;

	for (unsigned k = 0; k < AIF_CLOCK_REASONS; k++)
		if (reasons >> k & 1)
			ns = AIF_MAX(ns, d->reason_ns[k]);
	return ns;
}

static void take_clocks(const struct aif_power *w, const struct aif_attribution *a,
			struct aif_run *ret)
{
	double clock = 0, limit = 0;
	size_t clocks = 0;

	for (size_t i = 0; i < w->len; i++) {
		const struct aif_power_device *d = &w->devices[i];
		uint64_t *capped = &ret->amount[AIF_RUN_CAPPED],
			 *throttled = &ret->amount[AIF_RUN_THROTTLED];

		if (!has_worked(a, d->device))
			continue;
		if (d->clock_mhz > 0 && d->clock_mhz * 1e3 < MOST_KHZ) {
			clock += d->clock_mhz;
			clocks++;
		}
		limit += d->power_limit_w;
		if (!d->read_ns)
			continue;
		*capped = AIF_MAX(*capped,
				  aif_share_ppm(longest(d, AIF_CLOCK_POWER_CAP), d->read_ns));
		*throttled = AIF_MAX(*throttled, aif_share_ppm(longest(d, THROTTLED), d->read_ns));
	}
	if (clocks)
		ret->amount[AIF_RUN_CLOCK] = aif_u64_of(clock * 1e3 / (double)clocks + 0.5);
	ret->amount[AIF_RUN_POWER_LIMIT] = aif_u64_of(limit * 1e3 + 0.5);
}

/* Sums the most memory that each device had in use. */
static void take_memory(const struct aif_profile *p, const struct aif_counters *c,
			const struct aif_attribution *a, int64_t from, int64_t to,
			struct aif_run *ret)
{
	double sum = 0;

	for (size_t i = 0; i < c->len; i++) {
		const struct aif_counter *of = &c->at[i];
		double most = 0;

		if (of->process != AIF_NONE || of->name == AIF_NONE || of->unit == AIF_NONE ||
		    strcmp(aif_profile_str(p, of->name), "memory used") != 0 ||
		    strcmp(aif_profile_str(p, of->unit), "MiB") != 0 || !has_worked(a, of->device))
			continue;
		for (size_t k = of->first; k < of->first + of->len; k++)
			if (c->values[k].at >= from && c->values[k].at < to)
				most = fmax(most, c->values[k].value);
		sum += most;
	}
	if (sum > 0 && sum < 1e12)
		ret->amount[AIF_RUN_MEMORY] = (uint64_t)(sum * 1048576);
}

int aif_run_read_devices(const struct aif_profile *p, const struct aif_attribution *a,
			 const struct aif_selection *sel, int64_t from, int64_t to,
			 struct aif_run *ret)
{
	struct aif_selection all = {.devices = sel ? sel->devices : NULL};
	struct aif_power power;
	struct aif_counters counters;
	int e = aif_power_measure(p, sel, from, to, &power);

	if (!e)
		take_clocks(&power, a, ret);
	aif_power_finish(&power);
	if (e)
		return e;
	e = aif_counters_read(p, &all, &counters);
	if (!e)
		take_memory(p, &counters, a, from, to, ret);
	aif_counters_finish(&counters);
	return e;
}

static void scale(uint64_t *v, double by)
{
	double to = (double)*v * by;

	*v = to < 1e18 ? (uint64_t)(to + 0.5) : (uint64_t)1e18;
}

static void scale_tree(struct aif_tree *t, double by)
{
	/* From the leaves up: a total is the sum of what is in it. */
	for (size_t n = t->len; n-- > 0;) {
		struct aif_tree_node *node = &t->nodes[n];

		scale(&node->self, by);
		node->total = node->self;
		for (uint32_t k = node->first; k; k = t->nodes[k].next)
			node->total += t->nodes[k].total;
	}
}

int aif_run_to_cycles(struct aif_run *r, struct aif_err *err)
{
	static const enum aif_run_amount times[] = {
		AIF_RUN_ELAPSED, AIF_RUN_BUSY,          AIF_RUN_IDLE,       AIF_RUN_COPY,
		AIF_RUN_ERROR,   AIF_RUN_COMMUNICATION, AIF_RUN_BEFORE,     AIF_RUN_AFTER,
		AIF_RUN_LOOP,    AIF_RUN_EXTENT,        AIF_RUN_EXTENT_BUSY};
	/* Cycles a nanosecond. */
	double by = (double)r->amount[AIF_RUN_CLOCK] / 1e6;

	if (!(by > 0) || r->amount[AIF_RUN_CLOCK] > MOST_KHZ)
		return aif_err_set(
			err, -ENODATA,
			"%s: no clock of a device in it, so that times cannot be given in "
			"cycles; record with NVML, or choose another --unit",
			r->path);
	for (size_t i = 0; i < AIF_ARRAY_LEN(times); i++)
		scale(&r->amount[times[i]], by);
	for (size_t i = 0; i < r->kernels_len; i++)
		scale(&r->kernels[i].ns, by);
	scale_tree(&r->tree, by);
	for (unsigned i = 0; i < AIF_RUN_BYS; i++)
		scale_tree(&r->by[i], by);
	r->in_cycles = true;
	return 0;
}
