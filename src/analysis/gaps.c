/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/gaps.h"

#include "profile/file.h"

#include <errno.h>

static int add(struct aif_gaps *to, const struct aif_gap *gap)
{
	if (aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
		return -ENOMEM;
	to->at[to->len++] = *gap;
	return 0;
}

struct loading {
	struct aif_gaps *g;
	const struct aif_profile *p;
	bool with_off; /* blocks of the overhead budget in which nothing was captured, too */
};

static int load(void *arg, const struct aif_window_row *rows, size_t n)
{
	const struct loading *l = arg;
	struct aif_gaps *g = l->g;

	for (size_t i = 0; i < n; i++) {
		const struct aif_window_row *r = &rows[i];
		uint64_t start = AIF_MAX(r->start, l->p->start_ns),
			 end = AIF_MIN(r->end, l->p->end_ns);

		if (r->device != AIF_NONE || r->process == AIF_NONE || r->held || start >= end ||
		    (!l->with_off && (r->thread != AIF_NONE || r->p_ppm)))
			continue;
		if (add(g, &(struct aif_gap){.start = start - l->p->start_ns,
					     .end = end - l->p->start_ns,
					     .process = r->process}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_process(const void *a, const void *b)
{
	const struct aif_gap *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->start, y->start);
}

static int by_start(const void *a, const void *b)
{
	const struct aif_gap *x = a, *y = b;

	return AIF_ORDER(x->start, y->start);
}

/* Joins gaps that touch. Returns how many are left. */
static size_t merge(struct aif_gap *at, size_t len, bool any_process)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (n && (any_process || at[n - 1].process == at[i].process) &&
		    at[i].start <= at[n - 1].end)
			at[n - 1].end = AIF_MAX(at[n - 1].end, at[i].end);
		else
			at[n++] = at[i];
	return n;
}

void aif_gaps_unite(struct aif_gaps *g)
{
	if (g->len)
		qsort(g->at, g->len, sizeof(*g->at), by_process);
	g->len = merge(g->at, g->len, false);
}

static int init(struct aif_gaps *g, const struct aif_profile *p, bool with_off)
{
	struct loading l = {.g = g, .p = p, .with_off = with_off};
	int r;

	*g = (struct aif_gaps){0};
	r = aif_profile_windows(p, load, &l, NULL);
	if (!r)
		aif_gaps_unite(g);
	return r;
}

int aif_gaps_init(struct aif_gaps *g, const struct aif_profile *p)
{
	return init(g, p, false);
}

int aif_gaps_init_with_off(struct aif_gaps *g, const struct aif_profile *p)
{
	return init(g, p, true);
}

void aif_gaps_finish(struct aif_gaps *g)
{
	free(g->at);
	*g = (struct aif_gaps){0};
}

struct aif_gaps_span aif_gaps_at(const struct aif_gaps *g, uint32_t process, uint64_t at)
{
	struct aif_gaps_span s = {.end = UINT64_MAX};
	/* Counts the gaps that ended by then, and those of processes before. */
	size_t lo = AIF_BISECT(mid, 0, g->len,
			       g->at[mid].process < process ||
				       (g->at[mid].process == process && g->at[mid].end <= at));

	if (lo < g->len && g->at[lo].process == process && g->at[lo].start <= at) {
		s.is_gap = true;
		lo++;
	}
	if (lo && g->at[lo - 1].process == process)
		s.start = g->at[lo - 1].end;
	if (lo < g->len && g->at[lo].process == process)
		s.end = g->at[lo].start;
	/* A process with n gaps has n + 1 spans. */
	s.number = (uint64_t)lo + process;
	return s;
}

int aif_gaps_of(const struct aif_gaps *g, const bool *keep, const struct aif_gaps *more,
		struct aif_gaps *ret)
{
	struct aif_gaps of = {0};
	int r = 0;

	for (size_t i = 0; i < g->len && !r; i++)
		if (keep[g->at[i].process])
			r = add(&of, &g->at[i]);
	for (size_t i = 0; more && i < more->len && !r; i++)
		if (more->at[i].end > more->at[i].start)
			r = add(&of, &more->at[i]);
	if (r < 0) {
		aif_gaps_finish(&of);
		return r;
	}
	if (of.len)
		qsort(of.at, of.len, sizeof(*of.at), by_start);
	of.len = merge(of.at, of.len, true);
	*ret = of;
	return 0;
}
