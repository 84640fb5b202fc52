/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cuda/cupti_abi.h"
#include "agent/thread.h"

struct aif_cuda;
struct aif_cuda_sampled;

/* Learns the names of a context's stall reasons. 0 or CUPTI's error. */
int aif_cuda_learn_reasons(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
/* Reports a window: from c->since to `until`. */
void aif_cuda_report_samples(struct aif_thread *t, struct aif_cuda *cuda,
			     struct aif_cuda_sampled *c, const struct aif_cupti_samples *b,
			     uint64_t until);
