/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtime.h"

const struct aif_runtime *const aif_runtimes[] = {
	&aif_runtime_opencl, &aif_runtime_cuda, &aif_runtime_level_zero, &aif_runtime_fake, NULL,
};
