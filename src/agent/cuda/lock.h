/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct aif_cuda;

/* Takes `switching`, unless that takes longer than 0.1 s. */
bool aif_cuda_trylock_briefly(struct aif_cuda *cuda);
