/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Precisions, by the unit that computes in them: FP64 and FP32 outside of matrix units, the others in these. */
enum aif_precision {
	AIF_PRECISION_NONE, /* not known */
	AIF_PRECISION_FP64,
	AIF_PRECISION_FP64_MATRIX,
	AIF_PRECISION_FP32,
	AIF_PRECISION_TF32,
	AIF_PRECISION_FP16,
	AIF_PRECISION_BF16,
	AIF_PRECISION_FP8,
	AIF_PRECISION_INT8,
	AIF_PRECISIONS
};
const char *aif_precision_name(enum aif_precision p);

struct aif_roof {
	double bytes_per_s;           /* of its memory; 0: not known */
	double per_s[AIF_PRECISIONS]; /* operations; 0: not known */
};

/* Sets *ret to the peaks of a device: by the clocks that it reports, else by those listed for its name (devices.def). False: nothing is
 * known of it. */
bool aif_roof_of(const struct aif_profile *p, const struct aif_device *d, struct aif_roof *ret);
/* Returns the precision of a matrix product or convolution by its kernel's name (precisions.def), or NONE. */
enum aif_precision aif_precision_of_kernel(const char *kernel);
/* Returns the precision in which products of this type of PyTorch are computed by default, "c10::BFloat16", or NONE: "float" may
 * be FP32 or TF32. */
enum aif_precision aif_precision_of_type(const char *type);
