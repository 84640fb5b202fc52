/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_exposure.h"

#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of an hour in windows of 100 ms has 36,000; a program with 100 kernels at a time less than this in all. */
#define MAX_PARTS (UINT64_C(1) << 22)

bool aif_attribution_is_counted(const struct aif_profile *p, const struct aif_sample_row *s)
{
	return s->thread == AIF_NONE && s->device != AIF_NONE &&
	       p->devices[s->device].kind != AIF_DEVICE_CPU;
}

struct loading {
	struct aif_attribution_work *w;
	struct aif_timeline *timeline;
};

static uint64_t map_time(const struct loading *l, uint32_t process, uint64_t raw)
{
	int64_t at = aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, process, raw, NULL);

	return (uint64_t)AIF_MAX(at, 0);
}

static int load_windows(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct loading *l = arg;
	struct aif_attribution_work *w = l->w;

	for (size_t i = 0; i < n; i++) {
		const struct aif_window_row *r = &rows[i];

		if (r->device == AIF_NONE || r->thread != AIF_NONE || r->process == AIF_NONE ||
		    w->p->devices[r->device].kind == AIF_DEVICE_CPU)
			continue;
		if (aif_grow(&w->windows, &w->windows_cap, w->windows_len + 1,
			     sizeof(*w->windows)) < 0)
			return -ENOMEM;
		w->windows[w->windows_len++] =
			(struct aif_counted_window){.id = r->window,
						    .process = r->process,
						    .device = r->device,
						    .is_ambiguous = r->held == AIF_HELD_AMBIGUOUS,
						    .start = map_time(l, r->process, r->start),
						    .end = map_time(l, r->process, r->end)};
	}
	return 0;
}

/* The end of what was asked for, if it was; the last window may end behind the recording. */
static uint64_t asked_until(const struct aif_attribution_work *w)
{
	return w->opts->to_ns ? w->to : UINT64_MAX;
}

/* How many of its samples are of the time asked for: of a window that lies in it partly, that part. */
static uint64_t samples_asked(const struct aif_attribution_work *w,
			      const struct aif_counted_window *window,
			      const struct aif_sample_row *s)
{
	uint64_t from, to, length;

	if (!window || window->start >= window->end)
		return s->time >= w->from && s->time <= asked_until(w) ? s->count : 0;
	from = AIF_MAX(window->start, w->from);
	to = AIF_MIN(window->end, asked_until(w));
	length = window->end - window->start;
	/* Rounded up as often as that is right. */
	return from >= to
		       ? 0
		       : (uint64_t)(((unsigned __int128)s->count * (to - from) +
				     aif_mix64(((uint64_t)s->frame << 32 | s->reason) + s->window) %
					     length) /
				    length);
}

static int clip_samples(struct aif_attribution_work *w)
{
	struct aif_map ids = {0};
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < w->windows_len && !r; i++)
		r = aif_map_put(&ids, w->windows[i].id, i);
	for (size_t i = 0; i < w->counted_len && !r; i++) {
		struct aif_sample_row s = w->counted[i];
		const struct aif_counted_window *window = NULL;
		uint64_t at;

		if (aif_map_get(&ids, s.window, &at) && w->windows[at].process == s.process &&
		    w->windows[at].device == s.device)
			window = &w->windows[at];
		s.count = samples_asked(w, window, &s);
		w->c.samples += s.count;
		if (s.count)
			w->counted[n++] = s;
	}
	w->counted_len = n;
	aif_map_finish(&ids);
	return r;
}

int aif_attribution_windows_load(struct aif_attribution_work *w, struct aif_timeline *timeline,
				 uint64_t *ret_bad)
{
	struct loading l = {.w = w, .timeline = timeline};
	int r = aif_profile_windows(w->p, load_windows, &l, ret_bad);

	return r ? r : clip_samples(w);
}

bool aif_exposure_is_cut(const struct aif_exposure *e, uint32_t window)
{
	const struct aif_attribution_work *w = e->w;

	return window != AIF_NONE &&
	       (w->windows[window].start < w->from || w->windows[window].end > asked_until(w));
}

static int by_track(const void *a, const void *b)
{
	const struct aif_counted_window *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)x->is_ambiguous - (int)y->is_ambiguous;
}

int aif_exposure_init(struct aif_exposure *e, struct aif_attribution_work *w)
{
	struct aif_counted_window *at = w->windows;
	size_t n = 0, first = 0;

	*e = (struct aif_exposure){.w = w};
	if (w->windows_len)
		qsort(at, w->windows_len, sizeof(*at), by_track);
	for (size_t i = 0; i < w->windows_len; i++) {
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
		/* Nothing runs in no time; an execution is not to step over a million of these. */
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
	w->windows_len = n;
	return 0;
}

uint32_t aif_exposure_window(const struct aif_exposure *e, const struct aif_sample_row *s)
{
	uint64_t i;

	return aif_map_get(&e->ids, s->window, &i) && e->w->windows[i].process == s->process &&
			       e->w->windows[i].device == s->device
		       ? (uint32_t)i
		       : AIF_NONE;
}

bool aif_exposure_is_ambiguous(const struct aif_exposure *e, const struct aif_sample_row *s)
{
	return aif_map_get(&e->ambiguous, s->window, NULL);
}

uint32_t aif_exposure_number(const struct aif_exposure *e, uint32_t window)
{
	uint32_t track = e->w->windows[window].track;

	return track + (uint32_t)((window - track) >> e->shift);
}

/* The first window of the track that ends after `at`. */
static size_t window_after(const struct aif_exposure *e, size_t first, size_t end, uint64_t at)
{
	while (first < end) {
		size_t mid = first + (end - first) / 2;

		if (e->w->windows[mid].end <= at)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

/* How much of a track's windows lies before `at`; window: the first that ends after it. */
static uint64_t covered(const struct aif_exposure *e, size_t window, size_t end, uint64_t at)
{
	const struct aif_counted_window *w = &e->w->windows[AIF_MIN(window, end - 1)];

	return w->before + (at <= w->start ? 0 : AIF_MIN(at, w->end) - w->start);
}

static int add_part(struct aif_exposure *e, uint32_t window, const struct aif_run *run, uint64_t ns)
{
	double weighted = (double)ns * ((double)run->weight / (double)AIF_WEIGHT_ONE);
	uint32_t *last = &e->last[run->group]; /* part + 1: runs come in order of time */

	if (*last && e->parts[*last - 1].window == window) {
		e->parts[*last - 1].ns += weighted;
		return 0;
	}
	/* When all are put together there is one of each group. */
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

/* What a run has in the windows [first, end) of its track. */
static int add_run(struct aif_exposure *e, const struct aif_run *run, size_t first, size_t end)
{
	const struct aif_counted_window *windows = e->w->windows;
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
	struct aif_attribution_work *w = e->w;
	int r = 0;

	e->parts_len = 0;
	memset(e->last, 0, w->groups_len * sizeof(*e->last));
	for (size_t i = 0; i < w->runs_len && !r; i++) {
		const struct aif_run *run = &w->runs[i];
		uint32_t family = e->family_of[run->group];
		uint64_t track;

		if (family != AIF_NONE && run->start < run->end &&
		    aif_map_get(&e->tracks, (uint64_t)run->process << 32 | run->device, &track))
			r = add_run(e, run, track >> 32, (uint32_t)track);
	}
	return r;
}

static int by_family(const void *a, const void *b)
{
	const struct aif_exposure_part *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

int aif_exposure_measure(struct aif_exposure *e, const uint32_t *family_of)
{
	size_t n = 0;
	int r;

	e->family_of = family_of;
	e->last = calloc(e->w->groups_len + 1, sizeof(*e->last));
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
