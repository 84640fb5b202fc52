/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/step_changes.h"
#include "names/profile_names.h"

/* Appends "rank 17, steps 4,000 to 4,100: 60.0 ms a step longer in gemm of step (train.py:8) (110 ms, else 50.0 ms)". `place`: of the
 * change's stack, "" where it is not known. */
void aif_change_say(const struct aif_names *names, const struct aif_step_change *c,
		    const char *place, struct aif_buf *out);
