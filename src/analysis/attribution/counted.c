/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/counted.h"

#include "profile/file.h"

#include <errno.h>

bool aif_is_counted(const struct aif_scope *s, const struct aif_sample_row *row)
{
	return row->thread == AIF_NONE && row->device != AIF_NONE &&
	       s->p->devices[row->device].kind != AIF_DEVICE_CPU;
}

int aif_counted_add(struct aif_counted *c, const struct aif_sample_row *row)
{
	if (aif_grow(&c->samples, &c->samples_cap, c->samples_len + 1, sizeof(*row)) < 0)
		return -ENOMEM;
	c->samples[c->samples_len++] = *row;
	return 0;
}

struct loading {
	struct aif_counted *c;
	const struct aif_scope *s;
	const struct aif_timeline *timeline;
};

static uint64_t map_time(const struct loading *l, uint32_t process, uint64_t raw)
{
	int64_t at = aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, process, raw, NULL);

	return (uint64_t)AIF_MAX(at, 0);
}

static int load_windows(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct loading *l = arg;
	struct aif_counted *c = l->c;

	for (size_t i = 0; i < n; i++) {
		const struct aif_window_row *r = &rows[i];

		if (r->device == AIF_NONE || r->thread != AIF_NONE || r->process == AIF_NONE ||
		    l->s->p->devices[r->device].kind == AIF_DEVICE_CPU)
			continue;
		if (aif_grow(&c->windows, &c->windows_cap, c->windows_len + 1,
			     sizeof(*c->windows)) < 0)
			return -ENOMEM;
		c->windows[c->windows_len++] =
			(struct aif_counted_window){.id = r->window,
						    .process = r->process,
						    .device = r->device,
						    .is_ambiguous = r->held == AIF_HELD_AMBIGUOUS,
						    .start = map_time(l, r->process, r->start),
						    .end = map_time(l, r->process, r->end)};
	}
	return 0;
}

/* Returns how many of a row's samples are of the time asked for: all or none of a single
 * moment's, of a window's in proportion to the part that lies in it. */
static uint64_t samples_asked(const struct aif_scope *s, const struct aif_counted_window *window,
			      const struct aif_sample_row *row)
{
	uint64_t from, to, length;

	if (!window || window->start >= window->end)
		return row->time >= s->from && row->time <= aif_counted_until(s) ? row->count : 0;
	from = AIF_MAX(window->start, s->from);
	to = AIF_MIN(window->end, aif_counted_until(s));
	length = window->end - window->start;
	/* Rounded up as often as that is right. */
	return from >= to ? 0
			  : (uint64_t)(((unsigned __int128)row->count * (to - from) +
					aif_mix64(((uint64_t)row->frame << 32 | row->reason) +
						  row->window) %
						length) /
				       length);
}

static int clip_samples(struct aif_counted *c, const struct aif_scope *s, uint64_t *samples)
{
	struct aif_map ids = {0};
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < c->windows_len && !r; i++)
		r = aif_map_put(&ids, c->windows[i].id, i);
	for (size_t i = 0; i < c->samples_len && !r; i++) {
		struct aif_sample_row row = c->samples[i];
		const struct aif_counted_window *window = NULL;
		uint64_t at;

		if (aif_map_get(&ids, row.window, &at) && c->windows[at].process == row.process &&
		    c->windows[at].device == row.device)
			window = &c->windows[at];
		row.count = samples_asked(s, window, &row);
		*samples += row.count;
		if (row.count)
			c->samples[n++] = row;
	}
	c->samples_len = n;
	aif_map_finish(&ids);
	return r;
}

int aif_counted_load_windows(struct aif_counted *c, const struct aif_scope *s,
			     const struct aif_timeline *timeline, uint64_t *samples,
			     uint64_t *ret_bad)
{
	struct loading l = {.c = c, .s = s, .timeline = timeline};
	int r;

	if (!c->samples_len)
		return 0;
	r = aif_profile_windows(s->p, load_windows, &l, ret_bad);
	return r ? r : clip_samples(c, s, samples);
}

void aif_counted_finish(struct aif_counted *c)
{
	free(c->samples);
	free(c->windows);
	*c = (struct aif_counted){0};
}
