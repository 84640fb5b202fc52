/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/names.h"

/* Names of device kernels for labels and tables. The rules are data: kernel_rules.def. */

/* With how much room the name is made: 0 the least, up to this. */
#define AIF_KERNEL_ROOMS 3

/* Appends the kernel's own name, its template arguments as far as `room` goes and a reader can use
 * them. What is no C++ comes out as it is. */
void aif_kernel_name(const char *name, size_t n, unsigned room, struct aif_buf *ret);

/* True if the function of this name is the kernel itself, not one whose name begins like the
 * kernel's. A word about how its frames were found may stand behind the name, in brackets. */
bool aif_kernel_is_itself(const char *function, const char *kernel);

/* True for the name of a template around kernels (kernel_rules.def): without arguments it names no
 * kernel. */
bool aif_kernel_is_wrapper(const char *name, size_t n);
