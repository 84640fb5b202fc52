/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"

#include <errno.h>

static void counter_begin(struct chrome *c, uint32_t pid, int64_t at)
{
	CHROME_EVENT(c, "{\"ph\":\"C\",\"pid\":");
	chrome_ids_put(c, pid, 0);
	chrome_time_put(c, at);
	AIF_JSON_LIT(c->t.b, ",\"name\":");
}

static void counter_end(struct chrome *c)
{
	AIF_JSON_LIT(c->t.b, "}}");
	aif_out_flush_if_full(c->t.out);
}

/* Appends a point of the load. Its `args` are empty where nothing was collected. */
int chrome_load_put(struct aif_timeline_walk *t, uint32_t device, enum aif_timeline_curve curve,
		    const struct aif_event_load_point *at)
{
	struct chrome *c = (struct chrome *)t;
	bool is_running = curve == AIF_TIMELINE_RUNNING;

	counter_begin(c, aif_track_id_device(device), at->at);
	aif_buf_puts(t->b, is_running ? "\"running\",\"args\":{" : "\"queued\",\"args\":{");
	if (at->is_known && is_running) {
		AIF_JSON_LIT(t->b, "\"executions\":");
		aif_out_json_decimal(t->b, (int64_t)AIF_MIN(at->running, INT64_MAX / 10) * 10, 3);
	} else if (at->is_known) {
		chrome_u64_put(c, "\"launches\":", at->queued);
	}
	counter_end(c);
	return 0;
}

int chrome_counter_put(struct aif_timeline_walk *t, uint32_t counter)
{
	struct chrome *c = (struct chrome *)t;

	aif_buf_clear(&c->counter);
	aif_counter_name(t->p, &t->counters.at[counter], &c->counter);
	return aif_buf_failed(&c->counter) ? -ENOMEM : 0;
}

int chrome_counter_value_put(struct aif_timeline_walk *t, uint32_t counter, int64_t at, double v)
{
	struct chrome *c = (struct chrome *)t;
	const struct aif_counter *of = &t->counters.at[counter];
	const char *unit = of->unit == AIF_NONE ? "" : aif_profile_str(t->p, of->unit);

	counter_begin(c, aif_track_id_device(of->device), AIF_MAX(at, t->events.start_ns));
	aif_out_json_text(t->b, aif_buf_str(&c->counter));
	AIF_JSON_LIT(t->b, ",\"args\":{");
	aif_out_json_text(t->b, *unit ? unit : "value");
	aif_buf_putc(t->b, ':');
	aif_buf_printf(t->b, "%.17g", v);
	counter_end(c);
	return 0;
}
