/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"
#include "agent/next_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/*
 * The loader is ready for a tracer as soon as its first zeInit() or zeInitDrivers() has come back, and nothing can
 * have been launched before. So these two are ours, by their names, in every program and library that is linked to
 * the loader; we call the loader's and look whether it has worked.
 *
 * SYCL's and PyTorch's plug-ins, and Python's ctypes, open the loader with dlopen() and ask dlsym() for its
 * functions. They are given ours when they ask for one of the two. For this, dlsym() itself is ours: it looks at the
 * first two letters of the name and jumps on, so that the C library sees its caller as it is, on whom RTLD_NEXT and
 * namespaces depend. What else there is: wrapping dlopen() would break $ORIGIN; a
 * thread that looks for the loader from time to time would miss what is launched first, and be a thread in every
 * process; calling zeInit() ourselves would start Intel's driver in every process.
 */

enum { INIT, INIT_DRIVERS, NAMES }; /* places in the slot's vendor[], too */
static const char *const names[NAMES] = {"zeInit", "zeInitDrivers"};

/* ---- zeInit() -------------------------------------------------------------------------------- */

AIF_PUBLIC uint32_t zeInit(uint32_t flags);
AIF_PUBLIC uint32_t zeInitDrivers(uint32_t *n, void **drivers, void *desc);

/* The loader's; NULL: there is none. */
static void *real(unsigned which)
{
	void *found = atomic_load_explicit(&L0_SLOT->vendor[which], memory_order_acquire);

	if (found)
		return found;
	found = dlsym(RTLD_NEXT, names[which]);
	if (!found)
		found = aif_next_function(names[which]);
	if (found)
		atomic_store_explicit(&L0_SLOT->vendor[which], found, memory_order_release);
	return found;
}

uint32_t zeInit(uint32_t flags)
{
	uint32_t (*init)(uint32_t) = (uint32_t(*)(uint32_t))real(INIT);
	uint32_t r = init ? init(flags) : AIF_ZE_UNINITIALIZED;
	int saved = errno;

	if (r == AIF_ZE_SUCCESS && aif_agent.env.carrier)
		aif_ze_begin((void *)init);
	errno = saved;
	return r;
}

uint32_t zeInitDrivers(uint32_t *n, void **drivers, void *desc)
{
	uint32_t (*init)(uint32_t *, void **, void *) =
		(uint32_t(*)(uint32_t *, void **, void *))real(INIT_DRIVERS);
	uint32_t r = init ? init(n, drivers, desc) : AIF_ZE_UNINITIALIZED;
	int saved = errno;

	if (r == AIF_ZE_SUCCESS && aif_agent.env.carrier)
		aif_ze_begin((void *)init);
	errno = saved;
	return r;
}

/* ---- dlsym() --------------------------------------------------------------------------------- */

#ifdef __x86_64__

static void *ours(unsigned which)
{
	return which == INIT ? (void *)zeInit : (void *)zeInitDrivers;
}

/* glibc's only. */
extern void *dlvsym(void *handle, const char *name, const char *version) __attribute__((weak));

#define NOTHING ((void *)1)

typedef void *dlsym_function(void *handle, const char *name);

static_assert(!offsetof(struct aif_agent, real_dlsym), "dlsym.S");

/* For dlsym.S, which is everybody's dlsym(). */
__attribute__((used, visibility("hidden"))) dlsym_function *aif_ze_real_dlsym(void);
__attribute__((used, visibility("hidden"))) void *aif_ze_dlsym(void *handle, const char *name);

dlsym_function *aif_ze_real_dlsym(void)
{
	void *found = aif_next_function("dlsym");

	/* A program that no debugger could look into. */
	if (!found && dlvsym)
		found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	aif_agent.real_dlsym = found;
	return (dlsym_function *)found;
}

/* Returns what dlsym() is to give the caller; NULL: what it gives without us; NOTHING: no function. A caller that asks
 * for RTLD_NEXT stands in front of the loader itself, as we do, and gets what is next. */
void *aif_ze_dlsym(void *handle, const char *name)
{
	void *found, *known = NULL;
	dlsym_function *next;
	unsigned which;

	for (which = 0; which < NAMES; which++)
		if (!strcmp(name, names[which]))
			break;
	if (which == NAMES || handle == RTLD_NEXT || !aif_agent.env.carrier)
		return NULL;
	next = aif_agent.real_dlsym ? (dlsym_function *)aif_agent.real_dlsym : aif_ze_real_dlsym();
	found = next ? next(handle, name) : NULL;
	/* No loader here has it: that we have is not to be noticed. */
	if (found == ours(which))
		return real(which) ? NULL : NOTHING;
	if (!found)
		return NULL;
	/* Only the first of two copies of the loader is stood in front of; callers of the other get
	 * its own function. */
	if (!atomic_compare_exchange_strong(&L0_SLOT->vendor[which], &known, found) &&
	    known != found)
		return NULL;
	return ours(which);
}

#endif
