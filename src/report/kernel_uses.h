/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/roof/opportunity.h"
#include "report/stalls.h"
#include "report/work_table.h"

/*
 * Use of the device by kernels: the columns used, of, opportunity, gflop_s and gb_s of --kernels. By the work that the shapes of
 * operators say, against the device's peaks (opportunity.h); else by the samples in which a unit issued an instruction. What is known
 * of no kernel is hidden.
 */
struct aif_kernel_uses {
	struct aif_opportunity work;
	struct aif_stalls stalls;
	bool have_any, have_flops, have_bytes;
	uint64_t no_work; /* kernels with time whose work is not known */
};
/* 0 or -errno; finished by the caller in any case. */
int aif_kernel_uses_make(struct aif_kernel_uses *u, struct aif_report *r);
void aif_kernel_uses_cells(struct aif_kernel_uses *u, struct aif_report *r,
			   const struct aif_work_sum *s);
/* Hides empty columns, and says below plain tables what is not known and why. */
void aif_kernel_uses_end(const struct aif_kernel_uses *u, struct aif_report *r);
void aif_kernel_uses_finish(struct aif_kernel_uses *u);
