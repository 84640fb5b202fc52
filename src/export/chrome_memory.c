/* SPDX-License-Identifier: Apache-2.0 */
/* Writes allocations as torch.profiler has them: `[memory]`, an instant of the thread, with the allocator's sums; and
 * these sums as a counter of each device. */
#include "export/chrome.h"

#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/map.h"
#include "profile/file.h"

#include <errno.h>

enum { DEVICE_CPU = 0, DEVICE_CUDA = 1 }; /* c10::DeviceType */

struct writing {
	struct chrome *c;
	const struct aif_timeline *timeline;
	struct aif_map sizes; /* bytes of the live block, by process and address */
	int r;                /* 0 or -errno */
};

/* Returns the bytes of the block, which a runtime's release does not say; 0: not known. */
static uint64_t bytes_of(struct writing *w, const struct aif_memory_row *row, uint32_t process)
{
	uint64_t key = row->block ^ (uint64_t)process << 48, bytes = row->bytes;

	if (row->kind == AIF_MEMORY_ALLOCATE && aif_map_put(&w->sizes, key, bytes) < 0)
		w->r = -ENOMEM;
	else if (row->kind == AIF_MEMORY_RELEASE && !bytes && !aif_map_get(&w->sizes, key, &bytes))
		return 0;
	return bytes;
}

static bool is_kept(const struct chrome *c, const struct aif_memory_row *row, uint32_t process,
		    int64_t at)
{
	const struct aif_selection *w = &c->t.x->sel;

	return at >= c->t.events.start_ns && aif_timed_in_span(w, at) &&
	       aif_selection_keeps(w->processes, process) &&
	       (row->device == AIF_NONE || aif_selection_keeps(w->devices, row->device)) &&
	       aif_selection_keeps_moment(w, row->thread, at);
}

static int instant_put(struct chrome *c, const struct aif_memory_row *row, uint64_t bytes,
		       uint32_t process, int64_t at)
{
	uint32_t node;
	int r;

	CHROME_EVENT(
		c,
		"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&c->t.ids, process),
		       aif_track_id_thread(&c->t.ids, row->thread));
	chrome_time_put(c, at);
	r = row->stack == AIF_NONE ? 0 : chrome_stack_put(c, row->stack, &node);
	AIF_JSON_LIT(c->t.b, ",\"args\":{\"Bytes\":");
	if (row->kind == AIF_MEMORY_RELEASE)
		aif_buf_putc(c->t.b, '-');
	aif_out_json_u64(c->t.b, bytes);
	if (row->block)
		chrome_u64_put(c, ",\"Addr\":", row->block);
	if (row->allocated != AIF_MEMORY_UNKNOWN)
		chrome_u64_put(c, ",\"Total Allocated\":", row->allocated);
	if (row->reserved != AIF_MEMORY_UNKNOWN)
		chrome_u64_put(c, ",\"Total Reserved\":", row->reserved);
	chrome_u64_put(c, ",\"Device Type\":", row->device == AIF_NONE ? DEVICE_CPU : DEVICE_CUDA);
	AIF_JSON_LIT(c->t.b, ",\"Device Id\":");
	if (row->device == AIF_NONE)
		AIF_JSON_LIT(c->t.b, "-1");
	else
		aif_out_json_u64(c->t.b, row->device);
	AIF_JSON_LIT(c->t.b, "}}");
	aif_out_flush_if_full(c->t.out);
	c->t.written++;
	return r;
}

static void sums_put(struct chrome *c, const struct aif_memory_row *row, int64_t at)
{
	CHROME_EVENT(c, "{\"ph\":\"C\",\"pid\":");
	chrome_ids_put(c, aif_track_id_device(row->device), 0);
	chrome_time_put(c, at);
	chrome_u64_put(c, ",\"name\":\"memory\",\"args\":{\"allocated\":", row->allocated);
	if (row->reserved != AIF_MEMORY_UNKNOWN)
		chrome_u64_put(c, ",\"reserved\":", row->reserved);
	AIF_JSON_LIT(c->t.b, "}}");
}

static int rows_put(void *arg, const struct aif_memory_row *rows, size_t n)
{
	struct writing *w = arg;
	const struct aif_profile *p = w->c->t.p;

	for (size_t i = 0; i < n && !w->r; i++) {
		const struct aif_memory_row *row = &rows[i];
		uint32_t process =
			row->thread == AIF_NONE ? AIF_NONE : p->threads[row->thread].process;
		int64_t at = aif_timeline_map(w->timeline, AIF_CLOCK_MONOTONIC, process, row->time,
					      NULL);

		uint64_t bytes = bytes_of(w, row, process);

		if (w->r || !bytes || row->thread == AIF_NONE || !is_kept(w->c, row, process, at))
			continue;
		w->r = instant_put(w->c, row, bytes, process, at);
		if (row->device != AIF_NONE && row->allocated != AIF_MEMORY_UNKNOWN)
			sums_put(w->c, row, at);
	}
	return w->r;
}

int chrome_memory_put(struct chrome *c)
{
	struct writing w = {.c = c};
	uint64_t damaged = 0;
	int r = aif_timeline_get(c->t.p, &w.timeline);

	if (!r)
		r = aif_profile_memory(c->t.p, rows_put, &w, &damaged);
	aif_export_damaged(c->t.x, damaged);
	aif_facts_put(w.timeline);
	aif_map_finish(&w.sizes);
	return r ? r : w.r;
}
