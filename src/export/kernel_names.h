/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/names.h"
#include "profile/model.h"

/* Names of device kernels for labels and tables. The rules are data: kernel_rules.def. */

/* With how much room the name is made: 0 the least, up to this. */
#define AIF_KERNEL_ROOMS 3

/* Appends the kernel's own name, its template arguments as far as `room` goes and a reader can use them. What
 * is no C++ comes out as it is. */
void aif_kernel_name(const char *name, size_t n, unsigned room, struct aif_buf *ret);

/* The function of this name is the kernel itself, not one that is called like it to begin with. A word about how its
 * frames were found may stand behind the name, in brackets. */
bool aif_kernel_is_itself(const char *function, const char *kernel);

/* Gives each kernel of the profile that has none a short name. Kernels with different names get different
 * ones: with more room, or in the end by a mark that is always the same for the same kernel. 0 or
 * -ENOMEM. */
int aif_kernel_names_make(struct aif_profile *p);

/* The briefest names that still tell the profile's kernels apart: *ret[i] is kernel i's, a string of *names; without any
 * template arguments where no other kernel is called like that, else its short name. *ret is for free(), *names is
 * finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_kernel_names_brief(const struct aif_profile *p, struct aif_strset *names, uint32_t **ret);
