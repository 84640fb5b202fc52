/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The part of CUPTI's and the CUDA driver's binary interface that the adapter uses, in our own words, so
 * that aiflame builds without CUDA and one binary serves CUPTI 11.8 to 13.x. Layouts and numbers are
 * those of the vendor's public headers (CUDA 13.0: cupti_activity.h, cupti_callbacks.h, cupti_result.h,
 * cupti_driver_cbid.h, generated_cuda_meta.h); test_cupti_abi compares them where the headers are installed.
 * Records have only grown at their ends since 11.8 (CUpti_ActivityKernel8, Memcpy5, MemcpyPtoP4, Memset4): what is
 * read here lies in the part that they all share.
 */

enum aif_cupti_result {
	AIF_CUPTI_SUCCESS = 0,
	AIF_CUPTI_INVALID_OPERATION = 7,
	AIF_CUPTI_OUT_OF_MEMORY = 8,
	AIF_CUPTI_NOT_COMPATIBLE = 14,
	AIF_CUPTI_NOT_INITIALIZED = 15,
	AIF_CUPTI_HARDWARE_BUSY = 26,
	AIF_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	AIF_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	AIF_CUPTI_VIRTUAL_PRIVILEGES = 40,
	AIF_CUPTI_UNKNOWN = 999,
};

enum aif_cupti_domain {
	AIF_CUPTI_DOMAIN_DRIVER = 1,
	AIF_CUPTI_DOMAIN_RESOURCE = 3,
};
enum aif_cupti_site { AIF_CUPTI_ENTER = 0, AIF_CUPTI_EXIT = 1 };

enum aif_cupti_activity_kind {
	AIF_CUPTI_KIND_MEMCPY = 1,
	AIF_CUPTI_KIND_MEMSET = 2,
	AIF_CUPTI_KIND_CONCURRENT_KERNEL = 10,
	AIF_CUPTI_KIND_MEMCPY_PEER = 22,
};
#define AIF_CUPTI_FLUSH_FORCED 1

enum aif_cupti_copy {
	AIF_CUPTI_COPY_HTOD = 1,
	AIF_CUPTI_COPY_DTOH = 2,
	AIF_CUPTI_COPY_HTOA = 3,
	AIF_CUPTI_COPY_ATOH = 4,
	AIF_CUPTI_COPY_PTOP = 10,
};

/* The first part of CUpti_CallbackData. */
struct aif_cupti_callback {
	uint32_t site; /* enum aif_cupti_site */
	uint32_t unused;
	const char *function;
	const void *parameters;
	const int32_t *result; /* on exit */
	const char *symbol;    /* of a kernel launch: the kernel, mangled */
	void *context;
	uint32_t context_id, unused2;
	uint64_t *data;
	uint32_t correlation;
};

struct aif_cupti_kernel {
	uint32_t kind;
	uint16_t cache_config, registers;
	uint64_t unused;
	uint64_t start, end, completed; /* ns of CUPTI's clock; 0 = not known */
	uint32_t device, context, stream;
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared, local_each, local_total;
	uint32_t correlation;
	uint64_t grid_id;
	const char *name; /* lives as long as its module */
	uint64_t unused2[3];
	uint32_t unused3, shared_executed;
	uint64_t graph_node; /* its graph << 32 | which node of it; 0 = none */
	uint32_t unused4, graph;
};

struct aif_cupti_memcpy {
	uint32_t kind;
	uint8_t copy, src, dst, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint64_t unused[2], graph_node;
	uint32_t graph;
};

struct aif_cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy, src, dst, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t src_device, src_context, dst_device, dst_context, correlation;
	uint64_t unused, graph_node;
	uint32_t graph;
};

struct aif_cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint64_t unused[2], graph_node;
	uint32_t graph;
};

/* First parameter of cuGraphLaunch. */
struct aif_cuda_graph_launch {
	void *exec;
};

/* First parameters of cuLaunchKernel and cuLaunchCooperativeKernel, behind the function, and first members of
 * CUlaunchConfig, to which cuLaunchKernelEx has a pointer. */
struct aif_cuda_geometry {
	uint32_t grid[3], block[3]; /* in blocks; in threads */
};
struct aif_cuda_launch {
	void *function;
	struct aif_cuda_geometry geometry;
};
struct aif_cuda_launch_ex {
	const struct aif_cuda_geometry *config;
	void *function;
};

#define AIF_CUDA_ATTRIBUTE_CLOCK_KHZ       13
#define AIF_CUDA_ATTRIBUTE_MULTIPROCESSORS 16
#define AIF_CUDA_ATTRIBUTE_PCI_BUS         33
#define AIF_CUDA_ATTRIBUTE_PCI_SLOT        34
#define AIF_CUDA_ATTRIBUTE_PCI_DOMAIN      50
#define AIF_CUDA_ATTRIBUTE_MEMORY_KHZ      36
#define AIF_CUDA_ATTRIBUTE_MEMORY_BITS     37
#define AIF_CUDA_ATTRIBUTE_UNIT_THREADS    39 /* of a multiprocessor */
#define AIF_CUDA_ATTRIBUTE_MAJOR           75 /* of the compute capability */
#define AIF_CUDA_ATTRIBUTE_MINOR           76
#define AIF_CUDA_ATTRIBUTE_UNIT_SHARED     81 /* bytes */
#define AIF_CUDA_ATTRIBUTE_UNIT_REGISTERS  82
#define AIF_CUDA_ATTRIBUTE_UNIT_BLOCKS     106 /* since CUDA 11.0 */
#define AIF_CUDA_ATTRIBUTE_BLOCK_SHARED \
	111 /* bytes of a block's that the driver keeps; since CUDA 11.1 */

/* Data of a callback of the resource domain, and its descriptors for graphs and modules. */
struct aif_cupti_resource {
	void *context, *stream;
	const void *descriptor;
};
struct aif_cupti_graph {
	void *graph, *original_graph, *node, *original_node;
	uint32_t node_type;
	void *dependency, *exec;
};
struct aif_cupti_module {
	uint32_t id;
	size_t size;
	const void *cubin; /* for the length of the callback */
};

/* PC sampling (cupti_pcsampling.h). `size` is that of the struct as the version of CUPTI knows it: 11.8 and 12.4 refuse
 * parameters of any other. */
struct aif_cupti_context_params {
	size_t size;
	void *zero, *context;
};
struct aif_cupti_attribute {
	uint32_t type; /* enum aif_cupti_attribute_type */
	int status;
	union {
		uint32_t number;
		size_t bytes;
		void *pointer;
		uint64_t words[3];
	};
};
struct aif_cupti_attribute_params {
	size_t size;
	void *zero, *context;
	size_t len;
	struct aif_cupti_attribute *attributes;
};
struct aif_cupti_reasons_len_params {
	size_t size;
	void *zero, *context;
	size_t *len;
};
struct aif_cupti_reasons_params {
	size_t size;
	void *zero, *context;
	size_t len;
	uint32_t *indices;
	char **names; /* AIF_CUPTI_REASON_NAME bytes each */
};
struct aif_cupti_pc_reason {
	uint32_t reason, samples;
};
struct aif_cupti_pc {
	size_t size;
	uint64_t hash, pc;         /* of the cubin; from the function's beginning */
	uint32_t function, unused; /* number in the cubin's .symtab */
	char *name; /* mangled; shared by records, ours to free, which nobody knows when */
	size_t reasons_len;
	struct aif_cupti_pc_reason *reasons;
	uint32_t correlation, unused2; /* not before CUPTI 12.4 */
};
struct aif_cupti_samples {
	size_t size, cap;
	uint64_t total, dropped;
	size_t len, remaining;
	uint64_t range;
	void *pcs;       /* AIF_CUPTI_PC_SIZE apart */
	uint64_t others; /* in kernels that are not the user's */
	uint8_t full;    /* not before CUPTI 12.0 */
};
struct aif_cupti_samples_params {
	size_t size;
	void *zero, *context;
	struct aif_cupti_samples *samples;
};
enum aif_cupti_attribute_type {
	AIF_CUPTI_PERIOD = 1, /* log2 of cycles */
	AIF_CUPTI_SCRATCH = 3,
	AIF_CUPTI_HARDWARE_BUFFER = 4,
	AIF_CUPTI_MODE = 5,
	AIF_CUPTI_DATA_BUFFER = 8,
	AIF_CUPTI_WORKER_SLEEP = 9, /* ms */
};
#define AIF_CUPTI_MODE_CONTINUOUS 1
#define AIF_CUPTI_REASON_NAME     128
#define AIF_CUPTI_VERSION_12_0    19
#define AIF_CUPTI_VERSION_12_4    22
#define AIF_CUPTI_VERSION_12_8    26
#define AIF_CUPTI_VERSION_13_0    130000

/* The sizes as a version of CUPTI knows them. */
#define AIF_CUPTI_PC_SIZE(version)                                         \
	((version) >= AIF_CUPTI_VERSION_12_4 ? sizeof(struct aif_cupti_pc) \
					     : offsetof(struct aif_cupti_pc, correlation))
#define AIF_CUPTI_SAMPLES_SIZE(version)                                         \
	((version) >= AIF_CUPTI_VERSION_12_0 ? sizeof(struct aif_cupti_samples) \
					     : offsetof(struct aif_cupti_samples, full))

typedef void aif_cupti_callback_fn(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void aif_cupti_request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void aif_cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				   size_t valid);
typedef void aif_cupti_hash_fn(const void *cubin, size_t size, uint64_t *hash);

/* name, result, parameters */
#define AIF_CUPTI_FUNCTIONS(X)                                                                     \
	X(cuptiGetVersion, int, (uint32_t * version))                                              \
	X(cuptiSubscribe, int, (void **subscriber, aif_cupti_callback_fn *callback, void *user))   \
	X(cuptiUnsubscribe, int, (void *subscriber))                                               \
	X(cuptiEnableCallback, int, (uint32_t on, void *subscriber, uint32_t domain, uint32_t id)) \
	X(cuptiActivityRegisterCallbacks, int,                                                     \
	  (aif_cupti_request_fn * request, aif_cupti_complete_fn * complete))                      \
	X(cuptiActivityEnable, int, (uint32_t kind))                                               \
	X(cuptiActivityDisable, int, (uint32_t kind))                                              \
	X(cuptiActivityFlushAll, int, (uint32_t flag))                                             \
	X(cuptiActivityGetNextRecord, int, (uint8_t * buffer, size_t valid, void **record))        \
	X(cuptiActivityGetNumDroppedRecords, int,                                                  \
	  (void *context, uint32_t stream, size_t *dropped))                                       \
	X(cuptiFinalize, int, (void))                                                              \
	X(cuptiGetTimestamp, int, (uint64_t * now))                                                \
	X(cuptiGetResultString, int, (int result, const char **text))                              \
	X(cuptiGetDeviceId, int, (void *context, uint32_t *device))

/* Without these there are no instruction samples. */
#define AIF_CUPTI_SAMPLING_FUNCTIONS(X)                                                           \
	X(cuptiPCSamplingEnable, int, (struct aif_cupti_context_params * p))                      \
	X(cuptiPCSamplingDisable, int, (struct aif_cupti_context_params * p))                     \
	X(cuptiPCSamplingSetConfigurationAttribute, int, (struct aif_cupti_attribute_params * p)) \
	X(cuptiPCSamplingGetConfigurationAttribute, int, (struct aif_cupti_attribute_params * p)) \
	X(cuptiPCSamplingGetNumStallReasons, int, (struct aif_cupti_reasons_len_params * p))      \
	X(cuptiPCSamplingGetStallReasons, int, (struct aif_cupti_reasons_params * p))             \
	X(cuptiPCSamplingGetData, int, (struct aif_cupti_samples_params * p))                     \
	X(cuptiRegisterComputeCrcCallback, int, (aif_cupti_hash_fn * fn))

/* Since 12.3; without them a graph's nodes have no stacks. */
#define AIF_CUPTI_GRAPH_FUNCTIONS(X)                                \
	X(cuptiGetGraphId, int, (void *graph, uint32_t *number))    \
	X(cuptiGetGraphExecId, int, (void *exec, uint32_t *number)) \
	X(cuptiGetGraphNodeId, int, (void *node, uint64_t *number))

#define AIF_CUDA_FUNCTIONS(X)                                                 \
	X(cuDeviceGet, int, (int *device, int ordinal))                       \
	X(cuDeviceGetName, int, (char *name, int len, int device))            \
	X(cuDeviceGetAttribute, int, (int *value, int attribute, int device)) \
	X(cuDriverGetVersion, int, (int *version))

/* The last is there from CUDA 12.5 on: the event is done when all is that the context was given until then. */
#define AIF_CUDA_RECORD_FUNCTIONS(X)                        \
	X(cuCtxPushCurrent_v2, int, (void *context))        \
	X(cuCtxPopCurrent_v2, int, (void **ret))            \
	X(cuEventCreate, int, (void **ret, unsigned flags)) \
	X(cuEventQuery, int, (void *event))                 \
	X(cuCtxRecordEvent, int, (void *context, void *event))

struct aif_cupti {
#define X(name, result, parameters) result(*name) parameters;
	AIF_CUPTI_FUNCTIONS(X)
	AIF_CUPTI_SAMPLING_FUNCTIONS(X)
	AIF_CUPTI_GRAPH_FUNCTIONS(X)
	AIF_CUDA_FUNCTIONS(X)
	AIF_CUDA_RECORD_FUNCTIONS(X)
#undef X
	bool can_sample, can_follow_graphs, can_record;
};

/*
 * The driver's functions that make the device work: number of the callback, name, kind, form of the
 * parameters. The runtime's functions, linked in whatever way, end in these.
 */
enum aif_cuda_form { AIF_CUDA_FORM_OTHER, AIF_CUDA_FORM_LAUNCH, AIF_CUDA_FORM_LAUNCH_EX };

#define AIF_CUDA_GRAPH_LAUNCH      514
#define AIF_CUDA_GRAPH_LAUNCH_PTSZ 515

#define AIF_CUDA_CALLS(X)                                      \
	X(307, cuLaunchKernel, KERNEL, LAUNCH)                 \
	X(442, cuLaunchKernel_ptsz, KERNEL, LAUNCH)            \
	X(477, cuLaunchCooperativeKernel, KERNEL, LAUNCH)      \
	X(478, cuLaunchCooperativeKernel_ptsz, KERNEL, LAUNCH) \
	X(652, cuLaunchKernelEx, KERNEL, LAUNCH_EX)            \
	X(653, cuLaunchKernelEx_ptsz, KERNEL, LAUNCH_EX)       \
	X(514, cuGraphLaunch, KERNEL, OTHER)                   \
	X(515, cuGraphLaunch_ptsz, KERNEL, OTHER)              \
	X(276, cuMemcpyHtoD_v2, WRITE, OTHER)                  \
	X(277, cuMemcpyHtoDAsync_v2, WRITE, OTHER)             \
	X(278, cuMemcpyDtoH_v2, READ, OTHER)                   \
	X(279, cuMemcpyDtoHAsync_v2, READ, OTHER)              \
	X(280, cuMemcpyDtoD_v2, COPY, OTHER)                   \
	X(281, cuMemcpyDtoDAsync_v2, COPY, OTHER)              \
	X(282, cuMemcpyAtoH_v2, READ, OTHER)                   \
	X(283, cuMemcpyAtoHAsync_v2, READ, OTHER)              \
	X(284, cuMemcpyAtoD_v2, COPY, OTHER)                   \
	X(285, cuMemcpyDtoA_v2, COPY, OTHER)                   \
	X(286, cuMemcpyAtoA_v2, COPY, OTHER)                   \
	X(287, cuMemcpy2D_v2, COPY, OTHER)                     \
	X(288, cuMemcpy2DUnaligned_v2, COPY, OTHER)            \
	X(289, cuMemcpy2DAsync_v2, COPY, OTHER)                \
	X(290, cuMemcpy3D_v2, COPY, OTHER)                     \
	X(291, cuMemcpy3DAsync_v2, COPY, OTHER)                \
	X(292, cuMemcpyHtoA_v2, WRITE, OTHER)                  \
	X(293, cuMemcpyHtoAAsync_v2, WRITE, OTHER)             \
	X(305, cuMemcpy, COPY, OTHER)                          \
	X(306, cuMemcpyAsync, COPY, OTHER)                     \
	X(318, cuMemcpyPeer, COPY, OTHER)                      \
	X(319, cuMemcpyPeerAsync, COPY, OTHER)                 \
	X(320, cuMemcpy3DPeer, COPY, OTHER)                    \
	X(321, cuMemcpy3DPeerAsync, COPY, OTHER)               \
	X(397, cuMemcpyHtoD_v2_ptds, WRITE, OTHER)             \
	X(398, cuMemcpyDtoH_v2_ptds, READ, OTHER)              \
	X(399, cuMemcpyDtoD_v2_ptds, COPY, OTHER)              \
	X(405, cuMemcpy2D_v2_ptds, COPY, OTHER)                \
	X(407, cuMemcpy3D_v2_ptds, COPY, OTHER)                \
	X(408, cuMemcpy_ptds, COPY, OTHER)                     \
	X(418, cuMemcpyAsync_ptsz, COPY, OTHER)                \
	X(421, cuMemcpyHtoDAsync_v2_ptsz, WRITE, OTHER)        \
	X(422, cuMemcpyDtoHAsync_v2_ptsz, READ, OTHER)         \
	X(423, cuMemcpyDtoDAsync_v2_ptsz, COPY, OTHER)         \
	X(424, cuMemcpy2DAsync_v2_ptsz, COPY, OTHER)           \
	X(425, cuMemcpy3DAsync_v2_ptsz, COPY, OTHER)           \
	X(426, cuMemcpyPeerAsync_ptsz, COPY, OTHER)            \
	X(409, cuMemcpyPeer_ptds, COPY, OTHER)                 \
	X(410, cuMemcpy3DPeer_ptds, COPY, OTHER)               \
	X(427, cuMemcpy3DPeerAsync_ptsz, COPY, OTHER)          \
	X(400, cuMemcpyDtoA_v2_ptds, COPY, OTHER)              \
	X(401, cuMemcpyAtoD_v2_ptds, COPY, OTHER)              \
	X(402, cuMemcpyHtoA_v2_ptds, WRITE, OTHER)             \
	X(403, cuMemcpyAtoH_v2_ptds, READ, OTHER)              \
	X(404, cuMemcpyAtoA_v2_ptds, COPY, OTHER)              \
	X(406, cuMemcpy2DUnaligned_v2_ptds, COPY, OTHER)       \
	X(419, cuMemcpyHtoAAsync_v2_ptsz, WRITE, OTHER)        \
	X(420, cuMemcpyAtoHAsync_v2_ptsz, READ, OTHER)         \
	X(776, cuMemcpyBatchAsync, COPY, OTHER)                \
	X(777, cuMemcpyBatchAsync_ptsz, COPY, OTHER)           \
	X(778, cuMemcpy3DBatchAsync, COPY, OTHER)              \
	X(779, cuMemcpy3DBatchAsync_ptsz, COPY, OTHER)         \
	X(796, cuMemcpyBatchAsync_v2, COPY, OTHER)             \
	X(797, cuMemcpyBatchAsync_v2_ptsz, COPY, OTHER)        \
	X(798, cuMemcpy3DBatchAsync_v2, COPY, OTHER)           \
	X(799, cuMemcpy3DBatchAsync_v2_ptsz, COPY, OTHER)      \
	X(216, cuMemsetD8Async, FILL, OTHER)                   \
	X(218, cuMemsetD16Async, FILL, OTHER)                  \
	X(220, cuMemsetD32Async, FILL, OTHER)                  \
	X(222, cuMemsetD2D8Async, FILL, OTHER)                 \
	X(224, cuMemsetD2D16Async, FILL, OTHER)                \
	X(226, cuMemsetD2D32Async, FILL, OTHER)                \
	X(249, cuMemsetD8_v2, FILL, OTHER)                     \
	X(250, cuMemsetD16_v2, FILL, OTHER)                    \
	X(251, cuMemsetD32_v2, FILL, OTHER)                    \
	X(252, cuMemsetD2D8_v2, FILL, OTHER)                   \
	X(253, cuMemsetD2D16_v2, FILL, OTHER)                  \
	X(254, cuMemsetD2D32_v2, FILL, OTHER)                  \
	X(411, cuMemsetD8_v2_ptds, FILL, OTHER)                \
	X(412, cuMemsetD16_v2_ptds, FILL, OTHER)               \
	X(413, cuMemsetD32_v2_ptds, FILL, OTHER)               \
	X(414, cuMemsetD2D8_v2_ptds, FILL, OTHER)              \
	X(415, cuMemsetD2D16_v2_ptds, FILL, OTHER)             \
	X(416, cuMemsetD2D32_v2_ptds, FILL, OTHER)             \
	X(432, cuMemsetD2D16Async_ptsz, FILL, OTHER)           \
	X(428, cuMemsetD8Async_ptsz, FILL, OTHER)              \
	X(429, cuMemsetD16Async_ptsz, FILL, OTHER)             \
	X(430, cuMemsetD32Async_ptsz, FILL, OTHER)             \
	X(431, cuMemsetD2D8Async_ptsz, FILL, OTHER)            \
	X(433, cuMemsetD2D32Async_ptsz, FILL, OTHER)
#define AIF_CUDA_CALL_MAX 800

/* Callback ids of the resource domain. */
enum aif_cupti_resource_event {
	AIF_CUPTI_CONTEXT_CREATED = 1,
	AIF_CUPTI_CONTEXT_DESTROYED = 2, /* it begins to be */
	AIF_CUPTI_MODULE_LOADED = 6,
	AIF_CUPTI_GRAPH_DESTROYED = 10, /* it begins to be */
	AIF_CUPTI_GRAPHNODE_CREATED = 13,
	AIF_CUPTI_GRAPHEXEC_STARTING = 17, /* its copy of the graph has been made */
	AIF_CUPTI_GRAPHEXEC_CREATED = 18,
	AIF_CUPTI_GRAPHNODE_CLONED = 20, /* after CREATED of the same node */
	AIF_CUPTI_GRAPHNODE_UPDATED = 22,
};

/* Calls that hand out memory or take it back: number, function, form of the parameters, whether it is the host's. 32-bit
 * programs alone have those of before CUDA 3.2. */
enum aif_cuda_memory_form {
	AIF_CUDA_MEMORY_NONE,
	AIF_CUDA_MEMORY_ALLOCATE,
	AIF_CUDA_MEMORY_PITCH,
	AIF_CUDA_MEMORY_MAP,
	AIF_CUDA_MEMORY_FREE,
};
struct aif_cuda_allocate {
	const uint64_t *address;
	uint64_t bytes;
};
struct aif_cuda_allocate_pitch {
	const uint64_t *address, *pitch;
	uint64_t width, height;
};
struct aif_cuda_map { /* a release has the address alone */
	uint64_t address, bytes;
};
#define AIF_CUDA_MEMORY_CALLS(X)                              \
	X(243, cuMemAlloc_v2, ALLOCATE, false)                \
	X(244, cuMemAllocPitch_v2, PITCH, false)              \
	X(371, cuMemAllocManaged, ALLOCATE, false)            \
	X(598, cuMemAllocAsync, ALLOCATE, false)              \
	X(599, cuMemAllocAsync_ptsz, ALLOCATE, false)         \
	X(611, cuMemAllocFromPoolAsync, ALLOCATE, false)      \
	X(612, cuMemAllocFromPoolAsync_ptsz, ALLOCATE, false) \
	X(37, cuMemAllocHost, ALLOCATE, true)                 \
	X(294, cuMemAllocHost_v2, ALLOCATE, true)             \
	X(39, cuMemHostAlloc, ALLOCATE, true)                 \
	X(271, cuMemHostAlloc_v2, ALLOCATE, true)             \
	X(551, cuMemMap, MAP, false)                          \
	X(245, cuMemFree_v2, FREE, false)                     \
	X(600, cuMemFreeAsync, FREE, false)                   \
	X(601, cuMemFreeAsync_ptsz, FREE, false)              \
	X(38, cuMemFreeHost, FREE, true)                      \
	X(552, cuMemUnmap, FREE, false)

/* Calls that can hold a thread up (record --calls on): number, which of base/host_calls.def. Allocations are watched for
 * that alone; the others are watched in any case. */
#define AIF_CUDA_ALLOCATIONS(X)     \
	X(29, cuMemAlloc)           \
	X(243, cuMemAlloc)          \
	X(31, cuMemAllocPitch)      \
	X(244, cuMemAllocPitch)     \
	X(371, cuMemAllocManaged)   \
	X(37, cuMemAllocHost)       \
	X(294, cuMemAllocHost)      \
	X(39, cuMemHostAlloc)       \
	X(271, cuMemHostAlloc)      \
	X(301, cuMemHostRegister)   \
	X(379, cuMemHostRegister)   \
	X(549, cuMemCreate)         \
	X(551, cuMemMap)            \
	X(33, cuMemFree)            \
	X(245, cuMemFree)           \
	X(38, cuMemFreeHost)        \
	X(302, cuMemHostUnregister) \
	X(552, cuMemUnmap)          \
	X(550, cuMemRelease)        \
	X(365, cuLinkComplete)
#define AIF_CUDA_HOST_CALLS(X)        \
	X(126, cuStreamSynchronize)   \
	X(440, cuStreamSynchronize)   \
	X(121, cuEventSynchronize)    \
	X(17, cuCtxSynchronize)       \
	X(800, cuCtxSynchronize)      \
	X(18, cuModuleLoad)           \
	X(19, cuModuleLoadData)       \
	X(20, cuModuleLoadDataEx)     \
	X(21, cuModuleLoadFatBinary)  \
	X(22, cuModuleUnload)         \
	X(678, cuLibraryLoadData)     \
	X(679, cuLibraryLoadFromFile) \
	X(680, cuLibraryUnload)       \
	X(276, cuMemcpyHtoD)          \
	X(397, cuMemcpyHtoD)          \
	X(278, cuMemcpyDtoH)          \
	X(398, cuMemcpyDtoH)          \
	X(287, cuMemcpy2D)            \
	X(405, cuMemcpy2D)            \
	X(290, cuMemcpy3D)            \
	X(407, cuMemcpy3D)            \
	X(305, cuMemcpy)              \
	X(408, cuMemcpy)

/* Calls that launch nothing themselves: number, name, step. From step 1 to -1 launches into a stream only make nodes
 * of a graph. With AIF_CUDA_UNLOADS kernels go, and their names. They and the others, which are rare, take the driver's and CUPTI's locks as launches do, or make a stream wait for
 * something that nobody can foresee: a host function, a value that another device or process writes (quiesce.c). */
#define AIF_CUDA_UNLOADS 2
/* Calls with AIF_CUDA_LOADS may load code, some of them only the first for a kernel or a variable, and copy it. CUPTI itself
 * may have to load a library. */
#define AIF_CUDA_LOADS 3
/* In those with AIF_CUDA_WAITS the thread does nothing but wait for the device. They may meet any switch. */
#define AIF_CUDA_WAITS 4
/* Calls with AIF_CUDA_INSTANTIATES may load code, too, and copy a graph and its nodes. */
#define AIF_CUDA_INSTANTIATES 5
/* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, _UNJOINED: the capture has ended. */
#define AIF_CUDA_CAPTURE_INVALIDATED 901
#define AIF_CUDA_CAPTURE_UNJOINED    904
#define AIF_CUDA_ASIDES(X)                                                           \
	X(126, cuStreamSynchronize, AIF_CUDA_WAITS)                                  \
	X(440, cuStreamSynchronize_ptsz, AIF_CUDA_WAITS)                             \
	X(121, cuEventSynchronize, AIF_CUDA_WAITS)                                   \
	X(17, cuCtxSynchronize, AIF_CUDA_WAITS)                                      \
	X(800, cuCtxSynchronize_v2, AIF_CUDA_WAITS)                                  \
	X(495, cuStreamBeginCapture, 1)                                              \
	X(496, cuStreamBeginCapture_ptsz, 1)                                         \
	X(539, cuStreamBeginCapture_v2, 1)                                           \
	X(540, cuStreamBeginCapture_v2_ptsz, 1)                                      \
	X(720, cuStreamBeginCaptureToGraph, 1)                                       \
	X(721, cuStreamBeginCaptureToGraph_ptsz, 1)                                  \
	X(497, cuStreamEndCapture, -1)                                               \
	X(498, cuStreamEndCapture_ptsz, -1)                                          \
	X(11, cuCtxDestroy, AIF_CUDA_UNLOADS)                                        \
	X(322, cuCtxDestroy_v2, AIF_CUDA_UNLOADS)                                    \
	X(387, cuDevicePrimaryCtxRelease, AIF_CUDA_UNLOADS)                          \
	X(544, cuDevicePrimaryCtxRelease_v2, AIF_CUDA_UNLOADS)                       \
	X(389, cuDevicePrimaryCtxReset, AIF_CUDA_UNLOADS)                            \
	X(545, cuDevicePrimaryCtxReset_v2, AIF_CUDA_UNLOADS)                         \
	X(744, cuGreenCtxDestroy, 0)                                                 \
	X(22, cuModuleUnload, AIF_CUDA_UNLOADS)                                      \
	X(680, cuLibraryUnload, AIF_CUDA_UNLOADS)                                    \
	X(580, cuGraphUpload, 0)                                                     \
	X(581, cuGraphUpload_ptsz, 0)                                                \
	X(480, cuLaunchCooperativeKernelMultiDevice, 0)                              \
	X(346, cuStreamAddCallback, 0)                                               \
	X(437, cuStreamAddCallback_ptsz, 0)                                          \
	X(527, cuLaunchHostFunc, 0)                                                  \
	X(528, cuLaunchHostFunc_ptsz, 0)                                             \
	X(458, cuStreamWaitValue32, 0)                                               \
	X(459, cuStreamWaitValue32_ptsz, 0)                                          \
	X(473, cuStreamWaitValue64, 0)                                               \
	X(474, cuStreamWaitValue64_ptsz, 0)                                          \
	X(462, cuStreamBatchMemOp, 0)                                                \
	X(463, cuStreamBatchMemOp_ptsz, 0)                                           \
	X(659, cuStreamWaitValue32_v2, 0)                                            \
	X(660, cuStreamWaitValue32_v2_ptsz, 0)                                       \
	X(661, cuStreamWaitValue64_v2, 0)                                            \
	X(662, cuStreamWaitValue64_v2_ptsz, 0)                                       \
	X(667, cuStreamBatchMemOp_v2, 0)                                             \
	X(668, cuStreamBatchMemOp_v2_ptsz, 0)                                        \
	X(492, cuWaitExternalSemaphoresAsync, 0)                                     \
	X(493, cuWaitExternalSemaphoresAsync_ptsz, 0)                                \
	X(18, cuModuleLoad, AIF_CUDA_LOADS)                                          \
	X(19, cuModuleLoadData, AIF_CUDA_LOADS)                                      \
	X(20, cuModuleLoadDataEx, AIF_CUDA_LOADS)                                    \
	X(21, cuModuleLoadFatBinary, AIF_CUDA_LOADS)                                 \
	X(23, cuModuleGetFunction, AIF_CUDA_LOADS)                                   \
	X(678, cuLibraryLoadData, AIF_CUDA_LOADS)                                    \
	X(679, cuLibraryLoadFromFile, AIF_CUDA_LOADS)                                \
	X(682, cuLibraryGetModule, AIF_CUDA_LOADS)                                   \
	X(683, cuKernelGetFunction, AIF_CUDA_LOADS)                                  \
	X(742, cuFuncLoad, AIF_CUDA_LOADS)                                           \
	X(24, cuModuleGetGlobal, AIF_CUDA_LOADS)                                     \
	X(241, cuModuleGetGlobal_v2, AIF_CUDA_LOADS)                                 \
	X(684, cuLibraryGetGlobal, AIF_CUDA_LOADS)                                   \
	X(685, cuLibraryGetManaged, AIF_CUDA_LOADS)                                  \
	X(700, cuLibraryGetUnifiedFunction, AIF_CUDA_LOADS)                          \
	X(85, cuFuncGetAttribute, AIF_CUDA_LOADS)                                    \
	X(481, cuFuncSetAttribute, AIF_CUDA_LOADS)                                   \
	X(86, cuFuncSetCacheConfig, AIF_CUDA_LOADS)                                  \
	X(338, cuFuncSetSharedMemConfig, AIF_CUDA_LOADS)                             \
	X(686, cuKernelGetAttribute, AIF_CUDA_LOADS)                                 \
	X(687, cuKernelSetAttribute, AIF_CUDA_LOADS)                                 \
	X(688, cuKernelSetCacheConfig, AIF_CUDA_LOADS)                               \
	X(374, cuOccupancyMaxActiveBlocksPerMultiprocessor, AIF_CUDA_LOADS)          \
	X(451, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, AIF_CUDA_LOADS) \
	X(384, cuOccupancyMaxPotentialBlockSize, AIF_CUDA_LOADS)                     \
	X(452, cuOccupancyMaxPotentialBlockSizeWithFlags, AIF_CUDA_LOADS)            \
	X(543, cuOccupancyAvailableDynamicSMemPerBlock, AIF_CUDA_LOADS)              \
	X(675, cuOccupancyMaxPotentialClusterSize, AIF_CUDA_LOADS)                   \
	X(676, cuOccupancyMaxActiveClusters, AIF_CUDA_LOADS)                         \
	X(502, cuGraphAddKernelNode, AIF_CUDA_LOADS)                                 \
	X(689, cuGraphAddKernelNode_v2, AIF_CUDA_LOADS)                              \
	X(513, cuGraphInstantiate, AIF_CUDA_INSTANTIATES)                            \
	X(578, cuGraphInstantiate_v2, AIF_CUDA_INSTANTIATES)                         \
	X(643, cuGraphInstantiateWithFlags, AIF_CUDA_INSTANTIATES)                   \
	X(656, cuGraphInstantiateWithParams, AIF_CUDA_INSTANTIATES)                  \
	X(657, cuGraphInstantiateWithParams_ptsz, AIF_CUDA_INSTANTIATES)             \
	X(561, cuGraphExecUpdate, AIF_CUDA_LOADS)                                    \
	X(696, cuGraphExecUpdate_v2, AIF_CUDA_LOADS)                                 \
	X(516, cuGraphExecDestroy, AIF_CUDA_LOADS)                                   \
	X(467, cuMemPrefetchAsync, 0)                                                \
	X(468, cuMemPrefetchAsync_ptsz, 0)                                           \
	X(716, cuMemPrefetchAsync_v2, 0)                                             \
	X(717, cuMemPrefetchAsync_v2_ptsz, 0)                                        \
	X(43, cuMemcpyHtoD, 0)                                                       \
	X(45, cuMemcpyDtoH, 0)                                                       \
	X(47, cuMemcpyDtoD, 0)                                                       \
	X(49, cuMemcpyDtoA, 0)                                                       \
	X(51, cuMemcpyAtoD, 0)                                                       \
	X(53, cuMemcpyHtoA, 0)                                                       \
	X(54, cuMemcpyAtoH, 0)                                                       \
	X(55, cuMemcpyAtoA, 0)                                                       \
	X(56, cuMemcpy2D, 0)                                                         \
	X(57, cuMemcpy2DUnaligned, 0)                                                \
	X(58, cuMemcpy3D, 0)                                                         \
	X(60, cuMemcpyHtoDAsync, 0)                                                  \
	X(62, cuMemcpyDtoHAsync, 0)                                                  \
	X(64, cuMemcpyDtoDAsync, 0)                                                  \
	X(66, cuMemcpyHtoAAsync, 0)                                                  \
	X(67, cuMemcpyAtoHAsync, 0)                                                  \
	X(68, cuMemcpy2DAsync, 0)                                                    \
	X(69, cuMemcpy3DAsync, 0)                                                    \
	X(71, cuMemsetD8, 0)                                                         \
	X(73, cuMemsetD16, 0)                                                        \
	X(75, cuMemsetD32, 0)                                                        \
	X(77, cuMemsetD2D8, 0)                                                       \
	X(79, cuMemsetD2D16, 0)                                                      \
	X(81, cuMemsetD2D32, 0)                                                      \
	X(115, cuLaunch, 0)                                                          \
	X(116, cuLaunchGrid, 0)                                                      \
	X(117, cuLaunchGridAsync, 0)                                                 \
	X(248, cuMemcpy_v2, 0)                                                       \
	X(784, cuMemPrefetchBatchAsync, 0)                                           \
	X(785, cuMemPrefetchBatchAsync_ptsz, 0)                                      \
	X(791, cuMemDiscardAndPrefetchBatchAsync, 0)                                 \
	X(792, cuMemDiscardAndPrefetchBatchAsync_ptsz, 0)
