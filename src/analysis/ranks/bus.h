/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* Returns the bytes that an operation moves over the busiest link, as nccl-tests counts them for "bus bandwidth": what each rank
 * of a ring sends, whatever the number of ranks. 0: the operation, its bytes or its ranks are not known. */
double aif_rank_bus_bytes(const struct aif_profile *p, const struct aif_collective *c);
