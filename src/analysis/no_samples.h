/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Reasons for a profile without instruction samples of its devices, as far as it has them. */

/* Appends "no instruction samples", and why where that is known. The fix is the reason's, "" where nothing helps or
 * nothing is known; it is static. */
const char *aif_no_samples_say(const struct aif_profile *p, struct aif_buf *out);
/* The same without what it begins with, for messages that say it in their own words: appends "; REASON; FIX", or what
 * else there is to do. */
void aif_no_samples_because(const struct aif_profile *p, struct aif_buf *out);
