/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>

/*
 * Events that a file has twice, in everything that is kept of them. They are kept, as their sums are the file's own; but
 * somebody has to say so. A bit for each number that an event's content makes: most are alone with theirs, and only
 * the few others are counted by it.
 */
#define BITS_PER_EVENT 16

struct seen {
	uint8_t *bits;
	uint64_t mask;
	struct aif_map again; /* numbers whose bit was set before -> how many events have them */
};

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

static uint64_t number_of_exec(const struct kineto_exec *x)
{
	uint64_t n = add((uint64_t)x->name << 8 | x->kind, (uint64_t)x->start);

	n = add(n, (uint64_t)x->end);
	n = add(n, (uint64_t)x->device);
	n = add(n, (uint64_t)x->stream);
	n = add(n, x->correlation);
	n = add(n, x->external);
	n = add(n, x->bytes);
	return add(n, (uint64_t)x->graph << 32 | x->node);
}

static uint64_t number_of(const struct kineto *k, size_t i)
{
	return aif_mix64(i < k->spans_len ? number_of_span(k, &k->spans[i])
					  : number_of_exec(&k->execs[i - k->spans_len]));
}

/* Everything may be one number many times: a map's entry for each number, not each event. */
static int count(struct kineto *k, struct seen *s, size_t events)
{
	for (size_t i = 0; i < events; i++) {
		uint64_t n = number_of(k, i), at = n & s->mask;

		if ((s->bits[at / 8] >> (at % 8) & 1) && aif_map_put(&s->again, n, 0) < 0)
			return -ENOMEM;
		s->bits[at / 8] |= (uint8_t)(1u << (at % 8));
	}
	for (size_t i = 0; i < events && s->again.len; i++) {
		uint64_t n = number_of(k, i), times;

		if (!aif_map_get(&s->again, n, &times))
			continue;
		k->counts.repeated += times > 0;
		if (aif_map_put(&s->again, n, times + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

int kineto_duplicates(struct kineto *k)
{
	size_t events = k->spans_len + k->execs_len, bits = 64;
	struct seen s;
	int r;

	while (bits / BITS_PER_EVENT < events)
		bits *= 2;
	s = (struct seen){.bits = calloc(bits / 8, 1), .mask = bits - 1};
	r = s.bits ? count(k, &s, events) : -ENOMEM;
	free(s.bits);
	aif_map_finish(&s.again);
	return r;
}
