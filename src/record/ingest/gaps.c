/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/target.h"

/*
 * Times in which a target did not collect (analysis/gaps.h). Only the target's agent knows them: it follows a command
 * when its helper gets a CPU, and stops by itself when we are silent. It says when it last began and last stopped; both
 * cannot happen twice between two looks of ours, as without our heartbeat it does not begin.
 */

/* False: the writer is behind, and the row must be tried again. */
static bool row(struct aif_drainer *d, struct aif_target *t, uint64_t end)
{
	struct aif_window_row *r;

	if (end <= t->gap_since)
		return true;
	r = aif_batches_row(&d->store->batches, AIF_BATCH_WINDOW);
	if (!r)
		return false;
	*r = (struct aif_window_row){.start = t->gap_since,
				     .end = end,
				     .window = d->windows++,
				     .device = AIF_NONE,
				     .process = t->process,
				     .thread = AIF_NONE};
	return true;
}

void aif_target_beat(struct aif_target *t, uint64_t now)
{
	if (t->beat_ns && now - t->beat_ns >= AIF_SHM_SILENT_NS) {
		t->silent_from = t->beat_ns;
		t->silent_to = now;
	}
	t->beat_ns = now;
	atomic_store_explicit(&t->shm->heartbeat_ns, now - t->clocks.monotonic,
			      memory_order_relaxed);
}

/* The target's times may be any numbers. */
static void open_gap(struct aif_drainer *d, struct aif_target *t, uint64_t stopped, uint64_t now)
{
	t->stopped = stopped;
	t->gap_since = AIF_MIN(AIF_MAX(stopped, d->store->p.start_ns), now);
}

void aif_target_gaps(struct aif_drainer *d, struct aif_target *t, bool each_second)
{
	/* In this order: one that is missed now is found at the next look. */
	uint64_t began = aif_target_time(
			 t, atomic_load_explicit(&t->shm->began_ns, memory_order_acquire)),
		 stopped = aif_target_time(
			 t, atomic_load_explicit(&t->shm->stopped_ns, memory_order_acquire)),
		 now = aif_now_ns();

	if (!t->gap_since && stopped != t->stopped) {
		if (stopped > t->silent_from && stopped <= t->silent_to)
			aif_store_loss(d->store, AIF_REASON_RECORDER_SILENT, t->process, AIF_NONE,
				       1);
		open_gap(d, t, stopped, now);
		if (began < stopped)
			t->began = began;
	}
	if (t->gap_since && began != t->began) {
		if (!row(d, t, AIF_MIN(began, now)))
			return;
		t->began = began;
		t->gap_since = 0;
		if (stopped != t->stopped)
			open_gap(d, t, stopped, now);
	}
	if (t->gap_since && each_second && row(d, t, now))
		t->gap_since = now;
}

void aif_target_last_gap(struct aif_drainer *d, struct aif_target *t, uint64_t told, uint64_t end)
{
	aif_target_gaps(d, t, false);
	if (!t->ended && !t->gap_since)
		t->gap_since = told;
	if (t->gap_since && row(d, t, end))
		t->gap_since = 0;
}
