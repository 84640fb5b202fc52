/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;

/* Finds the build id of libcupti. */
void aif_cuda_use_init(struct aif_cuda *cuda);
/* Under `switching`, as the next: chooses how much CUPTI is asked in this session, once. */
void aif_cuda_use_choose(struct aif_cuda *cuda);
/* Lets the recorder know which CUPTI is in use from now on, or that it is not any more. */
void aif_cuda_use_publish(const struct aif_cuda *cuda, bool is_used);
