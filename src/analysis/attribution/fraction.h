/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Fractions of a ns or of a sample are kept in units of 2^-20 until all is summed up; only then
 * are they rounded (round.h), so that sums stay exact. */
#define AIF_FRACTION_BITS 20
typedef unsigned __int128 aif_fraction;
