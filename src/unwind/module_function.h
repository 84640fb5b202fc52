/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <link.h>

/*
 * Functions by name in the dynamic symbols of loaded modules, without dlsym(): its first caller may be a sanitizer that sets
 * itself up, and where it finds nothing it allocates a message, which in a thread of the agent's takes an arena: 64 MiB of
 * the program's address space. But for aif_is_function_anywhere() no function of libc is called that a sanitizer stands in
 * for, strcmp() and dl_iterate_phdr() among them.
 */

/* Returns the function that the module at `bias` with that dynamic section defines by the name, or NULL. */
void *aif_function_in(uintptr_t bias, const ElfW(Dyn) * dynamic, const char *name);
/* The same, in a callback of dl_iterate_phdr(). */
void *aif_module_function(const struct dl_phdr_info *module, const char *name);
/* True if a module defines a function by that name: dlsym() need not be asked otherwise. Takes the loader's lock. */
bool aif_is_function_anywhere(const char *name);
