/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include "agent/objects.h"
#include "base/hash.h"
#include "wire/handshake.h"

#include <string.h>
#include <sys/mman.h>

/*
 * Modules and kernels. A module is known by its native code: an application that makes and destroys the same one
 * again and again has one. The code is left for the recorder, and where each kernel of it lies in the device's memory
 * is written with the kernel, at its first launch: samples of the device are addresses.
 *
 * The address is what Intel's driver says through an extension, which wants the driver's own handle. It is asked for
 * when a kernel is made. The code belongs to the module there, and is freed with the last one of that content.
 * Its size is that of the section in the module's ELF file; where that has none, the whole module bounds it.
 */

struct binary {
	uint8_t *bytes;
	size_t size, mapped;
};

static struct binary binary_of(struct aif_level_zero *l0, void *module)
{
	struct binary b = {0};
	size_t size = 0;

	if (l0->api.zeModuleGetNativeBinary(module, &size, NULL) != AIF_ZE_SUCCESS || !size)
		return b;
	b.bytes = aif_pages(size);
	b.size = b.mapped = size;
	if (b.bytes &&
	    l0->api.zeModuleGetNativeBinary(module, &b.size, b.bytes) == AIF_ZE_SUCCESS &&
	    b.size <= size)
		return b;
	if (b.bytes)
		munmap(b.bytes, size);
	return (struct binary){0};
}

static void binary_free(struct binary *b)
{
	if (b->bytes)
		munmap(b->bytes, b->mapped);
}

/* Under the lock. */
static struct aif_ze_kernel *kernel_of(struct aif_level_zero *l0, struct aif_ze_module *m,
				       const char *name, size_t len, uint64_t size)
{
	struct aif_ze_kernel *k;

	for (k = m->kernels; k; k = k->next)
		if (!strncmp(k->name, name, len) && !k->name[len])
			return k;
	k = aif_arena_alloc(&l0->arena, sizeof(*k));
	if (!k)
		return NULL;
	k->name = aif_arena_alloc(&l0->arena, len + 1);
	if (!k->name)
		return NULL;
	memcpy(k->name, name, len);
	k->id = l0->kernels_len++;
	k->module = m;
	k->size = size;
	k->next = m->kernels;
	m->kernels = k;
	return k;
}

struct texts {
	struct aif_level_zero *l0;
	struct aif_ze_module *module;
};

static void add_kernel(void *arg, const char *name, size_t len, uint64_t size)
{
	struct texts *t = arg;

	/* In every module, and nobody launches it. */
	if (len == 24 && !memcmp(name, "Intel_Symbol_Table_Void_", 24))
		return;
	(void)kernel_of(t->l0, t->module, name, len, size);
}

/* Under the lock. */
static struct aif_ze_module *module_of(struct aif_level_zero *l0, const struct binary *b,
				       struct aif_ze_device *device,
				       const struct aif_ze_module_desc *desc)
{
	const char *flags = desc && desc->flags ? desc->flags : "";
	uint64_t hash = b->bytes ? aif_hash_bytes(b->bytes, b->size) : 0;
	struct aif_ze_module *m;
	struct texts texts = {.l0 = l0};

	for (m = l0->all_modules; m && hash; m = m->next)
		if (m->hash == hash && m->size == b->size && m->device == device &&
		    !strcmp(m->flags, flags))
			return m;
	m = aif_arena_alloc(&l0->arena, sizeof(*m));
	if (!m)
		return NULL;
	m->flags = aif_arena_strdup(&l0->arena, flags);
	if (!m->flags)
		return NULL;
	m->id = l0->modules_len++;
	m->hash = hash;
	m->size = b->size;
	m->device = device;
	m->next = l0->all_modules;
	l0->all_modules = m;
	texts.module = m;
	if (b->bytes)
		aif_ze_texts(b->bytes, b->size, add_kernel, &texts);
	return m;
}

/* Keeps the SPIR-V that a module was compiled from, for readers of the profile: a module without it has its code all
 * the same. */
static void keep_source(const struct aif_ze_module *m, const struct aif_ze_module_desc *desc)
{
	if (desc && desc->format == AIF_ZE_FORMAT_SPIRV && desc->input)
		(void)aif_object_keep(aif_object_source(m->hash), desc->input, desc->size);
}

/* The session that collects now, or 0. */
static uint32_t session(void)
{
	return aif_thread_asleep() ? 0 : atomic_load(&aif_agent.session.armed->generation);
}

void aif_ze_module_created(const struct aif_ze_call *c)
{
	const struct aif_ze_module_desc *desc = AIF_ZE_ARG(c, 2, const struct aif_ze_module_desc *);
	void **ret_module = AIF_ZE_ARG(c, 3, void **);
	struct aif_level_zero *l0 = c->l0;
	struct aif_ze_module *m;
	uint32_t generation = session();
	struct binary b;

	if (c->result != AIF_ZE_SUCCESS || !ret_module)
		return;
	b = binary_of(l0, *ret_module);
	pthread_mutex_lock(&l0->lock);
	m = module_of(l0, &b, aif_ze_device_get(l0, AIF_ZE_ARG(c, 1, void *)), desc);
	if (m) {
		m->handle = *ret_module;
		m->live++;
		if (generation && m->hash && m->kept != generation &&
		    aif_object_keep(m->hash, b.bytes, b.size)) {
			m->kept = generation;
			keep_source(m, desc);
		}
	}
	aif_handles_put(&l0->modules, *ret_module, m);
	pthread_mutex_unlock(&l0->lock);
	binary_free(&b);
}

/* Under the lock: nothing lies there any more. */
static void place_unloaded(struct aif_level_zero *l0, struct aif_ze_kernel *k)
{
	struct aif_ze_unloaded *g = &l0->unloaded[l0->unloaded_len];

	/* Without room nothing is lost for good: the place ends when other code comes to lie
	 * there. */
	if (k->address && k->place_defined_gen && l0->unloaded_len < AIF_ZE_UNLOADED_MAX) {
		*g = (struct aif_ze_unloaded){
			.code = k->id,
			.device = k->module->device ? k->module->device->desc.id : 0,
			.generation = k->place_defined_gen,
			.time = aif_now_ns(),
			.address = k->address};
		l0->unloaded_len++;
	}
	k->address = 0;
	k->place_defined_gen = 0;
}

void aif_ze_unloaded_report(struct aif_level_zero *l0, struct aif_thread *t)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l0->unloaded_len; i++) {
		const struct aif_ze_unloaded *g = &l0->unloaded[i];
		const struct aif_emit_place p = {.code = g->code,
						 .device = g->device,
						 .time = g->time,
						 .address = g->address};

		if (g->generation == t->generation && !aif_emit_place(t, &p))
			l0->unloaded[kept++] = *g;
	}
	l0->unloaded_len = kept;
}

void aif_ze_module_destroy_begin(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	void *module = AIF_ZE_ARG(c, 0, void *);
	struct aif_thread *t;
	struct aif_ze_module *m;

	if (!aif_handles_get(&l0->modules, module))
		return;
	t = aif_thread_enter();
	pthread_mutex_lock(&l0->lock);
	m = aif_handles_get(&l0->modules, module);
	aif_handles_put(&l0->modules, module, NULL);
	if (m && m->handle == module)
		m->handle = NULL;
	if (m && m->live && !--m->live)
		for (struct aif_ze_kernel *k = m->kernels; k; k = k->next)
			place_unloaded(l0, k);
	if (t)
		aif_ze_unloaded_report(l0, t);
	pthread_mutex_unlock(&l0->lock);
	if (t)
		aif_thread_leave(t);
}

/* 0: not known. */
static uint64_t address_of(struct aif_level_zero *l0, const struct aif_ze_module *m, void *kernel)
{
	void *raw = kernel;
	uint64_t address = 0;

	/* With several drivers the loader's handles are not the driver's, which would crash on one. */
	if (l0->api.zelLoaderTranslateHandle &&
	    l0->api.zelLoaderTranslateHandle(AIF_ZE_HANDLE_KERNEL, kernel, &raw) != AIF_ZE_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < l0->drivers_len; i++)
		if (m->device && l0->drivers[i].driver == m->device->driver &&
		    l0->drivers[i].base_address &&
		    l0->drivers[i].base_address(raw, &address) == AIF_ZE_SUCCESS)
			return address;
	return 0;
}

void aif_ze_kernel_created(const struct aif_ze_call *c)
{
	const struct aif_ze_kernel_desc *desc = AIF_ZE_ARG(c, 1, const struct aif_ze_kernel_desc *);
	void **ret_kernel = AIF_ZE_ARG(c, 2, void **);
	struct aif_level_zero *l0 = c->l0;
	struct aif_ze_handle *h;
	struct aif_ze_module *m;
	uint64_t address;

	if (c->result != AIF_ZE_SUCCESS || !ret_kernel || !desc || !desc->name)
		return;
	pthread_mutex_lock(&l0->lock);
	m = aif_handles_get(&l0->modules, AIF_ZE_ARG(c, 0, void *));
	h = m ? l0->free_handles : NULL;
	if (h)
		l0->free_handles = h->next;
	else if (m)
		h = aif_arena_alloc(&l0->arena, sizeof(*h));
	if (h) {
		*h = (struct aif_ze_handle){.kernel = NULL};
		h->kernel = kernel_of(l0, m, desc->name, strlen(desc->name), 0);
		address = h->kernel ? address_of(l0, m, *ret_kernel) : 0;
		if (address && address != h->kernel->address) {
			place_unloaded(l0, h->kernel);
			h->kernel->address = address;
			h->kernel->since = aif_now_ns();
			atomic_store(&h->kernel->defined_gen, 0); /* and its place with it */
		}
	}
	aif_handles_put(&l0->kernels, *ret_kernel, h && h->kernel ? h : NULL);
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_kernel_destroy_begin(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	void *kernel = AIF_ZE_ARG(c, 0, void *);
	struct aif_ze_handle *h = aif_ze_kernel_get(l0, kernel);

	if (!h)
		return;
	pthread_mutex_lock(&l0->lock);
	aif_handles_put(&l0->kernels, kernel, NULL);
	h->next = l0->free_handles;
	l0->free_handles = h;
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_group_size(const struct aif_ze_call *c)
{
	struct aif_ze_handle *h = aif_ze_kernel_get(c->l0, AIF_ZE_ARG(c, 0, void *));

	if (!h || c->result != AIF_ZE_SUCCESS)
		return;
	for (unsigned i = 0; i < 3; i++)
		atomic_store_explicit(&h->group[i], AIF_ZE_ARG(c, i + 1, uint32_t),
				      memory_order_relaxed);
}

struct aif_ze_handle *aif_ze_kernel_get(struct aif_level_zero *l0, void *kernel)
{
	return aif_handles_get(&l0->kernels, kernel);
}

struct aif_ze_kernel *aif_ze_kernel_of_several(struct aif_level_zero *l0, void *const *kernels,
					       uint32_t n)
{
	struct aif_ze_kernel *first = NULL, *k = NULL;
	char name[1024] = "";
	size_t len = 0;
	bool same = true;

	for (uint32_t i = 0; kernels && i < n; i++) {
		struct aif_ze_handle *h = aif_ze_kernel_get(l0, kernels[i]);
		size_t add = h ? strlen(h->kernel->name) : 0;

		if (!h)
			continue;
		first = first ? first : h->kernel;
		same &= h->kernel == first;
		if (len + add + 4 > sizeof(name))
			break;
		if (len) {
			memcpy(name + len, " + ", 3);
			len += 3;
		}
		memcpy(name + len, h->kernel->name, add);
		len += add;
	}
	if (!first || same)
		return first;
	pthread_mutex_lock(&l0->lock);
	k = kernel_of(l0, first->module, name, len, 0);
	pthread_mutex_unlock(&l0->lock);
	return k;
}

/* ---- definitions: under the lock ------------------------------------------------------------ */

static void keep(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_module *m)
{
	struct binary b;

	if (!m->hash || m->kept == t->generation || !m->handle)
		return;
	b = binary_of(l0, m->handle);
	if (b.bytes && aif_hash_bytes(b.bytes, b.size) == m->hash)
		(void)aif_object_keep(m->hash, b.bytes, b.size);
	binary_free(&b);
	m->kept = t->generation; /* it is not tried again */
}

static void place_define(struct aif_thread *t, struct aif_ze_kernel *k)
{
	const struct aif_ze_module *m = k->module;
	const struct aif_emit_place p = {.code = k->id,
					 .device = m->device ? m->device->desc.id : AIF_WIRE_NONE,
					 .time = k->since,
					 .address = k->address,
					 .size = k->size ? k->size : m->size};

	/* Kernel and code have one number. */
	if (k->address && aif_emit_code(t, k->id, m->hash, AIF_WIRE_NONE, k->name) &&
	    aif_emit_place(t, &p))
		k->place_defined_gen = t->generation;
}

static void kernel_define(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_kernel *k)
{
	struct aif_ze_module *m = k->module;

	if (atomic_load_explicit(&m->defined_gen, memory_order_relaxed) != t->generation) {
		keep(l0, t, m);
		if (!aif_emit_program(t, m->id, m->flags, NULL, 0, 0))
			return;
		atomic_store_explicit(&m->defined_gen, t->generation, memory_order_relaxed);
	}
	if (m->device)
		aif_ze_device_define_locked(l0, t, m->device);
	if (k->place_defined_gen != t->generation)
		place_define(t, k);
	if (atomic_load_explicit(&k->defined_gen, memory_order_relaxed) != t->generation &&
	    aif_emit_kernel(t, k->id, m->id, k->name))
		atomic_store_explicit(&k->defined_gen, t->generation, memory_order_relaxed);
}

uint32_t aif_ze_kernel_define(struct aif_level_zero *l0, struct aif_thread *t,
			      struct aif_ze_kernel *k)
{
	if (aif_likely(atomic_load_explicit(&k->defined_gen, memory_order_relaxed) ==
		       t->generation))
		return k->id;
	pthread_mutex_lock(&l0->lock);
	kernel_define(l0, t, k);
	pthread_mutex_unlock(&l0->lock);
	return k->id;
}
