/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * What a streamer says. Its bytes are the driver's own business, which calculates values from them: rows of the
 * group's metrics, in one set or, of a device with tiles, in several.
 */

#define RAW_BYTES (256u << 10)
/* As many rows as records fit in there, of so many metrics: touched as far as there are. */
#define RECORD_MIN 64
#define VALUES_MAX (RAW_BYTES / RECORD_MIN * AIF_ZE_METRICS_MAX)
#define SETS_MAX   64
/* Of one before others get their turn. */
#define READS_AT_ONCE 32
#define ERRORS_MAX    3

static bool have_room(struct aif_ze_metrics *m)
{
	if (!m->raw)
		m->raw = aif_pages(RAW_BYTES);
	if (!m->values)
		m->values = aif_pages(VALUES_MAX * sizeof(*m->values));
	return m->raw && m->values;
}

static void take_values(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			const struct aif_ze_value *values, size_t n)
{
	n -= n % s->layout.metrics;
	while (n) {
		size_t took = aif_ze_sums_add(s->sums, &s->layout, values, n);

		values += took;
		n -= took;
		if (n)
			aif_ze_stalls_tell(l0, s);
	}
}

/* Or a warning, with all that there is. */
static bool is_fine(uint32_t r)
{
	return r == AIF_ZE_SUCCESS || r == AIF_ZE_DROPPED_DATA;
}

/* All sets; *ret_n values in all, *ret_sets of them with counts[]. */
static uint32_t calculate_sets(struct aif_level_zero *l0, void *group, size_t size,
			       uint32_t counts[SETS_MAX], uint32_t *ret_sets, uint32_t *ret_n)
{
	struct aif_ze_metrics *m = &l0->metrics;
	uint32_t sets = 0, n = 0, r;

	r = l0->api.zetMetricGroupCalculateMultipleMetricValuesExp(group, 0, size, m->raw, &sets,
								   &n, NULL, NULL);
	*ret_sets = sets = AIF_MIN(sets, SETS_MAX);
	*ret_n = n = AIF_MIN(n, VALUES_MAX);
	if (!is_fine(r) || !sets || !n)
		return r;
	return l0->api.zetMetricGroupCalculateMultipleMetricValuesExp(
		group, 0, size, m->raw, ret_sets, ret_n, counts, m->values);
}

/* Drivers without the function for several: of a device without tiles. */
static uint32_t calculate_one(struct aif_level_zero *l0, void *group, size_t size, uint32_t *ret_n)
{
	struct aif_ze_metrics *m = &l0->metrics;
	uint32_t r;

	*ret_n = 0;
	r = l0->api.zetMetricGroupCalculateMetricValues(group, 0, size, m->raw, ret_n, NULL);
	*ret_n = AIF_MIN(*ret_n, VALUES_MAX);
	if (!is_fine(r) || !*ret_n)
		return r;
	return l0->api.zetMetricGroupCalculateMetricValues(group, 0, size, m->raw, ret_n,
							   m->values);
}

/* False: the driver cannot. */
static bool calculate(struct aif_level_zero *l0, struct aif_ze_streamer *s, size_t size)
{
	struct aif_ze_metrics *m = &l0->metrics;
	uint32_t sets = 0, n = 0, counts[SETS_MAX] = {0};
	uint32_t r = AIF_ZE_UNSUPPORTED;
	size_t at = 0;

	if (l0->api.zetMetricGroupCalculateMultipleMetricValuesExp)
		r = calculate_sets(l0, s->group, size, counts, &sets, &n);
	if (r == AIF_ZE_UNSUPPORTED && l0->api.zetMetricGroupCalculateMetricValues) {
		r = calculate_one(l0, s->group, size, &n);
		counts[0] = n;
		sets = 1;
	}
	if (!is_fine(r))
		return false;
	n = AIF_MIN(n, VALUES_MAX);
	for (uint32_t i = 0; i < AIF_MIN(sets, SETS_MAX) && at < n; i++) {
		size_t some = AIF_MIN((size_t)counts[i], n - at);

		take_values(l0, s, m->values + at, some);
		at += some;
	}
	s->dropped += r == AIF_ZE_DROPPED_DATA;
	return true;
}

bool aif_ze_stalls_read(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	for (unsigned i = 0; i < READS_AT_ONCE && have_room(&l0->metrics); i++) {
		size_t size = RAW_BYTES;
		uint32_t r = l0->api.zetMetricStreamerReadData(s->streamer, UINT32_MAX, &size,
							       l0->metrics.raw);

		if (!is_fine(r) && r != AIF_ZE_NOT_READY) {
			s->error = r;
			return ++s->errors < ERRORS_MAX;
		}
		s->errors = 0;
		s->dropped += r == AIF_ZE_DROPPED_DATA;
		if (r == AIF_ZE_NOT_READY || size > RAW_BYTES)
			size = 0;
		if (size && !calculate(l0, s, size))
			s->unread++;
		/* What was dropped is told before what was kept. */
		if (!size && r != AIF_ZE_DROPPED_DATA)
			break;
	}
	return true;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool tell_reasons(struct aif_ze_metrics *m, struct aif_thread *t)
{
	if (m->told == t->generation && m->told_by == t)
		return true;
	for (uint32_t i = 0; i < m->reasons_len; i++)
		if (!aif_emit_reason(t, i, m->reasons[i]))
			return false;
	m->told = t->generation;
	m->told_by = t;
	return true;
}

static bool tell_sum(struct aif_thread *t, uint32_t window, const struct aif_ze_sum *sum,
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

static bool device_told(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_device *d)
{
	if (atomic_load_explicit(&d->told, memory_order_relaxed) == t->generation)
		return true;
	/* Not to be waited for at exit. */
	if (pthread_mutex_trylock(&l0->lock))
		return false;
	aif_ze_device_tell_locked(l0, t, d);
	pthread_mutex_unlock(&l0->lock);
	return atomic_load_explicit(&d->told, memory_order_relaxed) == t->generation;
}

static void tell_note(struct aif_thread *t, const struct aif_ze_streamer *s, enum aif_reason reason,
		      uint64_t *n)
{
	if (*n && aif_emit_note(t, reason, *n, s->device->desc.name))
		*n = 0;
}

void aif_ze_stalls_tell(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	struct aif_ze_metrics *m = &l0->metrics;
	struct aif_thread *t = aif_thread_enter();
	struct aif_emit_window w = {.id = m->windows++,
				    .device = s->device->desc.id,
				    .start = s->since,
				    .end = aif_now_ns(),
				    .period_ps = s->period_ns * 1000,
				    .samples = s->sums->samples,
				    .flags = AIF_WIRE_WINDOW_ADDRESSES |
					     (s->tiles ? AIF_WIRE_WINDOW_TILES : 0)};
	uint64_t n;

	s->unread += s->sums->bad;
	s->since = w.end;
	if (t && device_told(l0, t, s->device) && tell_reasons(m, t) && aif_emit_window(t, &w)) {
		for (size_t i = 0; i < AIF_ZE_SUMS; i++)
			if (s->sums->at[i].used && !tell_sum(t, w.id, &s->sums->at[i], &n))
				s->lost += n;
	} else {
		s->lost += s->sums->samples;
	}
	aif_ze_sums_clear(s->sums);
	if (!t)
		return;
	tell_note(t, s, AIF_REASON_XE_DROPPED, &s->dropped);
	tell_note(t, s, AIF_REASON_ZE_METRICS_UNREAD, &s->unread);
	tell_note(t, s, AIF_REASON_SAMPLE_LOST, &s->lost);
	aif_thread_leave(t);
}
