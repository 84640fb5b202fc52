/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Stacks whose share of the time grew from one run to another, of folded text ("a;b 12", a line each): appends an array of
 * {stack, before, after}, shares from 0 to 1, the one that grew most first, at most AIF_RUNBOOK_GROWN. It tells where to
 * look: one run a side has no interval. False, and nothing appended: a text without any stack, or out of memory.
 */
#define AIF_RUNBOOK_GROWN       10
#define AIF_RUNBOOK_GROWN_LEAST 0.01 /* what a point is */
bool aif_runbook_grown(const struct aif_buf *before, const struct aif_buf *after,
		       struct aif_buf *out);
/* The same of functions with their own time, kernels among them: appends a line for each. */
bool aif_runbook_grown_functions(const struct aif_buf *before, const struct aif_buf *after,
				 struct aif_buf *out);
