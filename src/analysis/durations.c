/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/durations.h"

#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/duration_bucket.h"

#include <errno.h>
#include <stdlib.h>

void aif_durations_finish(struct aif_durations *d)
{
	free(d->rows);
	aif_map_finish(&d->known);
	*d = (struct aif_durations){0};
}

static bool is_same(const struct aif_duration *a, const struct aif_duration *b)
{
	return a->process == b->process && a->device == b->device && a->kind == b->kind &&
	       a->kernel == b->kernel && a->bucket == b->bucket;
}

/* Returns the row for what is counted, made if there is none; NULL: no memory. */
static struct aif_duration *find(struct aif_durations *d, const struct aif_duration *of)
{
	uint64_t work = aif_mix64((uint64_t)of->kernel << 32 | of->kind),
		 key = aif_mix64(aif_mix64(work ^ ((uint64_t)of->process << 32 | of->device)) ^
				 of->bucket),
		 at;

	for (; aif_map_get(&d->known, key, &at); key++)
		if (is_same(&d->rows[at], of))
			return &d->rows[at];
	if (aif_grow(&d->rows, &d->cap, d->len + 1, sizeof(*d->rows)) < 0 ||
	    aif_map_put(&d->known, key, d->len) < 0)
		return NULL;
	d->rows[d->len] = *of;
	return &d->rows[d->len++];
}

int aif_durations_add(struct aif_durations *d, const struct aif_exec_row *x, uint64_t ns)
{
	struct aif_duration *row =
		find(d, &(struct aif_duration){
				.process = x->process,
				.device = x->device,
				/* Counts kinds that nobody knows as one, as many as a file has. */
				.kind = AIF_MIN(x->kind, (uint32_t)AIF_LAUNCH_KIND_COUNT),
				.kernel = x->kernel,
				.bucket = aif_duration_bucket(ns)});

	if (!row)
		return -ENOMEM;
	row->count++;
	row->ns += ns;
	return 0;
}

struct counting {
	const struct aif_timeline *time;
	struct aif_durations counts;
};

static int count(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct counting *c = arg;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		const struct aif_exec_row *x = &rows[i];
		int64_t from = aif_timeline_map(c->time, x->clock, x->process, x->start, NULL),
			to = aif_timeline_map_after(c->time, x->clock, x->process, x->end, from,
						    NULL);

		r = aif_durations_add(&c->counts, x, to > from ? (uint64_t)to - (uint64_t)from : 0);
	}
	return r;
}

int aif_durations_count(struct aif_profile *p, uint64_t *bad)
{
	struct counting c = {0};
	int r = aif_timeline_get(p, &c.time);

	if (!r)
		r = aif_profile_execs(p, count, &c, bad);
	if (!r) {
		free(p->durations);
		p->durations = c.counts.rows;
		p->durations_len = c.counts.len;
		p->durations_cap = c.counts.cap;
		c.counts.rows = NULL;
	}
	aif_durations_finish(&c.counts);
	if (c.time)
		aif_facts_put(c.time);
	return r;
}
