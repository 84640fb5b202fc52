/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "record/nvml/reader.h"
#include "record/sources/sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Clocks, power, energy, temperature, memory and use of the NVIDIA GPUs that recorded processes use, as counters. Nothing
 * of it is done in the target.
 */

/* The last readings take some 10 ms; loading the driver's library on a machine whose GPUs sleep, seconds. */
#define STOP_NS (1000 * 1000 * 1000)

struct state {
	struct aif_nvml_reader *reader; /* NULL until there is a GPU to read */
	bool is_stopped;
	uint32_t devices[AIF_NVML_CARDS]; /* of the store, those that are read or were refused */
	unsigned devices_len;
	uint32_t names[AIF_NVML_COUNTERS], units[AIF_NVML_COUNTERS]; /* strings + 1; 0: not yet */
};

struct target_state {
	bool has_gpu;
};

static struct state *state_of(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_NVML];
}

static bool is_known(const struct state *s, uint32_t device)
{
	for (unsigned i = 0; i < s->devices_len; i++)
		if (s->devices[i] == device)
			return true;
	return false;
}

static void add_device(struct aif_drainer *d, uint32_t device, uint32_t pci)
{
	struct aif_store *store = d->store;
	struct state *s = state_of(d);

	if (is_known(s, device) || s->devices_len == AIF_NVML_CARDS || s->is_stopped)
		return;
	s->devices[s->devices_len++] = device;
	/* CUDA's name of an instance has this, and it has no address of its own. */
	if (!pci && strstr(aif_profile_str(&store->p, store->p.devices[device].name), " MIG ")) {
		aif_store_loss(store, AIF_REASON_NVML_MIG, AIF_NONE, store->p.devices[device].name,
			       1);
		return;
	}
	if (!s->reader)
		s->reader = aif_nvml_reader_new();
	if (s->reader)
		aif_nvml_reader_add(s->reader, pci, device);
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_device *r = record;
	uint32_t device = aif_ingest_get(&in->target->devices, r->head.aux);
	struct target_state *t = in->target->source_state[AIF_SOURCE_NVML];

	if (r->kind != AIF_DEVICE_GPU || device == AIF_NONE ||
	    in->drainer->opts->nvml == AIF_RECORD_NVML_OFF ||
	    !aif_store_device_runtime_is(in->drainer->store, device, "cuda"))
		return;
	t->has_gpu = true;
	add_device(in->drainer, device, r->pci);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t string_of(struct aif_store *store, uint32_t *known, const char *text)
{
	if (!*known)
		*known = aif_store_puts(store, text) + 1;
	return *known - 1;
}

static void put_value(struct aif_drainer *d, const struct aif_nvml_value *v)
{
	struct aif_store *store = d->store;
	struct state *s = state_of(d);
	struct aif_counter_row row = {
		.time = v->time,
		.value = v->value,
		.device = v->tag,
		.name = string_of(store, &s->names[v->counter], aif_nvml_counter_name(v->counter)),
		.unit = string_of(store, &s->units[v->counter], aif_nvml_counter_unit(v->counter)),
		.process = AIF_NONE};
	struct aif_counter_row *at = aif_batches_row(&store->batches, AIF_BATCH_COUNTER);

	if (at)
		*at = row;
	else
		aif_store_loss(store, AIF_REASON_WRITER_BEHIND, AIF_NONE,
			       aif_store_puts(store, "values of counters"), 1);
}

static void put_meta(struct aif_store *s, uint32_t device, const char *what, double value)
{
	char key[64], text[32];

	if (!(value > 0))
		return;
	snprintf(key, sizeof(key), "nvml.%" PRIu32 ".%s", device, what);
	snprintf(text, sizeof(text), "%.12g", value);
	aif_store_meta(s, key, text);
}

static void put_facts(struct aif_store *s, uint32_t device, const struct aif_nvml_facts *f)
{
	char key[64];

	if (*f->driver)
		aif_store_meta(s, "nvml.driver", f->driver);
	put_meta(s, device, "power_limit_w", f->power_limit);
	put_meta(s, device, "sm_clock_max_mhz", f->most_sm_clock);
	put_meta(s, device, "memory_clock_max_mhz", f->most_memory_clock);
	snprintf(key, sizeof(key), "nvml.%" PRIu32 ".gpm", device);
	aif_store_meta(s, key, aif_nvml_gpm_text(f->gpm));
}

static void take(struct aif_drainer *d)
{
	struct state *s = state_of(d);
	struct aif_nvml_value values[64];
	struct aif_nvml_facts facts;
	struct aif_nvml_note n;
	uint32_t device;
	size_t len;

	while ((len = aif_nvml_reader_take(s->reader, values, AIF_ARRAY_LEN(values))) != 0)
		for (size_t i = 0; i < len; i++)
			put_value(d, &values[i]);
	while (aif_nvml_reader_facts(s->reader, &device, &facts))
		put_facts(d->store, device, &facts);
	while (aif_nvml_reader_note(s->reader, &n))
		aif_store_loss(d->store, n.reason, AIF_NONE,
			       *n.detail ? aif_store_puts(d->store, n.detail) : AIF_NONE, n.count);
}

static bool is_used(const struct aif_drainer *d)
{
	for (const struct aif_target *t = d->targets; t; t = t->next) {
		const struct target_state *its = t->source_state[AIF_SOURCE_NVML];

		if (its->has_gpu && !t->ended)
			return true;
	}
	return false;
}

static void step(struct aif_drainer *d, const struct aif_turn *turn)
{
	struct state *s = state_of(d);

	if (!s->reader || s->is_stopped)
		return;
	take(d);
	if (turn->new_threads)
		aif_nvml_reader_rest(s->reader, !is_used(d));
}

static void put_cost(struct aif_store *s, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	aif_store_meta(s, key, text);
}

static uint64_t stop(struct aif_drainer *d, bool collects)
{
	struct state *s = state_of(d);
	uint64_t now = aif_now_ns();
	struct aif_nvml_cost cost;

	(void)collects;
	if (!s->reader || s->is_stopped)
		return now;
	s->is_stopped = true;
	aif_nvml_reader_stop(s->reader, STOP_NS, &cost);
	take(d);
	put_cost(d->store, "cost.nvml_ns", cost.cpu_ns);
	put_cost(d->store, "cost.nvml_calls", cost.calls);
	put_cost(d->store, "cost.nvml_calls_ns", cost.calls_ns);
	put_cost(d->store, "cost.nvml_call_most_ns", cost.most_ns);
	return now;
}

static void finish(struct aif_drainer *d)
{
	struct state *s = state_of(d);
	struct aif_nvml_cost cost;

	/* A recording that fails to start ends without stop(). */
	if (s && s->reader && !s->is_stopped)
		aif_nvml_reader_stop(s->reader, STOP_NS, &cost);
	if (s)
		aif_nvml_reader_free(s->reader);
}

const struct aif_source aif_source_nvml = {
	.name = "nvml",
	.state_size = sizeof(struct state),
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(DEVICE),
	.on_record = on_record,
	.step = step,
	.stop = stop,
	.finish = finish,
};
