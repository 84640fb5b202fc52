/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/insides.h"

/* Rounds `n` fractions to whole numbers that sum to `total`: the largest remainders are rounded
 * up, first come first in a tie. The fractions' own sum must round to `total` within n. 0 or
 * -ENOMEM. */
int aif_round(const aif_fraction *fractions, size_t n, uint64_t total, uint64_t *ret);
/* Rounds the samples of all insides so that those of each place (process, frame, reason) sum to
 * what was counted there. 0 or -ENOMEM. */
int aif_round_samples(const struct aif_insides *insides, const struct aif_groups *groups,
		      uint64_t *ret);
