/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <sys/mman.h>

/*
 * Reads a streamer. The bytes are in the driver's own format; it calculates values from them: rows of the group's
 * metrics, in one set or, of a device with tiles, in several.
 */

#define RAW_BYTES (256u << 10)
/* Room for the values of as many records as fit into RAW_BYTES; only pages that are used are
 * touched. */
#define RECORD_MIN 64
#define VALUES_MAX (RAW_BYTES / RECORD_MIN * AIF_ZE_METRICS_MAX)
#define SETS_MAX   64
/* Reads of one streamer before the others get their turn. */
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

/* True for success, and for the warning that data were dropped, which comes with all that there
 * is. */
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
static bool calculate(struct aif_level_zero *l0, struct aif_ze_streamer *s,
		      struct aif_ze_reading *r, aif_ze_take *take, size_t size)
{
	struct aif_ze_metrics *m = &l0->metrics;
	uint32_t sets = 0, n = 0, counts[SETS_MAX] = {0};
	uint32_t e = AIF_ZE_UNSUPPORTED;
	size_t at = 0;

	if (l0->api.zetMetricGroupCalculateMultipleMetricValuesExp)
		e = calculate_sets(l0, r->group, size, counts, &sets, &n);
	if (e == AIF_ZE_UNSUPPORTED && l0->api.zetMetricGroupCalculateMetricValues) {
		e = calculate_one(l0, r->group, size, &n);
		counts[0] = n;
		sets = 1;
	}
	if (!is_fine(e))
		return false;
	n = AIF_MIN(n, VALUES_MAX);
	for (uint32_t i = 0; i < AIF_MIN(sets, SETS_MAX) && at < n; i++) {
		size_t some = AIF_MIN((size_t)counts[i], n - at);

		take(l0, s, (struct aif_ze_set){i, sets}, m->values + at, some);
		at += some;
	}
	r->dropped += e == AIF_ZE_DROPPED_DATA;
	return true;
}

bool aif_ze_read(struct aif_level_zero *l0, struct aif_ze_streamer *s, struct aif_ze_reading *r,
		 aif_ze_take *take)
{
	for (unsigned i = 0; i < READS_AT_ONCE && have_room(&l0->metrics); i++) {
		size_t size = RAW_BYTES;
		uint32_t e = l0->api.zetMetricStreamerReadData(r->streamer, UINT32_MAX, &size,
							       l0->metrics.raw);

		if (!is_fine(e) && e != AIF_ZE_NOT_READY) {
			r->error = e;
			return ++r->errors < ERRORS_MAX;
		}
		r->errors = 0;
		r->dropped += e == AIF_ZE_DROPPED_DATA;
		if (e == AIF_ZE_NOT_READY || size > RAW_BYTES)
			size = 0;
		if (size && !calculate(l0, s, r, take, size))
			r->unread++;
		/* A read that only reports dropped data is followed by the data that were kept. */
		if (!size && e != AIF_ZE_DROPPED_DATA)
			break;
	}
	return true;
}

#define GROUPS_BYTES (AIF_ZE_GROUPS_MAX * sizeof(void *))

void **aif_ze_groups_get(struct aif_level_zero *l0, void *device, uint32_t *ret_n)
{
	uint32_t n = 0, cap;
	void **groups;

	if (l0->api.zetMetricGroupGet(device, &n, NULL) != AIF_ZE_SUCCESS || !n)
		return NULL;
	groups = aif_pages(GROUPS_BYTES);
	cap = n = AIF_MIN(n, AIF_ZE_GROUPS_MAX);
	if (groups && l0->api.zetMetricGroupGet(device, &n, groups) != AIF_ZE_SUCCESS) {
		aif_ze_groups_free(groups);
		return NULL;
	}
	*ret_n = AIF_MIN(n, cap);
	return groups;
}

void aif_ze_groups_free(void **groups)
{
	if (groups)
		munmap(groups, GROUPS_BYTES);
}
