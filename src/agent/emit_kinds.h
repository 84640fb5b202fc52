/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The same numbers as aif_launch_kind, aif_memory_kind and aif_device_kind of the profile, which the agent does not
 * know; a test compares them. */
enum aif_emit_kind {
	AIF_EMIT_KERNEL = 0,
	AIF_EMIT_READ = 1,
	AIF_EMIT_WRITE = 2,
	AIF_EMIT_COPY = 3,
	AIF_EMIT_FILL = 4,
	AIF_EMIT_MAP = 5,
	AIF_EMIT_UNMAP = 6,
	AIF_EMIT_MIGRATE = 7,
	AIF_EMIT_PEER = 10,
};
enum aif_emit_memory_kind { AIF_EMIT_MEMORY_ALLOCATE = 1, AIF_EMIT_MEMORY_RELEASE = 2 };
#define AIF_EMIT_MEMORY_UNKNOWN UINT64_MAX
enum aif_emit_device_kind {
	AIF_EMIT_DEVICE_OTHER = 0,
	AIF_EMIT_DEVICE_CPU = 1,
	AIF_EMIT_DEVICE_GPU = 2,
	AIF_EMIT_DEVICE_ACCELERATOR = 3,
};
