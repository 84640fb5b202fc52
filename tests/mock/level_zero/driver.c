/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A simulated Level Zero driver, for ZE_ENABLE_ALT_DRIVERS. It executes nothing, but keeps time as a device would:
 * what is launched begins when what was launched before it in its queue has ended, takes KERNEL_NS or COPY_NS, and
 * signals its event then. Its clock ticks each 52 ns; kernels' times have 32 bits of it.
 *
 * ZE_MOCK holds words: module_fails, kernel_fails, launch_fails, no_address, no_binary, no_times (events are never
 * signalled), no_pools (none with times), no_clock, late_binary (bytes that are no ELF file), instant (commands take
 * no time), late_return (of a launch with an event: when another thread has reset that), slow (250 times as long), two_devices, no_pci (addresses on the bus), metrics_crash (when it is started with ZET_ENABLE_METRICS=1); those of metrics.c.
 * With ZE_MOCK_REAL=PATH it hands on that driver's tables instead: a second driver that is the same; with the word
 * metrics it has our metrics.
 */

#define EXPORT    __attribute__((visibility("default")))
#define TICK_NS   52
#define KERNEL_NS 200000
#define COPY_NS   50000

static void *real;

int mock_has(const char *word);
void mock_fill_metrics(const char *name, void *at);
unsigned mock_device(const void *device);

#define has mock_has

int mock_has(const char *word)
{
	static const char *words;

	if (!words)
		words = getenv("ZE_MOCK") ? getenv("ZE_MOCK") : "";
	return strstr(words, word) != NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct pool {
	uint32_t flags;
};
struct event {
	struct pool *pool;
	uint64_t start, end; /* ns; 0 = not signalled */
	struct { /* of what will signal it, one after the other, over what it tells until then */
		uint64_t start, end;
	} next[64];
	unsigned next_len;
	_Atomic unsigned resets;
};
struct command {
	struct event *event;
	struct mock_query *query; /* that it ends */
	uint64_t ns;
};
struct list {
	int immediate;
	uint64_t busy_until;
	struct command *commands;
	size_t len, cap;
};
struct queue {
	uint64_t busy_until;
};
struct module {
	size_t size;
	unsigned char *bytes;
	uint64_t base;
	unsigned kernels, device;
};
struct kernel {
	struct module *module;
	uint64_t address;
	char name[128];
};

/* Handles that stand for themselves. */
static int driver_object, device_objects[2], sub_objects[2];

unsigned mock_device(const void *device)
{
	return device == &device_objects[1];
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int bases[2][64]; /* in use: addresses come back, and are the same on each device */

/* ---- drivers, devices, contexts ---- */

static ze_result_t init(ze_init_flags_t flags)
{
	const char *metrics = getenv("ZET_ENABLE_METRICS");

	(void)flags;
	if (has("metrics_crash") && metrics && !strcmp(metrics, "1"))
		raise(SIGSEGV);
	return has("init_fails") ? ZE_RESULT_ERROR_UNINITIALIZED : ZE_RESULT_SUCCESS;
}

static ze_result_t give(uint32_t *n, void **to, void *first, size_t size, uint32_t have)
{
	uint32_t want = *n;

	*n = have;
	if (!want || !to)
		return ZE_RESULT_SUCCESS;
	*n = want < have ? want : have;
	for (uint32_t i = 0; i < *n; i++)
		to[i] = (char *)first + i * size;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get(uint32_t *n, ze_driver_handle_t *to)
{
	return give(n, (void **)to, &driver_object, sizeof(driver_object), 1);
}

static ze_result_t driver_properties(ze_driver_handle_t d, ze_driver_properties_t *p)
{
	(void)d;
	p->driverVersion = 1 << 24 | 2 << 16 | 3;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t d, uint32_t *n, ze_device_handle_t *to)
{
	(void)d;
	return give(n, (void **)to, device_objects, sizeof(device_objects[0]),
		    has("two_devices") ? 2 : 1);
}

static ze_result_t device_subs(ze_device_handle_t d, uint32_t *n, ze_device_handle_t *to)
{
	return give(n, (void **)to, sub_objects, sizeof(sub_objects[0]),
		    (void *)d == &device_objects[0] ? 2 : 0);
}

static ze_result_t device_properties(ze_device_handle_t d, ze_device_properties_t *p)
{
	int *at = (int *)d;

	p->type = ZE_DEVICE_TYPE_GPU;
	p->vendorId = 0x8086;
	p->flags = at >= device_objects && at < device_objects + 2
			   ? 0
			   : ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
	p->subdeviceId =
		at >= device_objects && at < device_objects + 2 ? 0 : (uint32_t)(at - sub_objects);
	p->numSlices = 1;
	p->numSubslicesPerSlice = 8;
	p->numEUsPerSubslice = 8;
	p->timerResolution = TICK_NS;
	p->timestampValidBits = 36;
	p->kernelTimestampValidBits = 32;
	strcpy(p->name, "Simulated GPU");
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_pci(ze_device_handle_t d, ze_pci_ext_properties_t *p)
{
	if (has("no_pci"))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	p->address = (ze_pci_address_ext_t){.bus = 0x10 + mock_device(d)};
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_timestamps(ze_device_handle_t d, uint64_t *host, uint64_t *device)
{
	(void)d;
	if (has("no_clock"))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	*host = now_ns();
	*device = *host / TICK_NS & ((UINT64_C(1) << 36) - 1);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_create(ze_driver_handle_t d, const ze_context_desc_t *desc,
				  ze_context_handle_t *ret)
{
	(void)d, (void)desc;
	*ret = calloc(1, 8);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t c)
{
	free(c);
	return ZE_RESULT_SUCCESS;
}

/* ---- events ---- */

static ze_result_t pool_create(ze_context_handle_t c, const ze_event_pool_desc_t *desc, uint32_t n,
			       ze_device_handle_t *devices, ze_event_pool_handle_t *ret)
{
	struct pool *p;

	(void)c, (void)n, (void)devices;
	if (has("no_pools") && (desc->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP))
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	p = calloc(1, sizeof(*p));
	p->flags = desc->flags;
	*ret = (void *)p;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t p)
{
	free(p);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
				ze_event_handle_t *ret)
{
	struct event *e = calloc(1, sizeof(*e));

	(void)desc;
	e->pool = (struct pool *)pool;
	*ret = (void *)e;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t e)
{
	memset((void *)e, 0xee, sizeof(struct event)); /* who uses it yet is found out */
	free(e);
	return ZE_RESULT_SUCCESS;
}

static int is_signalled(struct event *e)
{
	while (e->next_len && e->next[0].end <= now_ns()) {
		e->start = e->next[0].start;
		e->end = e->next[0].end;
		memmove(e->next, e->next + 1, --e->next_len * sizeof(e->next[0]));
	}
	return e->end && e->end <= now_ns() && !has("no_times");
}

ze_result_t mock_event_status(ze_event_handle_t h)
{
	return is_signalled((struct event *)h) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static void wait_until(uint64_t ns)
{
	uint64_t now = now_ns();
	struct timespec t = {.tv_sec = (time_t)((ns - now) / 1000000000),
			     .tv_nsec = (long)((ns - now) % 1000000000)};

	if (ns > now)
		nanosleep(&t, NULL);
}

static ze_result_t event_wait(ze_event_handle_t h, uint64_t timeout)
{
	struct event *e = (struct event *)h;

	(void)timeout;
	if (is_signalled(e))
		return ZE_RESULT_SUCCESS;
	if (!e->next_len)
		return ZE_RESULT_NOT_READY;
	wait_until(e->next[0].end);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_reset(ze_event_handle_t h)
{
	struct event *e = (struct event *)h;

	(void)is_signalled(e);
	e->start = e->end = 0;
	e->resets++;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_times(ze_event_handle_t h, ze_kernel_timestamp_result_t *ret)
{
	struct event *e = (struct event *)h;

	if (!is_signalled(e))
		return ZE_RESULT_NOT_READY;
	if (!(e->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	ret->global.kernelStart = (uint32_t)(e->start / TICK_NS);
	ret->global.kernelEnd = (uint32_t)(e->end / TICK_NS);
	ret->context = ret->global;
	return ZE_RESULT_SUCCESS;
}

/* ---- queues and lists ---- */

static ze_result_t queue_create(ze_context_handle_t c, ze_device_handle_t d,
				const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *ret)
{
	(void)c, (void)d, (void)desc;
	*ret = calloc(1, sizeof(struct queue));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_destroy(ze_command_queue_handle_t q)
{
	free(q);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_wait(ze_command_queue_handle_t q, uint64_t timeout)
{
	(void)timeout;
	wait_until(((struct queue *)q)->busy_until);
	return ZE_RESULT_SUCCESS;
}

static void run(uint64_t *busy_until, const struct command *c)
{
	uint64_t now = now_ns(), start = *busy_until > now ? *busy_until : now;

	*busy_until = start + c->ns;
	if (c->query)
		mock_query_ran(c->query);
	if (!c->event)
		return;
	(void)is_signalled(c->event);
	if (c->event->next_len == 64)
		abort();
	c->event->next[c->event->next_len].start = start;
	c->event->next[c->event->next_len++].end = *busy_until;
}

static ze_result_t queue_execute(ze_command_queue_handle_t h, uint32_t n,
				 ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	struct queue *q = (struct queue *)h;

	(void)fence;
	if (has("execute_fails"))
		return ZE_RESULT_ERROR_DEVICE_LOST;
	for (uint32_t i = 0; i < n; i++) {
		const struct list *l = (struct list *)lists[i];

		for (size_t k = 0; k < l->len; k++)
			run(&q->busy_until, &l->commands[k]);
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create(ze_context_handle_t c, ze_device_handle_t d,
			       const ze_command_list_desc_t *desc, ze_command_list_handle_t *ret)
{
	(void)c, (void)d, (void)desc;
	*ret = calloc(1, sizeof(struct list));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create_immediate(ze_context_handle_t c, ze_device_handle_t d,
					 const ze_command_queue_desc_t *desc,
					 ze_command_list_handle_t *ret)
{
	struct list *l = calloc(1, sizeof(*l));

	(void)c, (void)d, (void)desc;
	l->immediate = 1;
	*ret = (void *)l;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t h)
{
	struct list *l = (struct list *)h;

	if (l->immediate)
		wait_until(l->busy_until);
	free(l->commands);
	free(l);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_close(ze_command_list_handle_t h)
{
	(void)h;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_reset(ze_command_list_handle_t h)
{
	((struct list *)h)->len = 0;
	return ZE_RESULT_SUCCESS;
}

ze_result_t mock_append(ze_command_list_handle_t h, uint64_t ns, ze_event_handle_t event,
			struct mock_query *q)
{
	struct list *l = (struct list *)h;
	struct command c = {.event = (struct event *)event,
			    .query = q,
			    .ns = has("instant") ? 0
				  : has("slow")  ? ns * 250
						 : ns};

	if (l->immediate) {
		run(&l->busy_until, &c);
		return ZE_RESULT_SUCCESS;
	}
	if (l->len == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 16;
		l->commands = realloc(l->commands, l->cap * sizeof(c));
	}
	l->commands[l->len++] = c;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_launch(ze_command_list_handle_t l, ze_kernel_handle_t k,
				 const ze_group_count_t *groups, ze_event_handle_t event,
				 uint32_t n, ze_event_handle_t *waits)
{
	struct event *e = (struct event *)event;
	unsigned resets = e ? e->resets : 0;
	ze_result_t r = has("launch_fails") ? ZE_RESULT_ERROR_INVALID_ARGUMENT
					    : mock_append(l, KERNEL_NS, event, NULL);

	(void)k, (void)groups, (void)n, (void)waits;
	for (unsigned i = 0; e && has("late_return") && e->resets == resets && i < 4000; i++)
		wait_until(now_ns() + 10000000);
	return r;
}

static ze_result_t append_multiple(ze_command_list_handle_t l, uint32_t kernels,
				   ze_kernel_handle_t *k, const uint32_t *count,
				   const ze_group_count_t *groups, ze_event_handle_t event,
				   uint32_t n, ze_event_handle_t *waits)
{
	(void)k, (void)count, (void)groups, (void)n, (void)waits;
	return mock_append(l, (uint64_t)kernels * KERNEL_NS, event, NULL);
}

static ze_result_t append_copy(ze_command_list_handle_t l, void *to, const void *from, size_t size,
			       ze_event_handle_t event, uint32_t n, ze_event_handle_t *waits)
{
	(void)to, (void)from, (void)size, (void)n, (void)waits;
	return mock_append(l, COPY_NS, event, NULL);
}

static ze_result_t append_fill(ze_command_list_handle_t l, void *to, const void *pattern,
			       size_t pattern_size, size_t size, ze_event_handle_t event,
			       uint32_t n, ze_event_handle_t *waits)
{
	(void)to, (void)pattern, (void)pattern_size, (void)size, (void)n, (void)waits;
	return mock_append(l, COPY_NS, event, NULL);
}

static ze_result_t append_barrier(ze_command_list_handle_t l, ze_event_handle_t event, uint32_t n,
				  ze_event_handle_t *waits)
{
	(void)n, (void)waits;
	return mock_append(l, 0, event, NULL);
}

/* ---- memory: device memory is what zeMemAllocDevice() gave last ---- */

static void *last_device, *shared[8];
static ze_device_handle_t memory_device;
static unsigned shared_len;

static ze_result_t mem_shared(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *dd,
			      const ze_host_mem_alloc_desc_t *hd, size_t size, size_t align,
			      ze_device_handle_t d, void **ret)
{
	(void)c, (void)dd, (void)hd, (void)align;
	memory_device = d;
	*ret = shared[shared_len++ % 8] = calloc(1, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_device(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *dd,
			      size_t size, size_t align, ze_device_handle_t d, void **ret)
{
	(void)c, (void)dd, (void)align;
	memory_device = d;
	*ret = last_device = calloc(1, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_host(ze_context_handle_t c, const ze_host_mem_alloc_desc_t *hd, size_t size,
			    size_t align, void **ret)
{
	(void)c, (void)hd, (void)align;
	*ret = calloc(1, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_free(ze_context_handle_t c, void *at)
{
	(void)c;
	free(at);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_properties(ze_context_handle_t c, const void *at,
				  ze_memory_allocation_properties_t *p, ze_device_handle_t *d)
{
	(void)c;
	p->type = at == last_device ? ZE_MEMORY_TYPE_DEVICE : ZE_MEMORY_TYPE_UNKNOWN;
	for (unsigned i = 0; i < 8; i++)
		if (at == shared[i])
			p->type = ZE_MEMORY_TYPE_SHARED;
	if (d)
		*d = p->type == ZE_MEMORY_TYPE_UNKNOWN ? NULL : memory_device;
	return ZE_RESULT_SUCCESS;
}

/* ---- modules ---- */

static ze_result_t module_create(ze_context_handle_t c, ze_device_handle_t d,
				 const ze_module_desc_t *desc, ze_module_handle_t *ret,
				 ze_module_build_log_handle_t *log)
{
	struct module *m;
	unsigned i;

	(void)c, (void)log;
	*ret = NULL;
	if (has("module_fails"))
		return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	m = calloc(1, sizeof(*m));
	m->size = desc->inputSize;
	m->bytes = malloc(m->size);
	memcpy(m->bytes, desc->pInputModule, m->size);
	pthread_mutex_lock(&lock);
	m->device = mock_device(d);
	for (i = 0; i < 63 && bases[m->device][i]; i++)
		;
	bases[m->device][i] = 1;
	pthread_mutex_unlock(&lock);
	m->base = UINT64_C(0x800000000000) + i * UINT64_C(0x100000);
	*ret = (void *)m;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_destroy(ze_module_handle_t h)
{
	struct module *m = (struct module *)h;

	bases[m->device][(m->base - UINT64_C(0x800000000000)) / 0x100000] = 0;
	free(m->bytes);
	free(m);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_binary(ze_module_handle_t h, size_t *size, uint8_t *to)
{
	const struct module *m = (struct module *)h;

	if (has("no_binary"))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	if (to)
		memcpy(to, m->bytes, *size < m->size ? *size : m->size);
	*size = m->size;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_create(ze_module_handle_t h, const ze_kernel_desc_t *desc,
				 ze_kernel_handle_t *ret)
{
	struct kernel *k = calloc(1, sizeof(*k));

	k->module = (struct module *)h;
	k->address = k->module->base + 0x1000 * k->module->kernels++;
	snprintf(k->name, sizeof(k->name), "%s", desc->pKernelName);
	*ret = (void *)k;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t k)
{
	free(k);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_group(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z)
{
	(void)k, (void)x, (void)y, (void)z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_argument(ze_kernel_handle_t k, uint32_t i, size_t size, const void *at)
{
	(void)k, (void)i, (void)size, (void)at;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t base_address(ze_kernel_handle_t k, uint64_t *ret)
{
	*ret = ((struct kernel *)k)->address;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t extension(ze_driver_handle_t d, const char *name, void **ret)
{
	(void)d;
	*ret = !strcmp(name, "zexKernelGetBaseAddress") && !has("no_address") ? (void *)base_address
									      : NULL;
	return *ret ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* ---- tables ---- */

static void fill(const char *name, void *at)
{
#define TABLE(function, type, ...)            \
	if (!strcmp(name, #function)) {       \
		const type t = {__VA_ARGS__}; \
		memcpy(at, &t, sizeof(t));    \
	}
	TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, .pfnInit = init)
	TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, .pfnGet = driver_get,
	      .pfnGetProperties = driver_properties, .pfnGetExtensionFunctionAddress = extension)
	TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, .pfnGet = device_get,
	      .pfnGetSubDevices = device_subs, .pfnGetProperties = device_properties,
	      .pfnGetGlobalTimestamps = device_timestamps, .pfnPciGetPropertiesExt = device_pci)
	TABLE(zeGetContextProcAddrTable, ze_context_dditable_t, .pfnCreate = context_create,
	      .pfnDestroy = context_destroy)
	TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t,
	      .pfnCreate = queue_create, .pfnDestroy = queue_destroy,
	      .pfnExecuteCommandLists = queue_execute, .pfnSynchronize = queue_wait)
	TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, .pfnCreate = list_create,
	      .pfnCreateImmediate = list_create_immediate, .pfnDestroy = list_destroy,
	      .pfnClose = list_close, .pfnReset = list_reset, .pfnAppendBarrier = append_barrier,
	      .pfnAppendMemoryCopy = append_copy, .pfnAppendMemoryFill = append_fill,
	      .pfnAppendLaunchKernel = append_launch,
	      .pfnAppendLaunchCooperativeKernel = append_launch,
	      .pfnAppendLaunchKernelIndirect = append_launch,
	      .pfnAppendLaunchMultipleKernelsIndirect = append_multiple)
	TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, .pfnCreate = pool_create,
	      .pfnDestroy = pool_destroy)
	TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, .pfnCreate = event_create,
	      .pfnDestroy = event_destroy, .pfnHostSynchronize = event_wait,
	      .pfnQueryStatus = mock_event_status, .pfnHostReset = event_reset,
	      .pfnQueryKernelTimestamp = event_times)
	TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, .pfnAllocShared = mem_shared,
	      .pfnAllocDevice = mem_device, .pfnAllocHost = mem_host, .pfnFree = mem_free,
	      .pfnGetAllocProperties = mem_properties)
	TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, .pfnCreate = module_create,
	      .pfnDestroy = module_destroy, .pfnGetNativeBinary = module_binary)
	TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, .pfnCreate = kernel_create,
	      .pfnDestroy = kernel_destroy, .pfnSetGroupSize = kernel_group,
	      .pfnSetArgumentValue = kernel_argument)
#undef TABLE
	mock_fill_metrics(name, at);
}

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv("ZE_MOCK_REAL");

	if (path && *path)
		real = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

#define T(function, table)                                                        \
	EXPORT ze_result_t function(ze_api_version_t version, table *t)           \
	{                                                                         \
		ze_result_t (*theirs)(ze_api_version_t, table *) =                \
			real ? (__typeof__(theirs))dlsym(real, #function) : NULL; \
                                                                                  \
		ze_result_t r = ZE_RESULT_SUCCESS;                                \
                                                                                  \
		memset(t, 0, sizeof(*t));                                         \
		if (theirs)                                                       \
			r = theirs(version, t);                                   \
		if (!real)                                                        \
			fill(#function, t);                                       \
		else if (!r && has("metrics"))                                    \
			mock_fill_metrics(#function, t);                          \
		return r;                                                         \
	}
#include "tables.def"
