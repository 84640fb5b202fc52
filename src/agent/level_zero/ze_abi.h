/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/ze_metrics.h"

/*
 * The part of Level Zero's binary interface that the adapter needs (specification 1.0 to 1.13, unchanged in all of
 * them), declared by us. Handles are void *, results uint32_t. So aiflame builds where there are no Level Zero headers;
 * where there are, a test compares sizes, offsets and values with them. The part that the command needs, too, is in
 * base/ze_metrics.h.
 */

#define AIF_ZE_NOT_READY     1u
#define AIF_ZE_UNINITIALIZED 0x78000001u
#define AIF_ZE_UNSUPPORTED   0x78000003u
#define AIF_ZE_DENIED        0x70010000u
#define AIF_ZE_UNAVAILABLE   0x70010001u /* somebody else has it */
#define AIF_ZE_DROPPED_DATA  0x70020001u
#define AIF_ZE_OBJECT_IN_USE 0x78000006u
#define AIF_ZE_HANDLE_KERNEL 11 /* for zelLoaderTranslateHandle() */
#define AIF_ZE_TRACER_DESC   1
#define AIF_ZE_DRIVER_PROPS  0x1
#define AIF_ZE_POOL_DESC     0x10
#define AIF_ZE_EVENT_DESC    0x11
#define AIF_ZE_MEMORY_PROPS  0x17
#define AIF_ZE_EVENTS_HOST   1u /* flags of an event pool */
#define AIF_ZE_EVENTS_IPC    2u
#define AIF_ZE_EVENTS_TIMED  4u
#define AIF_ZE_EVENT_TO_HOST 4u /* scope of an event */
#define AIF_ZE_DEVICE_CPU    2
#define AIF_ZE_DEVICE_FPGA   3
#define AIF_ZE_DEVICE_MCA    4
#define AIF_ZE_DEVICE_VPU    5
#define AIF_ZE_SUBDEVICE     2u /* flag of a device */
#define AIF_ZE_MEMORY_HOST   1
#define AIF_ZE_MEMORY_DEVICE 2
#define AIF_ZE_MEMORY_SHARED 3
#define AIF_ZE_CONTEXT_DESC  0xd
#define AIF_ZE_PCI_PROPS     0x10008
#define AIF_ZE_FORMAT_SPIRV  0 /* of a module's input */
/* Structure type of the tools' half (zet). */
#define AIF_ZE_STREAMER_DESC   0x3
#define AIF_ZE_QUERY_POOL_DESC 0x4

struct aif_ze_tracer_desc {
	uint32_t stype;
	const void *next;
	void *user;
};

struct aif_ze_driver_properties {
	uint32_t stype;
	void *next;
	uint8_t uuid[16];
	uint32_t version;
};

struct aif_ze_group_count {
	uint32_t x, y, z;
};

struct aif_ze_copy_region {
	uint32_t x, y, z, width, height, depth;
};

struct aif_ze_pool_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags, count;
};

struct aif_ze_event_desc {
	uint32_t stype;
	const void *next;
	uint32_t index, signal, wait;
};

/* Result of zeEventQueryKernelTimestamp(), ticks. */
struct aif_ze_kernel_times {
	uint64_t start, end; /* of the device's clock */
	uint64_t context_start, context_end;
};

struct aif_ze_memory_properties {
	uint32_t stype;
	void *next;
	uint32_t type;
	uint64_t id, page_size;
};

struct aif_ze_module_desc {
	uint32_t stype;
	const void *next;
	uint32_t format;
	size_t size;
	const uint8_t *input;
	const char *flags;
	const void *constants;
};

struct aif_ze_kernel_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
	const char *name;
};

struct aif_ze_queue_desc {
	uint32_t stype;
	const void *next;
	uint32_t ordinal, index, flags, mode, priority;
};

struct aif_ze_context_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
};

struct aif_ze_pci_properties {
	uint32_t stype;
	void *next;
	uint32_t domain, bus, device, function;
	int32_t generation, lanes;
	int64_t bandwidth;
};

struct aif_ze_streamer_desc {
	uint32_t stype;
	const void *next;
	uint32_t notify, period_ns; /* period_ns: the driver says what it became */
};

struct aif_ze_query_pool_desc {
	uint32_t stype;
	const void *next;
	uint32_t type, count; /* type 0: performance */
};

struct aif_ze_value {
	uint32_t type;
	union {
		uint32_t u32;
		uint64_t u64;
		float f32;
		double f64;
		uint8_t b8;
	};
};

/* All traced calls' arguments come as pointers to them, in their order. */
typedef void aif_ze_callback(void **arguments, uint32_t result, void *user, void **instance);

/* Functions of the loader that the adapter calls: X(name, arguments, needed). */
#define AIF_ZE_FUNCTIONS(X)                                                                       \
	X(zelTracerCreate, (const struct aif_ze_tracer_desc *desc, void **ret_tracer), true)      \
	X(zelTracerSetEnabled, (void *tracer, uint8_t on), true)                                  \
	X(zelTracerSetPrologues, (void *tracer, void *callbacks), false)                          \
	X(zelTracerSetEpilogues, (void *tracer, void *callbacks), false)                          \
	X(zelEnableTracingLayer, (void), false)                                                   \
	X(zelLoaderTranslateHandle, (int type, void *handle, void **ret_handle), false)           \
	X(zeDriverGet, (uint32_t * n, void **drivers), true)                                      \
	X(zeDriverGetProperties, (void *driver, struct aif_ze_driver_properties *p), true)        \
	X(zeDriverGetExtensionFunctionAddress, (void *driver, const char *name, void **ret),      \
	  false)                                                                                  \
	X(zeDeviceGet, (void *driver, uint32_t *n, void **devices), true)                         \
	X(zeDeviceGetSubDevices, (void *device, uint32_t *n, void **devices), true)               \
	X(zeDeviceGetProperties, (void *device, struct aif_ze_device_properties *p), true)        \
	X(zeDeviceGetGlobalTimestamps, (void *device, uint64_t *host, uint64_t *ticks), true)     \
	X(zeEventPoolCreate,                                                                      \
	  (void *context, const struct aif_ze_pool_desc *desc, uint32_t n, void **devices,        \
	   void **ret_pool),                                                                      \
	  true)                                                                                   \
	X(zeEventPoolDestroy, (void *pool), true)                                                 \
	X(zeEventCreate, (void *pool, const struct aif_ze_event_desc *desc, void **ret_event),    \
	  true)                                                                                   \
	X(zeEventDestroy, (void *event), true)                                                    \
	X(zeEventHostReset, (void *event), true)                                                  \
	X(zeEventQueryStatus, (void *event), true)                                                \
	X(zeEventQueryKernelTimestamp, (void *event, struct aif_ze_kernel_times *ret), true)      \
	X(zeModuleGetNativeBinary, (void *module, size_t *size, uint8_t *bytes), true)            \
	X(zeMemGetAllocProperties,                                                                \
	  (void *context, const void *at, struct aif_ze_memory_properties *ret,                   \
	   void **ret_device),                                                                    \
	  true)                                                                                   \
	X(zeDevicePciGetPropertiesExt, (void *device, struct aif_ze_pci_properties *ret), false)  \
	X(zeContextCreate,                                                                        \
	  (void *driver, const struct aif_ze_context_desc *desc, void **ret_context), false)      \
	X(zeContextDestroy, (void *context), false)                                               \
	X(zetMetricGroupGet, (void *device, uint32_t *n, void **groups), false)                   \
	X(zetMetricGroupGetProperties, (void *group, struct aif_ze_group_properties *ret), false) \
	X(zetMetricGet, (void *group, uint32_t *n, void **metrics), false)                        \
	X(zetMetricGetProperties, (void *metric, struct aif_ze_metric_properties *ret), false)    \
	X(zetContextActivateMetricGroups,                                                         \
	  (void *context, void *device, uint32_t n, void **groups), false)                        \
	X(zetMetricStreamerOpen,                                                                  \
	  (void *context, void *device, void *group, struct aif_ze_streamer_desc *desc,           \
	   void *event, void **ret_streamer),                                                     \
	  false)                                                                                  \
	X(zetMetricStreamerReadData,                                                              \
	  (void *streamer, uint32_t reports, size_t *size, uint8_t *raw), false)                  \
	X(zetMetricStreamerClose, (void *streamer), false)                                        \
	X(zetMetricGroupCalculateMultipleMetricValuesExp,                                         \
	  (void *group, int type, size_t size, const uint8_t *raw, uint32_t *sets, uint32_t *n,   \
	   uint32_t *counts, struct aif_ze_value *values),                                        \
	  false)                                                                                  \
	X(zetMetricQueryPoolCreate,                                                               \
	  (void *context, void *device, void *group, const struct aif_ze_query_pool_desc *desc,   \
	   void **ret_pool),                                                                      \
	  false)                                                                                  \
	X(zetMetricQueryPoolDestroy, (void *pool), false)                                         \
	X(zetMetricQueryCreate, (void *pool, uint32_t index, void **ret_query), false)            \
	X(zetMetricQueryDestroy, (void *query), false)                                            \
	X(zetMetricQueryReset, (void *query), false)                                              \
	X(zetMetricQueryGetData, (void *query, size_t *size, uint8_t *raw), false)                \
	X(zetCommandListAppendMetricQueryBegin, (void *list, void *query), false)                 \
	X(zetCommandListAppendMetricQueryEnd,                                                     \
	  (void *list, void *query, void *event, uint32_t n, void **events), false)               \
	X(zetMetricGroupCalculateMetricValues,                                                    \
	  (void *group, int type, size_t size, const uint8_t *raw, uint32_t *n,                   \
	   struct aif_ze_value *values),                                                          \
	  false)

struct aif_ze_functions {
#define X(name, arguments, needed) uint32_t(*name) arguments;
	AIF_ZE_FUNCTIONS(X)
#undef X
};

/* The words of ze_callbacks_t, for loaders without a function for each call. */
#define AIF_ZE_CALLBACKS 120
