/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Numbers of fields and values of Perfetto's trace (perfetto.dev, protos/perfetto/trace), those that are written. */

enum {             /* TracePacket */
       PACKET = 1, /* of Trace */
       CLOCK_SNAPSHOT = 6,
       TIMESTAMP = 8,
       SEQUENCE_ID = 10,
       TRACK_EVENT = 11,
       INTERNED_DATA = 12,
       SEQUENCE_FLAGS = 13,
       GPU_COUNTER_EVENT = 52,
       GPU_RENDER_STAGE_EVENT = 53,
       TIMESTAMP_CLOCK_ID = 58,
       PACKET_DEFAULTS = 59,
       TRACK_DESCRIPTOR = 60,
       PERF_SAMPLE = 66,
};
enum { SEQUENCE = 1, FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3 };
enum { /* InternedData */
       CATEGORIES = 1,
       EVENT_NAMES = 2,
       ANNOTATION_NAMES = 3,
       FUNCTION_NAMES = 5,
       FRAMES = 6,
       CALLSTACKS = 7,
       BUILD_IDS = 16,
       MAPPING_PATHS = 17,
       SOURCE_PATHS = 18,
       MAPPINGS = 19,
       GRAPHICS_CONTEXTS = 23,
       GPU_SPECIFICATIONS = 24,
       COMPUTE_KERNELS =
	       1000, /* and the next one: fields that GpuInternedData adds to InternedData */
       COMPUTE_ARG_NAMES = 1001,
};
enum { /* TrackEvent */
       CATEGORY_IIDS = 3,
       ANNOTATIONS = 4,
       TYPE = 9,
       NAME_IID = 10,
       TRACK_UUID = 11,
       COUNTER_VALUE = 30,
       DOUBLE_COUNTER_VALUE = 44,
       FLOW_IDS = 47,
       CALLSTACK_IID = 56,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { /* GpuRenderStageEvent */
       STAGE_EVENT_ID = 1,
       STAGE_DURATION = 2,
       STAGE_CONTEXT = 5,
       STAGE_GPU_ID = 11,
       STAGE_QUEUE_IID = 13,
       STAGE_STAGE_IID = 14,
       STAGE_KERNEL_IID = 19,
       STAGE_NAME_IID = 20,
       STAGE_LAUNCH = 21,
};
enum { CATEGORY_OTHER = 0, CATEGORY_COMPUTE = 2 };   /* InternedGpuRenderStageSpecification */
enum { API_OPEN_CL = 3, API_CUDA = 4, API_HIP = 5 }; /* InternedGraphicsContext */
enum { COUNTER_DESCRIPTOR = 1, COUNTERS = 2, COUNTER_GPU_ID = 3 }; /* GpuCounterEvent */
enum { SPEC_ID = 1, SPEC_NAME = 2, SPEC_DESCRIPTION = 3, SPEC_NUMERATOR_UNITS = 7 };
