/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/* Appends what is in a profile: machine, tables, the conservation report, losses, cost. */
void aif_info_write(const struct aif_profile *p, const struct aif_attribution *a, const char *path,
		    struct aif_buf *out);
/* The same as one JSON object (docs/agents.md): what it begins with, "meta", "contents", "conservation" and "losses". */
void aif_info_json(const struct aif_profile *p, const struct aif_attribution *a, const char *path,
		   struct aif_buf *out);
