/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters.h"

#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/sort.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A value and which counter it is of, until all are there. */
struct found {
	uint32_t counter;
	struct aif_counter_value value;
};
struct reading {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_timeline *timeline;
	struct aif_counters *c;
	struct aif_strset keys; /* of counters */
	AIF_TABLE(found, found);
};

static bool kept(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

static bool is_asked(const struct reading *r, const struct aif_counter_row *row, int64_t at)
{
	const struct aif_selection *w = r->sel;

	if (!w)
		return true;
	return kept(w->devices, row->device) &&
	       (row->process == AIF_NONE || kept(w->processes, row->process)) &&
	       (!w->from_ns || at >= (int64_t)w->from_ns) && (!w->to_ns || at < (int64_t)w->to_ns);
}

/* Returns the counter's index, or AIF_NONE without memory. */
static uint32_t counter_of(struct reading *r, const struct aif_counter_row *row)
{
	uint32_t key[] = {row->device, row->process, row->name, row->unit}, id;

	id = aif_strset_put(&r->keys, key, sizeof(key));
	if (id == AIF_STR_NONE || id < r->c->len)
		return id;
	if (aif_grow(&r->c->at, &r->c->cap, r->c->len + 1, sizeof(*r->c->at)) < 0)
		return AIF_NONE;
	r->c->at[r->c->len++] = (struct aif_counter){.device = row->device,
						     .name = row->name,
						     .unit = row->unit,
						     .process = row->process};
	return id;
}

static int take(void *arg, const struct aif_counter_row *rows, size_t n)
{
	struct reading *r = arg;

	for (size_t i = 0; i < n; i++) {
		int64_t at = aif_time_clamp(aif_timeline_map(r->timeline, AIF_CLOCK_MONOTONIC,
							     AIF_NONE, rows[i].time, NULL));
		uint32_t counter;

		if (!isfinite(rows[i].value) || !is_asked(r, &rows[i], at))
			continue;
		counter = counter_of(r, &rows[i]);
		if (counter == AIF_NONE ||
		    aif_grow(&r->found, &r->found_cap, r->found_len + 1, sizeof(*r->found)) < 0)
			return -ENOMEM;
		r->found[r->found_len++] = (struct found){counter, {at, rows[i].value}};
		r->c->at[counter].len++;
	}
	return 0;
}

static int by_place(const void *a, const void *b, void *counters)
{
	const struct aif_counter *all = counters, *x = &all[*(const uint32_t *)a],
				 *y = &all[*(const uint32_t *)b];

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	/* AIF_NONE comes first. */
	if (x->process != y->process)
		return x->process + 1 < y->process + 1 ? -1 : 1;
	return x < y ? -1 : 1;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_counter_value *x = a, *y = b;

	return AIF_ORDER(x->at, y->at);
}

/* Values come to lie by counter. */
static int put_in_order(struct reading *r)
{
	struct aif_counters *c = r->c;
	uint32_t *order = malloc((c->len + 1) * sizeof(*order)),
		 *places = malloc((c->len + 1) * sizeof(*places));
	struct aif_counter *at = malloc((c->len + 1) * sizeof(*at));
	int e = order && places && at
			? aif_grow(&c->values, &c->values_cap, r->found_len, sizeof(*c->values))
			: -ENOMEM;

	for (uint32_t i = 0; i < c->len && !e; i++)
		order[i] = i;
	if (!e && c->len)
		qsort_r(order, c->len, sizeof(*order), by_place, c->at);
	for (uint32_t i = 0; i < c->len && !e; i++) {
		at[i] = c->at[order[i]];
		at[i].first = c->values_len;
		c->values_len += at[i].len;
		at[i].len = 0;
		places[order[i]] = i;
	}
	for (size_t i = 0; i < r->found_len && !e; i++) {
		struct aif_counter *of = &at[places[r->found[i].counter]];

		c->values[of->first + of->len++] = r->found[i].value;
	}
	for (size_t i = 0; i < c->len && !e; i++) {
		c->at[i] = at[i];
		qsort(c->values + at[i].first, at[i].len, sizeof(*c->values), by_time);
	}
	free(order);
	free(places);
	free(at);
	return e;
}

int aif_counters_read(const struct aif_profile *p, const struct aif_selection *sel,
		      struct aif_counters *ret)
{
	struct reading r = {.p = p, .sel = sel, .c = ret};
	int e;

	*ret = (struct aif_counters){0};
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_profile_counters(p, take, &r, &ret->damaged);
	if (!e)
		e = put_in_order(&r);
	aif_facts_put(r.timeline);
	aif_strset_finish(&r.keys);
	free(r.found);
	return e;
}

void aif_counters_finish(struct aif_counters *c)
{
	free(c->at);
	free(c->values);
	*c = (struct aif_counters){0};
}

void aif_counter_name(const struct aif_profile *p, const struct aif_counter *c, struct aif_buf *out)
{
	aif_buf_puts(out, c->name == AIF_NONE ? "?" : aif_profile_str(p, c->name));
	if (c->process != AIF_NONE)
		aif_buf_printf(out, " of %" PRIu32, p->processes[c->process].pid);
}

int64_t aif_counter_since(const struct aif_counters *c, const struct aif_counter *of, size_t i)
{
	const struct aif_counter_value *v = c->values + of->first;

	if (i)
		return v[i - 1].at;
	return of->len > 1 ? v[0].at - (v[1].at - v[0].at) : v[0].at;
}

int aif_counter_sum_up(const struct aif_counters *c, const struct aif_counter *of,
		       struct aif_counter_sums *ret)
{
	const struct aif_counter_value *v = c->values + of->first;
	double *sorted = malloc(of->len * sizeof(*sorted)), mean = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < of->len; i++) {
		sorted[i] = v[i].value;
		/* A sum might be more than a double can hold. */
		mean += v[i].value / (double)of->len;
	}
	qsort(sorted, of->len, sizeof(*sorted), aif_by_double);
	*ret = (struct aif_counter_sums){.min = sorted[0],
					 .median = sorted[(of->len - 1) / 2] / 2 +
						   sorted[of->len / 2] / 2,
					 .max = sorted[of->len - 1],
					 .mean = mean};
	free(sorted);
	return 0;
}
