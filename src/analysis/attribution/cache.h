/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/* The attribution of a whole profile, kept in its file for the next view, under a name that has
 * AIF_ATTRIBUTION_VERSION in it. */

/* 0, -ENOENT (none), -EBADMSG (not one that fits this profile) or -ENOMEM. */
int aif_attribution_cache_get(const struct aif_profile *p, struct aif_attribution *ret);

/* Does nothing where the file can't be written. */
void aif_attribution_cache_put(const struct aif_profile *p, const struct aif_attribution *a);
