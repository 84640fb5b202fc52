/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NONE -1

enum call {
#define X(class, call, slot, prologue, epilogue) class##call,
#define N(class, call, prologue, epilogue)       class##call,
#include "agent/level_zero/ze_calls.def"
#undef X
#undef N
	CALLS_LEN
};
static_assert(CALLS_LEN <=
		      sizeof(((struct aif_level_zero *)0)->calls) / sizeof(struct aif_emit_api),
	      "calls");

/* ---- what each does -------------------------------------------------------------------------- */

#define nothing NULL

/* Enum aif_host_call_id by enum call, of calls that can hold a thread up. */
static const enum aif_host_call_id ids[CALLS_LEN] = {
	[CommandQueueSynchronize] = AIF_CALL_zeCommandQueueSynchronize,
	[CommandListHostSynchronize] = AIF_CALL_zeCommandListHostSynchronize,
	[FenceHostSynchronize] = AIF_CALL_zeFenceHostSynchronize,
	[EventHostSynchronize] = AIF_CALL_zeEventHostSynchronize,
	[ModuleCreate] = AIF_CALL_zeModuleCreate,
	[KernelCreate] = AIF_CALL_zeKernelCreate,
	[MemAllocShared] = AIF_CALL_zeMemAllocShared,
	[MemAllocDevice] = AIF_CALL_zeMemAllocDevice,
	[MemAllocHost] = AIF_CALL_zeMemAllocHost,
	[MemFree] = AIF_CALL_zeMemFree,
};

typedef void what(const struct aif_ze_call *c);

/* An append's event is the argument after these. */
static void append(const struct aif_ze_call *c, unsigned event, struct aif_ze_append *a)
{
	a->list = AIF_ZE_ARG(c, 0, void *);
	a->event = c->a[event];
	aif_ze_append_begin(c, a);
}

/* group: NULL = as it was set for the kernel. */
static void kernel(const struct aif_ze_call *c, const struct aif_ze_group_count *count,
		   const struct aif_ze_group_count *group, unsigned event)
{
	struct aif_ze_handle *h = aif_ze_kernel_get(c->l0, AIF_ZE_ARG(c, 1, void *));
	struct aif_ze_append a = {.kind = AIF_EMIT_KERNEL};
	uint32_t size[3] = {0};

	for (unsigned i = 0; h && i < 3; i++)
		size[i] = atomic_load_explicit(&h->group[i], memory_order_relaxed);
	if (group) {
		size[0] = group->x;
		size[1] = group->y;
		size[2] = group->z;
	}
	a.kernel = h ? h->kernel : NULL;
	aif_ze_shape(count, size, &a.shape);
	append(c, event, &a);
}

static void launch_kernel(const struct aif_ze_call *c)
{
	kernel(c, AIF_ZE_ARG(c, 2, const struct aif_ze_group_count *), NULL, 3);
}

/* Launches a kernel whose number of groups is read from memory when it executes. */
static void launch_indirect(const struct aif_ze_call *c)
{
	kernel(c, NULL, NULL, 3);
}

/* Specification 1.14: number and size of groups are arguments themselves. */
static void launch_with_arguments(const struct aif_ze_call *c)
{
	kernel(c, c->a[2], c->a[3], 6);
}

static void launch_with_parameters(const struct aif_ze_call *c)
{
	kernel(c, AIF_ZE_ARG(c, 2, const struct aif_ze_group_count *), NULL, 4);
}

/* Launches several kernels as one command, with one event for all of them. */
static void launch_multiple(const struct aif_ze_call *c)
{
	static const uint32_t unknown[3];
	struct aif_ze_append a = {.kind = AIF_EMIT_KERNEL};

	a.kernel = aif_ze_kernel_of_several(c->l0, AIF_ZE_ARG(c, 2, void **),
					    AIF_ZE_ARG(c, 1, uint32_t));
	aif_ze_shape(NULL, unknown, &a.shape);
	append(c, 5, &a);
}

static uint32_t memory_of(const struct aif_ze_call *c, const void *at)
{
	struct aif_ze_memory_properties p = {.stype = AIF_ZE_MEMORY_PROPS};
	struct aif_ze_list *list = aif_ze_list_get(c->l0, AIF_ZE_ARG(c, 0, void *));

	return list && list->context &&
			       c->l0->api.zeMemGetAllocProperties(list->context->handle, at, &p,
								  NULL) == AIF_ZE_SUCCESS
		       ? p.type
		       : AIF_ZE_MEMORY_HOST; /* not of this runtime: ordinary memory */
}

static void copy(const struct aif_ze_call *c, unsigned event, unsigned from, uint64_t bytes)
{
	struct aif_ze_append a = {.kind = AIF_EMIT_COPY, .bytes = bytes};

	if (!aif_thread_asleep())
		a.kind = aif_ze_copy_kind(memory_of(c, AIF_ZE_ARG(c, 1, void *)),
					  memory_of(c, AIF_ZE_ARG(c, from, void *)));
	append(c, event, &a);
}

static void memory_copy(const struct aif_ze_call *c)
{
	copy(c, 4, 2, AIF_ZE_ARG(c, 3, size_t));
}

static void memory_copy_region(const struct aif_ze_call *c)
{
	copy(c, 9, 5, aif_ze_region_bytes(AIF_ZE_ARG(c, 2, const struct aif_ze_copy_region *)));
}

static void memory_copy_from_context(const struct aif_ze_call *c)
{
	struct aif_ze_append a = {.kind = AIF_EMIT_COPY, .bytes = AIF_ZE_ARG(c, 4, size_t)};

	append(c, 5, &a);
}

static void memory_fill(const struct aif_ze_call *c)
{
	struct aif_ze_append a = {.kind = AIF_EMIT_FILL, .bytes = AIF_ZE_ARG(c, 4, size_t)};

	append(c, 5, &a);
}

/* Appends an image copy, without bytes: only the image knows the size of its elements. */
static void image(const struct aif_ze_call *c, unsigned event, enum aif_emit_kind kind)
{
	struct aif_ze_append a = {.kind = kind};

	append(c, event, &a);
}

static void image_copy(const struct aif_ze_call *c)
{
	image(c, 3, AIF_EMIT_COPY);
}

static void image_copy_region(const struct aif_ze_call *c)
{
	image(c, 5, AIF_EMIT_COPY);
}

static void image_copy_to_memory(const struct aif_ze_call *c)
{
	image(c, 4, AIF_EMIT_READ);
}

static void image_copy_from_memory(const struct aif_ze_call *c)
{
	image(c, 4, AIF_EMIT_WRITE);
}

/* Not work of the device's, but its event may have been a launch's before. */
static void signals(const struct aif_ze_call *c, unsigned event)
{
	if (AIF_ZE_ARG(c, event, void *))
		aif_ze_app_event_reuse(c->l0, AIF_ZE_ARG(c, event, void *), false);
}

static void signals_1(const struct aif_ze_call *c)
{
	signals(c, 1);
}

static void barrier(const struct aif_ze_call *c)
{
	signals(c, 1);
	aif_ze_barrier_begin(c);
}

static void barrier_end(const struct aif_ze_call *c)
{
	aif_ze_barrier_end(c, "zeCommandListAppendBarrier");
}

static void ranges_barrier(const struct aif_ze_call *c)
{
	signals(c, 4);
	aif_ze_barrier_begin(c);
}

static void ranges_barrier_end(const struct aif_ze_call *c)
{
	aif_ze_barrier_end(c, "zeCommandListAppendMemoryRangesBarrier");
}

static void event_reset(const struct aif_ze_call *c)
{
	aif_ze_app_event_reuse(c->l0, AIF_ZE_ARG(c, 0, void *), true);
}

static void list_create(const struct aif_ze_call *c)
{
	aif_ze_list_created(c, false);
}

static void list_create_immediate(const struct aif_ze_call *c)
{
	aif_ze_list_created(c, true);
}

/* A call that can hold its thread up (base/host_calls.def). Its two callbacks share the thread, which has the token. */
static void call_begin(const struct aif_ze_call *c)
{
	uint32_t token = aif_host_call_begin(c->id, AIF_OPTION_CALLS, AIF_HOST_CALL_SHORT_NS,
					     c->regs, c->api);

	if (!aif_self)
		return;
	aif_self->wait = (struct aif_wait){.since = 0};
	aif_self->call_token = token;
	if (token)
		*c->instance = aif_self;
}

static void call_end(const struct aif_ze_call *c)
{
	if (*c->instance && *c->instance == aif_self)
		aif_host_call_end(aif_self->call_token, c->regs, c->api);
}

/* The prologue's frame is gone while the call waits, so samples in between cannot start from it (--wall): they show
 * the driver's frames. */
static void wait_begin(const struct aif_ze_call *c)
{
	struct aif_wait w = {.since = 0};

	call_begin(c);
	if (atomic_load_explicit(&aif_agent.cpu.wait_period_ns, memory_order_relaxed) ==
	    AIF_WAIT_SAMPLED)
		return;
	aif_wait_begin(&w, c->regs, c->api);
	if (!w.since || !aif_self)
		return;
	aif_self->wait = w;
	*c->instance = aif_self;
}

static void wait_end(const struct aif_ze_call *c)
{
	if (!*c->instance || *c->instance != aif_self)
		return;
	if (aif_self->wait.since)
		aif_wait_end(&aif_self->wait, c->regs, c->api);
	call_end(c);
}

static void mem_shared_end(const struct aif_ze_call *c)
{
	call_end(c);
	aif_ze_memory_allocated(c, AIF_ZE_ARG(c, 5, void *), AIF_ZE_ARG(c, 3, size_t),
				AIF_ZE_ARG(c, 6, void *const *));
}

static void mem_device_end(const struct aif_ze_call *c)
{
	call_end(c);
	aif_ze_memory_allocated(c, AIF_ZE_ARG(c, 4, void *), AIF_ZE_ARG(c, 2, size_t),
				AIF_ZE_ARG(c, 5, void *const *));
}

static void mem_host_end(const struct aif_ze_call *c)
{
	call_end(c);
	aif_ze_memory_allocated(c, NULL, AIF_ZE_ARG(c, 2, size_t), AIF_ZE_ARG(c, 4, void *const *));
}

static void mem_free(const struct aif_ze_call *c)
{
	aif_ze_memory_free_begin(c, AIF_ZE_ARG(c, 1, const void *));
	call_begin(c);
}

static void mem_free_ext(const struct aif_ze_call *c)
{
	aif_ze_memory_free_begin(c, AIF_ZE_ARG(c, 2, const void *));
}

static void module_create_end(const struct aif_ze_call *c)
{
	call_end(c);
	aif_ze_module_created(c);
}

static void kernel_create_end(const struct aif_ze_call *c)
{
	call_end(c);
	aif_ze_kernel_created(c);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static AIF_NOINLINE void on_call(enum call which, what *do_it, void **a, uint32_t result,
				 void *user, void **instance, const struct aif_regs *regs)
{
	struct aif_level_zero *l0 = L0;
	struct aif_ze_call c = {
		.l0 = l0, .a = a, .result = result, .instance = instance, .regs = regs};
	int saved = errno;

	/* A parent's tracer calls a child, too: one that has nothing of its own yet holds its parent's, whose lock may
	 * have been taken at the fork. */
	if (!l0 || user != l0 ||
	    !atomic_load_explicit(&aif_agent.session.armed->generation, memory_order_acquire))
		return;
	c.api = &l0->calls[which];
	c.id = ids[which];
	do_it(&c);
	errno = saved;
}

#define CALLBACKS(name, prologue, epilogue)                                                   \
	static void before_##name(void **a, uint32_t result, void *user, void **instance)     \
	{                                                                                     \
		what *do_it = prologue;                                                       \
		struct aif_regs regs;                                                         \
                                                                                              \
		AIF_REGS_HERE(&regs);                                                         \
		*instance = NULL;                                                             \
		if (do_it)                                                                    \
			on_call(name, do_it, a, result, user, instance, &regs);               \
		__asm__ volatile("" ::: "memory"); /* no tail call: its frame is the first */ \
	}                                                                                     \
	static void after_##name(void **a, uint32_t result, void *user, void **instance)      \
	{                                                                                     \
		what *do_it = epilogue;                                                       \
		struct aif_regs regs;                                                         \
                                                                                              \
		AIF_REGS_HERE(&regs);                                                         \
		if (do_it)                                                                    \
			on_call(name, do_it, a, result, user, instance, &regs);               \
		__asm__ volatile("" ::: "memory");                                            \
	}
#define X(class, call, slot, prologue, epilogue) CALLBACKS(class##call, prologue, epilogue)
#define N(class, call, prologue, epilogue)       CALLBACKS(class##call, prologue, epilogue)
#include "agent/level_zero/ze_calls.def"
#undef X
#undef N

static const struct traced {
	const char *name;
	int slot;
	aif_ze_callback *before, *after;
	what *epilogue; /* what `after` does; NULL: nothing */
} traced[CALLS_LEN] = {
#define ROW(name, slot, prologue, epilogue)      {#name, slot, before_##name, after_##name, epilogue},
#define X(class, call, slot, prologue, epilogue) ROW(class##call, slot, prologue, epilogue)
#define N(class, call, prologue, epilogue)       ROW(class##call, NONE, prologue, epilogue)
#include "agent/level_zero/ze_calls.def"
#undef X
#undef N
};

enum { PROLOGUE = 0, EPILOGUE = 1 };

uint32_t aif_ze_calls_register(struct aif_level_zero *l0)
{
	void *before[AIF_ZE_CALLBACKS] = {NULL}, *after[AIF_ZE_CALLBACKS] = {NULL};
	bool one_by_one = false;
	uint32_t r = AIF_ZE_SUCCESS;
	char name[128];

	for (unsigned i = 0; i < CALLS_LEN && r == AIF_ZE_SUCCESS; i++) {
		const struct traced *c = &traced[i];
		uint32_t (*add)(void *tracer, int when, aif_ze_callback *f);

		snprintf(name, sizeof(name), "zelTracer%sRegisterCallback", c->name);
		add = (uint32_t(*)(void *, int, aif_ze_callback *))dlsym(l0->library, name);
		if (add) {
			one_by_one = true;
			/* The prologue also where there is nothing to do: it makes the instance NULL. */
			r = add(l0->tracer, PROLOGUE, c->before);
			if (r == AIF_ZE_SUCCESS && c->epilogue)
				r = add(l0->tracer, EPILOGUE, c->after);
		} else if (c->slot != NONE) {
			before[c->slot] = (void *)c->before;
			after[c->slot] = c->epilogue ? (void *)c->after : NULL;
		}
	}
	if (one_by_one || r != AIF_ZE_SUCCESS)
		return r;
	if (!l0->api.zelTracerSetPrologues || !l0->api.zelTracerSetEpilogues)
		return AIF_ZE_UNINITIALIZED;
	r = l0->api.zelTracerSetPrologues(l0->tracer, before);
	return r == AIF_ZE_SUCCESS ? l0->api.zelTracerSetEpilogues(l0->tracer, after) : r;
}

void aif_ze_calls_find(struct aif_level_zero *l0)
{
	struct aif_unwind_module m, layer;
	void *lib = dlopen("libze_tracing_layer.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *in_layer = lib ? dlsym(lib, "zeGetGlobalProcAddrTable") : NULL;
	char name[128];

	if (!in_layer ||
	    !aif_unwinder_module(aif_agent.session.unwinder, (uintptr_t)in_layer, &layer))
		layer = (struct aif_unwind_module){0};
	for (unsigned i = 0; i < CALLS_LEN; i++) {
		uint64_t pc;

		snprintf(name, sizeof(name), "ze%s", traced[i].name);
		pc = (uintptr_t)dlsym(l0->library, name);
		l0->calls[i].skip_lo = layer.lo;
		l0->calls[i].skip_hi = layer.hi;
		if (!pc || !aif_unwinder_module(aif_agent.session.unwinder, pc, &m))
			continue;
		l0->calls[i].pc = pc;
		l0->calls[i].lo = m.lo;
		l0->calls[i].hi = m.hi;
	}
	if (lib)
		dlclose(lib);
}
