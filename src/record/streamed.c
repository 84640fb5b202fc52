/* SPDX-License-Identifier: Apache-2.0 */
#include "record/streamed.h"

#include "base/clock.h"
#include "record/device_samples.h"
#include "record/stall_join.h"
#include "record/xe_stream.h"

/* Agents tell each second. */
#define WINDOW_NS AIF_NS_PER_S
/* A window that has not all of its samples by then will not have them: its agent's ring was full. */
#define PATIENCE_NS (5 * AIF_NS_PER_S)
/* Not yet joined, of all processes: more are made up. */
#define MAX_WINDOWS 1024
/* What they tell now began so long ago at most. */
#define LATE_NS (3 * AIF_NS_PER_S)

struct sample {
	uint64_t address;
	uint32_t reason, count; /* reason: string of the store */
};

struct aif_streamed {
	struct aif_streamed *next;
	uint32_t id; /* the agent's */
	uint64_t start, end, came;
	uint64_t samples, got; /* that it has; that have come */
	struct aif_stall_window of;
	struct sample *at;
	size_t len, cap;
};

static uint32_t get(const struct aif_map *m, uint64_t key)
{
	uint64_t id;

	return aif_map_get(m, key, &id) ? (uint32_t)id : AIF_NONE;
}

void aif_streamed_window(struct aif_ingest *in, const struct aif_wire_window *r, uint32_t device)
{
	struct aif_drainer *d = in->drainer;
	uint32_t pci = get(&in->target->device_pci, r->device);
	struct aif_streamed **at = &d->streamed, *w;
	unsigned n = 0;

	aif_streamed_read(d, pci == AIF_NONE ? 0 : pci);
	for (; *at; n++)
		at = &(*at)->next;
	w = n < MAX_WINDOWS ? calloc(1, sizeof(*w)) : NULL;
	if (!w) {
		aif_store_loss(d->store, AIF_REASON_NO_MEMORY, in->target->process, AIF_NONE, 1);
		in->slot->window.device = AIF_NONE;
		return;
	}
	in->slot->window.is_streamed = true;
	*w = (struct aif_streamed){.id = r->head.aux,
				   .start = r->start,
				   .end = AIF_MAX(r->start, r->end),
				   .came = aif_now_ns(),
				   .samples = r->samples,
				   .of = {.pci = pci == AIF_NONE ? 0 : pci,
					  .period_ns = r->period_ps / 1000,
					  .process = in->target->process,
					  .stranger = AIF_NONE,
					  .device = device,
					  .tiles = r->flags & AIF_WIRE_WINDOW_TILES}};
	*at = w;
}

/* Each has its own windows, the newest is what is told about. */
static struct aif_streamed *window_of(struct aif_ingest *in, uint32_t id)
{
	struct aif_streamed *found = NULL;

	for (struct aif_streamed *w = in->drainer->streamed; w; w = w->next)
		if (w->of.process == in->target->process && w->id == id)
			found = w;
	return found;
}

void aif_streamed_pc(struct aif_ingest *in, const struct aif_wire_pc *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_streamed *w = window_of(in, r->head.aux);
	uint64_t lost = 0;

	for (uint32_t k = 0; k < r->count; k++) {
		uint32_t reason = get(&in->target->stalls, r->samples[k] >> 32),
			 count = (uint32_t)r->samples[k];

		if (!w || d->streamed_len >= AIF_STREAMED_MAX ||
		    aif_grow(&w->at, &w->cap, w->len + 1, sizeof(*w->at)) < 0) {
			lost += count;
			continue;
		}
		w->got += count;
		d->streamed_len++;
		w->at[w->len++] = (struct sample){
			.address = r->pc,
			.reason = reason == AIF_NONE ? aif_store_puts(d->store, "") : reason,
			.count = count};
	}
	if (w)
		w->came = aif_now_ns();
	if (lost)
		aif_store_loss(d->store, AIF_REASON_XE_BEHIND, in->target->process, AIF_NONE, lost);
}

static void join(struct aif_drainer *d, const struct aif_streamed *w)
{
	struct aif_stall_join j;

	for (struct aif_target *t = d->targets; t; t = t->next)
		aif_device_samples_last(d, t);
	aif_stall_join_begin(&j, d, w->start, w->end);
	aif_stall_join_window(&j, &w->of);
	for (size_t i = 0; i < w->len; i++)
		aif_stall_join_put(&j,
				   w->at[i].address > UINT32_MAX ? AIF_PLACES_64 : AIF_PLACES_32,
				   w->at[i].address, NULL, &w->at[i].reason, &w->at[i].count, 1);
	aif_stall_join_end(&j);
}

/* Whose last sample came at `until` or before. */
static void take(struct aif_drainer *d, uint64_t until)
{
	struct aif_streamed **at = &d->streamed, *w;

	while ((w = *at)) {
		uint64_t wait = w->got < w->samples ? PATIENCE_NS : 0;

		if (w->came > until || until - w->came < wait) {
			at = &w->next;
			continue;
		}
		join(d, w);
		d->streamed_len -= w->len;
		*at = w->next;
		free(w->at);
		free(w);
	}
}

/* ---- who samples --------------------------------------------------------------------------------- */

void aif_streamed_wanted(struct aif_target *t, uint32_t device)
{
	if (device < 64)
		t->streamers_wanted |= UINT64_C(1) << device;
}

static void allow(struct aif_drainer *d, struct aif_target *t)
{
	uint64_t open = t->streamers_wanted & ~t->streamers;

	/* The recorder would find the device taken when it goes on. */
	if (d->xe_rests)
		return;
	for (uint32_t i = 0; i < 64 && open >> i; i++) {
		uint32_t pci = get(&t->device_pci, i);

		enum aif_xe_samples by_xe = AIF_XE_NO;

		if (!(open >> i & 1))
			continue;
		pci = pci == AIF_NONE ? 0 : pci;
		if (d->xe)
			by_xe = aif_xe_samples(d->xe, pci);
		if (by_xe == AIF_XE_YES)
			aif_streamed_read(d, pci);
		if (by_xe != AIF_XE_NO)
			continue;
		t->streamers |= UINT64_C(1) << i;
		d->any_streamer = true;
		atomic_store_explicit(&t->shm->streamers, t->streamers, memory_order_release);
	}
}

void aif_streamed_follow(struct aif_drainer *d, uint64_t now)
{
	for (struct aif_target *t = d->targets; t && d->opts->device_rate; t = t->next)
		if (t->shm && t->streamers_wanted != t->streamers)
			allow(d, t);
	if (!d->any_streamer)
		return;
	take(d, now > AIF_STALLS_SETTLE_NS ? now - AIF_STALLS_SETTLE_NS : 0);
	/* Where the xe driver tells, too, its windows do this. */
	if (now > d->turned_ns + 2 * WINDOW_NS) {
		aif_places_turn(&d->places);
		d->turned_ns = now - WINDOW_NS;
		aif_places_forget(&d->places, d->store, aif_streamed_since(d, now));
	}
}

/* ---- whose card nobody has read ------------------------------------------------------------------ */

void aif_streamed_note(struct aif_target *t, uint32_t reason)
{
	t->stalls_refused |=
		(reason >= AIF_REASON_ZE_METRICS_OFF && reason <= AIF_REASON_ZE_METRICS_FAILED) ||
		reason == AIF_REASON_ZE_METRICS_UNWANTED || reason == AIF_REASON_ZE_METRICS_LAST;
}

void aif_streamed_read(struct aif_drainer *d, uint32_t pci)
{
	(void)aif_map_put(&d->read_cards, pci, 0);
}

void aif_streamed_end(struct aif_drainer *d, struct aif_target *t)
{
	/* What has counters is Level Zero's: no other runtime's agent can sample. */
	uint64_t devices = t->streamers_wanted & t->counting_wanted;

	/* Who has collected nothing is told of elsewhere. */
	if (!d->opts->device_rate || !t->shm || t->stalls_refused ||
	    !atomic_load_explicit(&t->shm->began_ns, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < 64 && devices >> i; i++) {
		uint32_t device = get(&t->devices, i), pci = get(&t->device_pci, i);
		struct aif_over_soon *o = d->over_soon, *end = o + d->over_soon_len;

		if (!(devices >> i & 1) || device == AIF_NONE)
			continue;
		pci = pci == AIF_NONE ? 0 : pci;
		while (o < end && o->pci != pci)
			o++;
		if (o == d->over_soon + AIF_CARDS)
			return;
		if (o == end)
			d->over_soon[d->over_soon_len++] =
				(struct aif_over_soon){.pci = pci, .device = device};
		o->processes++;
		return;
	}
}

void aif_streamed_last(struct aif_drainer *d)
{
	take(d, UINT64_MAX);
	for (unsigned i = 0; i < d->over_soon_len; i++) {
		const struct aif_over_soon *o = &d->over_soon[i];
		bool is_read = o->pci ? aif_map_get(&d->read_cards, o->pci, NULL) ||
						aif_map_get(&d->read_cards, 0, NULL)
				      : d->read_cards.len || d->read_cards.has_zero;

		if (!is_read)
			aif_store_loss(d->store, AIF_REASON_STALLS_SHORT, AIF_NONE,
				       d->store->p.devices[o->device].name, o->processes);
	}
	d->over_soon_len = 0;
	aif_map_clear(&d->read_cards);
}

uint64_t aif_streamed_since(const struct aif_drainer *d, uint64_t since)
{
	uint64_t now = aif_now_ns();

	if (!d->any_streamer)
		return since;
	since = AIF_MIN(since, now > LATE_NS ? now - LATE_NS : 0);
	for (const struct aif_streamed *w = d->streamed; w; w = w->next)
		since = AIF_MIN(since, w->start);
	return since;
}
