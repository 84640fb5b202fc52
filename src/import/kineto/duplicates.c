/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>

/*
 * Events that a file has twice, in everything that is kept of them. They are kept, as their sums are the file's own; but
 * somebody has to say so. Each event's content makes a number, and the number a place of two bits: no event has it, one
 * has, or several have. Most are alone in theirs, and only the few others are looked up by their number.
 */
#define PLACES_PER_EVENT 8

struct seen {
	uint8_t *places; /* four to a byte */
	uint64_t mask;
	struct aif_map numbers; /* of events that share their place */
};

/* Events whose places are fetched together: they lie anywhere in some MB. */
#define AHEAD 32

/* Each number of an event has a power of it. */
static uint64_t add(uint64_t sum, uint64_t value)
{
	return sum * UINT64_C(0x9e3779b97f4a7c15) + value;
}

static uint64_t number_of_span(const struct kineto *k, const struct kineto_span *s)
{
	uint64_t n = add((uint64_t)s->thread << 8 | s->class, (uint64_t)s->start);

	n = add(n, (uint64_t)s->end);
	n = add(n, (uint64_t)s->name << 32 | s->frames);
	if (s->ref == AIF_NONE || s->class == KINETO_OTHER)
		return n;
	if (s->class == KINETO_PYTHON)
		return add(n, s->ref);
	if (s->class == KINETO_CALL)
		return add(n, k->calls[s->ref].correlation);
	n = add(n, k->ops[s->ref].external);
	return add(n, (uint64_t)k->ops[s->ref].sequence);
}

static uint64_t number_of_exec(const struct kineto *k, const struct kineto_exec *x)
{
	const struct kineto_queue *q = &k->machine.queues[x->queue];
	const struct kineto_detail *d = kineto_exec_detail(k, x);
	uint64_t n = add((uint64_t)x->name << 8 | x->kind, (uint64_t)x->start);

	n = add(n, (uint64_t)x->end);
	n = add(n, (uint64_t)q->device);
	n = add(n, (uint64_t)q->stream);
	n = add(n, x->correlation);
	n = add(n, x->external);
	n = add(n, d->bytes);
	return add(n, (uint64_t)d->graph << 32 | d->node);
}

static uint64_t number_of(const struct kineto *k, size_t i)
{
	return aif_mix64(i < k->spans_len ? number_of_span(k, &k->spans[i])
					  : number_of_exec(k, &k->execs[i - k->spans_len]));
}

static void fetch(const struct seen *s, uint64_t number)
{
	__builtin_prefetch(&s->places[(number & s->mask) / 4], 1);
}

/* Marks the place of a number: 1 for the first event that has it, 2 for others. */
static void mark(struct seen *s, uint64_t number)
{
	uint64_t at = number & s->mask;
	unsigned shift = at % 4 * 2, was = s->places[at / 4] >> shift & 3;

	s->places[at / 4] |= (uint8_t)(1u << (was ? shift + 1 : shift));
}

static bool is_shared(const struct seen *s, uint64_t number)
{
	uint64_t at = number & s->mask;

	return s->places[at / 4] >> (at % 4 * 2 + 1) & 1;
}

/* Counts an event if another before it has the same number. 0 or -ENOMEM. */
static int count(struct kineto *k, struct seen *s, uint64_t number)
{
	uint64_t one;

	if (!is_shared(s, number))
		return 0;
	if (!aif_map_get(&s->numbers, number, &one))
		return aif_map_put(&s->numbers, number, 1);
	k->counts.repeated++;
	return 0;
}

/* Marks the places of all events, or counts by them. 0 or -ENOMEM. */
static int pass(struct kineto *k, struct seen *s, size_t events, bool counts)
{
	uint64_t numbers[AHEAD];
	int r = 0;

	for (size_t from = 0, n; from < events && !r; from += n) {
		n = AIF_MIN(events - from, AHEAD);
		for (size_t i = 0; i < n; i++) {
			numbers[i] = number_of(k, from + i);
			fetch(s, numbers[i]);
		}
		for (size_t i = 0; i < n && !r; i++)
			if (counts)
				r = count(k, s, numbers[i]);
			else
				mark(s, numbers[i]);
	}
	return r;
}

int kineto_duplicates(struct kineto *k)
{
	size_t events = k->spans_len + k->execs_len, places = 64;
	struct seen s;
	int r;

	while (places / PLACES_PER_EVENT < events)
		places *= 2;
	s = (struct seen){.places = calloc(places / 4, 1), .mask = places - 1};
	r = s.places ? pass(k, &s, events, false) : -ENOMEM;
	if (!r)
		r = pass(k, &s, events, true);
	free(s.places);
	aif_map_finish(&s.numbers);
	return r;
}
