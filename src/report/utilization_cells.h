/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/report_table.h"
#include "analysis/utilization.h"

/* Columns of the tables that take a device's time apart (analysis/utilization.h has the definitions). */

#define AIF_UTILIZATION_PARTS                                             \
	{"compute", AIF_TABLE_NS}, {"communication_alone", AIF_TABLE_NS}, \
		{"memory_alone", AIF_TABLE_NS}, {"idle", AIF_TABLE_NS},   \
	{                                                                 \
		"not_collected", AIF_TABLE_NS                             \
	}

/* Adds the cells of AIF_UTILIZATION_PARTS. */
void aif_utilization_parts_cells(struct aif_report *r, const struct aif_utilization_parts *x);

/* The time of communication beside which something computes, ns. */
uint64_t aif_utilization_hidden_communication(const struct aif_device_utilization *d);
