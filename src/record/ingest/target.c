/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/target.h"

#include "base/clock.h"
#include "record/ingest/launches.h"
#include "record/ingest/source.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct aif_target *aif_target_new(struct aif_drainer *d, int pid, uint32_t process,
				  struct aif_shm *shm, uint32_t slots, uint64_t ring_size)
{
	struct aif_target *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->slots = calloc(slots, sizeof(*t->slots));
	if (!t->slots || !aif_sources_target_new(d, t)) {
		free(t->slots);
		free(t);
		return NULL;
	}
	for (uint32_t i = 0; i < slots; i++)
		t->slots[i].thread = AIF_NONE;
	t->pid = pid;
	aif_process_files_init(&t->files, pid);
	t->pidfd = -1;
	t->process = process;
	t->shm = shm;
	t->slots_len = slots;
	t->ring_size = ring_size;
	aif_jit_names_init(&t->jit);
	aif_filter_begin(t);
	return t;
}

void aif_target_set_clocks(struct aif_target *t, const struct aif_proc_clocks *clocks)
{
	t->clocks = *clocks;
	for (uint32_t i = 0; i < t->slots_len; i++)
		t->slots[i].drain.shift = clocks->monotonic;
}

void aif_target_free(struct aif_drainer *d, struct aif_target *t)
{
	struct aif_map *maps[] = {&t->threads, &t->devices,      &t->streams,   &t->programs,
				  &t->kernels, &t->kernel_named, &t->device_pci};

	if (!t)
		return;
	aif_store_uncharge(d->store, &t->quota, t->quota.own);
	aif_sources_target_free(d, t);
	for (uint32_t i = 0; i < t->slots_len; i++) {
		aif_map_finish(&t->slots[i].stacks);
		aif_map_finish(&t->slots[i].shapes);
		aif_map_finish(&t->slots[i].names);
		aif_map_finish(&t->slots[i].pycodes);
		free(t->slots[i].ranges.at);
		free(t->slots[i].program_ranges);
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(maps); i++)
		aif_map_finish(maps[i]);
	for (size_t i = 0; i < t->program_len; i++)
		aif_buf_finish(&t->program[i].source);
	free(t->program);
	free(t->slots);
	free(t->ranges.at);
	free(t->range_spans);
	free(t->deferred);
	aif_jit_names_finish(&t->jit);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->shm)
		munmap(t->shm, aif_shm_size(t->slots_len, t->ring_size));
	free(t);
}

uint64_t aif_target_unread(const struct aif_target *t, uint32_t slot)
{
	return atomic_load_explicit(&aif_shm_slot(t->shm, slot)->head, memory_order_relaxed) -
	       t->slots[slot].drain.tail;
}

/* Targets are drained in turns, so that one that floods us loses its own records and nobody else's: 1 MiB in 1 ms is
 * what a million launches a second take nine times. Costly records end a turn earlier, if others wait. */
#define TURN_BYTES (UINT64_C(1) << 20)
#define TURN_NS    (10 * 1000 * 1000)

static bool is_turn_over(const struct aif_drainer *d, uint64_t bytes, uint64_t began)
{
	bool others_wait = d->targets && d->targets->next;

	return bytes >= TURN_BYTES || (others_wait && aif_now_ns() - began >= TURN_NS);
}

/* Reads one ring until it is empty or the target's turn is over. Returns bytes. */
static uint64_t drain_ring(struct aif_drainer *d, struct aif_target *t, uint32_t i, uint64_t before,
			   uint64_t began)
{
	struct aif_slot *slot = aif_shm_slot(t->shm, i);
	struct aif_ingest in = {.drainer = d, .target = t, .slot = &t->slots[i], .slot_index = i};
	uint64_t bytes = 0, n;

	do {
		n = aif_ring_drain(&t->slots[i].drain, slot,
				   aif_shm_ring(t->shm, t->slots_len, t->ring_size, i),
				   t->ring_size, d->scratch, AIF_DRAIN_SCRATCH, AIF_DRAIN_SCRATCH,
				   aif_ingest_record, &in);
		bytes += n;
	} while (n && !is_turn_over(d, before + bytes, began));
	return bytes;
}

size_t aif_target_drain(struct aif_drainer *d, struct aif_target *t)
{
	size_t bytes = 0, old = t->deferred_len;
	uint64_t began = aif_now_ns();
	uint32_t next = 0;

	d->store->payer = &t->quota;
	t->is_cut = false;
	for (uint32_t n = 0; n < t->slots_len && !t->is_cut; n++) {
		uint32_t i = (t->first_slot + n) % t->slots_len;

		if (!aif_target_unread(t, i))
			continue;
		if (!aif_batches_room(&d->store->batches)) {
			old = 0;
			break; /* the writer is behind: what is in the rings waits there */
		}
		bytes += drain_ring(d, t, i, bytes, began);
		t->is_cut = is_turn_over(d, bytes, began);
		if (t->is_cut)
			next = (i + 1) % t->slots_len;
	}
	t->first_slot = next;
	if (t->is_cut)
		old = 0; /* the definitions that records wait for may be in the rings still */
	d->store->payer = NULL;
	aif_launches_deferred(d, t, old);
	return bytes;
}

/* A counter that the target only raises, unless it is hostile: the difference, or 0. */
static uint64_t more(_Atomic uint64_t *shared, uint64_t *seen)
{
	uint64_t now = atomic_load_explicit(shared, memory_order_relaxed), was = *seen;

	*seen = now;
	return now > was && now - was < UINT64_C(1) << 48 ? now - was : 0;
}

/* Counts what was lost of the ranges of programs and libraries. */
static void count_ranges(struct aif_drainer *d, struct aif_target *t)
{
	struct aif_store *s = d->store;
	uint64_t lost = 0, unnamed = 0, deep = 0, unbegun = 0;

	for (uint32_t i = 0; i < t->slots_len; i++) {
		struct aif_slot *shared = aif_shm_slot(t->shm, i);
		struct aif_target_slot *slot = &t->slots[i];

		lost += more(&shared->lost_ranges, &slot->lost_ranges);
		unnamed += more(&shared->unnamed_ranges, &slot->unnamed_ranges);
		deep += more(&shared->deep_ranges, &slot->deep_ranges);
		unbegun += more(&shared->unbegun_ranges, &slot->unbegun_ranges);
	}
	if (lost)
		aif_store_loss(s, AIF_REASON_RING_FULL, t->process, aif_store_puts(s, "ranges"),
			       lost);
	if (unnamed)
		aif_store_loss(s, AIF_REASON_RANGE_NAMES, t->process, AIF_NONE, unnamed);
	if (deep)
		aif_store_loss(s, AIF_REASON_RANGES_DEEP, t->process, AIF_NONE, deep);
	if (unbegun)
		aif_store_loss(s, AIF_REASON_RANGES_UNBEGUN, t->process, AIF_NONE, unbegun);
}

void aif_target_losses(struct aif_drainer *d, struct aif_target *t)
{
	struct aif_store *s = d->store;
	uint64_t launches = 0, execs = 0, samples = 0, others = 0, bad = 0, n;
	uint64_t left = 0;

	for (uint32_t i = 0; i < t->slots_len; i++) {
		struct aif_slot *shared = aif_shm_slot(t->shm, i);
		struct aif_target_slot *slot = &t->slots[i];

		launches += more(&shared->lost_launches, &slot->lost_launches);
		execs += more(&shared->lost_execs, &slot->lost_execs);
		samples += more(&shared->lost_samples, &slot->lost_samples);
		others += more(&shared->lost_others, &slot->lost_others);
		d->short_calls += more(&shared->short_calls, &slot->short_calls);
		d->short_calls_ns += more(&shared->short_calls_ns, &slot->short_calls_ns);
		left += more(&shared->left_calls, &slot->left_calls);
		bad += slot->drain.bad - slot->bad;
		slot->bad = slot->drain.bad;
	}
	if (launches)
		aif_store_loss(s, AIF_REASON_RING_FULL, t->process, aif_store_puts(s, "launches"),
			       launches);
	if (execs)
		aif_store_loss(s, AIF_REASON_RING_FULL, t->process, aif_store_puts(s, "executions"),
			       execs);
	if (samples)
		aif_store_loss(s, AIF_REASON_SAMPLE_LOST, t->process, AIF_NONE, samples);
	if (others)
		aif_store_loss(s, AIF_REASON_RING_FULL, t->process,
			       aif_store_puts(s, "definitions"), others);
	count_ranges(d, t);
	if (left)
		aif_store_loss(s, AIF_REASON_CALLS_LEFT, t->process, AIF_NONE, left);
	if (bad)
		aif_store_loss(s, AIF_REASON_RECORD_BAD, t->process, AIF_NONE, bad);
	aif_store_refused(s, &t->quota, t->process);
	t->lost_samples += samples;
	n = more(&t->shm->before_attach, &t->before_attach);
	if (n)
		aif_store_loss(s, AIF_REASON_BEFORE_ATTACH, t->process, AIF_NONE, n);
	n = more(&t->shm->no_slot, &t->no_slot);
	if (n)
		aif_store_loss(s, AIF_REASON_NO_SLOT, t->process, AIF_NONE, n);
	n = more(&t->shm->no_calls, &t->no_calls);
	if (n)
		aif_store_loss(s, AIF_REASON_SECCOMP_THREADS, t->process, AIF_NONE, n);
	n = more(&t->shm->no_memory, &t->no_memory);
	if (n)
		aif_store_loss(s, AIF_REASON_NO_MEMORY, t->process, aif_store_puts(s, "launches"),
			       n);
	if (atomic_load(&t->shm->no_cpu_memory) && !t->lacks_cpu_memory) {
		t->lacks_cpu_memory = true;
		aif_store_loss(s, AIF_REASON_CPU_NO_MEMORY, t->process, AIF_NONE, 1);
	}
}

void aif_target_cupti(struct aif_target *t)
{
	uint32_t use = atomic_load_explicit(&t->shm->cupti_use, memory_order_acquire);

	t->cupti.in_use = use != AIF_CUPTI_USE_AUTO && use < AIF_CUPTI_USE_COUNT;
	if (!t->cupti.in_use)
		return;
	t->cupti.use = use;
	t->cupti.version = atomic_load_explicit(&t->shm->cupti_version, memory_order_relaxed);
	memcpy(t->cupti.id, t->shm->cupti_id, sizeof(t->cupti.id));
}
