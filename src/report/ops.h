/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/report_table.h"

/* The operators' table (ops.c), and what it has of recordings that have stacks and no operators' times (ops_stacks.c). */

/* The width of operators' and kernels' names in plain tables: as wide as torch's. */
#define AIF_OPS_NAME_COLUMNS 55

/* Fills r->t from launch stacks. 0; -ENODATA with *err if no operator is on one, or another -errno. */
int aif_ops_stacks_fill(struct aif_report *r, struct aif_err *err);

/* Prints r->t as torch does, or IBM's AIU guide (r->o->style). */
void aif_ops_print_torch(struct aif_report *r);
/* Returns the column that torch's sort_by means, "cuda_time_total", or the word. */
const char *aif_ops_sort_column(const struct aif_table *t, const char *word);

/* Computes the standard errors of the rows' device times: row_of_op says which row has an operator's time and its
 * children's (AIF_NONE: none), row_of_exec (may be NULL) which row has an execution's own. 0 or -ENOMEM. */
int aif_op_errors(const struct aif_report *r, const uint32_t *row_of_op,
		  const uint32_t *row_of_exec, size_t rows, uint64_t *ret);

/* Writes what people call the device: "CUDA", "XPU", "AIU"; "DEVICE" where there are several kinds. */
void aif_device_word(const struct aif_profile *p, char ret[16]);
