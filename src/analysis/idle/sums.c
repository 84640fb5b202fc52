/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/sums.h"

#include "analysis/idle/course.h"

#include <errno.h>
#include <stdlib.h>

int aif_idle_sums_add(struct aif_idle_sums *s, const struct aif_idle_row *row, double ns,
		      double gap_ns)
{
	struct aif_idle_blame *to = s->to;
	uint64_t i, key = aif_idle_row_key(row);
	struct aif_idle_row *of;

	if (!(ns > 0))
		return 0;
	if (!aif_map_get(&s->row_of, key, &i)) {
		i = to->len;
		if (aif_grow(&to->rows, &to->cap, i + 1, sizeof(*to->rows)) < 0 ||
		    aif_grow(&s->ns, &s->ns_cap, i + 1, sizeof(*s->ns)) < 0 ||
		    aif_grow(&s->gap, &s->gap_cap, i + 1, sizeof(*s->gap)) < 0 ||
		    aif_grow(&s->drained, &s->drained_cap, i + 1, sizeof(*s->drained)) < 0 ||
		    aif_grow(&s->seen, &s->seen_cap, i + 1, sizeof(*s->seen)) < 0 ||
		    aif_map_put(&s->row_of, key, i) < 0)
			return -ENOMEM;
		to->rows[i] = *row;
		to->rows[i].drain = to->rows[i].seen = AIF_NONE;
		s->ns[i] = s->gap[i] = s->drained[i] = s->seen[i] = 0;
		to->len++;
	}
	of = &to->rows[i];
	of->is_other &= row->is_other;
	s->ns[i] += ns;
	s->gap[i] += ns * gap_ns;
	if (of->thread != row->thread)
		of->thread = AIF_NONE;
	if (row->seen != AIF_NONE && ns > s->seen[i]) {
		of->seen = row->seen;
		s->seen[i] = ns;
	}
	if (row->drain != AIF_NONE) {
		if (ns > s->drained[i])
			of->drain = row->drain;
		s->drained[i] += ns;
	}
	return 0;
}

/* Amounts of a device's rows, and ns given to those so far. */
struct given {
	double sum, so_far;
	uint64_t ns;
	size_t rows;
};

static void round_row(struct aif_idle_sums *s, size_t i, struct given *g)
{
	struct aif_idle_row *row = &s->to->rows[i];
	struct aif_idle_device *d = &s->to->devices[row->device];
	double scale = g->sum > 0 ? (double)d->idle_ns / g->sum : 0;
	uint64_t until;

	g->so_far += s->ns[i];
	until = --g->rows ? AIF_MIN(aif_timed_rounded(g->so_far * scale), d->idle_ns) : d->idle_ns;
	row->ns = until - AIF_MIN(g->ns, until);
	row->gap_ns = aif_timed_rounded(s->gap[i] / s->ns[i]);
	row->drained_ns = AIF_MIN(row->ns, aif_timed_rounded(s->drained[i] * scale));
	g->ns = AIF_MAX(g->ns, until);
	d->of_cause[row->cause] += row->ns;
	s->to->of_cause[row->cause] += row->ns;
}

/* Adds a row without a cause: none is known if no gap of the device was captured whole. */
static int add_unknown(struct aif_idle_blame *b, uint32_t device)
{
	struct aif_idle_device *d = &b->devices[device];

	if (aif_grow(&b->rows, &b->cap, b->len + 1, sizeof(*b->rows)) < 0)
		return -ENOMEM;
	b->rows[b->len++] = (struct aif_idle_row){.cause = AIF_IDLE_CAUSE_UNKNOWN,
						  .process = d->process,
						  .device = device,
						  .stack = AIF_NONE,
						  .thread = AIF_NONE,
						  .ns = d->idle_ns,
						  .drain = AIF_NONE,
						  .seen = AIF_NONE};
	d->of_cause[AIF_IDLE_CAUSE_UNKNOWN] += d->idle_ns;
	b->of_cause[AIF_IDLE_CAUSE_UNKNOWN] += d->idle_ns;
	return 0;
}

int aif_idle_sums_round(struct aif_idle_sums *s)
{
	struct aif_idle_blame *to = s->to;
	struct given *given = calloc(to->devices_len + 1, sizeof(*given));
	size_t rows = to->len;
	int e = given ? 0 : -ENOMEM;

	for (size_t i = 0; i < rows && !e; i++) {
		given[to->rows[i].device].sum += s->ns[i];
		given[to->rows[i].device].rows++;
	}
	for (size_t i = 0; i < to->devices_len && !e; i++)
		if (!given[i].rows && to->devices[i].idle_ns)
			e = add_unknown(to, (uint32_t)i);
	for (size_t i = 0; i < rows && !e; i++)
		round_row(s, i, &given[to->rows[i].device]);
	free(given);
	return e;
}

static int by_ns(const void *a, const void *b)
{
	const struct aif_idle_row *x = a, *y = b;

	return AIF_ORDER(y->ns, x->ns) ?: AIF_ORDER(x->cause, y->cause)
	       ?: AIF_ORDER(x->stack, y->stack) ?: AIF_ORDER(x->device, y->device);
}

void aif_idle_sums_sort(struct aif_idle_blame *b)
{
	if (b->len)
		qsort(b->rows, b->len, sizeof(*b->rows), by_ns);
}

void aif_idle_sums_finish(struct aif_idle_sums *s)
{
	free(s->ns);
	free(s->gap);
	free(s->drained);
	free(s->seen);
	aif_map_finish(&s->row_of);
}

struct aif_idle_window aif_idle_window(const struct aif_exec_timeline *t,
				       const struct aif_utilization *u,
				       const struct aif_device_utilization *d, int64_t from,
				       int64_t to)
{
	const struct aif_timeline_exec *x = &t->execs[u->order[d->first]];
	int64_t begin =
		x->launch == AIF_NONE ? x->start : AIF_MIN(x->start, t->launches[x->launch].at);

	if (from == INT64_MIN)
		return (struct aif_idle_window){.from = INT64_MIN, .to = INT64_MAX};
	from = AIF_MAX(from, begin);
	return (struct aif_idle_window){.from = from, .to = AIF_MAX(from, AIF_MIN(to, d->to))};
}

void aif_idle_blame_finish(struct aif_idle_blame *b)
{
	free(b->rows);
	free(b->devices);
	free(b->wakes);
	*b = (struct aif_idle_blame){0};
}
