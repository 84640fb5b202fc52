/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"

/* Returns the stack to blame for what a thread did between launches from `before` and `after`: `stack`, where that is known and has the
 * program; else where the thread went on from one to the other, or `after`, and *ret_is_before. A stack along frame pointers (record
 * --ebpf) passes over code that has none, and never has Python's functions. */
uint32_t aif_idle_place(const struct aif_profile *p, uint32_t stack, uint32_t before,
			uint32_t after, bool *ret_is_before);

/* Sets *ret, for free(), to each launch's launch before it of the same thread, or AIF_NONE. 0 or -ENOMEM. */
int aif_idle_launches_before(const struct aif_exec_timeline *t, uint32_t **ret);
