/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/device_code.h"
#include "record/sources/sources.h"
#include "record/sources/streamed.h"

/*
 * Samples that a device has taken of itself and its agent hands over by function (AIF_WIRE_WINDOW, PC): counts of a
 * window, by instruction and reason, without a time or a launch of their own. Windows by address are streamed.h's.
 */

/* Offset in one function, far above any real one's: 48 bits are all that a frame can hold. */
#define MAX_PC (UINT64_C(1) << 40)

/* The window that PC records of a ring belong to. */
struct window {
	uint64_t start;
	uint32_t id;     /* the agent's */
	uint32_t window; /* the row's */
	uint32_t device; /* of the store */
	bool is_valid, is_streamed;
};

struct target_state {
	struct window *windows; /* by slot; NULL before the first */
	bool was_sampled;       /* its GPU, by itself */
	bool is_refused;        /* its agent has said why it was not */
};

static struct target_state *samples_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_DEVICE_SAMPLES];
}

/* Counts a loss; what: NULL where the reason says it. */
static void lose(struct aif_ingest *in, enum aif_reason reason, const char *what, uint64_t n)
{
	struct aif_store *s = in->drainer->store;

	if (n)
		aif_store_loss(s, reason, in->target->process,
			       what ? aif_store_puts(s, what) : AIF_NONE, n);
}

static void sample_row(struct aif_ingest *in, const struct window *w, uint32_t frame,
		       uint32_t reason, uint64_t count)
{
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

/* Returns the window of the ring, or NULL if there is no memory. */
static struct window *window_of(const struct aif_ingest *in)
{
	struct target_state *s = samples_of(in->target);

	if (!s->windows)
		s->windows = calloc(in->target->slots_len, sizeof(*s->windows));
	return s->windows ? &s->windows[in->slot_index] : NULL;
}

static void window_row(struct aif_ingest *in, const struct window *w,
		       const struct aif_wire_window *r)
{
	struct aif_window_row *row =
		aif_batches_row(&in->drainer->store->batches, AIF_BATCH_WINDOW);

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
}

static void on_window(struct aif_ingest *in, const struct aif_wire_window *r)
{
	struct window *w = window_of(in);

	if (!w) {
		lose(in, AIF_REASON_NO_MEMORY, NULL, 1);
		return;
	}
	*w = (struct window){.start = r->start,
			     .id = r->head.aux,
			     .device = aif_ingest_get(&in->target->devices, r->device)};
	/* More than a device can take in a window: it was made up. */
	w->is_valid = w->device != AIF_NONE && r->samples <= UINT32_MAX && r->lost <= UINT32_MAX &&
		      r->others <= UINT32_MAX;
	if (!w->is_valid) {
		in->slot->drain.bad++;
		return;
	}
	lose(in, AIF_REASON_SAMPLE_LOST, NULL, r->lost);
	if (r->flags & AIF_WIRE_WINDOW_ADDRESSES) {
		w->is_valid = w->is_streamed = aif_streamed_window(in, r, w->device);
		return;
	}
	samples_of(in->target)->was_sampled = true;
	w->window = in->drainer->windows++;
	window_row(in, w, r);
	sample_row(in, w, AIF_NONE, AIF_NONE, r->others);
}

static void on_pc(struct aif_ingest *in, const struct aif_wire_pc *r)
{
	struct aif_drainer *d = in->drainer;
	const struct aif_device_function *function = aif_device_code_function(in->target, r->code);
	const struct window *w = window_of(in);
	uint32_t frame = AIF_NONE;

	if (!w || !w->is_valid || w->id != r->head.aux) {
		in->slot->drain.bad++;
		return;
	}
	if (w->is_streamed) {
		aif_streamed_pc(in, r);
		return;
	}
	if (function) {
		aif_device_code_link(d, in->target, function);
		if (r->pc < MAX_PC)
			frame = aif_store_frame(d->store, AIF_FRAME_DEVICE, function->module,
						r->pc);
	}
	for (uint32_t k = 0; k < r->count; k++) {
		uint32_t reason = aif_device_code_reason(in->target, r->samples[k] >> 32);

		/* A row without frame and reason is of other programs (analysis/attribution/windows.c). */
		if (frame == AIF_NONE && reason == AIF_NONE)
			reason = aif_store_puts(d->store, "");
		sample_row(in, w, frame, reason, (uint32_t)r->samples[k]);
	}
}

static void on_note(struct target_state *s, uint32_t reason)
{
	s->is_refused |= reason == AIF_REASON_CUDA_NO_CUPTI || reason == AIF_REASON_CUDA_CROWDED ||
			 reason == AIF_REASON_CUDA_REFUSED || reason == AIF_REASON_CUDA_YIELDED ||
			 reason == AIF_REASON_CUDA_COUNTERS ||
			 reason == AIF_REASON_CUDA_COUNTERS_HELD ||
			 reason == AIF_REASON_CUDA_NO_SAMPLING;
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	if (h->type == AIF_WIRE_WINDOW)
		on_window(in, record);
	else if (h->type == AIF_WIRE_PC)
		on_pc(in, record);
	else
		on_note(samples_of(in->target), h->aux);
}

static bool has_cuda(const struct aif_drainer *d, const struct aif_target *t)
{
	for (uint32_t i = 0; i < 64; i++)
		if (aif_store_device_runtime_is(d->store, aif_ingest_get(&t->devices, i), "cuda"))
			return true;
	return false;
}

/* Counts a target that ended before sampling of its GPU began. */
static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	const struct target_state *s = samples_of(t);

	(void)now;
	/* Memory of the device's is taken where sampling begins: then the kernels were too few to be met. */
	if (!d->opts->device_rate || !t->shm || !t->execs || s->was_sampled || s->is_refused ||
	    atomic_load_explicit(&t->shm->device_bytes, memory_order_relaxed) || !has_cuda(d, t))
		return;
	aif_store_loss(d->store, AIF_REASON_CUDA_SHORT, t->process, AIF_NONE, 1);
}

static void target_free(struct aif_target *t)
{
	free(samples_of(t)->windows);
}

const struct aif_source aif_source_device_samples = {
	.name = "device samples",
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(WINDOW) | AIF_SOURCE_RECORD(PC) | AIF_SOURCE_RECORD(NOTE),
	.on_record = on_record,
	.target_end = target_end,
	.target_free = target_free,
};
