/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>
#include <string.h>

/* Begun and not ended: a torn or hostile file has as many as it likes. */
#define OPEN_MAX (1u << 20)
/* An "E" names what it ends; of a thread's that many innermost ones are asked. */
#define OPEN_LOOK 64

static uint64_t thread_key(const struct kineto_event *e)
{
	return aif_mix64((uint64_t)e->pid.number) + (uint64_t)e->tid.number;
}

int kineto_open_begin(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct kineto_open o = {.pid = e->pid, .tid = e->tid, .class = e->class, .is_open = true};
	struct kineto_span none = {.class = KINETO_NOT_KEPT};
	uint64_t key = thread_key(e), top = 0, at;

	if (!e->has_ts || e->is_bad || k->counts.unended >= OPEN_MAX) {
		k->counts.bad++;
		return 0;
	}
	o.name = aif_strset_put(&k->names.texts, e->name.data ? e->name.data : (const uint8_t *)"",
				e->name.len);
	o.slot = (uint32_t)k->spans_len;
	o.start = e->ts;
	o.correlation = e->correlation;
	o.external = e->external;
	o.bytes = e->bytes;
	o.has_correlation = e->has_correlation;
	o.has_external = e->has_external;
	o.readings.has = e->has_readings;
	memcpy(o.readings.values, e->readings, sizeof(e->readings));
	aif_map_get(&k->open.tops, key, &top);
	o.below = (uint32_t)top;
	at = k->open.free ? k->open.free - 1 : k->open.rows_len;
	if (o.name == AIF_STR_NONE ||
	    aif_grow(&k->open.rows, &k->open.rows_cap, at + 1, sizeof(*k->open.rows)) < 0 ||
	    aif_map_put(&k->open.tops, key, at + 1) < 0 || KINETO_ADD(k, spans, none) < 0)
		return -ENOMEM;
	if (k->open.free)
		k->open.free = k->open.rows[at].below;
	else
		k->open.rows_len++;
	k->open.rows[at] = o;
	k->counts.unended++;
	return 0;
}

/* Notes for the events inside of `outer` that what they are in ends now. */
static void bound_inner(struct kineto *k, uint32_t innermost, uint32_t outer, int64_t now)
{
	for (uint32_t at = innermost; at != outer; at = k->open.rows[at - 1].below) {
		struct kineto_open *o = &k->open.rows[at - 1];

		if (!o->has_until)
			o->until = now;
		o->has_until = true;
	}
}

/* Takes out the innermost open event of the thread that this one ends. */
static int close_innermost(struct kineto *k, struct kineto_open *ret, bool *ret_found)
{
	const struct kineto_event *e = &k->event;
	uint64_t key = thread_key(e), top = 0;
	uint32_t above = 0, at;

	*ret_found = false;
	aif_map_get(&k->open.tops, key, &top);
	at = (uint32_t)top;
	for (unsigned looked = 0; at && looked < OPEN_LOOK; looked++) {
		struct kineto_open *o = &k->open.rows[at - 1];
		size_t len;
		const char *name = aif_strset_get(&k->names.texts, o->name, &len);

		if (e->name.len && (e->name.len != len || memcmp(e->name.data, name, len))) {
			above = at;
			at = o->below;
			continue;
		}
		bound_inner(k, (uint32_t)top, at, e->ts);
		if (above)
			k->open.rows[above - 1].below = o->below;
		else if (aif_map_put(&k->open.tops, key, o->below) < 0)
			return -ENOMEM;
		*ret = *o;
		*ret_found = true;
		o->is_open = false;
		o->below = k->open.free;
		k->open.free = at;
		k->counts.unended--;
		return 0;
	}
	return 0;
}

/* Completes k->event by what it began with. */
static void complete(struct kineto *k, const struct kineto_open *was)
{
	struct kineto_event *e = &k->event;
	size_t len;
	const char *name = aif_strset_get(&k->names.texts, was->name, &len);

	aif_buf_clear(&e->name);
	aif_buf_append(&e->name, name, len);
	e->class = was->class;
	e->slot = was->slot;
	e->has_slot = true;
	e->is_bad |= __builtin_sub_overflow(e->ts, was->start, &e->dur);
	e->ts = was->start;
	if (was->has_correlation)
		e->correlation = was->correlation;
	if (was->has_external)
		e->external = was->external;
	e->has_correlation |= was->has_correlation;
	e->has_external |= was->has_external;
	e->bytes = AIF_MAX(e->bytes, was->bytes);
	for (unsigned i = 0; i < KINETO_READINGS; i++)
		if (!(e->has_readings >> i & 1))
			e->readings[i] = was->readings.values[i];
	e->has_readings |= was->readings.has;
}

bool kineto_open_next(struct kineto *k, size_t *at)
{
	while (*at < k->open.rows_len) {
		const struct kineto_open *o = &k->open.rows[(*at)++];
		int64_t end = o->has_until ? o->until : k->clock.last_ts;

		if (!o->is_open)
			continue;
		kineto_event_clear(&k->event);
		k->event.ph = 'E';
		k->event.pid = o->pid;
		k->event.tid = o->tid;
		k->event.has_ts = true;
		k->event.ts = AIF_MAX(end, o->start);
		complete(k, o);
		return true;
	}
	return false;
}

int kineto_open_end(struct kineto *k, bool *ret_found)
{
	struct kineto_event *e = &k->event;
	struct kineto_open was;
	bool is_found = false;

	if (e->has_ts && close_innermost(k, &was, &is_found) < 0)
		return -ENOMEM;
	*ret_found = is_found;
	if (!is_found)
		return 0;
	complete(k, &was);
	return 0;
}

void kineto_open_finish(struct kineto_open_events *o)
{
	free(o->rows);
	aif_map_finish(&o->tops);
}
