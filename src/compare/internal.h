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

/* Steps that were found stand for the same if their numbers of launches differ by less than this factor, or if their numbers
 * do not differ. */
#define AIF_SAME_STEPS 1.5
/* The same of two runs of one side, which ran the same program: of one of them, another loop was found. */
#define AIF_SAME_STEPS_OF_SIDE 1.2
/* loops.c: true if steps, marked or found, are the same thing in both runs. Both have steps and launches. */
bool aif_compare_has_same_steps(const struct aif_run *x, const struct aif_run *y, double most);
double aif_compare_launches_a_step(const struct aif_run *r);

/* stacks.c: returns what a name of a run's tree is compared by: graphs of a device, which are numbered as they are made, are so
 * without their number. `space` is used where that is not the tree's own text. */
enum { AIF_COMPARE_NAME = 64 };
const char *aif_compare_frame(const struct aif_tree *t, uint32_t name, char space[AIF_COMPARE_NAME],
			      size_t *ret_len);

/* values.c: returns how many recordings the runs of a side are of, which may be parts of one. */
size_t aif_compare_recordings(const struct aif_side *s);

static inline size_t aif_compare_runs(const struct aif_comparison *c)
{
	return c->a->len + c->b->len;
}
