/* SPDX-License-Identifier: Apache-2.0 */
#include "export/events.h"
#include "analysis/spans.h"

#include <errno.h>

/* Finer than this nothing is read off a curve. */
#define INTERVAL_MIN_NS 10000

struct load {
	const struct aif_events *e;
	struct aif_spans gaps; /* of any process that the device has tracks of */
	uint64_t *partial;     /* ns in intervals that an execution is in for a part */
	int64_t *full, *wait;  /* changes from one interval to the next */
};

/* Returns how much time until `at` was collected: intervals are parts of that time. */
static uint64_t collected(const struct load *from, int64_t at)
{
	return (uint64_t)(at - from->e->start_ns) -
	       aif_spans_covered(&from->gaps, from->e->start_ns, at);
}

static size_t interval_of(const struct aif_event_load *l, uint64_t at)
{
	return AIF_MIN(at / l->interval_ns, l->len - 1);
}

static void exec_add(const struct aif_event_load *l, struct load *to,
		     const struct aif_event_exec *x)
{
	uint64_t from = collected(to, x->start), until = collected(to, x->start + (int64_t)x->dur);
	size_t a = interval_of(l, from), b = interval_of(l, until);

	if (a == b) {
		to->partial[a] += until - from;
		return;
	}
	to->partial[a] += (a + 1) * l->interval_ns - from;
	to->partial[b] += until - b * l->interval_ns;
	to->full[a + 1]++;
	to->full[b]--;
}

static void sum_up(struct aif_event_load *l, const struct load *from)
{
	int64_t full = 0, wait = 0;

	for (size_t i = 0; i < l->len; i++) {
		full += from->full[i];
		wait += from->wait[i];
		l->running[i] = (uint64_t)full * 100 + from->partial[i] * 100 / l->interval_ns;
		l->queued[i] = (uint64_t)AIF_MAX(wait, 0);
	}
}

/* Unites the gaps of all processes on the device: in each, part of what the device does is not
 * known. */
static int gaps_make(struct load *to, size_t track, size_t end)
{
	const struct aif_events *e = to->e;
	bool *keep = calloc(e->p->processes_len + 1, sizeof(*keep));
	struct aif_gaps gaps = {0};
	int r = keep ? 0 : -ENOMEM;

	for (; track < end && !r; track++)
		if (e->tracks[track].process != AIF_NONE)
			keep[e->tracks[track].process] = true;
	if (!r)
		r = aif_gaps_of(&e->gaps, keep, NULL, &gaps);
	for (size_t i = 0; i < gaps.len && !r; i++)
		r = aif_spans_add(&to->gaps, (int64_t)gaps.at[i].start, (int64_t)gaps.at[i].end);
	aif_gaps_finish(&gaps);
	free(keep);
	return r;
}

static int point_add(struct aif_event_load *l, int64_t at, bool is_known, size_t interval)
{
	if (aif_grow(&l->points, &l->points_cap, l->points_len + 1, sizeof(*l->points)) < 0)
		return -ENOMEM;
	l->points[l->points_len++] = (struct aif_event_load_point){
		.at = at,
		.is_known = is_known,
		.running = is_known ? l->running[interval] : 0,
		.queued = is_known ? l->queued[interval] : 0,
	};
	return 0;
}

/* An interval begins behind the gaps at its place; those further on interrupt it. */
static int points_make(struct aif_event_load *l, const struct load *from)
{
	const struct aif_spans *gaps = &from->gaps;
	size_t gap = 0;
	int r = 0;

	for (size_t i = 0; i < l->len && !r; i++) {
		uint64_t begin = i * l->interval_ns;
		int64_t at = from->e->start_ns + (int64_t)begin;
		bool is_begun = false;

		if (gap)
			at += (int64_t)aif_spans_total_of(gaps, gap);
		for (; gap < gaps->len && !r; gap++) {
			const struct aif_span *g = &gaps->at[gap];
			uint64_t place = (uint64_t)(g->start - from->e->start_ns) -
					 aif_spans_total_of(gaps, gap);

			if (place >= begin + l->interval_ns && i + 1 < l->len)
				break;
			if (place > begin && !is_begun)
				r = point_add(l, at, true, i);
			is_begun |= place > begin;
			at = g->end;
			if (!r)
				r = point_add(l, g->start, false, i);
			if (!r && is_begun && at < from->e->end_ns)
				r = point_add(l, at, true, i);
		}
		if (!r && !is_begun && (!gap || at < from->e->end_ns))
			r = point_add(l, at, true, i);
	}
	return r;
}

int aif_event_load_init(struct aif_event_load *l, const struct aif_events *e, uint32_t device)
{
	struct load from = {.e = e};
	size_t end, first = aif_event_device_tracks(e, device, &end);
	uint64_t length;
	int r = gaps_make(&from, first, end);

	length = collected(&from, e->end_ns);
	*l = (struct aif_event_load){
		.interval_ns = AIF_MAX(length / AIF_EVENT_LOAD_POINTS + 1, INTERVAL_MIN_NS)};
	l->len = length / l->interval_ns + 1;
	l->running = calloc(l->len, sizeof(*l->running));
	l->queued = calloc(l->len, sizeof(*l->queued));
	from.partial = calloc(l->len, sizeof(*from.partial));
	from.full = calloc(l->len + 1, sizeof(*from.full));
	from.wait = calloc(l->len + 1, sizeof(*from.wait));
	if (!l->running || !l->queued || !from.partial || !from.full || !from.wait)
		r = -ENOMEM;
	for (size_t t = first; t < end && !r; t++)
		for (size_t i = 0; i < e->tracks[t].len; i++)
			exec_add(l, &from, &e->execs[e->tracks[t].first + i]);
	for (size_t i = 0; i < e->launches_len && !r; i++) {
		const struct aif_event_launch *by = &e->launches[i];

		if (!by->is_kept || by->device != device || by->first_start == INT64_MAX)
			continue;
		from.wait[interval_of(l, collected(&from, by->time))]++;
		from.wait[interval_of(l, collected(&from, AIF_MAX(by->first_start, by->time)))]--;
	}
	if (!r) {
		sum_up(l, &from);
		r = points_make(l, &from);
	}
	free(from.partial);
	free(from.full);
	free(from.wait);
	aif_spans_finish(&from.gaps);
	return r;
}

void aif_event_load_finish(struct aif_event_load *l)
{
	free(l->running);
	free(l->queued);
	free(l->points);
	*l = (struct aif_event_load){0};
}
