/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"

void chrome_meta_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		     struct aif_buf *name, const char *recorded, uint32_t number)
{
	CHROME_EVENT(c, "{\"ph\":\"M\",\"name\":\"");
	aif_buf_puts(c->b, what);
	AIF_JSON_LIT(c->b, "\",\"pid\":");
	chrome_ids_put(c, pid, tid);
	AIF_JSON_LIT(c->b, ",\"args\":{\"name\":");
	aif_out_json_text(c->b, aif_buf_str(name));
	if (recorded) {
		AIF_JSON_LIT(c->b, ",\"recorded\":");
		aif_out_json_text(c->b, recorded);
		if (number != (tid ? tid : pid))
			chrome_u64_put(c, ",\"recorded id\":", number);
	}
	AIF_JSON_LIT(c->b, "}}");
	aif_buf_finish(name);
}

void chrome_order_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		      uint64_t index)
{
	CHROME_EVENT(c, "{\"ph\":\"M\",\"name\":\"");
	aif_buf_puts(c->b, what);
	AIF_JSON_LIT(c->b, "\",\"pid\":");
	chrome_ids_put(c, pid, tid);
	chrome_u64_put(c, ",\"args\":{\"sort_index\":", index);
	AIF_JSON_LIT(c->b, "}}");
}

/* ---- tracks -------------------------------------------------------------------------------------- */

void chrome_host_tracks(struct chrome *c)
{
	const struct aif_profile *p = c->p;
	struct aif_buf name = {0};

	for (uint32_t i = 0; i < p->processes_len; i++) {
		aif_export_process_name(p, i, &name);
		chrome_meta_put(c, "process_name", c->ids.processes[i], 0, &name,
				aif_export_process_own(p, i), p->processes[i].pid);
		chrome_order_put(c, "process_sort_index", c->ids.processes[i], 0, i);
	}
	for (uint32_t i = 0; i < p->threads_len; i++) {
		aif_export_thread_name(p, i, &name);
		chrome_meta_put(c, "thread_name",
				aif_track_id_process(&c->ids, p->threads[i].process),
				c->ids.threads[i], &name, aif_profile_str(p, p->threads[i].name),
				p->threads[i].tid);
		aif_out_flush_if_full(c->out);
	}
}

/* The thread for gaps beside a track. */
static uint32_t gaps_tid(const struct chrome *c, size_t track)
{
	return (uint32_t)(c->events.tracks_len + track + 1);
}

static void gaps_put(struct chrome *c, size_t track, uint32_t pid)
{
	const struct aif_event_track *t = &c->events.tracks[track];
	uint32_t tid = gaps_tid(c, track);
	struct aif_buf name = {0};
	size_t n;
	const struct aif_gap *gaps = aif_event_gaps(&c->events, t->process, &n);

	if (!n)
		return;
	aif_event_gaps_name(c->p, t, &name);
	chrome_meta_put(c, "thread_name", pid, tid, &name, NULL, 0);
	chrome_order_put(c, "thread_sort_index", pid, tid, 2 * track + 1);
	for (size_t i = 0; i < n; i++) {
		CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
		chrome_ids_put(c, pid, tid);
		chrome_time_put(c, (int64_t)gaps[i].start);
		AIF_JSON_LIT(c->b, ",\"dur\":");
		aif_out_json_decimal(c->b, (int64_t)(gaps[i].end - gaps[i].start), 3);
		AIF_JSON_LIT(c->b, ",\"cat\":\"not_collected\",\"name\":\"" AIF_EVENT_GAP "\"}");
		aif_out_flush_if_full(c->out);
	}
}

void chrome_device_tracks(struct chrome *c)
{
	const struct aif_events *e = &c->events;
	struct aif_buf name = {0};

	for (size_t i = 0; i < e->tracks_len; i++) {
		uint32_t device = e->tracks[i].device, pid = aif_track_id_device(device);

		if (aif_event_track_is_first(e, i)) {
			aif_export_device_name(c->p, device, &name);
			chrome_meta_put(c, "process_name", pid, 0, &name, NULL, 0);
			chrome_order_put(c, "process_sort_index", pid, 0, pid);
		}
		if (aif_event_track_has_gaps(e, i))
			gaps_put(c, i, pid);
		aif_event_track_name(e->p, &e->tracks[i], &name);
		chrome_meta_put(c, "thread_name", pid, (uint32_t)i + 1, &name, NULL, 0);
		chrome_order_put(c, "thread_sort_index", pid, (uint32_t)i + 1, 2 * i + 2);
		aif_out_flush_if_full(c->out);
	}
}
