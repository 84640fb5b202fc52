/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Returns the whole part of a number of a profile or file, which may say anything: 0 of what is no number or negative, UINT64_MAX
 * of what is too large. The language leaves a plain conversion of these undefined. */
static inline uint64_t aif_u64_of(double value)
{
	return !(value > 0) ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}
