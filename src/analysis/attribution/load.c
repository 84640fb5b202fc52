/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/load.h"

#include "base/sort.h"
#include "profile/file.h"
#include "analysis/ebpf_launches.h"
#include "analysis/facts.h"

#include <errno.h>
#include <string.h>

struct loading {
	const struct aif_scope *s;
	struct aif_loaded *l;
	uint64_t *numbers; /* by launch: its number in the file; freed once .by_launch is made */
	size_t numbers_cap;
};

static int load_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct loading *x = arg;
	const struct aif_profile *p = x->s->p;
	struct aif_loaded *l = x->l;
	size_t len = l->launches_len + n;

	if (aif_grow(&x->numbers, &x->numbers_cap, len, sizeof(*x->numbers)) < 0 ||
	    aif_grow(&l->times, &l->times_cap, len, sizeof(*l->times)) < 0 ||
	    aif_grow(&l->calls, &l->calls_cap, len, sizeof(*l->calls)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *r = &rows[i];
		struct aif_loaded_call call = {.bytes = r->bytes,
					       .thread = r->thread,
					       .stack = r->stack,
					       .kernel = r->kernel,
					       .stream = r->stream,
					       .kind = r->kind};

		if (aif_is_ebpf_launch(p, r)) {
			l->outside += r->time >= p->kept_ns;
			continue;
		}
		x->numbers[l->launches_len] = r->launch;
		l->times[l->launches_len] = r->time;
		l->calls[l->launches_len] = aif_strset_put(&l->distinct_calls, &call, sizeof(call));
		if (l->calls[l->launches_len++] == AIF_STR_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int index_launches(const struct loading *x)
{
	struct aif_loaded *l = x->l;
	int r = aif_launch_index_init(&l->by_launch, x->numbers, l->launches_len,
				      sizeof(*x->numbers), 0);

	for (size_t i = 0; i < l->launches_len && !r; i++)
		r = aif_launch_index_put(&l->by_launch, x->numbers[i], (uint32_t)i);
	return r;
}

struct aif_loaded_launch aif_loaded_launch(const struct aif_loaded *l, size_t i)
{
	struct aif_loaded_launch launch = {.time = l->times[i]};

	memcpy(&launch.call, aif_strset_get(&l->distinct_calls, l->calls[i], NULL),
	       sizeof(launch.call));
	return launch;
}

static int load_samples(void *arg, const struct aif_sample_row *rows, size_t n)
{
	const struct loading *x = arg;
	const struct aif_scope *s = x->s;
	struct aif_loaded *l = x->l;

	if (aif_grow(&l->samples, &l->samples_cap, l->samples_len + n, sizeof(*rows)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct aif_sample_row row = rows[i];
		int64_t at = aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, row.process,
					      row.time, NULL);

		/* More are not a count, but would make sums wrap. */
		row.count = AIF_MIN(row.count, UINT32_MAX);
		if (!row.count || !aif_selection_keeps(s->sel->processes, row.process) ||
		    !aif_selection_keeps(s->sel->devices, row.device))
			continue;
		row.time = (uint64_t)AIF_MAX(at, 0);
		if (aif_is_counted(s, &row)) {
			/* Whether and how many of these are of the time asked for, their windows
			 * say. */
			if (aif_counted_add(&l->counted, &row) < 0)
				return -ENOMEM;
		} else if (at >= (int64_t)s->from && at <= (int64_t)s->to) {
			l->samples_count += row.count;
			l->samples[l->samples_len++] = row;
		}
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_sample_row *x = a, *y = b;

	return AIF_ORDER(x->time, y->time);
}

int aif_load(const struct aif_scope *s, struct aif_loaded *ret)
{
	const struct aif_profile *p = s->p;
	struct loading x = {.s = s, .l = ret};
	struct aif_weights_span span = {p->start_ns + s->from, p->start_ns + s->to, 0};
	uint64_t bad[3] = {0};
	int r = aif_timeline_get(p, &ret->timeline);

	if (!r)
		r = aif_weights_new_selected(p, s->sel, span, &ret->weights);
	if (!r)
		r = aif_gaps_init(&ret->gaps, p);
	if (!r)
		r = aif_profile_launches(p, load_launches, &x, &bad[0]);
	if (!r)
		r = index_launches(&x);
	free(x.numbers);
	if (!r)
		r = aif_profile_samples(p, load_samples, &x, &bad[1]);
	if (!r && ret->samples_len)
		aif_sort(ret->samples, ret->samples_len, sizeof(*ret->samples), by_time);
	if (!r)
		r = aif_counted_load_windows(&ret->counted, s, ret->timeline, &ret->samples_count,
					     &bad[2]);
	ret->damaged = bad[0] + bad[1] + bad[2];
	return r;
}

void aif_loaded_drop_launches(struct aif_loaded *l)
{
	aif_facts_put(l->timeline);
	aif_launch_index_finish(&l->by_launch);
	aif_strset_finish(&l->distinct_calls);
	free(l->times);
	free(l->calls);
	l->timeline = NULL;
	l->times = NULL;
	l->calls = NULL;
	l->launches_len = l->times_cap = l->calls_cap = 0;
}

void aif_loaded_drop_samples(struct aif_loaded *l)
{
	free(l->samples);
	l->samples = NULL;
	l->samples_len = l->samples_cap = 0;
	aif_counted_finish(&l->counted);
}

void aif_loaded_finish(struct aif_loaded *l)
{
	aif_loaded_drop_launches(l);
	aif_loaded_drop_samples(l);
	aif_weights_free(l->weights);
	aif_gaps_finish(&l->gaps);
	*l = (struct aif_loaded){0};
}
