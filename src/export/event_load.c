/* SPDX-License-Identifier: Apache-2.0 */
#include "export/events.h"

#include <errno.h>

/* Finer than this nothing is read off a curve. */
#define INTERVAL_MIN_NS 10000

struct load {
	uint64_t *partial;    /* ns in intervals that an execution is in for a part */
	int64_t *full, *wait; /* changes from one interval to the next */
};

static size_t interval_of(const struct aif_event_load *l, const struct aif_events *e, int64_t at)
{
	return AIF_MIN((uint64_t)(at - e->start_ns) / l->interval_ns, l->len - 1);
}

static void exec_add(const struct aif_event_load *l, const struct aif_events *e, struct load *to,
		     const struct aif_event_exec *x)
{
	int64_t end = x->start + (int64_t)x->dur;
	size_t a = interval_of(l, e, x->start), b = interval_of(l, e, end);
	uint64_t from = (uint64_t)(x->start - e->start_ns), until = (uint64_t)(end - e->start_ns);

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

int aif_event_load_init(struct aif_event_load *l, const struct aif_events *e, uint32_t device)
{
	uint64_t length = (uint64_t)e->end_ns - (uint64_t)e->start_ns;
	struct load from = {0};
	size_t track, end;
	int r = 0;

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
	track = aif_event_device_tracks(e, device, &end);
	for (; track < end && !r; track++)
		for (size_t i = 0; i < e->tracks[track].len; i++)
			exec_add(l, e, &from, &e->execs[e->tracks[track].first + i]);
	for (size_t i = 0; i < e->launches_len && !r; i++) {
		const struct aif_event_launch *by = &e->launches[i];

		if (!by->is_kept || by->device != device || by->first_start == INT64_MAX)
			continue;
		from.wait[interval_of(l, e, by->time)]++;
		from.wait[interval_of(l, e, AIF_MAX(by->first_start, by->time))]--;
	}
	if (!r)
		sum_up(l, &from);
	free(from.partial);
	free(from.full);
	free(from.wait);
	return r;
}

void aif_event_load_finish(struct aif_event_load *l)
{
	free(l->running);
	free(l->queued);
	*l = (struct aif_event_load){0};
}
