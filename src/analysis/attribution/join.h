/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/insides.h"
#include "analysis/attribution/sample_counts.h"

/* Join: gives each sample with a time of its own to the executions that ran then. 0 or -ENOMEM. */
int aif_join(const struct aif_scope *s, const struct aif_loaded *l, const struct aif_classified *c,
	     struct aif_insides *insides, struct aif_sample_counts *counts);
