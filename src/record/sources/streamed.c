/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/streamed.h"

#include "base/clock.h"
#include "record/sources/device_code.h"
#include "record/sources/sources.h"
#include "record/sources/stall_join.h"
#include "record/sources/xe_stream.h"

/* Agents tell each second. */
#define WINDOW_NS AIF_NS_PER_S
/* A window that has not all of its samples by then will not have them: its agent's ring was full. */
#define PATIENCE_NS (5 * AIF_NS_PER_S)
/* Not yet joined, of all processes: more are made up. */
#define MAX_WINDOWS 1024
/* Age of the oldest window that may still be reported. */
#define LATE_NS (3 * AIF_NS_PER_S)

struct sample {
	uint64_t address;
	uint32_t reason, count; /* reason: string of the store */
};

struct aif_streamed_window {
	struct aif_streamed_window *next;
	uint32_t id; /* the agent's */
	uint64_t start, end, came;
	uint64_t samples, got; /* that it has; that have come */
	struct aif_stall_window of;
	struct sample *at;
	size_t len, cap;
};

struct target_state {
	/* Sets of the target's devices, by the agent's ids: that have code; that it may sample itself. */
	uint64_t wanted, allowed;
	bool is_refused; /* its agent has said why there are no samples */
};

static struct aif_streamed *streamed_of(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_STREAMED];
}

static struct target_state *target_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_STREAMED];
}

/* Returns the device's address on the bus, or 0. */
static uint32_t pci_of(const struct aif_target *t, uint32_t device)
{
	uint32_t pci = aif_ingest_get(&t->device_pci, device);

	return pci == AIF_NONE ? 0 : pci;
}

bool aif_streamed_window(struct aif_ingest *in, const struct aif_wire_window *r, uint32_t device)
{
	struct aif_drainer *d = in->drainer;
	uint32_t pci = pci_of(in->target, r->device);
	struct aif_streamed_window **at = &streamed_of(d)->windows, *w;
	unsigned n = 0;

	aif_streamed_read(d, pci);
	for (; *at; n++)
		at = &(*at)->next;
	w = n < MAX_WINDOWS ? calloc(1, sizeof(*w)) : NULL;
	if (!w) {
		aif_store_loss(d->store, AIF_REASON_NO_MEMORY, in->target->process, AIF_NONE, 1);
		return false;
	}
	*w = (struct aif_streamed_window){.id = r->head.aux,
					  .start = r->start,
					  .end = AIF_MAX(r->start, r->end),
					  .came = aif_now_ns(),
					  .samples = r->samples,
					  .of = {.pci = pci,
						 .period_ns = r->period_ps / 1000,
						 .process = in->target->process,
						 .stranger = AIF_NONE,
						 .device = device,
						 .tiles = r->flags & AIF_WIRE_WINDOW_TILES}};
	*at = w;
	return true;
}

/* Returns the newest window of the target with that id: what its agent adds samples to. */
static struct aif_streamed_window *window_of(struct aif_ingest *in, uint32_t id)
{
	struct aif_streamed_window *found = NULL;

	for (struct aif_streamed_window *w = streamed_of(in->drainer)->windows; w; w = w->next)
		if (w->of.process == in->target->process && w->id == id)
			found = w;
	return found;
}

void aif_streamed_pc(struct aif_ingest *in, const struct aif_wire_pc *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_streamed *s = streamed_of(d);
	struct aif_streamed_window *w = window_of(in, r->head.aux);
	uint64_t lost = 0;

	for (uint32_t k = 0; k < r->count; k++) {
		uint32_t reason = aif_device_code_reason(in->target, r->samples[k] >> 32),
			 count = (uint32_t)r->samples[k];

		if (!w || s->samples >= AIF_STREAMED_MAX ||
		    aif_grow(&w->at, &w->cap, w->len + 1, sizeof(*w->at)) < 0) {
			lost += count;
			continue;
		}
		w->got += count;
		s->samples++;
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

static void join(struct aif_drainer *d, const struct aif_streamed_window *w)
{
	struct aif_stall_join j;

	aif_device_code_link_all(d);
	aif_stall_join_begin(&j, d, w->start, w->end);
	aif_stall_join_window(&j, &w->of);
	for (size_t i = 0; i < w->len; i++)
		aif_stall_join_put(
			&j, w->at[i].address > UINT32_MAX ? AIF_CODE_MAP_64 : AIF_CODE_MAP_32,
			w->at[i].address, NULL, &w->at[i].reason, &w->at[i].count, 1);
	aif_stall_join_end(&j);
}

/* Joins the windows whose last sample came at `until` or before. */
static void take(struct aif_drainer *d, uint64_t until)
{
	struct aif_streamed *s = streamed_of(d);
	struct aif_streamed_window **at = &s->windows, *w;

	while ((w = *at)) {
		uint64_t wait = w->got < w->samples ? PATIENCE_NS : 0;

		if (w->came > until || until - w->came < wait) {
			at = &w->next;
			continue;
		}
		join(d, w);
		s->samples -= w->len;
		*at = w->next;
		free(w->at);
		free(w);
	}
}

/* ---- who samples --------------------------------------------------------------------------------- */

/* Lets the agent sample those of the target's devices with code that the recorder cannot. */
static void allow(struct aif_drainer *d, const struct aif_target *t)
{
	struct target_state *k = target_of(t);
	uint64_t open = k->wanted & ~k->allowed;

	for (uint32_t i = 0; i < 64 && open >> i; i++) {
		uint32_t pci = pci_of(t, i);
		enum aif_xe_samples by_xe;

		if (!(open >> i & 1))
			continue;
		by_xe = aif_xe_samples_card(d->source_state[AIF_SOURCE_XE], pci);
		if (by_xe == AIF_XE_YES)
			aif_streamed_read(d, pci);
		if (by_xe != AIF_XE_NO)
			continue;
		k->allowed |= UINT64_C(1) << i;
		streamed_of(d)->any_reader = true;
		atomic_store_explicit(&t->shm->streamers, k->allowed, memory_order_release);
	}
}

static void step(struct aif_drainer *d, const struct aif_turn *turn)
{
	struct aif_code_map *map = aif_device_code_map(d);
	uint64_t now = turn->now;

	for (const struct aif_target *t = d->targets; t && d->opts->device_rate; t = t->next)
		if (t->shm && target_of(t)->wanted != target_of(t)->allowed)
			allow(d, t);
	if (!streamed_of(d)->any_reader)
		return;
	take(d, now > AIF_STALLS_SETTLE_NS ? now - AIF_STALLS_SETTLE_NS : 0);
	/* Without the recorder's own windows, which turn the map, it is turned here. */
	if (now > map->turned_ns + 2 * WINDOW_NS) {
		aif_code_map_turn(map, now - WINDOW_NS);
		aif_code_map_forget(map, d->store, aif_streamed_since(d, now));
	}
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_place *r = record;
	struct target_state *k = target_of(in->target);
	uint32_t reason = r->head.aux;
	struct aif_code_range place;

	if (r->head.type == AIF_WIRE_NOTE)
		k->is_refused |= (reason >= AIF_REASON_ZE_METRICS_OFF &&
				  reason <= AIF_REASON_ZE_METRICS_FAILED) ||
				 reason == AIF_REASON_ZE_METRICS_UNWANTED ||
				 reason == AIF_REASON_ZE_METRICS_LAST;
	else if (r->size && r->device < 64 && aif_device_code_place(in, r, &place))
		k->wanted |= UINT64_C(1) << r->device;
}

/* ---- whose card nobody has read ------------------------------------------------------------------ */

void aif_streamed_read(struct aif_drainer *d, uint32_t pci)
{
	(void)aif_map_put(&streamed_of(d)->read_gpus, pci, 0);
}

static void count_over_soon(struct aif_streamed *s, uint32_t pci, uint32_t device)
{
	struct aif_over_soon *o = s->over_soon, *end = o + s->over_soon_len;

	while (o < end && o->pci != pci)
		o++;
	if (o == s->over_soon + AIF_GPUS)
		return;
	if (o == end)
		s->over_soon[s->over_soon_len++] =
			(struct aif_over_soon){.pci = pci, .device = device};
	o->processes++;
}

/* Counts a target that may have ended before anybody read samples of its card; last() knows. */
static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	const struct target_state *k = target_of(t);

	(void)now;
	/* A target that has never collected is counted by others. */
	if (!d->opts->device_rate || !t->shm || k->is_refused ||
	    !atomic_load_explicit(&t->shm->began_ns, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < 64 && k->wanted >> i; i++) {
		uint32_t device = aif_ingest_get(&t->devices, i);

		/* No other runtime's agent can sample. */
		if (!(k->wanted >> i & 1) ||
		    !aif_store_device_runtime_is(d->store, device, "level zero"))
			continue;
		count_over_soon(streamed_of(d), pci_of(t, i), device);
		return;
	}
}

static void last(struct aif_drainer *d)
{
	struct aif_streamed *s = streamed_of(d);

	take(d, UINT64_MAX);
	for (unsigned i = 0; i < s->over_soon_len; i++) {
		const struct aif_over_soon *o = &s->over_soon[i];
		bool is_read = o->pci ? aif_map_get(&s->read_gpus, o->pci, NULL) ||
						aif_map_get(&s->read_gpus, 0, NULL)
				      : s->read_gpus.len || s->read_gpus.has_zero;

		if (!is_read)
			aif_store_loss(d->store, AIF_REASON_STALLS_SHORT, AIF_NONE,
				       d->store->p.devices[o->device].name, o->processes);
	}
	s->over_soon_len = 0;
	aif_map_clear(&s->read_gpus);
}

uint64_t aif_streamed_since(const struct aif_drainer *d, uint64_t since)
{
	const struct aif_streamed *s = streamed_of(d);
	uint64_t now = aif_now_ns();

	if (!s->any_reader)
		return since;
	since = AIF_MIN(since, now > LATE_NS ? now - LATE_NS : 0);
	for (const struct aif_streamed_window *w = s->windows; w; w = w->next)
		since = AIF_MIN(since, w->start);
	return since;
}

static void finish(struct aif_drainer *d)
{
	struct aif_streamed *s = streamed_of(d);

	for (struct aif_streamed_window *w = s->windows, *next; w; w = next) {
		next = w->next;
		free(w->at);
		free(w);
	}
	aif_map_finish(&s->read_gpus);
}

const struct aif_source aif_source_streamed = {
	.name = "streamed",
	.state_size = sizeof(struct aif_streamed),
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(PLACE) | AIF_SOURCE_RECORD(NOTE),
	.on_record = on_record,
	.target_end = target_end,
	.step = step,
	.last = last,
	.finish = finish,
};
