/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Steps of 100 us that an exit waits at most for callbacks under way. The callback comes at once where the driver's
 * thread gets a processor; on two busy ones 250 steps have been too few. */
#define LEAVE_STEPS 1000

AIF_PUBLIC int32_t clGetLayerInfo(uint32_t name, size_t size, void *value, size_t *ret_size);
int32_t clGetLayerInfo(uint32_t name, size_t size, void *value, size_t *ret_size)
{
	static const uint32_t version = AIF_CL_LAYER_API_VERSION_100;
	static const char layer_name[] = "aiflame";
	const void *from = name == AIF_CL_LAYER_API_VERSION ? (const void *)&version : layer_name;
	size_t len = name == AIF_CL_LAYER_API_VERSION ? sizeof(version) : sizeof(layer_name);

	if ((name != AIF_CL_LAYER_API_VERSION && name != AIF_CL_LAYER_NAME) ||
	    (value && size < len))
		return AIF_CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, len);
	if (ret_size)
		*ret_size = len;
	return AIF_CL_SUCCESS;
}

AIF_PUBLIC int32_t clInitLayer(uint32_t n, const struct aif_cl_dispatch *target, uint32_t *ret_n,
			       const struct aif_cl_dispatch **ret);
int32_t clInitLayer(uint32_t n, const struct aif_cl_dispatch *target, uint32_t *ret_n,
		    const struct aif_cl_dispatch **ret)
{
	if (!target || !ret_n || !ret)
		return AIF_CL_INVALID_VALUE;
	if (aif_agent.env.carrier && !CL &&
	    aif_cl_layer_init(n, target, (uintptr_t)__builtin_return_address(0)) == 0) {
		*ret_n = (uint32_t)AIF_MIN(n, AIF_CL_ENTRIES);
		*ret = &CL->layer;
	} else {
		/* Calls pass through unchanged where nobody records, or the agent is a layer
		 * already. */
		*ret_n = n;
		*ret = target;
	}
	return AIF_CL_SUCCESS;
}

static void tick(uint64_t now)
{
	struct aif_thread *t;
	bool clocks = false;

	if (!CL)
		return;
	aif_cl_tick_late();
	for (struct aif_cl_device *d = CL->devices; d; d = d->next)
		clocks |= d->own_clock && d->has_timer;
	/* The helper takes a ring only when it has something to say. */
	if (!clocks && !(uint32_t)atomic_load_explicit(&CL->pool.deferred, memory_order_acquire))
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	aif_cl_pending_tick(t);
	aif_cl_clock_tick(t, now);
	aif_thread_leave(t);
}

/* clFinish() returns before the driver has called back for the last command. A program that exits at
 * once would lose that one: wait a moment, in steps. But only for what the application has waited for,
 * too: a driver that is still at work now, compiling perhaps, is falling apart under the exit, and each
 * moment that the process lives on makes it likelier to crash. */
static void at_exit(void)
{
	const struct timespec step = {.tv_nsec = 100000};
	struct aif_thread *t;

	if (!CL)
		return;
	for (int i = 0; i < LEAVE_STEPS && aif_cl_pending_awaited(); i++) {
		if ((uint32_t)atomic_load_explicit(&CL->pool.deferred, memory_order_acquire)) {
			t = aif_thread_enter();
			if (!t)
				return;
			aif_cl_pending_tick(t);
			aif_thread_leave(t);
			continue;
		}
		nanosleep(&step, NULL);
	}
}

static void after_fork(void)
{
	if (!CL)
		return;
	pthread_mutex_init(&CL->lock, NULL);
	atomic_store(&CL->pool.deferred, 0); /* the parent's helper tells these */
}

const struct aif_runtime aif_runtime_opencl = {
	.bound_ns = 5000, /* on PoCL 0.3 us when hot, with an event and its callback */
	.start_late = aif_cl_start_late,
	.tick = tick,
	.at_exit = at_exit,
	.after_fork = after_fork,
};
