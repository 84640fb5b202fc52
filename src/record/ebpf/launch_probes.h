/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The functions with which programs launch work on devices, by the library that has them. One
 * launch goes through one of them: of CUDA those of the driver, which the runtime calls, too.
 */
struct aif_launch_probe {
	const char *library; /* how the file's name begins */
	const char *function;
};
extern const struct aif_launch_probe aif_launch_probes[];
extern const size_t aif_launch_probes_len;

/* Is it the path of a library that has one? */
bool aif_launch_probes_path(const char *path);
/* Does probe number i belong there? */
bool aif_launch_probes_has(const char *path, size_t i);
