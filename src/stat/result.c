/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct {
	const char *key;
	aif_stat_events above, minus, below;
	double factor;
} derived[] = {
#define AIF_STAT_DERIVED(id, key, above, minus, below, factor) {key, above, minus, below, factor},
#include "stat/derived.def"
#undef AIF_STAT_DERIVED
};

const char *aif_stat_derived_key(enum aif_stat_derived d)
{
	return derived[d].key;
}

static double value_of(const struct aif_stat_run *r, unsigned event)
{
	return r->values[event].is_known ? r->values[event].value : NAN;
}

/* Returns the sum of some events of a run, NAN where one is not known. */
static double sum_of(const struct aif_stat_run *r, aif_stat_events events)
{
	double sum = 0;

	for (unsigned i = 0; i < AIF_STAT_EVENTS; i++)
		if (events >> i & 1)
			sum += value_of(r, i);
	return sum;
}

static double derived_of(const struct aif_stat_run *r, unsigned d)
{
	double below = sum_of(r, derived[d].below),
	       above = sum_of(r, derived[d].above) - sum_of(r, derived[d].minus);

	/* Counters rounded apart can leave a little less than nothing. */
	if (derived[d].minus && above < 0)
		above = 0;
	if (!derived[d].below)
		return derived[d].factor * above;
	return below > 0 ? derived[d].factor * above / below : NAN;
}

static void find_running(struct aif_stat_result *r, unsigned event)
{
	r->running[event] = NAN;
	for (size_t i = 0; i < r->len; i++) {
		const struct aif_stat_value *v = &r->runs[i].values[event];
		double part = v->enabled_ns ? (double)v->running_ns / (double)v->enabled_ns : NAN;

		if (isnan(r->running[event]) || part < r->running[event])
			r->running[event] = part;
		if (!v->is_known && v->error)
			r->error[event] = v->error;
	}
}

int aif_stat_result_make(struct aif_stat_result *r)
{
	double *values = calloc(r->len + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		for (size_t i = 0; i < r->len; i++)
			values[i] = value_of(&r->runs[i], e);
		aif_spread_measure(values, r->len, &r->values[e]);
		find_running(r, e);
	}
	for (unsigned u = 0; u < AIF_STAT_USAGES; u++) {
		for (size_t i = 0; i < r->len; i++)
			values[i] = r->runs[i].usage[u];
		aif_spread_measure(values, r->len, &r->usage[u]);
	}
	for (unsigned d = 0; d < AIF_STAT_DERIVED_LEN; d++) {
		for (size_t i = 0; i < r->len; i++)
			values[i] = derived_of(&r->runs[i], d);
		aif_spread_measure(values, r->len, &r->derived[d]);
	}
	for (size_t i = 0; i < r->len; i++)
		values[i] = value_of(&r->runs[i], AIF_STAT_TASK_CLOCK) / 1e9 /
			    r->runs[i].usage[AIF_STAT_ELAPSED];
	aif_spread_measure(values, r->len, &r->cpus);
	free(values);
	return 0;
}
