/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/* EU stalls: rows of the group's metrics are summed up by address, and reported each second. */

static void take_values(struct aif_level_zero *l0, struct aif_ze_streamer *s, struct aif_ze_set set,
			const struct aif_ze_value *values, size_t n)

{
	(void)set;
	n -= n % s->layout.metrics;
	while (n) {
		size_t took = aif_ze_sums_add(s->sums, &s->layout, values, n);

		values += took;
		n -= took;
		if (n)
			aif_ze_stalls_report(l0, s);
	}
}

bool aif_ze_stalls_read(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	return aif_ze_read(l0, s, &s->stalls, take_values);
}

/* ---- reporting --------------------------------------------------------------------------------- */

static bool define_reasons(struct aif_ze_metrics *m, struct aif_thread *t)
{
	if (m->defined_gen == t->generation && m->defined_by == t)
		return true;
	for (uint32_t i = 0; i < m->reasons_len; i++)
		if (!aif_emit_reason(t, i, m->reasons[i]))
			return false;
	m->defined_gen = t->generation;
	m->defined_by = t;
	return true;
}

static bool report_sum(struct aif_thread *t, uint32_t window, const struct aif_ze_sum *sum,
		       uint64_t *ret_samples)
{
	struct aif_emit_reason out[AIF_ZE_REASONS_MAX];
	unsigned n = 0;

	*ret_samples = 0;
	for (unsigned k = 0; k < AIF_ZE_REASONS_MAX; k++)
		if (sum->counts[k]) {
			out[n++] = (struct aif_emit_reason){.reason = k, .samples = sum->counts[k]};
			*ret_samples += sum->counts[k];
		}
	return aif_emit_pc(t, window, AIF_WIRE_NONE, sum->ip << 3, out, n);
}

bool aif_ze_metrics_device_define(struct aif_level_zero *l0, struct aif_thread *t,
				  struct aif_ze_device *d)
{
	if (atomic_load_explicit(&d->defined_gen, memory_order_relaxed) == t->generation)
		return true;
	/* Not to be waited for at exit. */
	if (pthread_mutex_trylock(&l0->lock))
		return false;
	aif_ze_device_define_locked(l0, t, d);
	pthread_mutex_unlock(&l0->lock);
	return atomic_load_explicit(&d->defined_gen, memory_order_relaxed) == t->generation;
}

void aif_ze_metrics_note(struct aif_thread *t, const struct aif_ze_streamer *s,
			 enum aif_reason reason, uint64_t *n)
{
	if (*n && aif_emit_note(t, reason, *n, s->device->desc.name))
		*n = 0;
}

void aif_ze_stalls_report(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	struct aif_ze_metrics *m = &l0->metrics;
	struct aif_thread *t = aif_thread_enter();
	struct aif_emit_window w = {.id = m->windows++,
				    .device = s->device->desc.id,
				    .start = s->since,
				    .end = aif_now_ns(),
				    .period_ps = s->stalls.period_ns * 1000,
				    .samples = s->sums->samples,
				    .flags = AIF_WIRE_WINDOW_ADDRESSES |
					     (s->tiles ? AIF_WIRE_WINDOW_TILES : 0)};
	uint64_t n;

	s->stalls.unread += s->sums->bad;
	s->since = w.end;
	if (t && aif_ze_metrics_device_define(l0, t, s->device) && define_reasons(m, t) &&
	    aif_emit_window(t, &w)) {
		for (size_t i = 0; i < AIF_ZE_SUMS; i++)
			if (s->sums->at[i].used && !report_sum(t, w.id, &s->sums->at[i], &n))
				s->stalls.lost += n;
	} else {
		s->stalls.lost += s->sums->samples;
	}
	aif_ze_sums_clear(s->sums);
	if (!t)
		return;
	aif_ze_metrics_note(t, s, AIF_REASON_XE_DROPPED, &s->stalls.dropped);
	aif_ze_metrics_note(t, s, AIF_REASON_ZE_METRICS_UNREAD, &s->stalls.unread);
	aif_ze_metrics_note(t, s, AIF_REASON_SAMPLE_LOST, &s->stalls.lost);
	aif_thread_leave(t);
}
