/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/range_spans.h"

#include <stdlib.h>

/* The end of a range that was heard of first: its begin or its end. */
struct half {
	struct aif_open_range range; /* of an end: .start is when it ended */
	uint64_t number;
	uint32_t thread; /* of a begin */
	bool is_begin, is_used;
};

/* Places by number, each within WINDOW places of where its number says; numbers that programs are given count up. */
#define WINDOW 16
struct aif_range_spans {
	struct half at[AIF_RANGE_SPANS];
};

static struct aif_range_spans *spans_of(struct aif_ingest *in)
{
	struct aif_range_spans *s = in->target->range_spans;

	if (!s && aif_store_charge_own(in->drainer->store, sizeof(*s)))
		in->target->range_spans = s = calloc(1, sizeof(*s));
	return s;
}

/* The place of that number, or NULL; *ret_free: one where it may be put, or NULL. */
static struct half *find(struct aif_range_spans *s, uint64_t number, struct half **ret_free)
{
	*ret_free = NULL;
	for (uint64_t i = 0; i < WINDOW; i++) {
		struct half *h = &s->at[((number >> 1) + i) % AIF_RANGE_SPANS];

		if (h->is_used && h->number == number)
			return h;
		if (!h->is_used && !*ret_free)
			*ret_free = h;
	}
	return NULL;
}

void aif_range_spans_record(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	struct aif_range_spans *s = spans_of(in);
	bool is_begin = r->head.aux == AIF_MARK_START;
	struct half now = {.range = {.start = r->time, .name = AIF_NONE, .text = AIF_NONE},
			   .number = r->number,
			   .thread = in->slot->thread,
			   .is_begin = is_begin,
			   .is_used = true};
	struct half *other, *free;
	const struct half *begin, *end;
	struct aif_open_range range;

	if (!s)
		return;
	if (is_begin)
		now.range.name = aif_ingest_get(&in->slot->names, r->depth);
	if (r->name_len)
		now.range.text = aif_store_str(in->drainer->store, r + 1, r->name_len);
	other = find(s, r->number, &free);
	if (!other) {
		/* An end whose begin was not recorded is no loss. */
		if (free)
			*free = now;
		else if (is_begin)
			aif_store_loss(in->drainer->store, AIF_REASON_RANGES_MANY,
				       in->target->process, AIF_NONE, 1);
		return;
	}
	if (other->is_begin == is_begin)
		return; /* ended twice, or a number that was made up */
	begin = is_begin ? &now : other;
	end = is_begin ? other : &now;
	range = begin->range;
	if (range.text == AIF_NONE)
		range.text = end->range.text;
	aif_range_row_add(in, AIF_OP_RANGE, begin->thread, &range, end->range.start);
	other->is_used = false;
}

void aif_range_spans_last(struct aif_drainer *d, struct aif_target *t, uint64_t end)
{
	struct aif_range_spans *s = t->range_spans;
	struct aif_ingest in = {.drainer = d, .target = t};

	for (uint32_t i = 0; s && i < AIF_RANGE_SPANS; i++) {
		struct half *h = &s->at[i];

		if (!h->is_used || !h->is_begin)
			continue;
		h->is_used = false;
		aif_range_row_add(&in, AIF_OP_RANGE, h->thread, &h->range, end);
		if (t->ended)
			aif_store_loss(d->store, AIF_REASON_RANGES_UNENDED, t->process, AIF_NONE,
				       1);
	}
}
