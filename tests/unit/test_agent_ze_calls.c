/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that only newer loaders trace than those at hand: which argument is what. The test itself is the loader. */
#include "agent/level_zero/level_zero.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

static struct aif_ze_kernel mm = {.id = 1};
static struct aif_ze_handle handle = {.kernel = &mm, .group = {16, 1, 1}};
static struct aif_ze_append appended;
static unsigned appends, ends, executions;
static void *list_named, *event_named;

/* ---- the rest of the adapter ---- */

void aif_ze_append_begin(const struct aif_ze_call *c, const struct aif_ze_append *a)
{
	(void)c;
	appended = *a;
	appends++;
	event_named = *a->event;
}

void aif_ze_append_end(const struct aif_ze_call *c)
{
	assert_int_equal(c->result, 5);
	ends++;
}

static unsigned barriers;
static const char *barrier_named;

void aif_ze_barrier_begin(const struct aif_ze_call *c)
{
	(void)c;
	barriers++;
}

void aif_ze_barrier_end(const struct aif_ze_call *c, const char *name)
{
	(void)c;
	barrier_named = name;
}

struct aif_ze_handle *aif_ze_kernel_get(struct aif_level_zero *l0, void *kernel)
{
	(void)l0;
	return kernel == &handle ? &handle : NULL;
}

void aif_ze_lists_append(const struct aif_ze_call *c)
{
	list_named = AIF_ZE_ARG(c, 0, void *);
	assert_int_equal(AIF_ZE_ARG(c, 1, uint32_t), 3);
	executions++;
}

void aif_ze_execute_end(const struct aif_ze_call *c)
{
	(void)c;
	ends++;
}

#define NOT_CALLED(name)                       \
	void name(const struct aif_ze_call *c) \
	{                                      \
		(void)c;                       \
		fail();                        \
	}
NOT_CALLED(aif_ze_list_destroy_begin)
NOT_CALLED(aif_ze_list_destroy_end)
NOT_CALLED(aif_ze_list_reset)
NOT_CALLED(aif_ze_queue_created)
NOT_CALLED(aif_ze_execute_begin)
NOT_CALLED(aif_ze_pool_create_begin)
NOT_CALLED(aif_ze_pool_created)
NOT_CALLED(aif_ze_app_event_created)
NOT_CALLED(aif_ze_app_event_destroy_begin)
NOT_CALLED(aif_ze_module_created)
NOT_CALLED(aif_ze_module_destroy_begin)
NOT_CALLED(aif_ze_kernel_created)
NOT_CALLED(aif_ze_kernel_destroy_begin)
NOT_CALLED(aif_ze_group_size)
NOT_CALLED(aif_ze_context_destroy_begin)

static struct {
	void *device;
	uint64_t bytes;
	const void *at;
} memory;

void aif_ze_memory_allocated(const struct aif_ze_call *c, void *device, uint64_t bytes,
			     void *const *at)
{
	(void)c;
	memory.device = device;
	memory.bytes = bytes;
	memory.at = *at;
}

void aif_ze_memory_free_begin(const struct aif_ze_call *c, const void *at)
{
	(void)c;
	memory.at = at;
}

void aif_ze_list_created(const struct aif_ze_call *c, bool immediate)
{
	(void)c, (void)immediate;
	fail();
}

struct aif_ze_list *aif_ze_list_get(struct aif_level_zero *l0, void *list)
{
	(void)l0, (void)list;
	return NULL;
}

void aif_ze_app_event_reuse(struct aif_level_zero *l0, void *event, bool keeps)
{
	(void)l0, (void)event, (void)keeps;
	fail();
}

struct aif_ze_kernel *aif_ze_kernel_of_several(struct aif_level_zero *l0, void *const *kernels,
					       uint32_t n)
{
	(void)l0, (void)kernels, (void)n;
	return NULL;
}

static enum aif_host_call_id begun;
static uint32_t ended_token;

uint32_t aif_host_call_begin_slow(enum aif_host_call_id id, uint32_t least_ns,
				  const struct aif_regs *regs, const struct aif_emit_api *api)
{
	(void)least_ns, (void)regs, (void)api;
	begun = id;
	return 7;
}

void aif_host_call_end_slow(uint32_t token, const struct aif_regs *regs,
			    const struct aif_emit_api *api)
{
	(void)regs, (void)api;
	ended_token = token;
}

void aif_wait_begin_slow(struct aif_wait *w, const struct aif_regs *regs,
			 const struct aif_emit_api *api)
{
	(void)w, (void)regs, (void)api;
	fail();
}

void aif_wait_end_slow(struct aif_wait *w, const struct aif_regs *regs,
		       const struct aif_emit_api *api)
{
	(void)w, (void)regs, (void)api;
	fail();
}

bool aif_unwinder_module(struct aif_unwinder *u, uint64_t pc, struct aif_unwind_module *ret)
{
	(void)u, (void)pc, (void)ret;
	return false;
}

/* ---- the loader's half ---- */

static struct {
	aif_ze_callback *before, *after;
} traced[9];

#define REGISTER(name, index)                                                                  \
	AIF_PUBLIC uint32_t zelTracer##name##RegisterCallback(void *tracer, int when,          \
							      aif_ze_callback *f);             \
	uint32_t zelTracer##name##RegisterCallback(void *tracer, int when, aif_ze_callback *f) \
	{                                                                                      \
		(void)tracer;                                                                  \
		*(when ? &traced[index].after : &traced[index].before) = f;                    \
		return 0;                                                                      \
	}
REGISTER(CommandListAppendLaunchKernelWithArguments, 0)
REGISTER(CommandListAppendLaunchKernelWithParameters, 1)
REGISTER(CommandListImmediateAppendCommandListsExp, 2)
REGISTER(CommandListAppendBarrier, 3)
REGISTER(MemAllocShared, 4)
REGISTER(MemAllocDevice, 5)
REGISTER(MemAllocHost, 6)
REGISTER(MemFree, 7)
REGISTER(MemFreeExt, 8)

static struct aif_level_zero *adapter(void)
{
	static struct aif_level_zero l0;
	static struct aif_armed armed = {.generation = 1};

	l0.library = dlopen(NULL, RTLD_NOW);
	aif_agent.session.armed = &armed;
	atomic_store(&L0_SLOT->state, &l0);
	assert_int_equal(aif_ze_calls_register(&l0), 0);
	return &l0;
}

static void launches_with_arguments(void **state)
{
	struct aif_level_zero *l0 = adapter();
	struct aif_ze_group_count counts = {4, 8, 1}, sizes = {32, 2, 1}, *at = &counts;
	void *list = &list, *kernel = &handle, *arguments = NULL, *next = NULL, *event = &event,
	     *instance = NULL;
	void *by_value[] = {&list, &kernel, &counts, &sizes, &arguments, &next, &event};
	void *by_pointer[] = {&list, &kernel, &at, &next, &event};

	(void)state;
	traced[0].before(by_value, 0, l0, &instance);
	traced[0].after(by_value, 5, l0, &instance);
	assert_int_equal(appends, 1);
	assert_ptr_equal(appended.list, &list);
	assert_ptr_equal(event_named, &event);
	assert_ptr_equal(appended.kernel, &mm);
	assert_int_equal(appended.shape.grid[0], 128);
	assert_int_equal(appended.shape.grid[1], 16);
	assert_int_equal(appended.shape.block[0], 32);
	traced[1].before(by_pointer, 0, l0, &instance);
	traced[1].after(by_pointer, 5, l0, &instance);
	assert_int_equal(appends, 2);
	assert_int_equal(ends, 2);
	assert_ptr_equal(event_named, &event);
	/* The size that was set for the kernel. */
	assert_int_equal(appended.shape.grid[0], 64);
	assert_int_equal(appended.shape.block[0], 16);
}

static void lists_that_a_list_executes(void **state)
{
	struct aif_level_zero *l0 = adapter();
	void *list = &list, *lists = NULL, *event = NULL, *instance = NULL;
	uint32_t n = 3;
	void *a[] = {&list, &n, &lists, &event};

	(void)state;
	ends = 0;
	traced[2].before(a, 0, l0, &instance);
	traced[2].after(a, 0, l0, &instance);
	assert_int_equal(executions, 1);
	assert_int_equal(ends, 1);
	assert_ptr_equal(list_named, &list);
}

static void barriers_are_calls(void **state)
{
	struct aif_level_zero *l0 = adapter();
	void *list = &list, *event = NULL, *waits = NULL, *instance = NULL;
	uint32_t n = 0;
	void *a[] = {&list, &event, &n, &waits};
	unsigned before = appends;

	(void)state;
	traced[3].before(a, 0, l0, &instance);
	assert_int_equal(barriers, 1);
	traced[3].after(a, 0, l0, &instance);
	assert_string_equal(barrier_named, "zeCommandListAppendBarrier");
	assert_int_equal(appends, before);
}

static void memory_has_a_size_and_a_device(void **state)
{
	struct aif_level_zero *l0 = adapter();
	void *context = &context, *da = NULL, *ha = NULL, *device = &device, *instance = NULL,
	     *got = &got, **ret = &got, *desc = NULL;
	size_t size = 4096, align = 64;
	void *shared[] = {&context, &da, &ha, &size, &align, &device, &ret};
	void *mine[] = {&context, &da, &size, &align, &device, &ret};
	void *host[] = {&context, &ha, &size, &align, &ret};
	void *released[] = {&context, &got}, *ext[] = {&context, &desc, &got};
	void **calls[] = {shared, mine, host};

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(calls); i++) {
		memset(&memory, 0, sizeof(memory));
		traced[4 + i].before(calls[i], 0, l0, &instance);
		assert_null(memory.at);
		traced[4 + i].after(calls[i], 0, l0, &instance);
		assert_ptr_equal(memory.device, i < 2 ? device : NULL);
		assert_int_equal(memory.bytes, 4096);
		assert_ptr_equal(memory.at, &got);
	}
	for (unsigned i = 0; i < 2; i++) {
		memset(&memory, 0, sizeof(memory));
		traced[7 + i].before(i ? ext : released, 0, l0, &instance);
		assert_ptr_equal(memory.at, &got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_with_arguments),
		cmocka_unit_test(lists_that_a_list_executes),
		cmocka_unit_test(barriers_are_calls),
		cmocka_unit_test(memory_has_a_size_and_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
