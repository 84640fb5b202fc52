/* SPDX-License-Identifier: Apache-2.0 */
#include "record/target.h"

#include <stdio.h>
#include <string.h>

uint32_t aif_target_thread(struct aif_drainer *d, struct aif_target *t, uint32_t tid,
			   const char *name)
{
	struct aif_thread thread = {.process = t->process, .tid = tid};
	char path[64], comm[64] = "";
	uint64_t id;
	FILE *f;

	if (aif_map_get(&t->threads, tid, &id))
		return (uint32_t)id;
	if (!name) {
		snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", t->pid, tid);
		f = fopen(path, "re");
		if (f) {
			if (fgets(comm, sizeof(comm), f))
				comm[strcspn(comm, "\n")] = '\0';
			fclose(f);
		}
		name = comm;
	}
	thread.name = aif_store_puts(d->store, name);
	id = aif_store_thread(d->store, &thread);
	if (id != AIF_NONE)
		aif_map_put(&t->threads, tid, id);
	return (uint32_t)id;
}

void aif_target_sample(struct aif_drainer *d, struct aif_target *t, uint32_t tid, uint64_t time,
		       uint64_t pc, uint64_t count, bool *is_kernel_thread)
{
	const struct aif_range *range = aif_target_range(d, t, pc, time);
	struct aif_sample_row *row;
	uint32_t frame = AIF_NONE;

	if (range && range->is_kernel)
		*is_kernel_thread = true;
	/* Only threads that execute device code belong to the device; of those everything counts,
	 * also what a kernel calls in libm or in the driver. */
	if (!*is_kernel_thread)
		return;
	if (range)
		frame = aif_store_frame(d->store,
					range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
					range->module, pc - range->base);
	d->samples += count;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_SAMPLE);
	if (!row) {
		t->window_lost += count;
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "samples"), count);
		return;
	}
	*row = (struct aif_sample_row){
		.time = time,
		.count = count,
		.thread = aif_target_thread(d, t, tid, NULL),
		.process = t->process,
		.device = t->cpu_device,
		.frame = frame,
		.reason = AIF_NONE,
		.window = t->window,
	};
}
