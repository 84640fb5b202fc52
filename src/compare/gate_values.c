/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/gate_values.h"

#include "analysis/utilization.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double aif_gate_kernel_ns(const struct aif_run *r, const struct aif_regex *re, double *ret_launches)
{
	double ns = NAN;

	*ret_launches = 0;
	for (size_t i = 0; i < r->kernels_len; i++) {
		const struct aif_run_kernel *k = &r->kernels[i];

		if (aif_regex_matches(re, aif_strset_get(&r->kernel_names, k->name, NULL)) ||
		    aif_regex_matches(re, aif_strset_get(&r->kernel_names, k->full, NULL))) {
			ns = (isnan(ns) ? 0 : ns) + (double)k->ns;
			*ret_launches += (double)k->launches;
		}
	}
	return ns;
}

double aif_gate_launch_ns(const struct aif_run *r, const struct aif_regex *re)
{
	double launches, ns = aif_gate_kernel_ns(r, re, &launches);

	return launches > 0 ? ns / launches : ns;
}

/* Device time under the outermost frames that match; NAN where none does. *ret: 0 or -ENOMEM. */
static double tree_ns(const struct aif_tree *t, const struct aif_regex *re, int *ret)
{
	uint8_t *is_in = calloc(t->len + 1, 1), *matches = calloc(t->names.len + 1, 1);
	double ns = NAN;

	*ret = is_in && matches ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < t->names.len && !*ret; i++) {
		size_t len;

		matches[i] = aif_regex_matches(re, aif_tree_text(t, i, &len));
	}
	for (size_t n = 1; n < t->len && !*ret; n++) {
		const struct aif_tree_node *node = &t->nodes[n];

		is_in[n] = is_in[node->parent] || matches[node->name];
		if (!is_in[n])
			continue;
		ns = isnan(ns) ? 0 : ns;
		if (!aif_run_is_idle(t, node->name))
			ns += (double)node->self / (t->scale ? t->scale : 1);
	}
	free(is_in);
	free(matches);
	return ns;
}

static double busy_share(const struct aif_run *r)
{
	double busy = (double)r->amount[AIF_RUN_BUSY], idle = (double)r->amount[AIF_RUN_IDLE];

	return busy + idle > 0 ? busy / (busy + idle) : NAN;
}

/* True for a run with a kernel of a communication library, also where computation hides all of it. */
static bool has_communication(const struct aif_run *r)
{
	bool has = r->amount[AIF_RUN_COMMUNICATION] > 0;

	for (size_t i = 0; i < r->kernels_len && !has; i++)
		has = aif_work_class_of(aif_strset_get(&r->kernel_names, r->kernels[i].full,
						       NULL)) == AIF_WORK_COMMUNICATION;
	return has;
}

/* True for a run with a copy or fill, also where computation hides all of it. */
static bool has_copies(const struct aif_run *r)
{
	bool has = false;

	for (size_t i = 0; i < r->kernels_len && !has; i++)
		has = r->kernels[i].is_copy;
	return has;
}

/* False where a run's 0 says that it has no such thing, and not how little of it. */
static bool has_metric(const struct aif_comparison *c, const struct aif_run *r, enum aif_metric m)
{
	if (r->is_counts || (aif_gate_is_of_whole_runs(m) && !c->is_whole) ||
	    (r->is_cpu && m != AIF_METRIC_TIME && m != AIF_METRIC_CPU))
		return false;
	switch (m) {
	case AIF_METRIC_CPU:
		return r->is_cpu;
	case AIF_METRIC_MEMORY: /* is read, not measured: no device is without any */
		return r->amount[AIF_RUN_MEMORY] > 0;
	case AIF_METRIC_COMMUNICATION:
		return has_communication(r);
	case AIF_METRIC_COPIES:
		return r->amount[AIF_RUN_COPY] > 0 || has_copies(r);
	case AIF_METRIC_BYTES:
		return r->amount[AIF_RUN_BYTES] > 0;
	default:
		return true;
	}
}

int aif_gate_values(const struct aif_comparison *c, const struct aif_budget *b,
		    const struct aif_gate_value *outside, double *values)
{
	int e = 0;

	for (size_t i = 0; i < c->a->len + c->b->len && !e; i++) {
		const struct aif_run *r = aif_compare_run(c, i);
		double units = aif_compare_units_of(c, r), launches;

		switch (b->of) {
		case AIF_BUDGET_METRIC:
			values[i] =
				!has_metric(c, r, b->metric)
					? NAN
					: aif_metric_of(c, r, b->metric) /
						  (aif_metric_is_by_unit(b->metric) ? units : 1);
			break;
		case AIF_BUDGET_KERNEL:
			values[i] = r->is_counts ? NAN
				    : c->unit == AIF_UNIT_LAUNCH
					    ? aif_gate_launch_ns(r, &b->re)
					    : aif_gate_kernel_ns(r, &b->re, &launches) / units;
			break;
		case AIF_BUDGET_STACK:
			values[i] = r->is_counts ? NAN : tree_ns(&r->tree, &b->re, &e) / units;
			break;
		case AIF_BUDGET_OPERATOR:
		case AIF_BUDGET_RANGE:
			values[i] = r->is_counts ? NAN
						 : tree_ns(&r->by[b->of == AIF_BUDGET_RANGE
									  ? AIF_RUN_BY_RANGE
									  : AIF_RUN_BY_OPERATOR],
							   &b->re, &e) /
							   units;
			break;
		case AIF_BUDGET_BUSY:
			values[i] = busy_share(r);
			break;
		case AIF_BUDGET_VALUE:
			values[i] = outside ? outside->values[i] : NAN;
			break;
		}
	}
	return e;
}

struct aif_compared aif_gate_compare(const struct aif_comparison *c, const struct aif_budget *b,
				     const double *values, bool is_estimated)
{
	struct aif_comparison by_part = {.a = c->a,
					 .b = c->b,
					 .margin = b->part,
					 .unit = c->unit,
					 .range = c->range,
					 .recordings = {c->recordings[0], c->recordings[1]}};

	by_part.decides = c->decides;
	return aif_compare_values(&by_part, values, false, is_estimated);
}
