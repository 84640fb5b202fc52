/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/sample_counts.h"

uint64_t *aif_sample_counts_uncollected(struct aif_sample_counts *counts, const struct aif_scope *s,
					const struct aif_loaded *l, const struct aif_classified *c,
					const struct aif_sample_row *row, uint32_t name)
{
	if (row->process == AIF_NONE)
		return NULL;
	if (aif_weights_off(l->weights, row->process, row->time + s->p->start_ns) ||
	    aif_gaps_at(&l->gaps, row->process, row->time).is_gap)
		return &counts->off;
	return aif_in_flight_sample(&c->in_flight, &l->gaps, row->process, name, row->time)
		       ? &counts->in_flight
		       : NULL;
}
