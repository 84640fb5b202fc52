/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/* Computes what `sel` (NULL: all) asks for, stage by stage. 0 or -errno with *err; *ret is
 * finished by aif_attribution_finish(). */
int aif_attribution_run(const struct aif_profile *p, const struct aif_selection *sel,
			struct aif_attribution *ret, struct aif_err *err);
