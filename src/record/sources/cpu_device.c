/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sources.h"

#include "base/open_regular.h"
#include "record/sources/perf_source.h"

#include <errno.h>
#include <string.h>

/*
 * Device samples of CPU devices (PoCL): threads that execute device code are sampled by perf_event (perf_source.h), or,
 * where that is refused, by timers of the agent's. What of them is device code shows by itself: a thread belongs to the
 * device from its first sample in a module of device code on.
 */

struct target_state {
	uint32_t device;              /* of the store + 1; 0: the process has no CPU device */
	bool is_decided;              /* who samples */
	struct aif_perf *perf;        /* NULL: not sampled by the recorder */
	uint64_t perf_cost_ns;        /* already counted */
	bool lacks_descriptors;       /* for some of its threads, which has been counted */
	struct aif_map timer_threads; /* tid -> 1: sampled in device code by its timer */
	/* The window under way: its id + 1, 0 = none yet; its start, 0 = nobody samples; samples lost in it. */
	uint32_t window;
	uint64_t window_start, window_lost;
	uint64_t ring_lost; /* of aif_target's lost_samples, already counted */
};

static struct target_state *device_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_CPU_DEVICE];
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static uint32_t window_of(struct aif_drainer *d, struct target_state *s)
{
	if (!s->window)
		s->window = ++d->windows;
	return s->window - 1;
}

/* Makes a row of a sample of thread `tid` at `pc`. *is_kernel_thread is the thread's own memory: it becomes true at its
 * first sample in device code; samples before that are not of a device and are not kept. */
static void put_sample(struct aif_drainer *d, struct aif_target *t, uint32_t tid, uint64_t time,
		       uint64_t pc, uint64_t count, bool *is_kernel_thread)
{
	struct target_state *s = device_of(t);
	const struct aif_address_range *range = aif_target_range(d, t, pc, time);
	struct aif_sample_row *row;
	uint32_t frame = AIF_NONE;

	if (range && range->is_kernel)
		*is_kernel_thread = true;
	/* All samples of threads that execute device code count, also of what a kernel calls in libm or in the
	 * driver. */
	if (!*is_kernel_thread)
		return;
	if (range)
		frame = aif_store_frame(d->store,
					range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
					range->module, pc - range->base);
	d->samples += count;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_SAMPLE);
	if (!row) {
		s->window_lost += count;
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "samples"), count);
		return;
	}
	*row = (struct aif_sample_row){
		.time = time,
		.count = count,
		.thread = aif_target_thread(d, t, tid, NULL),
		.process = t->process,
		.device = s->device - 1, /* AIF_NONE: none */
		.frame = frame,
		.reason = AIF_NONE,
		.window = window_of(d, s),
	};
}

static void put_window(struct aif_drainer *d, const struct aif_target *t, struct target_state *s,
		       uint64_t now, uint32_t share)
{
	uint32_t sampling = atomic_load_explicit(&t->shm->sampling, memory_order_relaxed),
		 window = window_of(d, s);
	struct aif_window_row *row = aif_batches_row(&d->store->batches, AIF_BATCH_WINDOW);

	if (row)
		*row = (struct aif_window_row){
			.start = s->window_start,
			.end = now,
			.window = window,
			.device = s->device - 1,
			.process = t->process,
			.held = sampling != AIF_SAMPLING_NONE,
			.period_ns =
				d->opts->device_rate ? AIF_NS_PER_S / aif_record_rate(d->opts) : 0,
			.lost = s->window_lost,
			.thread = AIF_NONE,
			.p_ppm = s->perf                         ? share
				 : sampling != AIF_SAMPLING_NONE ? 1000000
								 : 0,
		};
}

/* Closes the window under way and opens the next. */
static void target_window(struct aif_drainer *d, struct aif_target *t, uint64_t now, bool collected)
{
	struct target_state *s = device_of(t);
	uint32_t share = s->perf ? aif_perf_share(s->perf) : 0;

	s->window_lost += t->lost_samples - s->ring_lost;
	s->ring_lost = t->lost_samples;
	if (s->device && s->window_start && collected)
		put_window(d, t, s, now, share);
	s->window = 0;
	s->window_start = now;
	s->window_lost = 0;
}

/* ---- who samples --------------------------------------------------------------------------------- */

/* Returns the share that sampling CPU devices may cost, beside --overhead, which is for capture. */
static uint32_t sampling_ppm(const struct aif_record_opts *o)
{
	return o->all_launches ? 0 : AIF_MAX(o->overhead_ppm / 2, 1);
}

/* Samples a process that has a CPU device, or lets its agent do it. */
static void start(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	struct target_state *s = device_of(t);
	int r;

	s->is_decided = true;
	if (!d->opts->device_rate)
		return;
	s->window_start = now;
	r = t->pid > 0 ? aif_perf_new(t->pid, aif_record_rate(d->opts), sampling_ppm(d->opts),
				      &s->perf)
		       : -ESRCH;
	if (!r) {
		atomic_store(&t->shm->sampling, AIF_SAMPLING_RECORDER);
		return;
	}
	if (r == -ESRCH && t->pid > 0)
		return; /* the process is ending, or has ended */
	atomic_store(&t->shm->sampling, AIF_SAMPLING_TIMERS);
	if (aif_open_lacks_descriptors(r))
		aif_store_loss(d->store, AIF_REASON_NO_DESCRIPTORS, t->process,
			       aif_store_puts(d->store, "device samples come from timers"), 1);
	else
		aif_store_loss(d->store, AIF_REASON_SAMPLES_NO_PERF, t->process,
			       aif_store_puts(d->store, strerror(-r)), 1);
}

static void follow_threads(struct aif_drainer *d, struct aif_target *t)
{
	struct target_state *s = device_of(t);

	if (!aif_open_lacks_descriptors(aif_perf_threads(s->perf, t->pid)) || s->lacks_descriptors)
		return;
	s->lacks_descriptors = true;
	aif_store_loss(d->store, AIF_REASON_NO_DESCRIPTORS, t->process,
		       aif_store_puts(d->store, "device samples of some threads"), 1);
}

static void target_step(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn)
{
	struct target_state *s = device_of(t);

	if (s->device && !s->is_decided)
		start(d, t, turn->now);
	if (turn->new_threads && s->perf)
		follow_threads(d, t);
}

/* ---- samples of perf_event ----------------------------------------------------------------------- */

struct reading {
	struct aif_drainer *d;
	struct aif_target *t;
};

static void on_perf_sample(void *arg, uint32_t tid, uint64_t time, uint64_t pc,
			   bool *is_kernel_thread)
{
	const struct reading *r = arg;

	r->d->sampled_by_perf = true;
	put_sample(r->d, r->t, tid, time, pc, 1, is_kernel_thread);
}

static void on_perf_lost(void *arg, uint64_t n)
{
	const struct reading *r = arg;

	device_of(r->t)->window_lost += n;
	aif_store_loss(r->d->store, AIF_REASON_SAMPLE_LOST, r->t->process, AIF_NONE, n);
}

static void on_perf_mapped(void *arg)
{
	const struct reading *r = arg;

	r->t->maps_stale = true;
}

static void target_drain(struct aif_drainer *d, struct aif_target *t)
{
	struct reading reading = {.d = d, .t = t};
	const struct aif_perf_reader reader = {.arg = &reading,
					       .sample = on_perf_sample,
					       .lost = on_perf_lost,
					       .mapped = on_perf_mapped};
	struct target_state *s = device_of(t);
	uint64_t cost_ns;

	if (!s->perf)
		return;
	aif_perf_drain(s->perf, &reader);
	aif_perf_turn(s->perf, !t->gap_since, &reader);
	cost_ns = aif_perf_cost_ns(s->perf);
	d->sampling_ns += cost_ns - s->perf_cost_ns;
	s->perf_cost_ns = cost_ns;
}

/* ---- records ------------------------------------------------------------------------------------- */

/* A process has one CPU device: its first. */
static void on_device(struct aif_ingest *in, const struct aif_wire_device *r)
{
	struct target_state *s = device_of(in->target);
	uint64_t device;

	if (r->kind == AIF_DEVICE_CPU && !s->device &&
	    aif_map_get(&in->target->devices, r->head.aux, &device))
		s->device = (uint32_t)device + 1;
}

/* A sample of a timer's. */
static void on_sample(struct aif_ingest *in, const struct aif_wire_sample *r)
{
	struct target_state *s = device_of(in->target);
	uint64_t state = 0;
	bool is_kernel_thread;

	aif_map_get(&s->timer_threads, r->head.aux, &state);
	is_kernel_thread = state;
	in->drainer->sampled_by_timer = true;
	put_sample(in->drainer, in->target, r->head.aux, r->time, r->pc, AIF_MIN(r->count, 1000000),
		   &is_kernel_thread);
	if (is_kernel_thread && !state)
		aif_ingest_put(in->drainer->store, &s->timer_threads, r->head.aux, 1);
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	if (h->type == AIF_WIRE_DEVICE)
		on_device(in, record);
	else
		on_sample(in, record);
}

static void target_free(struct aif_target *t)
{
	aif_perf_free(device_of(t)->perf);
	aif_map_finish(&device_of(t)->timer_threads);
}

const struct aif_source aif_source_cpu_device = {
	.name = "cpu device",
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(DEVICE) | AIF_SOURCE_RECORD(SAMPLE),
	.on_record = on_record,
	.target_drain = target_drain,
	.target_step = target_step,
	.target_window = target_window,
	.target_free = target_free,
};
