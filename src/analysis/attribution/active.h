/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/classify.h"
#include "analysis/attribution/fraction.h"

/* The executions that are running at a moment of a sweep: a heap, with the one that ends first
 * on top. */
struct aif_active_run {
	const struct aif_run *run;
	bool is_kernel;
	aif_fraction with_kernel, copies_only; /* sweep.c: the sums when it began */
};
struct aif_active {
	struct aif_active_run *at;
	size_t len, cap;
	size_t kernels; /* how many of them are kernels */
};

/* 0 or -ENOMEM. */
int aif_active_push(struct aif_active *a, const struct aif_active_run *run);
/* Removes the one that ends first, of at least one. */
struct aif_active_run aif_active_pop(struct aif_active *a);
void aif_active_finish(struct aif_active *a);
