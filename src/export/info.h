/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/attribution.h"

/* What is in a profile: machine, tables, the conservation report, losses, cost. */
void aif_info_write(const struct aif_profile *p, const struct aif_attribution *a, const char *path,
		    struct aif_buf *out);
