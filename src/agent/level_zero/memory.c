/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/calls/allocation.h"
#include "agent/level_zero/level_zero.h"

/* Memory that is allocated and freed: MEMORY records. A block is its address. Shared memory is its device's, the host's is
 * no device's. */

static void tell(const struct aif_ze_call *c, void *handle, const struct aif_regs *regs,
		 uint64_t block, uint64_t bytes)
{
	struct aif_emit_memory m = {.block = block,
				    .bytes = bytes,
				    .allocated = AIF_EMIT_MEMORY_UNKNOWN,
				    .reserved = AIF_EMIT_MEMORY_UNKNOWN,
				    .device = AIF_WIRE_NONE,
				    .is_release = !regs};
	struct aif_ze_device *device = NULL;
	struct aif_allocation a;

	if (!block || aif_thread_asleep())
		return;
	if (handle) {
		pthread_mutex_lock(&c->l0->lock);
		device = aif_ze_device_get(c->l0, handle);
		pthread_mutex_unlock(&c->l0->lock);
		/* Without its device a block would count as the host's. */
		if (!device && regs)
			aif_allocation_unplaced();
		if (!device)
			return;
	}
	if (!aif_allocation_begin(&a))
		return;
	if (device) {
		m.device = device->desc.id;
		pthread_mutex_lock(&c->l0->lock);
		aif_ze_device_define_locked(c->l0, a.thread, device);
		pthread_mutex_unlock(&c->l0->lock);
	}
	aif_allocation_end(&a, &m, regs, c->api);
}

void aif_ze_memory_allocated(const struct aif_ze_call *c, void *device, uint64_t bytes,
			     void *const *at)
{
	if (c->result == AIF_ZE_SUCCESS && at)
		tell(c, device, c->regs, (uintptr_t)*at, bytes);
}

void aif_ze_memory_free_begin(const struct aif_ze_call *c, const void *at)
{
	struct aif_ze_memory_properties p = {.stype = AIF_ZE_MEMORY_PROPS};
	void *device = NULL;

	if (!at || aif_thread_asleep())
		return;
	if (c->l0->api.zeMemGetAllocProperties(AIF_ZE_ARG(c, 0, void *), at, &p, &device) !=
		    AIF_ZE_SUCCESS ||
	    p.type == AIF_ZE_MEMORY_HOST)
		device = NULL;
	tell(c, device, NULL, (uintptr_t)at, 0);
}
