/* SPDX-License-Identifier: Apache-2.0 */
#include "record/reduce/reduced_steps.h"

#include "analysis/kept_lot.h"
#include "record/reduce/reducer.h"

#include <errno.h>
#include <stdlib.h>

int aif_reduced_steps_add(struct aif_reduced_steps *s, const struct aif_op_row *row)
{
	bool is_marked = row->kind == AIF_OP_STEP;

	if (row->end <= row->start || (s->is_marked && !is_marked))
		return 0;
	/* Steps that are marked take the place of ranges, and of one thread there are enough. */
	if (s->thread == AIF_NONE || (is_marked && !s->is_marked)) {
		s->thread = row->thread;
		s->is_marked = is_marked;
		s->len = 0;
	}
	if (row->thread != s->thread)
		return 0;
	if (aif_grow(&s->steps, &s->cap, s->len + 1, sizeof(*s->steps)) < 0)
		return -ENOMEM;
	s->steps[s->len++] =
		(struct aif_reduced_step){.from = row->start, .to = row->end, .name = row->name};
	if (!s->since)
		s->since = s->at = row->start;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_reduced_step *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to > y->to ? -1 : x->to < y->to;
}

/* Keeps the outer ones of steps that overlap. */
static void keep_outer(struct aif_reduced_steps *s)
{
	uint64_t at = s->at;
	size_t len = 0;

	if (s->len)
		qsort(s->steps, s->len, sizeof(*s->steps), by_time);
	for (size_t i = 0; i < s->len; i++) {
		if (s->steps[i].from < at)
			continue;
		at = s->steps[i].to;
		s->steps[len++] = s->steps[i];
	}
	s->len = len;
}

/* Adds what follows on the block before, up to b.to. */
static int add_block(struct aif_reduced_steps *s, struct aif_reduced_block b)
{
	b.from = s->at;
	if (b.from >= b.to)
		return 0;
	if (aif_grow(&s->blocks, &s->blocks_cap, s->blocks_len + 1, sizeof(*s->blocks)) < 0)
		return -ENOMEM;
	s->blocks[s->blocks_len++] = b;
	s->at = b.to;
	return 0;
}

static int add_pause(struct aif_reduced_steps *s, uint64_t to)
{
	return add_block(s,
			 (struct aif_reduced_block){.to = to, .is_on = true, .is_certain = true});
}

static int add_step(struct aif_reduced_steps *s, const struct aif_profile *p, uint32_t every,
		    const struct aif_reduced_step *step, uint64_t to)
{
	uint64_t median = aif_sketch_quantile(&s->lengths, 0.5, NULL), ns = step->to - step->from,
		 number = step->name == AIF_NONE ? UINT64_MAX
						 : aif_kept_number(aif_profile_str(p, step->name));
	struct aif_reduced_block b = {.to = to,
				      .number = number == UINT64_MAX ? s->count : number,
				      .is_step = true,
				      .is_first = s->count < AIF_KEPT_FIRST};
	double most =
		AIF_MAX((double)(s->count + 1) * AIF_KEPT_SLOW_PART, (double)AIF_KEPT_SLOW_LEAST);

	b.is_slow = !b.is_first && (double)ns >= (double)median * AIF_KEPT_SLOW &&
		    (double)s->slow < most;
	b.is_certain = b.is_first || b.is_slow;
	b.is_drawn = !b.is_certain && aif_kept_is_drawn(b.number, every);
	b.is_on = b.is_certain || b.is_drawn;
	s->count++;
	s->slow += b.is_slow;
	aif_sketch_add(&s->lengths, ns);
	return add_block(s, b);
}

int aif_reduced_steps_blocks(struct aif_reduced_steps *s, const struct aif_profile *p,
			     uint32_t every, uint64_t now, bool is_last)
{
	uint64_t settled = is_last ? now : now - AIF_MIN(now, AIF_REDUCER_SETTLE_NS),
		 median = aif_sketch_quantile(&s->lengths, 0.5, NULL);
	size_t i;
	int r = 0;

	s->blocks_len = 0;
	keep_outer(s);
	for (i = 0; i < s->len && !r; i++) {
		const struct aif_reduced_step *x = &s->steps[i];
		/* A pause that is no longer than a step is part of the step before it. */
		uint64_t next = i + 1 < s->len ? x[1].from : 0,
			 usual = AIF_MAX(median, x->to - x->from),
			 to = next && next - x->to <= usual ? next : x->to;

		if (!is_last && (to > settled || (!next && now - x->to < AIF_REDUCER_PAUSE_NS)))
			break;
		r = add_pause(s, x->from);
		if (!r)
			r = add_step(s, p, every, x, to);
	}
	if (i) {
		memmove(s->steps, s->steps + i, (s->len - i) * sizeof(*s->steps));
		s->len -= i;
	}
	if (!r && s->since && !s->len &&
	    (is_last || (now > s->at && now - s->at >= AIF_REDUCER_PAUSE_NS)))
		r = add_pause(s, settled);
	return r;
}

struct aif_reduced_block *aif_reduced_steps_at(const struct aif_reduced_steps *s, uint64_t at)
{
	size_t i = AIF_BISECT(mid, 0, s->blocks_len, s->blocks[mid].to <= at);

	return i < s->blocks_len && at >= s->blocks[i].from ? &s->blocks[i] : NULL;
}

void aif_reduced_steps_finish(struct aif_reduced_steps *s)
{
	free(s->steps);
	free(s->blocks);
	*s = (struct aif_reduced_steps){.thread = AIF_NONE};
}
