/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of both sides by number, metrics and units, and amounts of them compared. */
#include "base/memory.h"
#include "compare/internal.h"

#include <stdlib.h>

void aif_side_finish(struct aif_side *s)
{
	for (size_t i = 0; i < s->len; i++)
		aif_run_finish(&s->runs[i]);
	free(s->runs);
	free(s->name);
	*s = (struct aif_side){0};
}

void aif_comparison_finish(struct aif_comparison *c)
{
	free(c->kernels);
	free(c->means);
	free(c->looks);
	free(c->findings);
	free(c->moves);
	aif_tree_finish(&c->tree);
	aif_strset_finish(&c->names);
	aif_buf_finish(&c->problems);
	aif_buf_finish(&c->notes);
	*c = (struct aif_comparison){0};
}

const char *aif_compare_unit_name(const struct aif_comparison *c)
{
	static const char *const names[] = {"auto", "step", "launch", "second",
					    "run",  "",     "cycles"};

	return c->unit == AIF_UNIT_RANGE ? c->range : names[c->unit];
}

#define AIF_METRIC(id, amount, key, name, is_time, by_unit) \
	{AIF_RUN_##amount, key, name, is_time, by_unit},
static const struct {
	enum aif_run_amount amount;
	const char *key, *name;
	bool is_ns, is_by_unit;
} metrics[] = {
#include "compare/metrics.def"
};
#undef AIF_METRIC

const char *aif_metric_key(enum aif_metric m)
{
	return metrics[m].key;
}

const char *aif_metric_name(enum aif_metric m)
{
	return metrics[m].name;
}

bool aif_metric_is_ns(enum aif_metric m)
{
	return metrics[m].is_ns;
}

bool aif_metric_is_by_unit(enum aif_metric m)
{
	return metrics[m].is_by_unit;
}

bool aif_metric_is_estimated(enum aif_metric m)
{
	return m == AIF_METRIC_DEVICE || m == AIF_METRIC_IDLE || m == AIF_METRIC_COMMUNICATION ||
	       m == AIF_METRIC_COPIES || m == AIF_METRIC_LAUNCHES || m == AIF_METRIC_BYTES;
}

double aif_metric_of(const struct aif_comparison *c, const struct aif_run *r, enum aif_metric m)
{
	double of = (double)r->amount[metrics[m].amount];

	if (m == AIF_METRIC_BEFORE || m == AIF_METRIC_AFTER)
		return c->is_whole ? of : 0;
	if (m == AIF_METRIC_TIME && c->is_whole)
		of += (double)r->amount[AIF_RUN_BEFORE] + (double)r->amount[AIF_RUN_AFTER];
	return of;
}

bool aif_compare_lacks_whole(const struct aif_comparison *c)
{
	bool lacks = false;

	if (c->unit != AIF_UNIT_RUN)
		return false;
	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		const struct aif_run *r = aif_compare_run(c, i);

		if (!r->is_counts && (r->is_part || r->is_open))
			return false;
		lacks |= r->is_loop;
	}
	return lacks;
}

bool aif_compare_cuts_steps(const struct aif_comparison *c)
{
	bool cuts = false;

	for (size_t i = 0; i < aif_compare_runs(c); i++)
		cuts |= aif_compare_run(c, i)->is_cut && aif_compare_run(c, i)->steps_to_ns;
	return cuts && c->unit == AIF_UNIT_STEP;
}

const struct aif_run *aif_compare_run(const struct aif_comparison *c, size_t i)
{
	return i < c->a->len ? &c->a->runs[i] : &c->b->runs[i - c->a->len];
}

double aif_compare_units_of(const struct aif_comparison *c, const struct aif_run *r)
{
	switch (c->unit) {
	case AIF_UNIT_STEP:
		return (double)r->steps;
	case AIF_UNIT_LAUNCH:
		return (double)r->amount[AIF_RUN_LAUNCHES];
	case AIF_UNIT_SECOND:
		return (double)r->amount[AIF_RUN_ELAPSED] / 1e9;
	case AIF_UNIT_RANGE:
		return (double)aif_run_ranges(r, c->range);
	case AIF_UNIT_RUN:
	case AIF_UNIT_AUTO:
	case AIF_UNIT_CYCLES:
		break;
	}
	return 1;
}

/* Answers, UNKNOWN where nothing is decided. */
static enum aif_change_answer answer_of_one(const struct aif_comparison *c,
					    const struct aif_compared *of)
{
	return c->decides ? aif_change_answer(&of->change, of->p) : AIF_CHANGE_UNKNOWN;
}

enum aif_change_answer aif_compare_answer_of_many(const struct aif_comparison *c,
						  const struct aif_compared *of)
{
	return c->decides ? aif_change_answer_at(&of->change, of->p, AIF_CHANGE_ALPHA)
			  : AIF_CHANGE_UNKNOWN;
}

/* Mean of the squared relative errors of a side's device time. */
static double error2_of(const struct aif_side *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->len; i++) {
		const uint64_t *v = s->runs[i].amount;
		double e = v[AIF_RUN_BUSY] ? (double)v[AIF_RUN_ERROR] / (double)v[AIF_RUN_BUSY] : 0;

		sum += e * e / (double)s->len;
	}
	return sum;
}

/* True for the first of the runs of a side that are parts of one recording. */
static bool is_first(const struct aif_side *s, size_t i)
{
	for (size_t j = 0; j < i && s->runs[i].recording; j++)
		if (s->runs[j].recording == s->runs[i].recording)
			return false;
	return true;
}

size_t aif_compare_recordings(const struct aif_side *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->len; i++)
		n += is_first(s, i);
	return n;
}

size_t aif_compare_join_parts(const struct aif_side *s, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < s->len; i++) {
		double sum = 0;
		size_t parts = 0;

		if (!is_first(s, i))
			continue;
		for (size_t j = i; j < s->len; j++) {
			if (j != i &&
			    (!s->runs[i].recording || s->runs[j].recording != s->runs[i].recording))
				continue;
			sum += values[j];
			parts++;
		}
		/* Writes behind what is still to be read. */
		values[n++] = sum / (double)parts;
	}
	return n;
}

struct aif_compared aif_compare_values(const struct aif_comparison *c, const double *values,
				       bool per_unit, bool estimated)
{
	size_t n = aif_compare_runs(c);
	double *v = aif_memory_calloc(n + 1, sizeof(*v));
	struct aif_compared ret = {.p = 1};
	struct aif_change_side a = {v, c->a->len, estimated ? error2_of(c->a) : 0},
			       b = {v + c->a->len, c->b->len, estimated ? error2_of(c->b) : 0};

	for (size_t i = 0; i < n && v; i++)
		v[i] = per_unit ? values[i] / aif_compare_units_of(c, aif_compare_run(c, i))
				: values[i];
	if (!v)
		return ret; /* noted: nothing is printed */
	if (c->recordings[0] < a.len)
		a.len = aif_compare_join_parts(c->a, v);
	if (c->recordings[1] < b.len)
		b.len = aif_compare_join_parts(c->b, v + c->a->len);
	aif_change_measure(&a, &b, c->margin, &ret.change);
	ret.p = ret.change.p;
	ret.answer = answer_of_one(c, &ret);
	free(v);
	return ret;
}
