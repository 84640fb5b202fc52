/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/attribution/extrapolate.h"
#include "analysis/attribution/sample_counts.h"

/* Results of all stages before. */
struct aif_stages {
	struct aif_scope scope;
	struct aif_loaded loaded;
	struct aif_classified classified;
	struct aif_swept swept;
	struct aif_sample_counts samples;
	struct aif_extrapolated extrapolated;
};

/* Count: makes the conservation report. */
struct aif_conservation aif_count(const struct aif_stages *s);
