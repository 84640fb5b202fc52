/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/* Kernels that got no sample where others got some, as those whose launches are shorter than the time between two: what
 * instructions and stall reasons say nothing of. */

/* Appends "3 kernels without a sample: 1,204 launches, 2.1 % of the busy time", or nothing where there is none. */
void aif_unsampled_say(const struct aif_profile *p, const struct aif_attribution *a,
		       struct aif_buf *out);
