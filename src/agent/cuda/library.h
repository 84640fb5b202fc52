/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cuda/cupti_abi.h"

/* Finds libcupti: the copy that the process has, else the one that it would get. 0, or -ENOENT. */
int aif_cuda_library_open(struct aif_cupti *api, void **ret_library, uint32_t *ret_version);

/* Finds where the module with this address lies. */
void aif_cuda_library_bounds(uintptr_t inside, uintptr_t *ret_lo, uintptr_t *ret_hi);
