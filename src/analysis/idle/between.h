/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"

/* Returns the stack, up to the function in which a thread went on from one launch to another further down, or AIF_NONE: it
 * went round a loop, and nothing says where. Frames of Python's interpreter differ by its instructions; the Python function
 * behind them tells. */
uint32_t aif_idle_function_between(const struct aif_profile *p, uint32_t a, uint32_t b);

/* Sets *ret, for free(), to each launch's launch before it of the same thread, or AIF_NONE. 0 or -ENOMEM. */
int aif_idle_launches_before(const struct aif_exec_timeline *t, uint32_t **ret);
