/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const char *const function_names[] = {
#define X(name, result, arguments) #name,
#define U(name)                    #name,
	AIF_CL_FUNCTIONS(X, U)
#undef X
#undef U
};

/* Finds the functions that the application calls, in the loader, which has code at `pc`. ocl-icd's jump on to the layer, so
 * that they have no frame on the stack; their addresses stand for them (aif_capture). */
static void find_api(struct aif_opencl *cl, uint64_t pc_of_loader)
{
	struct aif_unwind_module m;
	void *lib;

	if (!aif_unwinder_module(aif_agent.session.unwinder, pc_of_loader, &m) || !*m.path)
		return;
	lib = dlopen(m.path, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return;
	for (unsigned i = 0; i < AIF_CL_ENTRIES; i++) {
		uint64_t pc = (uintptr_t)dlsym(lib, function_names[i]);

		if (pc >= m.lo && pc < m.hi)
			cl->api[i] = (struct aif_emit_api){.pc = pc, .lo = m.lo, .hi = m.hi};
	}
	dlclose(lib);
}

int aif_cl_layer_init(uint32_t n, const struct aif_cl_dispatch *target, uint64_t pc_of_loader)
{
	struct aif_opencl *cl = aif_pages(sizeof(*cl));
	int r;

	if (!cl)
		return -ENOMEM;
	memcpy(&cl->target, target, AIF_MIN(n, AIF_CL_ENTRIES) * sizeof(void *));
	cl->layer = cl->target;
	pthread_mutex_init(&cl->lock, NULL);
	r = aif_cl_pool_init(&cl->pool);
	if (r < 0)
		return r;
	r = aif_agent_start(AIF_RUNTIME_ID(opencl));
	if (r < 0)
		return r;
	find_api(cl, pc_of_loader);
	aif_cl_queues_install(&cl->layer);
	aif_cl_programs_install(&cl->layer);
	aif_cl_memory_install(&cl->layer);
	aif_cl_commands_install(&cl->layer);
	/* A function that the loader does not have stays absent. */
	for (unsigned i = 0; i < AIF_CL_ENTRIES; i++)
		if (!((void **)&cl->target)[i])
			((void **)&cl->layer)[i] = NULL;
	atomic_store_explicit(&aif_agent.runtime[AIF_RUNTIME_ID(opencl)].state, cl,
			      memory_order_release);
	return 0;
}
