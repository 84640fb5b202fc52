/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/*
 * Launches that were seen from outside their process (record --ebpf): who launched, and how often. Which
 * kernel, on which device, and when that ran, only an agent in the process could have told.
 */

/* Is it one? They name no device and no stream, and their stack is one along frame pointers. */
bool aif_is_ebpf_launch(const struct aif_profile *p, const struct aif_launch_row *row);

/* Returns the part of a launch's stack that ends at the runtime's call: without the system call below it, and the functions of
 * the OS kernel that it entered (record --ebpf). */
uint32_t aif_stack_of_call(const struct aif_profile *p, uint32_t stack);
