/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/attribution.h"

/* The first screen, at most 18 lines: what ran, how busy the devices were, the top kernels, how far
 * the picture can be trusted, what it cost, what did not work and how to mend it, what to do next.
 * `path` is the profile's, for its size and the commands that are proposed. */
void aif_summary_write(const struct aif_profile *p, const struct aif_attribution *a,
		       const char *path, struct aif_buf *out);

/* One line about quality, for a picture's subtitle: what is missing, or what all is there. */
void aif_summary_quality(const struct aif_profile *p, const struct aif_attribution *a,
			 struct aif_buf *out);
