/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "merge/input.h"
#include "merge/tables.h"

/* Joins what the files say of themselves: sums of costs, the hosts, the first file's word for the rest. */

/* Adds the meta of a file. -EINVAL with *err where its rows mean something else than those of the files before. */
int aif_merge_meta_add(struct aif_profile *p, const struct aif_profile *from, const char *path,
		       struct aif_err *err);
/* Sets a value. 0 or -ENOMEM. */
int aif_merge_meta_set(struct aif_profile *p, const char *key, const char *value);
/* Notes how files, hosts and clocks are related, in meta, losses and lines for people. 0 or -ENOMEM. */
int aif_merge_note(struct aif_profile *p, const struct aif_merge_input *in, size_t n,
		   struct aif_merge_sum *ret);
