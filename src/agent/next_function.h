/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <link.h>
#include <stdatomic.h>

/*
 * The function that the agent stands in front of, looked for in the loader's own list of modules, as debuggers do: what
 * dlsym(RTLD_NEXT) would find, or, where the agent is not preloaded, what it finds for others. The list has libraries that
 * were opened for one library only, too, which RTLD_NEXT does not see. NULL: there is none.
 *
 * Reading the list needs no dlsym(), which is itself looked for in it. The first caller of dlsym() may be a
 * sanitizer that sets itself up: so no function of libc is called here that one of them stands in for, strcmp() and
 * dl_iterate_phdr() among them, until the agent's constructor has run. Later the list may change meanwhile: modules that are there from
 * the program's start never go, so they are looked at as before, and the others in a callback of dl_iterate_phdr(), which keeps
 * them. Functions of the C library are found without it, also in a child of a fork, in which its lock may be held by nobody.
 */
void *aif_next_function(const char *name);

/* The same, which keeps in `next` what it has found. */
static inline void *aif_next_function_once(_Atomic(void *) *next, const char *name)
{
	void *found = atomic_load_explicit(next, memory_order_relaxed);

	if (!found) {
		found = aif_next_function(name);
		atomic_store_explicit(next, found, memory_order_relaxed);
	}
	return found;
}

/* The first of all modules in that list: the program. */
const struct link_map *aif_modules(void);
/* Returns the function that a module defines by that name; NULL: none, or it is the agent or the kernel's. */
void *aif_function_of(const struct link_map *m, const char *name);
