/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdint.h>

/* The processes that `record -a` has joined although nobody prepared them, and those that it has left alone. */
struct aif_joined_list {
	struct aif_joined *row;
	size_t len, cap;
};

/* Adds a process, or replaces what is known of its number. `why`: why it was left alone; "": it was joined. */
void aif_joined_list_add(struct aif_joined_list *l, int pid, const char *name, uint64_t stop_ns,
			 const char *why);
/* Prints the list on standard error: counts, and a dozen lines unless `all`. Nothing if it is empty. */
void aif_joined_list_print(const struct aif_joined_list *l, bool all);
void aif_joined_list_finish(struct aif_joined_list *l);
