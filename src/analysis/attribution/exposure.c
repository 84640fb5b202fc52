/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/exposure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of an hour in windows of 100 ms has 36,000; a program with 100 kernels at a time less
 * than this in all. */
#define MAX_PARTS (UINT64_C(1) << 22)

bool aif_exposure_is_cut(const struct aif_exposure *e, uint32_t window)
{
	const struct aif_counted_window *windows = e->counted->windows;

	return window != AIF_NONE && (windows[window].start < e->s->from ||
				      windows[window].end > aif_counted_until(e->s));
}

static int by_track(const void *a, const void *b)
{
	const struct aif_counted_window *x = a, *y = b;

	return AIF_ORDER(x->device, y->device) ?: AIF_ORDER(x->process, y->process)
	       ?: AIF_ORDER(x->start, y->start) ?: (int)x->is_ambiguous - (int)y->is_ambiguous;
}

int aif_exposure_init(struct aif_exposure *e, const struct aif_scope *s,
		      const struct aif_classified *c, struct aif_counted *counted)
{
	struct aif_counted_window *at = counted->windows;
	size_t n = 0, first = 0;

	*e = (struct aif_exposure){.s = s, .c = c, .counted = counted};
	if (counted->windows_len)
		qsort(at, counted->windows_len, sizeof(*at), by_track);
	for (size_t i = 0; i < counted->windows_len; i++) {
		struct aif_counted_window x = at[i], *last = n ? &at[n - 1] : NULL;
		uint64_t key = (uint64_t)x.process << 32 | x.device;

		if (last && (last->device != x.device || last->process != x.process))
			last = NULL;
		if (x.is_ambiguous && aif_map_put(&e->ambiguous, x.id, 1) < 0)
			return -ENOMEM;
		if (x.is_ambiguous && last && x.end == last->end) {
			if (aif_map_put(&e->ids, x.id, n - 1) < 0)
				return -ENOMEM;
			continue;
		}
		if (last)
			x.start = AIF_MAX(x.start, last->end);
		/* Drops empty windows: nothing runs in them, and an execution must not step over a
		 * million of them. */
		if (x.start >= x.end)
			continue;
		first = last ? first : n;
		x.track = (uint32_t)first;
		x.before = last ? last->before + (last->end - last->start) : 0;
		at[n] = x;
		if (aif_map_put(&e->ids, x.id, n) < 0 ||
		    aif_map_put(&e->tracks, key, (uint64_t)first << 32 | (n + 1)) < 0)
			return -ENOMEM;
		n++;
	}
	counted->windows_len = n;
	return 0;
}

uint32_t aif_exposure_window(const struct aif_exposure *e, const struct aif_sample_row *s)
{
	uint64_t i;

	return aif_map_get(&e->ids, s->window, &i) &&
			       e->counted->windows[i].process == s->process &&
			       e->counted->windows[i].device == s->device
		       ? (uint32_t)i
		       : AIF_NONE;
}

bool aif_exposure_is_ambiguous(const struct aif_exposure *e, const struct aif_sample_row *s)
{
	return aif_map_get(&e->ambiguous, s->window, NULL);
}

uint32_t aif_exposure_number(const struct aif_exposure *e, uint32_t window)
{
	uint32_t track = e->counted->windows[window].track;

	return track + (uint32_t)((window - track) >> e->shift);
}

/* The first window of the track that ends after `at`. */
static size_t window_after(const struct aif_exposure *e, size_t first, size_t end, uint64_t at)
{
	return AIF_BISECT(mid, first, end, e->counted->windows[mid].end <= at);
}

/* Returns how much of a track's windows lies before `at`; window: the first that ends after it. */
static uint64_t covered(const struct aif_exposure *e, size_t window, size_t end, uint64_t at)
{
	const struct aif_counted_window *w = &e->counted->windows[AIF_MIN(window, end - 1)];

	return w->before + (at <= w->start ? 0 : AIF_MIN(at, w->end) - w->start);
}

static int add_part(struct aif_exposure *e, uint32_t window, const struct aif_run *run, uint64_t ns)
{
	double weighted = (double)ns * ((double)aif_run_weight(e->c, run) / (double)AIF_WEIGHT_ONE);
	uint32_t *last = &e->last[run->group]; /* part + 1: runs come in order of time */

	if (*last && e->parts[*last - 1].window == window) {
		e->parts[*last - 1].ns += weighted;
		return 0;
	}
	/* At shift 32 windows are joined into one, with one part a group: no limit is needed. */
	if (e->parts_len >= MAX_PARTS && e->shift < 32)
		return -E2BIG;
	if (aif_grow(&e->parts, &e->parts_cap, e->parts_len + 1, sizeof(*e->parts)) < 0)
		return -ENOMEM;
	e->parts[e->parts_len++] = (struct aif_exposure_part){.family = e->family_of[run->group],
							      .window = window,
							      .group = run->group,
							      .ns = weighted};
	*last = (uint32_t)e->parts_len;
	return 0;
}

/* Adds the time that a run has in the windows [first, end) of its track. */
static int add_run(struct aif_exposure *e, const struct aif_run *run, size_t first, size_t end)
{
	const struct aif_counted_window *windows = e->counted->windows;
	size_t i = window_after(e, first, end, run->start);
	uint64_t begin = covered(e, i, end, run->start);
	int r = 0;

	while (i < end && windows[i].start < run->end && !r) {
		size_t behind =
			first + AIF_MIN((((i - first) >> e->shift) + 1) << e->shift, end - first);
		uint64_t until = AIF_MIN(windows[behind - 1].end, run->end),
			 here = covered(e, window_after(e, i, behind, until - 1), behind, until);

		if (here > begin)
			r = add_part(e, aif_exposure_number(e, (uint32_t)i), run, here - begin);
		begin = here;
		i = behind;
	}
	return r;
}

static int add_runs(struct aif_exposure *e)
{
	const struct aif_classified *c = e->c;
	int r = 0;

	e->parts_len = 0;
	memset(e->last, 0, c->groups.len * sizeof(*e->last));
	for (size_t i = 0; i < c->runs_len && !r; i++) {
		const struct aif_run *run = &c->runs[i];
		const struct aif_group *g = aif_group_of(c, run);
		uint32_t family = e->family_of[run->group];
		uint64_t track;

		if (family != AIF_NONE && run->start < run->end &&
		    aif_map_get(&e->tracks, (uint64_t)g->process << 32 | g->device, &track))
			r = add_run(e, run, track >> 32, (uint32_t)track);
	}
	return r;
}

static int by_family(const void *a, const void *b)
{
	const struct aif_exposure_part *x = a, *y = b;

	return AIF_ORDER(x->family, y->family) ?: AIF_ORDER(x->window, y->window)
	       ?: AIF_ORDER(x->group, y->group);
}

int aif_exposure_measure(struct aif_exposure *e, const uint32_t *family_of)
{
	size_t n = 0;
	int r;

	e->family_of = family_of;
	e->last = calloc(e->c->groups.len + 1, sizeof(*e->last));
	if (!e->last)
		return -ENOMEM;
	while ((r = add_runs(e)) == -E2BIG)
		e->shift++;
	if (r < 0)
		return r;
	if (e->parts_len)
		qsort(e->parts, e->parts_len, sizeof(*e->parts), by_family);
	/* Executions of one group may run at the same time. */
	for (size_t i = 0; i < e->parts_len; i++) {
		if (n && !by_family(&e->parts[n - 1], &e->parts[i]))
			e->parts[n - 1].ns += e->parts[i].ns;
		else
			e->parts[n++] = e->parts[i];
	}
	e->parts_len = n;
	return 0;
}

void aif_exposure_finish(struct aif_exposure *e)
{
	aif_map_finish(&e->tracks);
	aif_map_finish(&e->ids);
	aif_map_finish(&e->ambiguous);
	free(e->parts);
	free(e->last);
}
