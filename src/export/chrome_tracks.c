/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"

/* Writes a track's name and finishes *name. `recorded`: the process's or thread's own name, which import reads, as it
 * does `number` where the track could not have it; NULL: the track is of neither. */
static void meta_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		     struct aif_buf *name, const char *recorded, uint32_t number)
{
	CHROME_EVENT(c, "{\"ph\":\"M\",\"name\":\"");
	aif_buf_puts(c->t.b, what);
	AIF_JSON_LIT(c->t.b, "\",\"pid\":");
	chrome_ids_put(c, pid, tid);
	AIF_JSON_LIT(c->t.b, ",\"args\":{\"name\":");
	aif_out_json_text(c->t.b, aif_buf_str(name));
	if (recorded) {
		AIF_JSON_LIT(c->t.b, ",\"recorded\":");
		aif_out_json_text(c->t.b, recorded);
		if (number != (tid ? tid : pid))
			chrome_u64_put(c, ",\"recorded id\":", number);
	}
	AIF_JSON_LIT(c->t.b, "}}");
	aif_buf_finish(name);
}

/* Writes a track's place among the others. */
static void order_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		      uint64_t index)
{
	CHROME_EVENT(c, "{\"ph\":\"M\",\"name\":\"");
	aif_buf_puts(c->t.b, what);
	AIF_JSON_LIT(c->t.b, "\",\"pid\":");
	chrome_ids_put(c, pid, tid);
	chrome_u64_put(c, ",\"args\":{\"sort_index\":", index);
	AIF_JSON_LIT(c->t.b, "}}");
}

/* ---- tracks -------------------------------------------------------------------------------------- */

int chrome_process_put(struct aif_timeline_walk *t, uint32_t process)
{
	struct chrome *c = (struct chrome *)t;
	uint32_t pid = t->ids.processes[process];
	struct aif_buf name = {0};

	aif_export_process_name(t->p, process, &name);
	meta_put(c, "process_name", pid, 0, &name, aif_export_process_own(t->p, process),
		 t->p->processes[process].pid);
	order_put(c, "process_sort_index", pid, 0, process);
	return 0;
}

int chrome_thread_put(struct aif_timeline_walk *t, uint32_t thread)
{
	const struct aif_thread *of = &t->p->threads[thread];
	struct aif_buf name = {0};

	aif_export_thread_name(t->p, thread, &name);
	meta_put((struct chrome *)t, "thread_name", aif_track_id_process(&t->ids, of->process),
		 t->ids.threads[thread], &name, aif_profile_str(t->p, of->name), of->tid);
	aif_out_flush_if_full(t->out);
	return 0;
}

int chrome_device_put(struct aif_timeline_walk *t, uint32_t device)
{
	struct chrome *c = (struct chrome *)t;
	uint32_t pid = aif_track_id_device(device);
	struct aif_buf name = {0};

	aif_export_device_name(t->p, device, &name);
	meta_put(c, "process_name", pid, 0, &name, NULL, 0);
	order_put(c, "process_sort_index", pid, 0, pid);
	return 0;
}

/* Gaps are a thread of their own beside the track. */
int chrome_gaps_put(struct aif_timeline_walk *t, uint32_t track, const struct aif_gap *gaps,
		    size_t n)
{
	struct chrome *c = (struct chrome *)t;
	const struct aif_event_track *of = &t->events.tracks[track];
	uint32_t pid = aif_track_id_device(of->device),
		 tid = (uint32_t)t->events.tracks_len + track + 1;
	struct aif_buf name = {0};

	aif_event_gaps_name(t->p, of, &name);
	meta_put(c, "thread_name", pid, tid, &name, NULL, 0);
	order_put(c, "thread_sort_index", pid, tid, 2 * (uint64_t)track + 1);
	for (size_t i = 0; i < n; i++) {
		CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
		chrome_ids_put(c, pid, tid);
		chrome_time_put(c, (int64_t)gaps[i].start);
		AIF_JSON_LIT(t->b, ",\"dur\":");
		aif_out_json_decimal(t->b, (int64_t)(gaps[i].end - gaps[i].start), 3);
		AIF_JSON_LIT(t->b, ",\"cat\":\"not_collected\",\"name\":\"" AIF_EVENT_GAP "\"}");
		aif_out_flush_if_full(t->out);
	}
	return 0;
}

int chrome_track_put(struct aif_timeline_walk *t, uint32_t track)
{
	struct chrome *c = (struct chrome *)t;
	uint32_t pid = aif_track_id_device(t->events.tracks[track].device);
	struct aif_buf name = {0};

	aif_event_track_name(t->p, &t->events.tracks[track], &name);
	meta_put(c, "thread_name", pid, track + 1, &name, NULL, 0);
	order_put(c, "thread_sort_index", pid, track + 1, 2 * (uint64_t)track + 2);
	aif_out_flush_if_full(t->out);
	return 0;
}
