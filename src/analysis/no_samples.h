/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Reasons for a profile without samples, as far as it has them. */

/* Returns why a recording has no CPU samples, and what to do: "no process used a device, ...; record with --cpu". NULL: some process
 * used a device, or another kind of samples was asked for. Static. */
const char *aif_no_cpu_samples(const struct aif_profile *p);

/* Appends "no instruction samples", and why where that is known. The fix is the reason's, "" where nothing helps or
 * nothing is known; it is static. */
const char *aif_no_samples_say(const struct aif_profile *p, struct aif_buf *out);
/* The same without what it begins with, for messages that say it in their own words: appends "; REASON; FIX", or what
 * else there is to do. */
void aif_no_samples_because(const struct aif_profile *p, struct aif_buf *out);
