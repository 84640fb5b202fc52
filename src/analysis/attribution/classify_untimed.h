/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/groups.h"
#include "analysis/attribution/load.h"

/*
 * Adds the launches of drivers that give no times to their groups, which are all those of
 * executions: where such a kernel has samples, they go by its launches. Widths stay 0, as nobody
 * has measured them. executed[launch]: true for those with an execution. 0 or -ENOMEM.
 */
int aif_classify_untimed(const struct aif_scope *s, const struct aif_loaded *l,
			 const bool *executed, struct aif_groups *groups);
