/* SPDX-License-Identifier: Apache-2.0 */
#include "record/device_samples.h"

#include "record/modfiles.h"
#include "record/streamed.h"
#include "record/xe_join.h"

#include <inttypes.h>
#include <stdio.h>

/* Of one function, far above any real one's: 48 bits are all that a frame can hold. */
#define MAX_PC (UINT64_C(1) << 40)

static uint32_t get(const struct aif_map *m, uint64_t key)
{
	uint64_t id;

	return aif_map_get(m, key, &id) ? (uint32_t)id : AIF_NONE;
}

/* The kernel of that name, if there is one by now: its launch may be told of later than its samples. */
static void find_kernel(struct aif_drainer *d, struct aif_target *t,
			const struct aif_target_code *code)
{
	struct aif_module *m = &d->store->p.modules[code->module];

	if (m->kernel == AIF_NONE)
		m->kernel = get(&t->kernel_named, code->name);
}

static uint32_t module_of(struct aif_store *s, const struct aif_wire_code *r)
{
	bool by_name = r->symbol == AIF_WIRE_SYMBOL_BY_NAME;
	/* Only CUDA gives numbers. */
	const char *format = by_name ? "zebin" : "cubin";
	char path[32], id[64];
	uint64_t name = aif_hash_bytes(r + 1, r->name_len);
	int path_len, id_len;

	path_len = r->hash ? snprintf(path, sizeof(path), "%s %016" PRIx64, format, r->hash)
			   : snprintf(path, sizeof(path), "%s", format);
	/* Without an object its number says nothing: its name does. */
	if (by_name)
		id_len = snprintf(id, sizeof(id), "%016" PRIx64 ".%016" PRIx64, r->hash, name);
	else
		id_len = snprintf(id, sizeof(id), "%016" PRIx64 ".%" PRIu32,
				  r->hash ? r->hash : name, r->symbol);
	return aif_store_module(s, AIF_MODULE_DEVICE, path, (size_t)path_len, id, (size_t)id_len);
}

static void on_code(struct aif_ingest *in, const struct aif_wire_code *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_target *t = in->target;
	const char *name = (const char *)(r + 1);
	size_t known = d->store->p.modules_len;
	struct aif_target_code code;

	if (get(&t->codes, r->head.aux) != AIF_NONE)
		return;
	code.name = aif_ingest_kernel_name(d->store, name, r->name_len);
	code.module = module_of(d->store, r);
	if (code.module == AIF_NONE || code.name == AIF_NONE ||
	    !aif_store_pay_own(d->store, 2 * sizeof(code)) ||
	    aif_grow(&t->code, &t->code_cap, t->code_len + 1, sizeof(code)) < 0)
		return;
	aif_ingest_put(d->store, &t->codes, r->head.aux, (uint32_t)t->code_len);
	t->code[t->code_len++] = code;
	find_kernel(d, t, &code);
	if (d->store->p.modules_len > known && aif_store_pay(d->store, r->name_len))
		aif_modfiles_add_function(d->files, code.module, name, r->name_len, r->hash,
					  r->symbol);
}

static void on_reason(struct aif_ingest *in, const struct aif_wire_reason *r)
{
	struct aif_store *s = in->drainer->store;

	aif_ingest_put(s, &in->target->stalls, r->head.aux, aif_store_str(s, r + 1, r->name_len));
}

/* what: NULL where the reason says it. */
static void lose(struct aif_ingest *in, enum aif_reason reason, const char *what, uint64_t n)
{
	struct aif_store *s = in->drainer->store;

	if (n)
		aif_store_loss(s, reason, in->target->process,
			       what ? aif_store_puts(s, what) : AIF_NONE, n);
}

static void sample_row(struct aif_ingest *in, uint32_t frame, uint32_t reason, uint64_t count)
{
	const struct aif_target_window *w = &in->slot->window;
	struct aif_sample_row *row;

	if (!count)
		return;
	row = aif_batches_row(&in->drainer->store->batches, AIF_BATCH_SAMPLE);
	if (!row) {
		lose(in, AIF_REASON_WRITER_BEHIND, "samples", count);
		return;
	}
	in->drainer->samples += count;
	*row = (struct aif_sample_row){.time = w->start,
				       .count = count,
				       .thread = AIF_NONE,
				       .process = in->target->process,
				       .device = w->device,
				       .frame = frame,
				       .reason = reason,
				       .window = w->window};
}

static void on_window(struct aif_ingest *in, const struct aif_wire_window *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_target_window *w = &in->slot->window;
	struct aif_window_row *row;

	*w = (struct aif_target_window){.start = r->start,
					.id = r->head.aux,
					.device = get(&in->target->devices, r->device)};
	/* More than a device can take in a window: it was made up. */
	if (r->samples > UINT32_MAX || r->lost > UINT32_MAX || r->others > UINT32_MAX)
		w->device = AIF_NONE;
	if (w->device == AIF_NONE) {
		in->slot->drain.bad++;
		return;
	}
	lose(in, AIF_REASON_SAMPLE_LOST, NULL, r->lost);
	if (r->flags & AIF_WIRE_WINDOW_ADDRESSES) {
		aif_streamed_window(in, r, w->device);
		return;
	}
	in->target->was_sampled = true;
	w->window = d->windows++;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_WINDOW);
	if (row)
		*row = (struct aif_window_row){.start = r->start,
					       .end = AIF_MAX(r->start, r->end),
					       .window = w->window,
					       .device = w->device,
					       .process = in->target->process,
					       .held = 1,
					       .period_ns = r->period_ps / 1000,
					       .lost = r->lost,
					       .thread = AIF_NONE,
					       .p_ppm = 1000000};
	else
		lose(in, AIF_REASON_WRITER_BEHIND, "windows", 1);
	sample_row(in, AIF_NONE, AIF_NONE, r->others);
}

static void on_pc(struct aif_ingest *in, const struct aif_wire_pc *r)
{
	struct aif_drainer *d = in->drainer;
	uint32_t i = get(&in->target->codes, r->code), frame = AIF_NONE;

	if (in->slot->window.device == AIF_NONE || in->slot->window.id != r->head.aux) {
		in->slot->drain.bad++;
		return;
	}
	if (in->slot->window.is_streamed) {
		aif_streamed_pc(in, r);
		return;
	}
	if (i != AIF_NONE) {
		const struct aif_target_code *code = &in->target->code[i];

		find_kernel(d, in->target, code);
		if (r->pc < MAX_PC)
			frame = aif_store_frame(d->store, AIF_FRAME_DEVICE, code->module, r->pc);
	}
	for (uint32_t k = 0; k < r->count; k++) {
		uint32_t reason = get(&in->target->stalls, r->samples[k] >> 32);

		/* A row without frame and reason is of other programs (attribution_windows.c). */
		if (frame == AIF_NONE && reason == AIF_NONE)
			reason = aif_store_puts(d->store, "");
		sample_row(in, frame, reason, (uint32_t)r->samples[k]);
	}
}

static void on_place(struct aif_ingest *in, const struct aif_wire_place *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_target *t = in->target;
	uint32_t i = get(&t->codes, r->head.aux);
	struct aif_place place = {.address = r->address,
				  .size = r->size,
				  .from = r->time,
				  .process = t->process,
				  .device = get(&t->devices, r->device),
				  .code = r->head.aux};

	/* Both were told before, by the same thread. */
	if (i == AIF_NONE || place.device == AIF_NONE ||
	    d->store->p.devices[place.device].kind == AIF_DEVICE_CPU) {
		in->slot->drain.bad++;
		return;
	}
	place.module = t->code[i].module;
	place.name = t->code[i].name;
	place.pci = get(&t->device_pci, r->device);
	place.pci = place.pci == AIF_NONE ? 0 : place.pci;
	aif_places_put(&d->places, d->store, &place);
	if (!r->size)
		return; /* it is gone: there is nothing to sample */
	aif_xe_wanted(d);
	aif_streamed_wanted(t, r->device);
}

void aif_device_samples_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	switch ((enum aif_wire_type)h->type) {
	case AIF_WIRE_CODE:
		on_code(in, record);
		break;
	case AIF_WIRE_REASON:
		on_reason(in, record);
		break;
	case AIF_WIRE_WINDOW:
		on_window(in, record);
		break;
	case AIF_WIRE_PLACE:
		on_place(in, record);
		break;
	default:
		on_pc(in, record);
		break;
	}
}

void aif_device_samples_last(struct aif_drainer *d, struct aif_target *t)
{
	for (size_t i = 0; i < t->code_len; i++)
		find_kernel(d, t, &t->code[i]);
}

void aif_device_samples_note(struct aif_target *t, uint32_t reason)
{
	t->samples_refused |=
		reason == AIF_REASON_CUDA_NO_CUPTI || reason == AIF_REASON_CUDA_CROWDED ||
		reason == AIF_REASON_CUDA_REFUSED || reason == AIF_REASON_CUDA_YIELDED ||
		reason == AIF_REASON_CUDA_COUNTERS || reason == AIF_REASON_CUDA_COUNTERS_HELD ||
		reason == AIF_REASON_CUDA_NO_SAMPLING;
}

static bool has_cuda(const struct aif_drainer *d, const struct aif_target *t)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t device = get(&t->devices, i), runtime;

		if (device == AIF_NONE)
			continue;
		runtime = d->store->p.devices[device].runtime;
		if (runtime != AIF_NONE && !strcmp(aif_profile_str(&d->store->p, runtime), "cuda"))
			return true;
	}
	return false;
}

void aif_device_samples_end(struct aif_drainer *d, const struct aif_target *t)
{
	/* Memory of the device's is taken where sampling begins: then the kernels were too few to be met. */
	if (!d->opts->device_rate || !t->shm || !t->execs || t->was_sampled || t->samples_refused ||
	    atomic_load_explicit(&t->shm->device_bytes, memory_order_relaxed) || !has_cuda(d, t))
		return;
	aif_store_loss(d->store, AIF_REASON_CUDA_SHORT, t->process, AIF_NONE, 1);
}
