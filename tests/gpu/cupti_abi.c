/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our own declarations of CUPTI's binary interface with the vendor's headers, of CUDA 11.8 and later. Compiling
 * it is the test:  cc -fsyntax-only -std=gnu17 -I src -I /usr/local/cuda/include tests/gpu/cupti_abi.c
 */
#include "agent/cuda/cupti_abi.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <stddef.h>

#define SAME(ours, mine, theirs, member)                                        \
	static_assert(offsetof(ours, mine) == offsetof(theirs, member), #mine); \
	static_assert(sizeof(((ours *)0)->mine) == sizeof(((theirs *)0)->member), #mine)
#define AT(ours, mine, theirs, member) \
	static_assert(offsetof(ours, mine) == offsetof(theirs, member), #mine)
#define VALUE(mine, theirs) static_assert((int)(mine) == (int)(theirs), #theirs)

/* The records that this version writes. */
#if CUPTI_API_VERSION >= AIF_CUPTI_VERSION_13_0
#define KERNEL_RECORD CUpti_ActivityKernel10
#define MEMCPY_RECORD CUpti_ActivityMemcpy6
#elif CUPTI_API_VERSION >= AIF_CUPTI_VERSION_12_0
#define KERNEL_RECORD CUpti_ActivityKernel9
#define MEMCPY_RECORD CUpti_ActivityMemcpy5
#else
#define KERNEL_RECORD CUpti_ActivityKernel8
#define MEMCPY_RECORD CUpti_ActivityMemcpy5
#endif

SAME(struct aif_cupti_callback, site, CUpti_CallbackData, callbackSite);
SAME(struct aif_cupti_callback, function, CUpti_CallbackData, functionName);
SAME(struct aif_cupti_callback, parameters, CUpti_CallbackData, functionParams);
SAME(struct aif_cupti_callback, result, CUpti_CallbackData, functionReturnValue);
SAME(struct aif_cupti_callback, symbol, CUpti_CallbackData, symbolName);
SAME(struct aif_cupti_callback, context, CUpti_CallbackData, context);
SAME(struct aif_cupti_callback, context_id, CUpti_CallbackData, contextUid);
SAME(struct aif_cupti_callback, data, CUpti_CallbackData, correlationData);
SAME(struct aif_cupti_callback, correlation, CUpti_CallbackData, correlationId);

#define KERNEL(mine, member) SAME(struct aif_cupti_kernel, mine, KERNEL_RECORD, member)
KERNEL(kind, kind);
KERNEL(registers, registersPerThread);
KERNEL(start, start);
KERNEL(end, end);
KERNEL(completed, completed);
KERNEL(device, deviceId);
KERNEL(context, contextId);
KERNEL(stream, streamId);
AT(struct aif_cupti_kernel, grid, KERNEL_RECORD, gridX);
AT(struct aif_cupti_kernel, block, KERNEL_RECORD, blockX);
KERNEL(static_shared, staticSharedMemory);
KERNEL(dynamic_shared, dynamicSharedMemory);
KERNEL(local_each, localMemoryPerThread);
KERNEL(correlation, correlationId);
KERNEL(grid_id, gridId);
KERNEL(name, name);
KERNEL(shared_executed, sharedMemoryExecuted);
KERNEL(graph_node, graphNodeId);
KERNEL(graph, graphId);

#define MEMCPY(mine, member) SAME(struct aif_cupti_memcpy, mine, MEMCPY_RECORD, member)
MEMCPY(kind, kind);
MEMCPY(copy, copyKind);
MEMCPY(bytes, bytes);
MEMCPY(start, start);
MEMCPY(end, end);
MEMCPY(device, deviceId);
MEMCPY(context, contextId);
MEMCPY(stream, streamId);
MEMCPY(correlation, correlationId);
MEMCPY(graph_node, graphNodeId);
MEMCPY(graph, graphId);

#define PEER(mine, member) \
	SAME(struct aif_cupti_memcpy_peer, mine, CUpti_ActivityMemcpyPtoP4, member)
PEER(bytes, bytes);
PEER(start, start);
PEER(end, end);
PEER(device, deviceId);
PEER(context, contextId);
PEER(stream, streamId);
PEER(src_device, srcDeviceId);
PEER(dst_context, dstContextId);
PEER(correlation, correlationId);
PEER(graph_node, graphNodeId);
PEER(graph, graphId);

#define MEMSET(mine, member) SAME(struct aif_cupti_memset, mine, CUpti_ActivityMemset4, member)
MEMSET(bytes, bytes);
MEMSET(start, start);
MEMSET(end, end);
MEMSET(device, deviceId);
MEMSET(context, contextId);
MEMSET(stream, streamId);
MEMSET(correlation, correlationId);
MEMSET(graph_node, graphNodeId);
MEMSET(graph, graphId);

/* Records that CUPTI 11.8 writes. */
#define OLD(ours, mine, theirs, member) \
	SAME(struct aif_cupti_##ours, mine, CUpti_Activity##theirs, member)
OLD(kernel, registers, Kernel8, registersPerThread);
OLD(kernel, static_shared, Kernel8, staticSharedMemory);
OLD(kernel, dynamic_shared, Kernel8, dynamicSharedMemory);
OLD(kernel, correlation, Kernel8, correlationId);
OLD(kernel, name, Kernel8, name);
OLD(kernel, graph_node, Kernel8, graphNodeId);
OLD(kernel, graph, Kernel8, graphId);
OLD(memcpy, correlation, Memcpy5, correlationId);
OLD(memcpy, graph_node, Memcpy5, graphNodeId);
OLD(memcpy, graph, Memcpy5, graphId);

AT(struct aif_cuda_launch, function, cuLaunchKernel_params, f);
AT(struct aif_cuda_launch, geometry.grid, cuLaunchKernel_params, gridDimX);
AT(struct aif_cuda_launch, geometry.block, cuLaunchKernel_params, blockDimX);
AT(struct aif_cuda_launch, geometry.block, cuLaunchCooperativeKernel_params, blockDimX);
AT(struct aif_cuda_launch_ex, config, cuLaunchKernelEx_params, config);
AT(struct aif_cuda_launch_ex, function, cuLaunchKernelEx_params, f);
AT(struct aif_cuda_geometry, grid, CUlaunchConfig, gridDimX);
AT(struct aif_cuda_geometry, block, CUlaunchConfig, blockDimX);

VALUE(AIF_CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
VALUE(AIF_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
VALUE(AIF_CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
VALUE(AIF_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
VALUE(AIF_CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
VALUE(AIF_CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
VALUE(AIF_CUPTI_ENTER, CUPTI_API_ENTER);
VALUE(AIF_CUPTI_EXIT, CUPTI_API_EXIT);
VALUE(AIF_CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
VALUE(AIF_CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
VALUE(AIF_CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
VALUE(AIF_CUPTI_KIND_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
VALUE(AIF_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
VALUE(AIF_CUPTI_COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
VALUE(AIF_CUPTI_COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
VALUE(AIF_CUPTI_COPY_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
VALUE(AIF_CUPTI_COPY_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
VALUE(AIF_CUDA_ATTRIBUTE_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
/* Calls that the version does not know yet have numbers that it does not know either. */
#if CUPTI_API_VERSION < AIF_CUPTI_VERSION_13_0
enum {
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2 = 796,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz = 797,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2 = 798,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz = 799,
};
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= 796, "");
#endif
#if CUPTI_API_VERSION < AIF_CUPTI_VERSION_12_8
enum {
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync = 776,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz = 777,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync = 778,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz = 779,
};
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= 776, "");
#endif
#if CUPTI_API_VERSION < AIF_CUPTI_VERSION_12_4
enum {
	CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload = 680,
	CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy = 744,
	CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph = 720,
	CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz = 721,
};
static_assert(CUPTI_API_VERSION >= AIF_CUPTI_VERSION_12_0 || CUPTI_DRIVER_TRACE_CBID_SIZE <= 680,
	      "");
#endif
#define X(number, function, kind, form) VALUE(number, CUPTI_DRIVER_TRACE_CBID_##function);
AIF_CUDA_CALLS(X)
#undef X
#define X(number, function, step) VALUE(number, CUPTI_DRIVER_TRACE_CBID_##function);
AIF_CUDA_ASIDES(X)
#undef X
#define X(number, function, form, host) VALUE(number, CUPTI_DRIVER_TRACE_CBID_##function);
AIF_CUDA_MEMORY_CALLS(X)
#undef X
AT(struct aif_cuda_allocate, address, cuMemAlloc_v2_params, dptr);
AT(struct aif_cuda_allocate, bytes, cuMemAlloc_v2_params, bytesize);
AT(struct aif_cuda_allocate, bytes, cuMemAllocManaged_params, bytesize);
AT(struct aif_cuda_allocate, bytes, cuMemAllocAsync_params, bytesize);
AT(struct aif_cuda_allocate, bytes, cuMemAllocFromPoolAsync_params, bytesize);
AT(struct aif_cuda_allocate, bytes, cuMemHostAlloc_params, bytesize);
AT(struct aif_cuda_allocate, bytes, cuMemAllocHost_v2_params, bytesize);
AT(struct aif_cuda_allocate_pitch, pitch, cuMemAllocPitch_v2_params, pPitch);
AT(struct aif_cuda_allocate_pitch, width, cuMemAllocPitch_v2_params, WidthInBytes);
AT(struct aif_cuda_allocate_pitch, height, cuMemAllocPitch_v2_params, Height);
AT(struct aif_cuda_map, address, cuMemMap_params, ptr);
AT(struct aif_cuda_map, bytes, cuMemMap_params, size);
AT(struct aif_cuda_map, address, cuMemUnmap_params, ptr);
AT(struct aif_cuda_map, address, cuMemFree_v2_params, dptr);
AT(struct aif_cuda_map, address, cuMemFreeAsync_params, dptr);
AT(struct aif_cuda_map, address, cuMemFreeHost_params, p);
VALUE(AIF_CUPTI_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
VALUE(AIF_CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
VALUE(AIF_CUPTI_CONTEXT_DESTROYED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
VALUE(AIF_CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);

SAME(struct aif_cupti_resource, context, CUpti_ResourceData, context);
SAME(struct aif_cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(struct aif_cupti_module, size, CUpti_ModuleResourceData, cubinSize);
SAME(struct aif_cupti_module, cubin, CUpti_ModuleResourceData, pCubin);

static_assert(sizeof(struct aif_cupti_context_params) == CUpti_PCSamplingEnableParamsSize, "");
static_assert(sizeof(struct aif_cupti_context_params) == CUpti_PCSamplingDisableParamsSize, "");
static_assert(sizeof(struct aif_cupti_attribute_params) ==
		      CUpti_PCSamplingConfigurationInfoParamsSize,
	      "");
static_assert(sizeof(struct aif_cupti_reasons_len_params) ==
		      CUpti_PCSamplingGetNumStallReasonsParamsSize,
	      "");
static_assert(sizeof(struct aif_cupti_reasons_params) == CUpti_PCSamplingGetStallReasonsParamsSize,
	      "");
static_assert(sizeof(struct aif_cupti_samples_params) == CUpti_PCSamplingGetDataParamsSize, "");
static_assert(sizeof(struct aif_cupti_attribute) == sizeof(CUpti_PCSamplingConfigurationInfo), "");
static_assert(AIF_CUPTI_PC_SIZE(CUPTI_API_VERSION) == sizeof(CUpti_PCSamplingPCData), "");
static_assert(sizeof(struct aif_cupti_pc_reason) == sizeof(CUpti_PCSamplingStallReason), "");
static_assert(AIF_CUPTI_SAMPLES_SIZE(CUPTI_API_VERSION) == sizeof(CUpti_PCSamplingData), "");
SAME(struct aif_cupti_attribute_params, attributes, CUpti_PCSamplingConfigurationInfoParams,
     pPCSamplingConfigurationInfo);
SAME(struct aif_cupti_reasons_params, len, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
SAME(struct aif_cupti_reasons_params, indices, CUpti_PCSamplingGetStallReasonsParams,
     stallReasonIndex);
SAME(struct aif_cupti_reasons_params, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
#define PC(mine, member) SAME(struct aif_cupti_pc, mine, CUpti_PCSamplingPCData, member)
PC(hash, cubinCrc);
PC(pc, pcOffset);
PC(function, functionIndex);
PC(name, functionName);
PC(reasons_len, stallReasonCount);
PC(reasons, stallReason);
#if CUPTI_API_VERSION >= AIF_CUPTI_VERSION_12_4
PC(correlation, correlationId);
#endif
#define SAMPLES(mine, member) SAME(struct aif_cupti_samples, mine, CUpti_PCSamplingData, member)
SAMPLES(cap, collectNumPcs);
SAMPLES(total, totalSamples);
SAMPLES(dropped, droppedSamples);
SAMPLES(len, totalNumPcs);
SAMPLES(remaining, remainingNumPcs);
SAMPLES(pcs, pPcData);
SAMPLES(others, nonUsrKernelsTotalSamples);
#if CUPTI_API_VERSION >= AIF_CUPTI_VERSION_12_0
SAMPLES(full, hardwareBufferFull);
VALUE(AIF_CUPTI_WORKER_SLEEP,
      CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN);
#endif
AT(struct aif_cupti_attribute, number, CUpti_PCSamplingConfigurationInfo, attributeData);
VALUE(AIF_CUPTI_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
VALUE(AIF_CUPTI_SCRATCH, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE);
VALUE(AIF_CUPTI_HARDWARE_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE);
VALUE(AIF_CUPTI_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
VALUE(AIF_CUPTI_DATA_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
VALUE(AIF_CUPTI_MODE_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
VALUE(AIF_CUPTI_REASON_NAME, CUPTI_STALL_REASON_STRING_SIZE);
VALUE(AIF_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
VALUE(AIF_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
VALUE(AIF_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
VALUE(AIF_CUPTI_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
VALUE(AIF_CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
VALUE(AIF_CUDA_ATTRIBUTE_PCI_BUS, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
VALUE(AIF_CUDA_ATTRIBUTE_PCI_SLOT, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
VALUE(AIF_CUDA_ATTRIBUTE_PCI_DOMAIN, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
VALUE(AIF_CUDA_ATTRIBUTE_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
VALUE(AIF_CUDA_ATTRIBUTE_MEMORY_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
VALUE(AIF_CUDA_ATTRIBUTE_MEMORY_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
