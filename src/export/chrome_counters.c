/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"

static void counter_begin(struct chrome *c, uint32_t pid, int64_t at, const char *name)
{
	CHROME_EVENT(c, "{\"ph\":\"C\",\"pid\":");
	chrome_ids_put(c, pid, 0);
	chrome_time_put(c, at);
	aif_buf_puts(c->b, name);
	AIF_JSON_LIT(c->b, ",\"args\":{");
}

static void counter_end(struct chrome *c)
{
	AIF_JSON_LIT(c->b, "}}");
	aif_out_flush_if_full(c->out);
}

/* Where nothing was collected, there is no value: `args` is empty. */
static void load_points_put(struct chrome *c, uint32_t pid, const struct aif_event_load *l)
{
	for (size_t k = 0; k < l->points_len; k++) {
		const struct aif_event_load_point *at = &l->points[k], *was = k ? at - 1 : NULL;
		bool is_new = !was || at->is_known != was->is_known;

		if (is_new || at->running != was->running) {
			counter_begin(c, pid, at->at, ",\"name\":\"running\"");
			if (at->is_known) {
				AIF_JSON_LIT(c->b, "\"executions\":");
				aif_out_json_decimal(
					c->b, (int64_t)AIF_MIN(at->running, INT64_MAX / 10) * 10,
					3);
			}
			counter_end(c);
		}
		if (is_new || at->queued != was->queued) {
			counter_begin(c, pid, at->at, ",\"name\":\"queued\"");
			if (at->is_known)
				chrome_u64_put(c, "\"launches\":", at->queued);
			counter_end(c);
		}
	}
}

int chrome_load_put(struct chrome *c)
{
	const struct aif_events *e = &c->events;
	int r = 0;

	for (size_t i = 0; i < e->tracks_len && !r; i++) {
		uint32_t device = e->tracks[i].device, pid = aif_track_id_device(device);
		struct aif_event_load l;

		if (!aif_event_track_is_first(e, i))
			continue;
		r = aif_event_load_init(&l, e, device);
		if (!r)
			load_points_put(c, pid, &l);
		aif_event_load_finish(&l);
	}
	return r;
}

/* Of a device that ran nothing the track has no name yet. */
static void counter_device_put(struct chrome *c, uint32_t device)
{
	uint32_t pid = aif_track_id_device(device);
	struct aif_buf name = {0};
	size_t end;

	if (aif_event_device_tracks(&c->events, device, &end) < end)
		return;
	aif_export_device_name(c->p, device, &name);
	chrome_meta_put(c, "process_name", pid, 0, &name, NULL, 0);
	chrome_order_put(c, "process_sort_index", pid, 0, pid);
}

void chrome_counters_put(struct chrome *c)
{
	const struct aif_counters *all = &c->counters;
	struct aif_buf name = {0};

	for (size_t i = 0; i < all->len; i++) {
		const struct aif_counter *of = &all->at[i];
		const char *unit = of->unit == AIF_NONE ? "" : aif_profile_str(c->p, of->unit);

		if (!i || all->at[i - 1].device != of->device)
			counter_device_put(c, of->device);
		aif_buf_clear(&name);
		aif_counter_name(c->p, of, &name);
		for (size_t k = 0; k < of->len; k++) {
			CHROME_EVENT(c, "{\"ph\":\"C\",\"pid\":");
			chrome_ids_put(c, aif_track_id_device(of->device), 0);
			chrome_time_put(c,
					AIF_MAX(aif_counter_since(all, of, k), c->events.start_ns));
			AIF_JSON_LIT(c->b, ",\"name\":");
			aif_out_json_text(c->b, aif_buf_str(&name));
			AIF_JSON_LIT(c->b, ",\"args\":{");
			aif_out_json_text(c->b, *unit ? unit : "value");
			aif_buf_putc(c->b, ':');
			aif_buf_printf(c->b, "%.17g", all->values[of->first + k].value);
			AIF_JSON_LIT(c->b, "}}");
			aif_out_flush_if_full(c->out);
		}
	}
	aif_buf_finish(&name);
}
