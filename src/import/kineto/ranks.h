/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/kineto/kineto.h"

/*
 * Several ranks of one job, a file each, become one profile. Their times are of their hosts' clocks, which may differ by
 * milliseconds, while a collective ends on all ranks within microseconds: nobody has the result before all have
 * given. So where the ends of the same collectives differ by about the same each time, that is the clocks, and the
 * rank is moved by it.
 */

/* Around what makes the file's rows. 0 or -ENOMEM. */
int kineto_ranks_begin(struct kineto *k, void **state);
int kineto_ranks_end(struct kineto *k, void **state);
/* Rows of the last file that came after kineto_ranks_end(), and what was not kept since then. */
void kineto_ranks_add(void *state, const struct aif_builder *b, uint64_t not_kept);
/* Aligns the ranks after the last file was read: see struct aif_importer. */
int kineto_ranks_finish(struct aif_builder *b, void *state, int r, struct aif_err *err);
