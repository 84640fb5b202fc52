/* SPDX-License-Identifier: Apache-2.0 */
#include "page/bars.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A bar while events are added to it. */
struct bar {
	struct aif_page_event of; /* .start and .end: of all; the others: of the longest */
	uint64_t n, busy, longest;
	bool is_whole;
};

struct joining {
	const struct aif_page_events *e;
	uint64_t joined_ns;
	size_t whole;        /* the span that may have the event at hand */
	struct bar bar;      /* .n 0: none is open */
	size_t bars, joined; /* closed ones; events in those that have several */
	size_t whole_bars;   /* of these, in spans that are kept whole */
	/* The columns that bars are written to; NULL: they are counted. */
	struct columns *to;
};

enum { GAP, DUR, WHAT, WAITED, BY, DETAILS, N, BUSY, COLUMNS };
static const char *const names[COLUMNS] = {"gap", "dur",     "what", "waited",
					   "by",  "details", "n",    "busy"};

struct columns {
	uint64_t *of[COLUMNS];
	uint32_t *bars; /* each lane's number of them */
	int64_t end;    /* the last bar of the lane ends there */
	uint32_t lane;
};

static void bar_put(struct columns *to, size_t i, const struct bar *b)
{
	uint64_t dur = (uint64_t)(b->of.end - b->of.start);

	if (to->lane != b->of.lane)
		to->end = 0;
	to->lane = b->of.lane;
	to->bars[to->lane]++;
	to->of[GAP][i] = (uint64_t)(b->of.start - to->end);
	to->of[DUR][i] = dur;
	to->of[WHAT][i] = b->of.what;
	to->of[WAITED][i] = b->of.waited;
	to->of[BY][i] = b->of.by;
	to->of[DETAILS][i] = b->of.details;
	to->of[N][i] = b->n;
	to->of[BUSY][i] = b->busy == dur ? 0 : b->busy;
	to->end = b->of.end;
}

static void bar_close(struct joining *j)
{
	if (!j->bar.n)
		return;
	if (j->to)
		bar_put(j->to, j->bars, &j->bar);
	j->bars++;
	j->whole_bars += j->bar.is_whole;
	if (j->bar.n > 1)
		j->joined += j->bar.n;
	j->bar.n = 0;
}

/* Events of a lane are in order, so that the spans are gone through once for each lane. */
static bool is_whole(struct joining *j, const struct aif_page_event *x)
{
	const struct aif_page_span *s = j->e->whole;

	if (!j->bar.n || j->bar.of.lane != x->lane)
		j->whole = 0;
	while (j->whole < j->e->whole_len && s[j->whole].to <= x->start)
		j->whole++;
	return j->whole < j->e->whole_len && s[j->whole].from < x->end;
}

static void event_add(struct joining *j, struct aif_page_event x)
{
	struct bar *b = &j->bar;
	bool whole, is_inside;

	x.start = AIF_MAX(x.start, 0);
	x.end = AIF_MAX(x.end, x.start);
	whole = is_whole(j, &x);
	is_inside = b->n && b->of.lane == x.lane && x.end <= b->of.end && x.start < b->of.end;
	if (b->n && b->of.lane == x.lane && x.start < b->of.end)
		x.start = AIF_MIN(b->of.end, x.end);
	if (!is_inside && !(b->n && b->of.lane == x.lane && !whole && !b->is_whole &&
			    (uint64_t)(x.end - b->of.start) <= j->joined_ns && j->joined_ns)) {
		bar_close(j);
		*b = (struct bar){x, 1, (uint64_t)(x.end - x.start), (uint64_t)(x.end - x.start),
				  whole};
		return;
	}
	b->n++;
	if (is_inside) /* the other has its time already */
		return;
	b->busy += (uint64_t)(x.end - x.start);
	if ((uint64_t)(x.end - x.start) > b->longest) {
		b->longest = (uint64_t)(x.end - x.start);
		x.start = b->of.start;
		b->of = x;
	} else {
		b->of.end = x.end;
	}
}

static void join(struct joining *j, const struct aif_page_events *e, uint64_t joined_ns,
		 struct columns *to)
{
	struct aif_page_event (*at)(const void *, size_t) = to || !e->span_at ? e->at : e->span_at;

	*j = (struct joining){.e = e, .joined_ns = joined_ns, .to = to};
	for (size_t i = 0; i < e->len; i++)
		event_add(j, at(e->arg, i));
	bar_close(j);
}

/* Finds the length into which neighbours must fit to be joined, of 1, 2, 4, ... us. */
static void length_find(struct joining *j, const struct aif_page_events *e, size_t max)
{
	uint64_t ns = 0;

	join(j, e, 0, NULL);
	/* Counts of what is kept whole may exceed the room that there is, whatever length the rest is joined within. */
	max = AIF_MAX(max, j->whole_bars + max / 2);
	while (j->bars > max && ns < UINT64_C(1) << 60) {
		/* Halving the bars takes twice the length, or more. */
		ns = ns ? ns * (j->bars / max >= 4 ? j->bars / max / 2 : 2) : 1000;
		join(j, e, ns, NULL);
	}
}

int aif_page_bars_write(const struct aif_page_events *e, uint32_t lanes, size_t max,
			const char *prefix, struct aif_page_columns *c, struct aif_page_bars *ret)
{
	struct joining j;
	struct columns to = {.lane = UINT32_MAX,
			     .bars = calloc((size_t)lanes + 1, sizeof(*to.bars))};
	char name[32];
	int r = to.bars ? 0 : -ENOMEM;

	length_find(&j, e, max);
	for (unsigned k = 0; k < COLUMNS; k++) {
		to.of[k] = malloc((j.bars + 1) * sizeof(**to.of));
		r = to.of[k] ? r : -ENOMEM;
	}
	*ret = (struct aif_page_bars){j.bars, j.joined, j.joined_ns};
	if (!r)
		join(&j, e, ret->joined_ns, &to);
	for (unsigned k = 0; !r && k < COLUMNS; k++) {
		snprintf(name, sizeof(name), "%s%s", prefix, names[k]);
		if (k < N || j.joined)
			aif_page_varint(c, name, to.of[k], j.bars);
	}
	snprintf(name, sizeof(name), "%sbars", prefix);
	if (!r)
		aif_page_u32(c, name, to.bars, lanes);
	for (unsigned k = 0; k < COLUMNS; k++)
		free(to.of[k]);
	free(to.bars);
	return r;
}
