/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;
struct aif_cuda_sampled;

/* May this process, as far as files say? */
bool aif_cuda_sampling_allowed(void);
/* Before and after a context's sampling is enabled. 0 or CUPTI's error. */
int aif_cuda_sampling_prepare(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
int aif_cuda_sampling_configure(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
