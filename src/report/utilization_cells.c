/* SPDX-License-Identifier: Apache-2.0 */
#include "report/utilization_cells.h"

void aif_utilization_parts_cells(struct aif_report *r, const struct aif_utilization_parts *x)
{
	aif_table_number(&r->t, x->compute);
	aif_table_number(&r->t, x->communication_alone);
	aif_table_number(&r->t, x->memory_alone);
	aif_table_number(&r->t, x->idle);
	aif_table_number(&r->t, x->not_collected);
}

uint64_t aif_utilization_hidden_communication(const struct aif_device_utilization *d)
{
	const struct aif_utilization_whole *x = &d->whole;

	return x->communication - AIF_MIN(x->parts.communication_alone, x->communication);
}
