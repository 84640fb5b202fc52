/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"
#include "analysis/loop/phases.h"
#include "page/bars.h"

/* Chooses steps whose executions are at most `max` together: the longest, those of middle length, the first and the last, by
 * turns. *ret is in order and for free(); NULL where there is none. 0 or -ENOMEM. */
int aif_page_whole_steps(const struct aif_phases *f, const struct aif_exec_timeline *t, size_t max,
			 struct aif_page_span **ret, size_t *ret_len);
