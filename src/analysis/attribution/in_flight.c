/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/in_flight.h"

#include <errno.h>

/* Spans and ids are numbers of things in memory: neither needs more than 32 bits. */
static uint64_t key(const struct aif_gaps_span *s, uint32_t id)
{
	return s->number << 32 | id;
}

static int put_least(struct aif_map *m, uint64_t k, uint64_t at)
{
	uint64_t known;

	return aif_map_get(m, k, &known) && known <= at ? 0 : aif_map_put(m, k, at);
}

static int put_least_of_both(struct aif_map *m, const struct aif_gaps_span *s, uint32_t name,
			     uint64_t at)
{
	int r = put_least(m, key(s, AIF_NONE), at);

	return r || name == AIF_NONE ? r : put_least(m, key(s, name), at);
}

int aif_in_flight_began(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			uint32_t name, uint64_t at)
{
	struct aif_gaps_span s = aif_gaps_at(g, process, at);

	/* The first span of a process has no work from before it. */
	return s.start ? put_least_of_both(&f->first, &s, name, at) : 0;
}

int aif_in_flight_queued(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			 uint32_t stream, uint64_t launched, uint64_t start)
{
	struct aif_gaps_span s = aif_gaps_at(g, process, launched);
	uint64_t i = f->queues_len;

	if (!s.start || s.is_gap)
		return 0;
	if (aif_map_get(&f->queue_ids, key(&s, stream), &i)) {
		if (f->queues[i].start <= start)
			return 0;
	} else if (aif_grow(&f->queues, &f->queues_cap, i + 1, sizeof(*f->queues)) < 0 ||
		   aif_map_put(&f->queue_ids, key(&s, stream), i) < 0) {
		return -ENOMEM;
	} else {
		f->queues_len++;
	}
	f->queues[i] = (struct aif_in_flight_queue){.process = process,
						    .stream = stream,
						    .begin = s.start,
						    .start = start,
						    .launched = launched};
	return 0;
}

int aif_in_flight_ended(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			uint32_t stream, uint64_t at)
{
	struct aif_gaps_span s = aif_gaps_at(g, process, at);
	uint64_t known;

	return aif_map_get(&f->last, key(&s, stream), &known) && known >= at
		       ? 0
		       : aif_map_put(&f->last, key(&s, stream), at);
}

bool aif_in_flight_overtaken(const struct aif_in_flight *f, const struct aif_gaps *g,
			     uint32_t process, uint32_t stream, uint64_t at, uint64_t length)
{
	struct aif_gaps_span s = aif_gaps_at(g, process, at);
	uint64_t last;

	return stream != AIF_NONE && aif_map_get(&f->last, key(&s, stream), &last) && last > at &&
	       AIF_MIN(s.end, length) > at + AIF_IN_FLIGHT_LATE_NS;
}

int aif_in_flight_add(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
		      uint32_t name, uint64_t at)
{
	struct aif_gaps_span s = aif_gaps_at(g, process, at);

	return name == AIF_NONE ? 0 : put_least_of_both(&f->since, &s, name, at);
}

bool aif_in_flight_sample(const struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			  uint32_t name, uint64_t at)
{
	struct aif_gaps_span s;
	uint64_t since;

	if (process == AIF_NONE)
		return false;
	s = aif_gaps_at(g, process, at);
	if (aif_map_get(&f->since, key(&s, name), &since) && at >= since)
		return true;
	return s.start && (!aif_map_get(&f->first, key(&s, name), &since) || at < since);
}

void aif_in_flight_finish(struct aif_in_flight *f)
{
	free(f->queues);
	aif_map_finish(&f->queue_ids);
	aif_map_finish(&f->first);
	aif_map_finish(&f->last);
	aif_map_finish(&f->since);
}
