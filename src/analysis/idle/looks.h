/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blaming.h"

/* Gives the time of sleeps without a stack, between two launches, to those with one in which the same thread slept there in the
 * same call: the recorder came too late to read the stacks of some. 0 or -ENOMEM. */
int aif_idle_looks_merge(struct aif_idle_blaming *b);
