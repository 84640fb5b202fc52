/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* A fault that is known of a version of libcupti (cupti_faults.def). */
struct aif_cupti_fault {
	uint32_t from, fixed; /* cuptiGetVersion() */
	const char *fixed_in;
	bool is_of_switching;
	const char *what;
};

/* Returns the next one of that version, the first after NULL; NULL: there is no other. */
const struct aif_cupti_fault *aif_cupti_fault_next(uint32_t version,
						   const struct aif_cupti_fault *last);

/* Appends "13.0 Update 1", or "API version 26" of older ones. */
void aif_cupti_version_text(uint32_t version, struct aif_buf *out);

/* Appends what is known of the version and where it is mended: "A, B, fixed in 13.4 Update 1". False, and nothing: no fault. */
bool aif_cupti_faults_text(uint32_t version, struct aif_buf *out);
