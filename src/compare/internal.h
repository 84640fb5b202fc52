/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/compare.h"

/* Parts of aif_compare(), in the order in which they are called. */

/* problems.c: says why nothing is decided, and what is to be known of the runs. */
void aif_compare_find_problems(struct aif_comparison *c, const struct aif_compare_opts *o);
/* kernels.c: matches kernels, fills .kernels. *aliases: by a name of .names that only B has, the name of A's kernel that it
 * stands for. 0 or -ENOMEM. */
int aif_compare_kernels(struct aif_comparison *c, struct aif_map *aliases);
/* stacks.c: makes .tree, .means and .findings. 0 or -ENOMEM. */
int aif_compare_stacks(struct aif_comparison *c, const struct aif_map *aliases);

static inline size_t aif_compare_runs(const struct aif_comparison *c)
{
	return c->a->len + c->b->len;
}
