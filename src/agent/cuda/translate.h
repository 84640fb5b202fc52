/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cuda/cupti_abi.h"
#include "base/host_calls.h"
#include "agent/emit.h"

/* Content of a CUPTI activity record, independent of its version. */
struct aif_cuda_record {
	enum aif_emit_kind kind;
	uint32_t correlation, device, context, stream;
	uint64_t start, end;        /* ns of CUPTI's clock; end >= start > 0 */
	uint64_t bytes;             /* not of a kernel */
	const char *name;           /* of a kernel; else NULL */
	uint32_t registers, shared; /* of a kernel's thread; bytes of a block, static and dynamic */
	uint32_t graph, node;       /* of the graph that launched it; 0 = none */
};

/* False: a kind that nobody asked for, or without times. `record` points to the record of CUPTI. */
bool aif_cuda_translate(const void *record, struct aif_cuda_record *ret);

/* The call with this number of callback; NULL: none that makes the device work. */
struct aif_cuda_call {
	uint32_t id;
	enum aif_emit_kind kind;
	enum aif_cuda_form form;
	const char *name;
};
const struct aif_cuda_call *aif_cuda_call(uint32_t id);
/* All of them, for a loop; NULL after the last. */
const struct aif_cuda_call *aif_cuda_call_at(unsigned i);

/* 1 and -1 for the calls that begin and end a capture, AIF_CUDA_UNLOADS where names go, 0 for others. */
int aif_cuda_aside_step(uint32_t id);
/* The numbers of calls that are watched and launch nothing; 0 after the last. */
uint32_t aif_cuda_aside_at(unsigned i);

/* The call of base/host_calls.def with this number; AIF_HOST_CALLS: none. */
enum aif_host_call_id aif_cuda_host_call(uint32_t id);
/* The numbers of those that are watched for that alone; 0 after the last. */
uint32_t aif_cuda_allocation_at(unsigned i);

/* Work items in all and per block, as shapes count. False: not a kernel, or no parameters. */
bool aif_cuda_shape(const struct aif_cuda_call *call, const void *parameters,
		    struct aif_emit_shape *ret);
