/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <link.h>

/*
 * The function that a caller would have bound to, had the agent not stood in front of it, where several modules define one: two
 * plugins may each have brought a library of their own. The loader searches what the program and preloaded libraries need, then
 * what the caller needs, breadth first, and so do we. Else it is that of aif_next_function(). Not seen is a library that was opened
 * with RTLD_GLOBAL: its place in the search is the loader's own knowledge.
 *
 * To be called in a callback of dl_iterate_phdr(), which keeps the list of modules as it is.
 */
void *aif_caller_function(const char *name, const struct link_map *caller);
