/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sources.h"

#include <math.h>

/*
 * Counters of devices, as agents read them (--counters): names and values become rows. Who reads: of a device that
 * several processes use one of them, since its hardware serves one at a time; when that one ends, another.
 */

struct counter {
	uint32_t device, name, unit; /* of the store; strings */
};

struct state {
	bool any_gpu; /* a process had a device that may have counters */
};

struct target_state {
	struct aif_map ids; /* agent's id -> index of `counter` */
	struct counter *counter;
	size_t len, cap;
	/* Sets of the target's devices, by the agent's ids: that have counters; whose it may read; that have defined
	 * some; that another process has read. */
	uint64_t wanted, allowed, defined, read_by_others;
	bool is_refused; /* its agent has said why there are none */
};

static struct state *state_of(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_COUNTERS];
}

static struct target_state *counters_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_COUNTERS];
}

static void on_counter(struct aif_ingest *in, const struct aif_wire_counter *r)
{
	struct aif_store *s = in->drainer->store;
	const struct aif_target *t = in->target;
	struct target_state *k = counters_of(t);
	const char *name = (const char *)(r + 1);
	struct counter c = {.device = aif_ingest_get(&t->devices, r->device), .unit = AIF_NONE};

	if (c.device == AIF_NONE) {
		in->slot->drain.bad++; /* told before, by the same thread */
		return;
	}
	if (aif_ingest_get(&k->ids, r->head.aux) != AIF_NONE)
		return;
	c.name = aif_store_str(s, name, r->name_len);
	if (r->unit_len)
		c.unit = aif_store_str(s, name + r->name_len, r->unit_len);
	if (c.name == AIF_NONE || !aif_store_charge_own(s, 2 * sizeof(c)) ||
	    aif_grow(&k->counter, &k->cap, k->len + 1, sizeof(c)) < 0)
		return;
	if (r->device < 64)
		k->defined |= UINT64_C(1) << r->device;
	aif_ingest_put(s, &k->ids, r->head.aux, (uint32_t)k->len);
	k->counter[k->len++] = c;
}

static void on_values(struct aif_ingest *in, const struct aif_wire_values *r)
{
	struct aif_store *s = in->drainer->store;
	const struct target_state *k = counters_of(in->target);
	uint64_t lost = 0,
		 launch = r->launch ? aif_target_launch(in->target, r->launch - 1) + 1 : 0;

	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t at = aif_ingest_get(&k->ids, (uint64_t)r->head.aux + i);
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
						.device = k->counter[at].device,
						.name = k->counter[at].name,
						.unit = k->counter[at].unit,
						.process = AIF_NONE,
						.launch = launch};
	}
	if (lost)
		aif_store_loss(s, AIF_REASON_WRITER_BEHIND, in->target->process,
			       aif_store_puts(s, "values of counters"), lost);
}

/* Level Zero's GPUs have counters; those of other runtimes are not read. */
static void on_device(struct aif_ingest *in, const struct aif_wire_device *r)
{
	uint32_t device = aif_ingest_get(&in->target->devices, r->head.aux);

	if (r->head.aux >= 64 || r->kind != AIF_DEVICE_GPU ||
	    !aif_store_device_runtime_is(in->drainer->store, device, "level zero"))
		return;
	counters_of(in->target)->wanted |= UINT64_C(1) << r->head.aux;
	state_of(in->drainer)->any_gpu = true;
}

static void on_note(struct target_state *k, uint32_t reason)
{
	k->is_refused |=
		reason == AIF_REASON_ZE_COUNTERS_NONE || reason == AIF_REASON_ZE_COUNTERS_OFF ||
		reason == AIF_REASON_ZE_METRICS_UNWANTED ||
		reason == AIF_REASON_ZE_COUNTERS_FAILED || reason == AIF_REASON_ZE_COUNTERS_LOST ||
		reason == AIF_REASON_ZE_METRICS_LAST;
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	if (h->type == AIF_WIRE_COUNTER)
		on_counter(in, record);
	else if (h->type == AIF_WIRE_VALUES)
		on_values(in, record);
	else if (h->type == AIF_WIRE_DEVICE)
		on_device(in, record);
	else
		on_note(counters_of(in->target), h->aux);
}

/* ---- who reads ----------------------------------------------------------------------------------- */

/* True if another process reads the counters of the device at that address. */
static bool is_read(const struct aif_drainer *d, const struct aif_target *but, uint32_t pci)
{
	for (const struct aif_target *t = d->targets; t; t = t->next) {
		uint64_t allowed = counters_of(t)->allowed;

		for (uint32_t i = 0; i < 64 && t != but && !t->ended && allowed >> i; i++)
			if ((allowed >> i & 1) && aif_ingest_get(&t->device_pci, i) == pci)
				return true;
	}
	return false;
}

/* Lets the target read the counters of its devices that no other process reads. */
static void allow(const struct aif_drainer *d, const struct aif_target *t)
{
	struct target_state *k = counters_of(t);
	uint64_t open = k->wanted & ~k->allowed;

	for (uint32_t i = 0; i < 64 && open >> i; i++) {
		uint32_t pci = aif_ingest_get(&t->device_pci, i);

		if (!(open >> i & 1))
			continue;
		/* A device without a known address may be any: the agent that finds it taken says so. */
		if (pci != AIF_NONE && is_read(d, t, pci)) {
			k->read_by_others |= UINT64_C(1) << i;
			continue;
		}
		k->allowed |= UINT64_C(1) << i;
		atomic_store_explicit(&t->shm->counting, k->allowed, memory_order_release);
	}
}

static void step(struct aif_drainer *d, const struct aif_turn *turn)
{
	(void)turn;
	for (const struct aif_target *t = d->targets; t && d->opts->counters; t = t->next)
		if (t->shm && !t->ended && counters_of(t)->wanted != counters_of(t)->allowed)
			allow(d, t);
}

/* ---- who has none -------------------------------------------------------------------------------- */

/* True if somebody has read the device's counters; a device and its parts are read as one. */
static bool is_counted(const struct aif_drainer *d, const struct aif_target *t, uint32_t device)
{
	const struct target_state *k = counters_of(t);
	uint32_t pci = aif_ingest_get(&t->device_pci, device);

	for (uint32_t i = 0; i < 64; i++)
		if (((k->defined | k->read_by_others) >> i & 1) &&
		    aif_ingest_get(&t->device_pci, i) == pci)
			return true;
	return pci != AIF_NONE && is_read(d, t, pci);
}

/* Counts a target that ended before any counter of its devices was read. */
static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	const struct target_state *k = counters_of(t);

	(void)now;
	/* A target that has never collected is counted by others. */
	if (!d->opts->counters || !t->shm || k->is_refused ||
	    !atomic_load_explicit(&t->shm->began_ns, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < 64 && k->wanted >> i; i++) {
		uint32_t device = aif_ingest_get(&t->devices, i);

		if (!(k->wanted >> i & 1) || device == AIF_NONE || is_counted(d, t, i))
			continue;
		aif_store_loss(d->store, AIF_REASON_COUNTERS_SHORT, AIF_NONE,
			       d->store->p.devices[device].name, 1);
		return;
	}
}

static void target_free(struct aif_target *t)
{
	aif_map_finish(&counters_of(t)->ids);
	free(counters_of(t)->counter);
}

/* Counts a recording in which no process had a device with counters. */
static void last(struct aif_drainer *d)
{
	if (d->opts->counters && !state_of(d)->any_gpu)
		aif_store_loss(d->store, AIF_REASON_COUNTERS_NO_GPU, AIF_NONE, AIF_NONE, 1);
}

const struct aif_source aif_source_counters = {
	.name = "counters",
	.state_size = sizeof(struct state),
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(DEVICE) | AIF_SOURCE_RECORD(COUNTER) |
		   AIF_SOURCE_RECORD(VALUES) | AIF_SOURCE_RECORD(NOTE),
	.on_record = on_record,
	.target_end = target_end,
	.target_free = target_free,
	.step = step,
	.last = last,
};
