/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "unwind/python_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/*
 * Deaths of code objects: PyCode_Type.tp_dealloc is ours, calls what was there before, then removes the
 * address from the map. Not PyCode_AddWatcher: it exists since 3.12 only, must be called with the GIL,
 * is per interpreter, gives out eight places in all, and also calls at each birth. One way that is tested
 * on every version is better than two.
 *
 * Exact because of two orders:
 *
 * - The entry goes after the original has freed the memory, not before: freeing may run Python code (weak
 *   references' callbacks) while the frame being left still names the dying object, and a launch there
 *   could enter it again. Whoever could make it a code object again needs the GIL, which we hold until we
 *   return. (Where interpreters have a GIL each, an entry may be removed too much: then it is learned anew.)
 * - The wrapper is in place before the first address is entered. It is put there by one atomic store,
 *   with or without the GIL: a thread that has just fetched the old pointer frees an object that no
 *   frame holds, so one that was never entered. An object that was entered dies only after its
 *   frame let it go, under a GIL that was taken after our store: whoever frees it sees the wrapper.
 *
 * Others may wrap as well. Who did so before us is called by us; after us, calls us. In the second case
 * stop() must leave the wrapper where it is: it then only passes on.
 *
 * The interpreter's call has no room for a context, hence the variables.
 */

typedef void (*destructor)(void *object);

static _Atomic(destructor) next_destructor;
static atomic_bool in_place; /* reachable from PyCode_Type */
static _Atomic(struct aif_python *) watching;

/* Same in all versions 3.8 to 3.14: three words of the object, then name, two sizes, destructor. */
enum { TYPE_NAME = 24, TYPE_DEALLOC = 48 };

static _Atomic(destructor) *dealloc_of(const struct aif_python *py)
{
	return (_Atomic(destructor) *)(uintptr_t)(py->type_code + TYPE_DEALLOC);
}

static void code_died(void *object)
{
	destructor next = atomic_load(&next_destructor);
	struct aif_python *py;

	next(object);
	py = atomic_load(&watching);
	if (py)
		aif_python_codes_remove(&py->codes, (uint64_t)(uintptr_t)object);
}

/* A type named "code" that has a destructor. */
static bool is_code_type(const struct aif_python *py)
{
	const char *name;
	Dl_info info;

	memcpy(&name, (const char *)(uintptr_t)py->type_code + TYPE_NAME, sizeof(name));
	return dladdr(name, &info) && strcmp(name, "code") == 0 && atomic_load(dealloc_of(py));
}

int aif_python_death_start(struct aif_python *py)
{
	destructor now;

	if (!is_code_type(py))
		return -EINVAL;
	atomic_store(&watching, py);
	now = atomic_load(dealloc_of(py));
	/* Left there by stop(), below another's wrapper; unless that one took ours away with its
	 * own. */
	if (!atomic_exchange(&in_place, true) || now == atomic_load(&next_destructor)) {
		do
			atomic_store(&next_destructor, now);
		while (!atomic_compare_exchange_weak(dealloc_of(py), &now, code_died));
	}
	/* Drops codes that were entered while no destructor watched. Last: a launch that began
	 * before a pause may enter something at any moment. */
	aif_python_codes_clear(&py->codes);
	return 0;
}

void aif_python_death_stop(struct aif_python *py)
{
	destructor ours = code_died;

	atomic_store(&watching, NULL);
	/* A thread may be about to call code_died: where that passes on to stays known. */
	if (atomic_compare_exchange_strong(dealloc_of(py), &ours, atomic_load(&next_destructor)))
		atomic_store(&in_place, false);
}
