/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which launch an execution's correlation id means. */
#include "fixture_cuda_launch.h"

void aif_cuda_activity_made(struct aif_cuda *unused)
{
	(void)unused;
}

/* ---- calls ---- */

/* The beginning of a call of a thread's; the launch's number, or 0 where none was told. */
static uint64_t call(unsigned thread, uint32_t correlation)
{
	static const uint8_t parameters[256];
	uint64_t data, before = defined_gen;
	struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER,
					.parameters = parameters,
					.data = &data,
					.correlation = correlation};

	here = &threads[thread];
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, LAUNCH_KERNEL, &cb);
	return defined_gen > before ? defined_gen : 0;
}

/* Returns the launch of an execution with this number, or AIF_CUDA_*; 0 = nothing that is known. */
static uint64_t meant(uint32_t correlation)
{
	uint64_t launch;

	return aif_cuda_correlation_get(cuda.correlations, correlation, &launch) ? launch : 0;
}

static void test_a_launch_is_shown_while_its_call_lasts(void **state)
{
	uint64_t data = 0, launch = call(0, 5);
	int result = 0;
	struct aif_cupti_callback cb = {
		.site = AIF_CUPTI_EXIT, .result = &result, .data = &data, .correlation = 5};

	(void)state;
	assert_int_equal(aif_launching, launch + 1);
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, LAUNCH_KERNEL, &cb);
	assert_int_equal(aif_launching, 0);
}

static void each_number_is_a_launch(void **state)
{
	(void)state;
	assert_int_equal(call(0, 1), 1);
	assert_int_equal(call(1, 2), 2);
	assert_int_equal(call(0, 3), 3);
	assert_int_equal(meant(1), 1);
	assert_int_equal(meant(3), 3);
	assert_int_equal(meant(4), 0);
	cuda.duty.capture = false;
	assert_int_equal(call(0, 4), 0);
	assert_int_equal(meant(4), AIF_CUDA_NOT_CAPTURED);
	assert_int_equal(cuda.confused, 0);
}

static void a_number_of_many_calls_is_nobodys(void **state)
{
	(void)state;
	assert_int_equal(call(0, 7), 1);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(call(0, 7), 0);
		assert_int_equal(meant(7), AIF_CUDA_CONFUSED);
		assert_int_equal(cuda.confused, i);
	}
	/* Numbers of other threads count on. */
	assert_int_equal(call(1, 8), 2);
	assert_int_equal(meant(8), 2);
}

/* A new subscriber's numbers begin anew, and come to the one that a thread of before still has: its executions are not
 * those of the launch that has it by counting. */
static void nor_is_it_of_who_gets_it_by_counting(void **state)
{
	(void)state;
	call(0, 7);
	call(0, 7);
	assert_int_equal(call(1, 6), 2);
	assert_int_equal(call(1, 7), 0);
	assert_int_equal(meant(7), AIF_CUDA_CONFUSED);
	assert_int_equal(cuda.confused, 2);
	cuda.duty.capture = false;
	assert_int_equal(call(1, 6), 0);
	assert_int_equal(call(1, 7), 0);
	assert_int_equal(meant(7), AIF_CUDA_CONFUSED);
	/* The next subscriber. */
	cuda.duty.capture = true;
	cuda.any_confused = false;
	aif_cuda_correlations_clear(cuda.correlations);
	assert_int_equal(meant(7), 0);
	assert_int_equal(call(1, 6), 3);
	assert_int_equal(call(1, 7), 4);
	assert_int_equal(meant(7), 4);
}

#define BEGIN_CAPTURE      495
#define LIBRARY_UNLOAD     680
#define GRAPH_UPLOAD       580
#define STREAM_SYNCHRONIZE 126

static void what_is_unloaded_takes_its_names(void **state)
{
	(void)state;
	aside(LIBRARY_UNLOAD);
	assert_int_equal(cuda.names_epoch, 2); /* before and after */
	assert_int_equal(cuda.captures, 0);
	aside(GRAPH_UPLOAD);
	aside(BEGIN_CAPTURE);
	assert_int_equal(cuda.names_epoch, 2);
	assert_int_equal(cuda.captures, 1);
}

/* The two callbacks of a synchronization are the beginning and the end of waiting, and nothing that
 * the gate counts. */
static void who_synchronizes_waits(void **state)
{
	(void)state;
	aside(STREAM_SYNCHRONIZE);
	assert_int_equal(waiting, 0);
	assert_int_equal(waited, 1);
	assert_int_equal(cuda.duty.waits, 1);
	assert_int_equal(gated, 0);
	aside(GRAPH_UPLOAD);
	assert_int_equal(waited, 1);
	assert_int_equal(gated, 1);
}

static unsigned enabled[1024], enabled_len;

static int enable(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	assert_int_equal(on, 1);
	if (domain == AIF_CUPTI_DOMAIN_DRIVER) {
		assert_true(id < AIF_ARRAY_LEN(enabled));
		enabled[id]++;
		enabled_len++;
	}
	return 0;
}

#define MEM_ALLOC_V2        243
#define MEM_HOST_REGISTER   301
#define MEMCPY_D_TO_H_V2    278
#define MEMCPY_D_TO_H_ASYNC 279

/* Begin and end of calls are recorded where that is asked for; else nothing more is watched than without it. */
static void calls_are_recorded_where_that_is_asked_for(void **state)
{
	static const uint32_t recorded[] = {STREAM_SYNCHRONIZE, MEM_ALLOC_V2, LIBRARY_UNLOAD,
					    MEMCPY_D_TO_H_V2};
	static const enum aif_host_call_id ids[] = {AIF_CALL_cuStreamSynchronize,
						    AIF_CALL_cuMemAlloc, AIF_CALL_cuLibraryUnload,
						    AIF_CALL_cuMemcpyDtoH};
	unsigned before;

	(void)state;
	memset(&host_calls, 0, sizeof(host_calls));
	memset(enabled, 0, sizeof(enabled));
	enabled_len = 0;
	here = aif_self = &threads[0];
	atomic_store(&aif_agent.session.armed->on, 1);
	cuda.api.cuptiEnableCallback = enable;
	aif_agent.session.options = AIF_OPTION_CALLS; /* of other runtimes */
	aif_cuda_callbacks_subscribe(&cuda);
	before = enabled_len;
	assert_int_equal(enabled[MEM_HOST_REGISTER], 0);
	assert_int_equal(enabled[STREAM_SYNCHRONIZE], 1);
	aside(STREAM_SYNCHRONIZE);
	assert_int_equal(host_calls.begun, 0);
	aif_agent.session.options |= AIF_OPTION_CUDA_LONG_CALLS;
	enabled_len = 0;
	aif_cuda_callbacks_subscribe(&cuda);
	assert_int_equal(enabled[MEM_HOST_REGISTER], 1);
	for (unsigned i = 0; aif_cuda_allocation_at(i); i++)
		before++;
	assert_int_equal(enabled_len, before);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(recorded); i++) {
		uint64_t data = 77;
		int result = 0;
		struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER,
						.result = &result,
						.data = &data,
						.correlation = 100 + i};

		aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, recorded[i], &cb);
		assert_int_equal(host_calls.begun, i + 1);
		assert_int_equal(host_calls.ended, i);
		assert_int_equal(host_calls.id, ids[i]);
		cb.site = AIF_CUPTI_EXIT;
		aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, recorded[i], &cb);
		assert_int_equal(host_calls.ended, i + 1);
		assert_int_equal(host_calls.token, i + 1);
	}
	/* The default records long calls alone. */
	assert_int_equal(host_calls.least_ns, AIF_HOST_CALL_LONG_NS);
	aif_agent.session.options |= AIF_OPTION_CUDA_CALLS;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, LIBRARY_UNLOAD,
			  &(struct aif_cupti_callback){.site = AIF_CUPTI_ENTER,
						       .result = &(int){0},
						       .data = &(uint64_t){0}});
	assert_int_equal(host_calls.least_ns, AIF_HOST_CALL_SHORT_NS);
	host_calls.begun--;
	/* Calls that return at once. */
	call(0, 200);
	assert_int_equal(aif_cuda_host_call(MEMCPY_D_TO_H_ASYNC), AIF_HOST_CALLS);
	assert_int_equal(host_calls.begun, AIF_ARRAY_LEN(recorded));
	aif_agent.session.options = 0;
	atomic_store(&aif_agent.session.armed->on, 0);
}

static int device_of(void *context, uint32_t *ret)
{
	*ret = 3;
	return context == NULL;
}

/* Makes a call; result: of the driver. */
static void allocates(uint32_t id, const void *parameters, int result)
{
	struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER,
					.parameters = parameters,
					.context = &cuda,
					.result = &result};

	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, id, &cb);
	cb.site = AIF_CUPTI_EXIT;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, id, &cb);
}

static void memory_is(uint64_t block, uint64_t bytes, uint32_t device, bool is_release)
{
	assert_int_equal(memory_len, 1);
	assert_int_equal(memory[0].block, block);
	assert_int_equal(memory[0].bytes, bytes);
	assert_int_equal(memory[0].device, device);
	assert_int_equal(memory[0].is_release, is_release);
	assert_int_equal(memory[0].allocated, AIF_EMIT_MEMORY_UNKNOWN);
	memory_len = 0;
}

static void memory_is_recorded(void **state)
{
	static const uint32_t allocations[] = {MEM_ALLOC_V2, 371, 598, 599, 611, 612},
			      hosts[] = {37, 39, 271, 294}, frees[] = {245, 600, 601, 552};
	uint64_t address = 0x7000, none = 0, row = 512;
	struct aif_cuda_allocate a = {&address, 4096}, failed = {&none, 4096};
	struct aif_cuda_allocate_pitch p = {&address, &row, 500, 100};
	struct aif_cuda_map map = {0x9000, 1 << 20}, at = {0x7000, 77};

	(void)state;
	cuda.api.cuptiGetDeviceId = device_of;
	atomic_store(&aif_agent.session.armed->on, 1);
	here = &threads[0];
	memory_len = 0;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(allocations); i++) {
		allocates(allocations[i], &a, 0);
		memory_is(0x7000, 4096, 3, false);
		allocates(allocations[i], &failed, 2);
		allocates(allocations[i], &failed, 0);
		assert_int_equal(memory_len, 0);
	}
	for (unsigned i = 0; i < AIF_ARRAY_LEN(hosts); i++) {
		allocates(hosts[i], &a, 0);
		memory_is(0x7000, 4096, AIF_WIRE_NONE, false);
	}
	allocates(244, &p, 0);
	memory_is(0x7000, 51200, 3, false);
	p.height = UINT64_MAX;
	allocates(244, &p, 0);
	assert_int_equal(memory_len, 0);
	allocates(551, &map, 0);
	memory_is(0x9000, 1 << 20, 3, false);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(frees); i++) {
		allocates(frees[i], &at, 0);
		memory_is(0x7000, 0, 3, true);
	}
	allocates(38, &at, 0);
	memory_is(0x7000, 0, AIF_WIRE_NONE, true);
	at.address = 0; /* cudaFree(NULL) */
	allocates(245, &at, 0);
	atomic_store(&aif_agent.session.armed->on, 0);
	allocates(MEM_ALLOC_V2, &a, 0);
	assert_int_equal(memory_len, 0);
	assert_int_equal(gated, 0);
}

/* In off-blocks of the budget large blocks have stacks, and all have sizes. */
static void stacks_of_memory_are_within_the_budget(void **state)
{
	uint64_t address = 0x7000;
	struct aif_cuda_allocate a = {&address, 4096};

	(void)state;
	cuda.api.cuptiGetDeviceId = device_of;
	atomic_store(&aif_agent.session.armed->on, 1);
	atomic_store(&aif_agent.budget.until, UINT64_MAX);
	here = &threads[0];
	for (uint32_t block = 1; block <= 2; block++) {
		atomic_store(&aif_agent.budget.block, block);
		memory_len = 0;
		a.bytes = 4096;
		allocates(MEM_ALLOC_V2, &a, 0);
		a.bytes = 1 << 20;
		allocates(MEM_ALLOC_V2, &a, 0);
		assert_int_equal(memory_len, 2);
		assert_int_equal(memory[0].stack, block == 1 ? 0 : AIF_WIRE_NONE);
		assert_int_equal(memory[0].bytes, 4096);
		assert_int_equal(memory[1].stack, 0);
	}
	atomic_store(&aif_agent.budget.block, 1);
	atomic_store(&aif_agent.session.armed->on, 0);
}

/* A thread that launches does not wait any more, whether its waiting call has come back or was left
 * by longjmp(). */
static void who_launches_does_not_wait(void **state)
{
	(void)state;
	atomic_store(&threads[0].spins, 1);
	atomic_store(&threads[1].spins, 1);
	call(0, 1);
	assert_int_equal(threads[0].spins, 0);
	assert_int_equal(threads[1].spins, 1);
	cuda.duty.capture = false;
	atomic_store(&cuda.duty.waits, 1); /* begun, and never over */
	aif_self = &threads[1];
	call(1, 2);
	aif_self = NULL;
	assert_int_equal(threads[1].spins, 0);
}

static void *launch_in_three_blocks(void *arg)
{
	unsigned launches = *(unsigned *)arg;

	aif_self = &threads[1];
	for (unsigned block = 0; block < 3; block++) {
		atomic_store(&cuda.duty.blocks, block);
		atomic_store(&cuda.duty.capture, block < 2);
		for (unsigned i = 0; i < launches; i++)
			call(1, 1 + block * launches + i);
	}
	return NULL;
}

static void a_thread_with_many_launches_is_counted_apart_from_its_next_block_on(void **state)
{
	const struct aif_cuda_count *counts = cuda.duty.counts;
	unsigned few = 10, many = 1500;
	pthread_t thread;

	(void)state;
	threads[1].tid = 77;
	assert_int_equal(pthread_create(&thread, NULL, launch_in_three_blocks, &few), 0);
	pthread_join(thread, NULL);
	assert_int_equal(cuda.duty.counted_threads, 0);
	assert_int_equal(counts[0].captured, 20);
	assert_int_equal(counts[0].left_out, 10);
	assert_int_equal(pthread_create(&thread, NULL, launch_in_three_blocks, &many), 0);
	pthread_join(thread, NULL);
	assert_int_equal(cuda.duty.counted_threads, 1);
	assert_int_equal(counts[0].captured, 1520);
	assert_int_equal(counts[0].left_out, 10);
	assert_int_equal(counts[1].tid, 77);
	assert_int_equal(counts[1].captured, 1500);
	assert_int_equal(counts[1].left_out, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_launch_is_shown_while_its_call_lasts, setup),
		cmocka_unit_test_setup(each_number_is_a_launch, setup),
		cmocka_unit_test_setup(a_number_of_many_calls_is_nobodys, setup),
		cmocka_unit_test_setup(nor_is_it_of_who_gets_it_by_counting, setup),
		cmocka_unit_test_setup(what_is_unloaded_takes_its_names, setup),
		cmocka_unit_test_setup(who_synchronizes_waits, setup),
		cmocka_unit_test_setup(calls_are_recorded_where_that_is_asked_for, setup),
		cmocka_unit_test_setup(memory_is_recorded, setup),
		cmocka_unit_test_setup(stacks_of_memory_are_within_the_budget, setup),
		cmocka_unit_test_setup(who_launches_does_not_wait, setup),
		cmocka_unit_test_setup(
			a_thread_with_many_launches_is_counted_apart_from_its_next_block_on, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
