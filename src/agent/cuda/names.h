/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/thread.h"
#include "agent/session.h"

struct aif_cuda;

/* Kernels, devices and streams: their ids, defined where they are needed; the clocks. */

struct aif_cuda_kernel {
	uint32_t id;
	_Atomic uint32_t defined_gen; /* session generation */
	_Atomic uint64_t known;       /* name_key() that was compared last */
	uint64_t hash;
	struct aif_cuda_kernel *next; /* in its bucket */
	char name[];
};
#define AIF_CUDA_BUCKETS 4096 /* buckets of the hash table of kernels; a power of two */

#define AIF_CUDA_DEVICES 64
struct aif_cuda_device {
	_Atomic uint32_t defined_gen;
};
/* Lies above all devices' clocks, which another runtime of the process may use. */
#define AIF_CUDA_CLOCK (AIF_CLOCK_DEVICE + AIF_CUDA_DEVICES)

struct aif_cuda_stream {
	uint32_t device, context, stream; /* CUDA's ordinal, CUPTI's numbers */
	uint32_t id;
	uint32_t defined_gen;
	struct aif_cuda_stream *next;
};

/* Something is unloaded: what a pointer to a name meant it may not mean any more. */
void aif_cuda_names_invalidate(struct aif_cuda *cuda);
/* Returns the kernel of this name, which is made if new. NULL: no memory. The second is for launches: no call that
 * unloads has returned since CUPTI gave the name. */
struct aif_cuda_kernel *aif_cuda_kernel(struct aif_cuda *cuda, const char *name);
struct aif_cuda_kernel *aif_cuda_kernel_launched(struct aif_cuda *cuda, const char *name);
/* Returns its id, which is defined in t's ring unless it was in this session. */
uint32_t aif_cuda_kernel_define(struct aif_thread *t, struct aif_cuda_kernel *k);
/* Defines a device, unless it was in this session. False: there was no room. */
bool aif_cuda_device_define(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal);
/* The same in any case: a definition in another ring may be read later than what follows it in this one. */
bool aif_cuda_device_define_here(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal);
/* Defines a stream, and its device. AIF_WIRE_NONE: no memory. */
uint32_t aif_cuda_stream_define(struct aif_thread *t, struct aif_cuda *cuda, uint32_t device,
				uint32_t context, uint32_t stream);
/* Writes a pair of the clocks each second, once a device is defined. */
void aif_cuda_clock_tick(struct aif_thread *t, struct aif_cuda *cuda, uint64_t now);
/* Returns a GPU's bus address: domain << 16 | bus << 8 | device << 3; 0 = not known. */
uint32_t aif_cuda_bus_address(struct aif_cuda *cuda, uint32_t ordinal);
