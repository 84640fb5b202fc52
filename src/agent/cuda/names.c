/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/names.h"

#include "agent/cuda/cuda.h"
#include "agent/emit.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/*
 * Kernels are known by their mangled names. CUPTI gives the same pointer for the same kernel as long as its
 * module is loaded; afterwards the address may hold another's name. So a launch compares the bytes only once after
 * something may have been unloaded: PyTorch's names have hundreds of them, and they are in no cache.
 */

/* A pointer, and when: addresses of users have 48 bits. */
static uint64_t name_key(const char *name, uint32_t epoch)
{
	return (uint64_t)(uintptr_t)name << 16 | (epoch & 0xffff);
}

void aif_cuda_names_invalidate(struct aif_cuda *cuda)
{
	uint32_t epoch = atomic_fetch_add(&cuda->names_epoch, 1) + 1;

	if (epoch & 0xffff)
		return;
	/* Keys of long ago would be those of now. */
	pthread_mutex_lock(&cuda->lock);
	for (unsigned i = 0; i < AIF_CUDA_BUCKETS; i++)
		for (struct aif_cuda_kernel *k = cuda->kernels[i]; k; k = k->next)
			atomic_store(&k->known, 0);
	pthread_mutex_unlock(&cuda->lock);
}

static struct aif_cuda_kernel *by_name(struct aif_cuda *cuda, const char *name)
{
	size_t len = strlen(name);
	uint64_t hash = aif_hash_bytes(name, len);
	struct aif_cuda_kernel *k, **bucket = &cuda->kernels[hash % AIF_CUDA_BUCKETS];

	for (k = *bucket; k; k = k->next)
		if (k->hash == hash && !strcmp(k->name, name))
			return k;
	k = aif_arena_alloc(&cuda->arena, sizeof(*k) + len + 1);
	if (!k)
		return NULL;
	*k = (struct aif_cuda_kernel){.id = cuda->kernels_len++, .hash = hash, .next = *bucket};
	memcpy(k->name, name, len + 1);
	*bucket = k;
	return k;
}

struct aif_cuda_kernel *aif_cuda_kernel(struct aif_cuda *cuda, const char *name)
{
	struct aif_cuda_kernel *k = aif_handles_get(&cuda->by_pointer, name);

	if (aif_likely(k && !strcmp(k->name, name)))
		return k;
	pthread_mutex_lock(&cuda->lock);
	k = by_name(cuda, name);
	if (k)
		(void)aif_handles_put(&cuda->by_pointer, name, k);
	pthread_mutex_unlock(&cuda->lock);
	return k;
}

struct aif_cuda_kernel *aif_cuda_kernel_launched(struct aif_cuda *cuda, const char *name)
{
	/* Before it is compared: else what is unloaded meanwhile would be known. */
	const uint64_t key = name_key(name, atomic_load(&cuda->names_epoch));
	struct aif_cuda_kernel *k = aif_handles_get(&cuda->by_pointer, name);

	if (aif_likely(k && atomic_load_explicit(&k->known, memory_order_relaxed) == key))
		return k;
	k = aif_cuda_kernel(cuda, name);
	if (k)
		atomic_store_explicit(&k->known, key, memory_order_relaxed);
	return k;
}

uint32_t aif_cuda_kernel_define(struct aif_thread *t, struct aif_cuda_kernel *k)
{
	if (aif_unlikely(atomic_load_explicit(&k->defined_gen, memory_order_relaxed) !=
			 t->generation) &&
	    aif_emit_kernel(t, k->id, AIF_WIRE_NONE, k->name))
		atomic_store_explicit(&k->defined_gen, t->generation, memory_order_relaxed);
	return k->id;
}

static bool read_clock(void *arg, uint64_t *ret_value)
{
	const struct aif_cuda *cuda = arg;

	return !cuda->api.cuptiGetTimestamp(ret_value);
}

static uint32_t attribute(struct aif_cuda *cuda, int device, int which)
{
	int value = 0;

	return !cuda->api.cuDeviceGetAttribute(&value, which, device) && value > 0 ? (uint32_t)value
										   : 0;
}

/* Ordinals are the process's own (CUDA_VISIBLE_DEVICES): where a GPU is says which it is. Instances of one (MIG) share
 * its place, and are told apart by nothing else that all versions of the driver say. */
static uint32_t address(struct aif_cuda *cuda, int device)
{
	uint32_t domain = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_PCI_DOMAIN),
		 bus = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_PCI_BUS),
		 slot = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_PCI_SLOT);

	if (domain > 0xffff || bus > 0xff || slot > 0x1f)
		return 0;
	return domain << 16 | bus << 8 | slot << 3;
}

uint32_t aif_cuda_bus_address(struct aif_cuda *cuda, uint32_t ordinal)
{
	int device;

	return cuda->api.cuDeviceGet(&device, (int)ordinal) ? 0 : address(cuda, device);
}

/* CUPTI's clock is one for all devices. The first device brings a pair: without one its first times could not be mapped. */
static void report_clock(struct aif_thread *t, struct aif_cuda *cuda)
{
	struct aif_clock_reading r;

	if (atomic_load_explicit(&cuda->clock_defined_gen, memory_order_relaxed) != t->generation &&
	    aif_clock_read(read_clock, cuda, &r) &&
	    aif_emit_clock(t, AIF_CUDA_CLOCK, r.before, r.after, r.value))
		atomic_store_explicit(&cuda->clock_defined_gen, t->generation,
				      memory_order_relaxed);
}

bool aif_cuda_device_define_here(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal)
{
	struct aif_cuda_device *d = &cuda->devices[ordinal % AIF_CUDA_DEVICES];
	char name[256] = "NVIDIA device", driver[32] = "";
	struct aif_emit_device desc = {.id = ordinal,
				       .kind = AIF_EMIT_DEVICE_GPU,
				       .clock = AIF_CUDA_CLOCK,
				       .name = name,
				       .vendor = "NVIDIA",
				       .driver = driver,
				       .runtime = "cuda"};
	int device, version;

	if (!cuda->api.cuDeviceGet(&device, (int)ordinal)) {
		cuda->api.cuDeviceGetName(name, sizeof(name), device);
		desc.pci = strstr(name, " MIG ") ? 0 : address(cuda, device);
		desc.units = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_MULTIPROCESSORS);
		desc.arch = 10 * attribute(cuda, device, AIF_CUDA_ATTRIBUTE_MAJOR) +
			    attribute(cuda, device, AIF_CUDA_ATTRIBUTE_MINOR);
		desc.unit_threads = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_UNIT_THREADS);
		desc.unit_blocks = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_UNIT_BLOCKS);
		desc.unit_registers = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_UNIT_REGISTERS);
		desc.unit_shared = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_UNIT_SHARED);
		desc.clock_khz = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_CLOCK_KHZ);
		desc.memory_khz = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_MEMORY_KHZ);
		desc.memory_bits = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_MEMORY_BITS);
		desc.block_shared = attribute(cuda, device, AIF_CUDA_ATTRIBUTE_BLOCK_SHARED);
	}
	if (!cuda->api.cuDriverGetVersion(&version))
		snprintf(driver, sizeof(driver), "CUDA %d.%d", version / 1000, version % 1000 / 10);
	if (!aif_emit_device(t, &desc))
		return false;
	atomic_store_explicit(&d->defined_gen, t->generation, memory_order_relaxed);
	report_clock(t, cuda);
	return true;
}

bool aif_cuda_device_define(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal)
{
	const struct aif_cuda_device *d = &cuda->devices[ordinal % AIF_CUDA_DEVICES];

	return atomic_load_explicit(&d->defined_gen, memory_order_relaxed) == t->generation ||
	       aif_cuda_device_define_here(t, cuda, ordinal);
}

uint32_t aif_cuda_stream_define(struct aif_thread *t, struct aif_cuda *cuda, uint32_t device,
				uint32_t context, uint32_t stream)
{
	struct aif_cuda_stream *s;
	uint32_t id = AIF_WIRE_NONE;

	pthread_mutex_lock(&cuda->lock);
	for (s = cuda->streams; s; s = s->next)
		if (s->stream == stream && s->context == context && s->device == device)
			break;
	if (!s) {
		s = aif_arena_alloc(&cuda->arena, sizeof(*s));
		if (!s)
			goto out;
		*s = (struct aif_cuda_stream){.device = device,
					      .context = context,
					      .stream = stream,
					      .id = cuda->streams_len++,
					      .next = cuda->streams};
		cuda->streams = s;
	}
	if (s->defined_gen != t->generation && aif_cuda_device_define(t, cuda, device) &&
	    aif_emit_stream(t, s->id, device, stream, false))
		s->defined_gen = t->generation;
	id = s->id;
out:
	pthread_mutex_unlock(&cuda->lock);
	return id;
}

void aif_cuda_clock_tick(struct aif_thread *t, struct aif_cuda *cuda, uint64_t now)
{
	struct aif_clock_reading r;

	if (now - cuda->pair_ns < AIF_NS_PER_S)
		return;
	cuda->pair_ns = now;
	if (atomic_load_explicit(&cuda->clock_defined_gen, memory_order_relaxed) == t->generation &&
	    aif_clock_read(read_clock, cuda, &r))
		aif_emit_clock(t, AIF_CUDA_CLOCK, r.before, r.after, r.value);
}
