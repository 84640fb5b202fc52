/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include "agent/objects.h"

#include <string.h>
#include <sys/mman.h>

static char *device_text(void *device, uint32_t name)
{
	char text[1024] = "";

	if (TARGET->clGetDeviceInfo(device, name, sizeof(text) - 1, text, NULL) < 0)
		text[0] = '\0';
	text[sizeof(text) - 1] = '\0';
	return aif_arena_strdup(&CL->arena, text);
}

/* Under the lock. context NULL: it cannot be probed; `profiled`: the queue that it was found by gives times. */
static struct aif_cl_device *device_get(void *context, void *device, bool profiled)
{
	struct aif_cl_device *d;
	uint64_t type = 0;
	uint32_t units = 0, clock = AIF_WIRE_NONE;
	char *version;

	for (d = CL->devices; d; d = d->next)
		if (d->handle == device)
			return d;
	d = aif_arena_alloc(&CL->arena, sizeof(*d));
	if (!d)
		return NULL;
	TARGET->clGetDeviceInfo(device, AIF_CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	TARGET->clGetDeviceInfo(device, AIF_CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units,
				NULL);
	d->handle = device;
	d->desc = (struct aif_emit_device){
		.id = CL->device_ids,
		.kind = aif_cl_device_kind(type),
		.units = units,
		.name = device_text(device, AIF_CL_DEVICE_NAME),
		.vendor = device_text(device, AIF_CL_DEVICE_VENDOR),
		.driver = device_text(device, AIF_CL_DRIVER_VERSION),
		.runtime = "opencl",
	};
	version = device_text(device, AIF_CL_DEVICE_VERSION);
	if (!d->desc.name || !d->desc.vendor || !d->desc.driver || !version)
		return NULL;
	/* An older driver's table may end before the function. */
	d->has_timer = aif_cl_version_at_least(version, 2, 1) && TARGET->clGetDeviceAndHostTimer;
	if (context)
		clock = aif_cl_clock_probe(context, device);
	/* Queues that were made before give no times. */
	d->is_assumed = clock == AIF_WIRE_NONE && (CL->is_late || (!context && !profiled));
	if (d->is_assumed)
		clock = AIF_CLOCK_MONOTONIC;
	d->own_clock = clock == AIF_WIRE_NONE;
	d->desc.clock = d->own_clock ? AIF_CLOCK_DEVICE + d->desc.id : clock;
	CL->device_ids++;
	d->next = CL->devices;
	CL->devices = d;
	return d;
}

static struct aif_cl_queue *queue_make(void *queue, void *context, void *device, bool profiled,
				       uint64_t asked, const uint64_t *list, bool has_list)
{
	struct aif_cl_device *d = device_get(context, device, profiled);
	struct aif_cl_queue *q = d ? aif_arena_alloc(&CL->arena, sizeof(*q)) : NULL;

	if (!q)
		return NULL;
	aif_agent_leave_before_driver();
	q->id = CL->queue_ids++;
	q->device = d;
	q->ordinal = d->queues++;
	q->out_of_order = asked & AIF_CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	q->profiled = profiled;
	q->by_host = !d->own_clock && (!profiled || d->is_assumed);
	q->app_profiles = asked & AIF_CL_QUEUE_PROFILING_ENABLE;
	q->has_list = has_list;
	if (list) {
		while (list[q->list_len])
			q->list_len += 2;
		q->list_len++;
		q->list = aif_arena_alloc(&CL->arena, q->list_len * sizeof(*list));
		if (!q->list)
			return NULL;
		memcpy(q->list, list, q->list_len * sizeof(*list));
	}
	return aif_handles_put(&CL->queues, queue, q) < 0 ? NULL : q;
}

struct aif_cl_queue *aif_cl_queue_new(void *queue, void *context, void *device, bool profiled,
				      uint64_t asked, const uint64_t *list, bool has_list)
{
	struct aif_cl_queue *q;

	pthread_mutex_lock(&CL->lock);
	q = queue_make(queue, context, device, profiled, asked, list, has_list);
	pthread_mutex_unlock(&CL->lock);
	return q;
}

struct aif_cl_queue *aif_cl_queue_get(void *queue)
{
	struct aif_cl_queue *q = aif_handles_get(&CL->queues, queue);
	uint64_t properties = 0;
	void *device = NULL;

	if (aif_likely(q != NULL))
		return q;
	if (!queue ||
	    TARGET->clGetCommandQueueInfo(queue, AIF_CL_QUEUE_DEVICE, sizeof(device), &device,
					  NULL) < 0 ||
	    TARGET->clGetCommandQueueInfo(queue, AIF_CL_QUEUE_PROPERTIES, sizeof(properties),
					  &properties, NULL) < 0)
		return NULL;
	pthread_mutex_lock(&CL->lock);
	q = aif_handles_get(&CL->queues, queue);
	if (!q) /* no probing on a launch path */
		q = queue_make(queue, NULL, device, properties & AIF_CL_QUEUE_PROFILING_ENABLE,
			       properties, NULL, false);
	pthread_mutex_unlock(&CL->lock);
	return q;
}

static struct aif_cl_program *program_make(void *program)
{
	struct aif_cl_program *p = aif_arena_alloc(&CL->arena, sizeof(*p));

	if (!p || aif_handles_put(&CL->programs, program, p) < 0)
		return NULL;
	p->id = CL->program_ids++;
	p->handle = program;
	return p;
}

struct aif_cl_program *aif_cl_program_new(void *program)
{
	struct aif_cl_program *p;

	pthread_mutex_lock(&CL->lock);
	p = program_make(program);
	pthread_mutex_unlock(&CL->lock);
	return p;
}

struct aif_cl_program *aif_cl_program_get(void *program)
{
	struct aif_cl_program *p = aif_handles_get(&CL->programs, program);

	if (p || !program)
		return p;
	pthread_mutex_lock(&CL->lock);
	p = aif_handles_get(&CL->programs, program);
	if (!p)
		p = program_make(program);
	pthread_mutex_unlock(&CL->lock);
	return p;
}

/* Applications that make a kernel for each launch get one description per name. */
static struct aif_cl_kernel *kernel_of(struct aif_cl_program *p, const char *name)
{
	struct aif_cl_kernel *k;

	for (k = p->kernels; k; k = k->next)
		if (!strcmp(k->name, name))
			return k;
	k = aif_arena_alloc(&CL->arena, sizeof(*k));
	if (!k)
		return NULL;
	k->name = aif_arena_strdup(&CL->arena, name);
	if (!k->name)
		return NULL;
	k->id = CL->kernel_ids++;
	k->program = p;
	k->next = p->kernels;
	p->kernels = k;
	return k;
}

void aif_cl_kernel_new(void *kernel, void *program, const char *name)
{
	struct aif_cl_program *p = aif_cl_program_get(program);

	if (!p)
		return;
	pthread_mutex_lock(&CL->lock);
	aif_handles_put(&CL->kernels, kernel, kernel_of(p, name));
	pthread_mutex_unlock(&CL->lock);
}

void aif_cl_kernel_forget(void *kernel)
{
	pthread_mutex_lock(&CL->lock);
	if (aif_handles_get(&CL->kernels, kernel))
		aif_handles_put(&CL->kernels, kernel, NULL);
	pthread_mutex_unlock(&CL->lock);
}

struct aif_cl_kernel *aif_cl_kernel_get(void *kernel)
{
	struct aif_cl_kernel *k = aif_handles_get(&CL->kernels, kernel);
	void *program = NULL;
	char name[4096];

	if (aif_likely(k != NULL))
		return k;
	if (!kernel ||
	    TARGET->clGetKernelInfo(kernel, AIF_CL_KERNEL_PROGRAM, sizeof(program), &program,
				    NULL) < 0 ||
	    TARGET->clGetKernelInfo(kernel, AIF_CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL) <
		    0)
		return NULL;
	name[sizeof(name) - 1] = '\0';
	aif_cl_kernel_new(kernel, program, name);
	return aif_handles_get(&CL->kernels, kernel);
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool is_defined(_Atomic uint32_t *defined_gen, const struct aif_thread *t)
{
	return atomic_load_explicit(defined_gen, memory_order_relaxed) == t->generation;
}

static bool device_define(struct aif_thread *t, struct aif_cl_device *d)
{
	if (is_defined(&d->defined_gen, t))
		return true;
	if (!aif_emit_device(t, &d->desc))
		return false;
	d->defined_gen = t->generation;
	return true;
}

void aif_cl_device_define(struct aif_thread *t, struct aif_cl_device *d)
{
	if (aif_likely(is_defined(&d->defined_gen, t)))
		return;
	pthread_mutex_lock(&CL->lock);
	device_define(t, d);
	pthread_mutex_unlock(&CL->lock);
}

struct aif_cl_device *aif_cl_context_device(void *context)
{
	void *devices[64] = {NULL};
	struct aif_cl_device *d;

	if (TARGET->clGetContextInfo(context, AIF_CL_CONTEXT_DEVICES, sizeof(devices), devices,
				     NULL) < 0 ||
	    !devices[0])
		return NULL;
	pthread_mutex_lock(&CL->lock);
	d = device_get(context, devices[0], true);
	pthread_mutex_unlock(&CL->lock);
	return d;
}

static void queue_define(struct aif_thread *t, struct aif_cl_queue *q)
{
	if (!device_define(t, q->device))
		return;
	if (!is_defined(&q->defined_gen, t) &&
	    aif_emit_stream(t, q->id, q->device->desc.id, q->ordinal, q->out_of_order))
		q->defined_gen = t->generation;
}

void aif_cl_queue_define(struct aif_thread *t, struct aif_cl_queue *q)
{
	if (aif_likely(is_defined(&q->defined_gen, t)))
		return;
	pthread_mutex_lock(&CL->lock);
	queue_define(t, q);
	pthread_mutex_unlock(&CL->lock);
}

/* The options of the program's first device, as the driver has them. */
static void options_of(void *program, char *text, size_t size)
{
	void *devices[64] = {NULL};

	text[0] = '\0';
	if (TARGET->clGetProgramInfo(program, AIF_CL_PROGRAM_DEVICES, sizeof(devices), devices,
				     NULL) < 0 ||
	    TARGET->clGetProgramBuildInfo(program, devices[0], AIF_CL_PROGRAM_BUILD_OPTIONS, size,
					  text, NULL) < 0)
		text[0] = '\0';
	text[size - 1] = '\0';
}

/* Leaves a program's SPIR-V, which the driver has as long as the program is there, for the recorder and returns its
 * hash. 0: the program was made of something else, or the driver is older than OpenCL 2.1. */
static uint64_t il_of(void *program)
{
	size_t size = 0;
	uint64_t hash = 0;
	uint8_t *il;

	if (TARGET->clGetProgramInfo(program, AIF_CL_PROGRAM_IL, 0, NULL, &size) < 0 || !size ||
	    size > AIF_OBJECT_MAX)
		return 0;
	il = aif_pages(size);
	if (!il)
		return 0;
	if (TARGET->clGetProgramInfo(program, AIF_CL_PROGRAM_IL, size, il, NULL) >= 0)
		hash = aif_hash_bytes(il, size);
	if (hash && !aif_object_keep(aif_object_source(hash), il, size))
		hash = 0;
	munmap(il, size);
	return hash;
}

static void program_define(struct aif_thread *t, struct aif_cl_program *p)
{
	char options[4096];
	char *source = NULL;
	size_t size = 0;
	uint64_t il;

	if (!p->app_options)
		options_of(p->handle, options, sizeof(options));
	if (!(aif_agent.session.options & AIF_OPTION_NO_SOURCE) &&
	    TARGET->clGetProgramInfo(p->handle, AIF_CL_PROGRAM_SOURCE, 0, NULL, &size) == 0 &&
	    size > 1)
		source = aif_pages(size);
	if (source &&
	    TARGET->clGetProgramInfo(p->handle, AIF_CL_PROGRAM_SOURCE, size, source, NULL) < 0)
		source[0] = '\0';
	il = source ? 0 : il_of(p->handle);
	if (aif_emit_program(t, p->id, p->app_options ? p->app_options : options, source,
			     source ? strnlen(source, size) : 0, il))
		p->defined_gen = t->generation;
	if (source)
		munmap(source, size);
}

static void kernel_define(struct aif_thread *t, struct aif_cl_kernel *k)
{
	if (!is_defined(&k->program->defined_gen, t))
		program_define(t, k->program);
	if (!is_defined(&k->defined_gen, t) && aif_emit_kernel(t, k->id, k->program->id, k->name))
		k->defined_gen = t->generation;
}

void aif_cl_kernel_define(struct aif_thread *t, struct aif_cl_kernel *k)
{
	if (aif_likely(is_defined(&k->defined_gen, t)))
		return;
	pthread_mutex_lock(&CL->lock);
	kernel_define(t, k);
	pthread_mutex_unlock(&CL->lock);
}
