/* SPDX-License-Identifier: Apache-2.0 */
#include "record/counters.h"

#include <math.h>

static uint32_t get(const struct aif_map *m, uint64_t key)
{
	uint64_t id;

	return aif_map_get(m, key, &id) ? (uint32_t)id : AIF_NONE;
}

static void on_counter(struct aif_ingest *in, const struct aif_wire_counter *r)
{
	struct aif_store *s = in->drainer->store;
	struct aif_target *t = in->target;
	const char *name = (const char *)(r + 1);
	struct aif_target_counter c = {.device = get(&t->devices, r->device), .unit = AIF_NONE};

	if (c.device == AIF_NONE) {
		in->slot->drain.bad++; /* told before, by the same thread */
		return;
	}
	if (get(&t->counters, r->head.aux) != AIF_NONE)
		return;
	c.name = aif_store_str(s, name, r->name_len);
	if (r->unit_len)
		c.unit = aif_store_str(s, name + r->name_len, r->unit_len);
	if (c.name == AIF_NONE || !aif_store_pay_own(s, 2 * sizeof(c)) ||
	    aif_grow(&t->counter, &t->counter_cap, t->counter_len + 1, sizeof(c)) < 0)
		return;
	if (r->device < 64)
		t->counted |= UINT64_C(1) << r->device;
	aif_ingest_put(s, &t->counters, r->head.aux, (uint32_t)t->counter_len);
	t->counter[t->counter_len++] = c;
}

static void on_values(struct aif_ingest *in, const struct aif_wire_values *r)
{
	struct aif_store *s = in->drainer->store;
	struct aif_target *t = in->target;
	uint64_t lost = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t at = get(&t->counters, (uint64_t)r->head.aux + i);
		struct aif_counter_row *row;

		if (at == AIF_NONE || !isfinite(r->values[i]))
			continue;
		row = aif_batches_row(&s->batches, AIF_BATCH_COUNTER);
		if (!row) {
			lost++;
			continue;
		}
		*row = (struct aif_counter_row){.time = r->time,
						.value = r->values[i],
						.device = t->counter[at].device,
						.name = t->counter[at].name,
						.unit = t->counter[at].unit,
						.process = AIF_NONE};
	}
	if (lost)
		aif_store_loss(s, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(s, "values of counters"), lost);
}

void aif_counters_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	if (h->type == AIF_WIRE_COUNTER)
		on_counter(in, record);
	else
		on_values(in, record);
}

/* ---- who reads ----------------------------------------------------------------------------------- */

void aif_counters_device(struct aif_drainer *d, struct aif_target *t, uint32_t device,
			 uint32_t kind)
{
	if (device >= 64 || kind != AIF_DEVICE_GPU)
		return;
	t->counting_wanted |= UINT64_C(1) << device;
	d->any_counting = true;
}

/* Another process reads those of the device at that address. */
static bool is_read(const struct aif_drainer *d, const struct aif_target *but, uint32_t pci)
{
	for (const struct aif_target *t = d->targets; t; t = t->next)
		for (uint32_t i = 0; i < 64 && t != but && !t->ended && t->counting >> i; i++)
			if ((t->counting >> i & 1) && get(&t->device_pci, i) == pci)
				return true;
	return false;
}

static void allow(const struct aif_drainer *d, struct aif_target *t)
{
	uint64_t open = t->counting_wanted & ~t->counting;

	for (uint32_t i = 0; i < 64 && open >> i; i++) {
		uint32_t pci = get(&t->device_pci, i);

		/* Whose place is not known may be any: who finds it taken says so. */
		if (!(open >> i & 1))
			continue;
		if (pci != AIF_NONE && is_read(d, t, pci)) {
			t->counted_by_others |= UINT64_C(1) << i;
			continue;
		}
		t->counting |= UINT64_C(1) << i;
		atomic_store_explicit(&t->shm->counting, t->counting, memory_order_release);
	}
}

void aif_counters_follow(struct aif_drainer *d)
{
	for (struct aif_target *t = d->targets; t && d->opts->counters; t = t->next)
		if (t->shm && !t->ended && t->counting_wanted != t->counting)
			allow(d, t);
}

/* ---- who has told none --------------------------------------------------------------------------- */

void aif_counters_note(struct aif_target *t, uint32_t reason)
{
	t->counters_refused |=
		reason == AIF_REASON_ZE_COUNTERS_NONE || reason == AIF_REASON_ZE_COUNTERS_OFF ||
		reason == AIF_REASON_ZE_METRICS_UNWANTED ||
		reason == AIF_REASON_ZE_COUNTERS_FAILED || reason == AIF_REASON_ZE_COUNTERS_LOST ||
		reason == AIF_REASON_ZE_METRICS_LAST;
}

/* A device and its parts are read as one. */
static bool is_counted(const struct aif_drainer *d, const struct aif_target *t, uint32_t device)
{
	uint32_t pci = get(&t->device_pci, device);

	for (uint32_t i = 0; i < 64; i++)
		if (((t->counted | t->counted_by_others) >> i & 1) && get(&t->device_pci, i) == pci)
			return true;
	return pci != AIF_NONE && is_read(d, t, pci);
}

void aif_counters_end(struct aif_drainer *d, struct aif_target *t)
{
	/* Who has collected nothing is told of elsewhere. */
	if (!d->opts->counters || !t->shm || t->counters_refused ||
	    !atomic_load_explicit(&t->shm->began_ns, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < 64 && t->counting_wanted >> i; i++) {
		uint32_t device = get(&t->devices, i);

		if (!(t->counting_wanted >> i & 1) || device == AIF_NONE || is_counted(d, t, i))
			continue;
		aif_store_loss(d->store, AIF_REASON_COUNTERS_SHORT, AIF_NONE,
			       d->store->p.devices[device].name, 1);
		return;
	}
}

void aif_counters_last(struct aif_drainer *d)
{
	if (d->opts->counters && !d->any_counting)
		aif_store_loss(d->store, AIF_REASON_COUNTERS_NO_GPU, AIF_NONE, AIF_NONE, 1);
}
