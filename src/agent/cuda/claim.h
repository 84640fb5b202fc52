/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;
struct aif_cuda_sampled;

/* Once, before threads. */
void aif_cuda_claim_init(struct aif_cuda *cuda);
/* Claims the sampling unit of a context's GPU for this process. False: another process has it. */
bool aif_cuda_claim(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
void aif_cuda_unclaim(struct aif_cuda_sampled *c);
