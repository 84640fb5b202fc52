/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/allocations.h"

#include "agent/calls/allocation.h"
#include "agent/cuda/cuda.h"

/*
 * The runtime's functions (cudaMalloc, cudaMallocAsync, cudaHostAlloc ...) end in these of the driver. A block is its
 * address. Memory that is mapped piece by piece (cuMemMap) counts for as long as it is mapped: what cuMemCreate makes has
 * no address, and goes with its last mapping. cuMemHostRegister pins memory that was there before; arrays are opaque.
 */

bool aif_cuda_is_memory_call(uint32_t id)
{
	switch (id) {
#define X(number, function, form, host) case number:
		AIF_CUDA_MEMORY_CALLS(X)
#undef X
		return true;
	default:
		return false;
	}
}

uint32_t aif_cuda_memory_call_at(unsigned i)
{
	static const uint32_t ids[] = {
#define X(number, function, form, host) (number),
		AIF_CUDA_MEMORY_CALLS(X)
#undef X
	};

	return i < AIF_ARRAY_LEN(ids) ? ids[i] : 0;
}

static enum aif_cuda_memory_form form_of(uint32_t id, bool *ret_host)
{
	switch (id) {
#define X(number, function, form, host) \
	case number:                    \
		*ret_host = (host);     \
		return AIF_CUDA_MEMORY_##form;
		AIF_CUDA_MEMORY_CALLS(X)
#undef X
	default:
		return AIF_CUDA_MEMORY_NONE;
	}
}

bool aif_cuda_allocation_read(uint32_t id, const struct aif_cupti_callback *cb,
			      struct aif_cuda_allocation *ret)
{
	const struct aif_cuda_allocate *a = cb->parameters;
	const struct aif_cuda_allocate_pitch *p = cb->parameters;
	const struct aif_cuda_map *m = cb->parameters;
	struct aif_cuda_allocation r = {0};
	enum aif_cuda_memory_form form = form_of(id, &r.is_host);

	if (form == AIF_CUDA_MEMORY_NONE || !cb->parameters)
		return false;
	r.is_release = form == AIF_CUDA_MEMORY_FREE;
	if (r.is_release != (cb->site == AIF_CUPTI_ENTER) || (!r.is_release && *cb->result))
		return false;
	switch (form) {
	case AIF_CUDA_MEMORY_ALLOCATE:
		r.block = a->address ? *a->address : 0;
		r.bytes = a->bytes;
		break;
	case AIF_CUDA_MEMORY_PITCH:
		r.block = p->address ? *p->address : 0;
		if (!p->pitch || __builtin_mul_overflow(*p->pitch, p->height, &r.bytes))
			return false;
		break;
	default: /* both begin with the address */
		r.block = m->address;
		r.bytes = r.is_release ? 0 : m->bytes;
		break;
	}
	*ret = r;
	return r.block && (r.is_release || r.bytes);
}

void aif_cuda_allocation(struct aif_cuda *cuda, uint32_t id, const struct aif_cupti_callback *cb,
			 const struct aif_regs *regs)
{
	static const struct aif_emit_api none;
	struct aif_cuda_allocation c;
	struct aif_emit_memory m;
	struct aif_allocation a;
	uint32_t device = AIF_WIRE_NONE;

	if (!aif_cuda_allocation_read(id, cb, &c))
		return;
	if (!c.is_host && cuda->api.cuptiGetDeviceId(cb->context, &device)) {
		if (!c.is_release)
			aif_allocation_unplaced();
		return;
	}
	if (!aif_allocation_begin(&a))
		return;
	m = (struct aif_emit_memory){.block = c.block,
				     .bytes = c.bytes,
				     .allocated = AIF_EMIT_MEMORY_UNKNOWN,
				     .reserved = AIF_EMIT_MEMORY_UNKNOWN,
				     .device = device,
				     .is_release = c.is_release};
	if (!c.is_host)
		(void)aif_cuda_device_define(a.thread, cuda, device);
	aif_allocation_end(&a, &m, regs, &none);
}
