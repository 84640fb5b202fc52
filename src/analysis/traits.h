/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/* Conclusions from a profile's traits (profile/traits.h) and other data. */

/* True if device time is no time: drivers that give none (aif_attribution_is_untimed), and
 * numbers of samples of which nobody has said how long one stands for. Views go by samples then. */
bool aif_is_untimed(const struct aif_profile *p, const struct aif_attribution *a);

/* Returns the unit that the weights of CPU samples count, "page-faults"; NULL: they are times. */
const char *aif_cpu_counts(const struct aif_profile *p);
/* Appends a weight of CPU samples: "1.77 s", "12,345 cache-misses". */
void aif_cpu_weight_say(const struct aif_profile *p, uint64_t weight, struct aif_buf *out);
