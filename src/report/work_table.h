/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/report_table.h"
#include "report/work_sums.h"

/* Functions that the tables of device work (kernels, stacks, copies, launches) share. */

/* Prepares r->t and r->stacks: hides the column of processes where one has all work, and what
 * imported files do not know. 0 or -errno with *err. */
int aif_work_table_begin(struct aif_report *r, enum aif_name_detail detail, struct aif_err *err);

/* Sums of the rows that --kernel asks for, by process. Finished by the caller in any case. 0 or
 * -ENOMEM. */
int aif_work_table_sums(struct aif_report *r,
			int (*key)(struct aif_work_sums *, const struct aif_attribution_row *,
				   uint64_t *),
			struct aif_work_sums *ret);

/* Adds a cell with the function that launched, or the standard error of a time. */
void aif_work_caller_cell(struct aif_report *r, uint32_t stack);
void aif_work_error_cell(struct aif_report *r, double variance);

/* Sorts by time, or by samples where there are no times, and hides columns without anything in
 * them. */
int aif_work_table_end(struct aif_report *r, const struct aif_work_sums *w);
