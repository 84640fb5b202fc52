/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * PoCL compiles each OpenCL kernel to a shared library of its own in its cache,
 * .../KERNEL/LX-LY-LZ[...]/KERNEL.so, with the functions _pocl_kernel_KERNEL (one work item),
 * _pocl_kernel_KERNEL_workgroup and _pocl_kernel_KERNEL_workgroup_fast (a work group, what runs).
 */

bool aif_pocl_is_kernel_path(const char *path);
/* Into to[max]. 0; -ENOENT if it is no such path; -ENAMETOOLONG. */
int aif_pocl_kernel_of_path(const char *path, char *to, size_t max);

/* The kernel that a symbol belongs to: a part of `symbol`, *ret_len bytes long. NULL if it is
 * none of PoCL's. `path` (may be NULL) tells a kernel whose own name ends in "_workgroup". */
const char *aif_pocl_kernel_name(const char *symbol, const char *path, size_t *ret_len);
