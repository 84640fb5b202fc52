/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Programs whose way of using an NVIDIA GPU is in the way of sampling its instructions: it has one sampling unit, and
 * the driver does not say who has it. Known by name, of those that run. */
struct aif_gpu_user {
	uint32_t pid;
	const char *name;
	const char *what; /* to do about it */
};

/* At most max of them, but not this process; their number. root: where /proc is looked for, "" but in tests. */
size_t aif_gpu_users(const char *root, struct aif_gpu_user *ret, size_t max);
