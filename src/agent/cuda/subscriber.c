/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include <dlfcn.h>

/*
 * CUPTI has one subscriber and one pair of buffer functions in a process. An application that
 * profiles itself (torch.profiler) gets it: preloaded, we are the first to see it ask, and leave before the
 * real function is called, because afterwards it would have been refused (measured: no device events at all).
 * When it unsubscribes, we subscribe again.
 *
 * Which libcupti is meant follows from who calls: the one among the caller's own dependencies.
 */

static void *real(const void *caller, const char *name)
{
	Dl_info info;
	void *lib = NULL, *fn = NULL;

	if (dladdr(caller, &info) && info.dli_fname)
		lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (lib) {
		fn = dlsym(lib, name);
		dlclose(lib);
	}
	/* The program itself. */
	return fn ? fn : dlsym(RTLD_NEXT, name);
}

static bool is_cupti(const void *caller)
{
	const struct aif_cuda *cuda = CUDA;

	return cuda && (uintptr_t)caller >= cuda->lo && (uintptr_t)caller < cuda->hi;
}

/* A forked child, which has no use of its parent's CUDA, has also its parent's locks, as they were. */
static bool is_ours(const void *caller)
{
	const struct aif_armed *armed = aif_agent.session.armed;

	return CUDA && atomic_load(&armed->generation) && !is_cupti(caller);
}

static void release(const void *caller)
{
	if (is_ours(caller))
		aif_cuda_subscriber_release(CUDA);
}

AIF_PUBLIC int cuptiSubscribe(void **subscriber, aif_cupti_callback_fn *callback, void *user);
int cuptiSubscribe(void **subscriber, aif_cupti_callback_fn *callback, void *user)
{
	const void *caller = __builtin_return_address(0);
	int (*fn)(void **, aif_cupti_callback_fn *, void *) = real(caller, "cuptiSubscribe");

	release(caller);
	return fn ? fn(subscriber, callback, user) : AIF_CUPTI_NOT_INITIALIZED;
}

AIF_PUBLIC int cuptiActivityRegisterCallbacks(aif_cupti_request_fn *request,
					      aif_cupti_complete_fn *complete);
int cuptiActivityRegisterCallbacks(aif_cupti_request_fn *request, aif_cupti_complete_fn *complete)
{
	const void *caller = __builtin_return_address(0);
	int (*fn)(aif_cupti_request_fn *, aif_cupti_complete_fn *) =
		real(caller, "cuptiActivityRegisterCallbacks");

	release(caller);
	return fn ? fn(request, complete) : AIF_CUPTI_NOT_INITIALIZED;
}

AIF_PUBLIC int cuptiUnsubscribe(void *subscriber);
int cuptiUnsubscribe(void *subscriber)
{
	const void *caller = __builtin_return_address(0);
	int (*fn)(void *) = real(caller, "cuptiUnsubscribe");
	int r = fn ? fn(subscriber) : AIF_CUPTI_NOT_INITIALIZED;

	if (!r && is_ours(caller))
		aif_cuda_subscriber_reclaim(CUDA);
	return r;
}
