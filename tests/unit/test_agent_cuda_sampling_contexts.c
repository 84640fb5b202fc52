/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which contexts of which devices the CUDA adapter samples, and when it switches them. */
#include "fixture_cuda_sampling.h"

/* For each device that is sampled; it stays said after the end. */
static void memory_of_devices_is_told(void **state)
{
	(void)state;
	created(1);
	assert_int_equal(atomic_load(&aif_agent.session.device_bytes), 64 << 20);
	created(2); /* the same device */
	assert_int_equal(atomic_load(&aif_agent.session.device_bytes), 64 << 20);
	created(3);
	destroyed(3);
	destroyed(1);
	tick();
	assert_int_equal(atomic_load(&aif_agent.session.device_bytes), 128 << 20);
}

/* CUPTI samples one context of a GPU. A place that is free again does not come before one that is in use. */
static void one_context_of_a_device(void **state)
{
	(void)state;
	created(3);
	created(1);
	assert_true(it.sampled[3] && it.sampled[1]);
	destroyed(3);
	created(2); /* at 3's place */
	tick();
	assert_true(it.sampled[1] && !it.sampled[2]);
	destroyed(1);
	tick();
	assert_true(it.sampled[2]);
}

/* A reason is its name, whatever number a device has for it. */
static void two_kinds_of_device(void **state)
{
	(void)state;
	created(1);
	created(3);
	tick();
	assert_int_equal(it.pcs, 2);
	assert_int_equal(it.reasons, 2 * (REASONS - 1));
	assert_true(it.defined_gen[WAIT] == 8 && it.defined_gen[WAIT_NOT_ISSUED] == 12 &&
		    it.defined_gen[SELECTED] == 6);
	/* In a place that another had. */
	destroyed(1);
	destroyed(3);
	memset(it.defined_gen, 0, sizeof(it.defined_gen));
	created(3);
	tick();
	assert_true(it.defined_gen[WAIT] == 4 && it.defined_gen[WAIT_NOT_ISSUED] == 6 &&
		    it.defined_gen[SELECTED] == 3);
}

/* A kernel on the other device may wait for a launch that is held meanwhile, so a busy device is not waited for. The
 * context that is destroyed is not asked. */
static void a_context_goes_beside_a_busy_device(void **state)
{
	(void)state;
	created(1);
	created(3);
	it.busy[1] = it.busy[3] = true;
	destroyed(1);
	assert_int_equal(it.disabled, 0);
	it.enabled--; /* it went with its context */
	assert_true(it.sampled[3]);
	it.busy[3] = false;
	created(1);
	it.cuda.quiesce.again_ns = 0;
	tick();
	assert_true(it.sampled[1]);
	destroyed(1);
	assert_int_equal(it.disabled, 1);
	assert_null(atomic_load(&it.cuda.sampling.contexts[0].context));
	/* The last context waits for no other. */
	it.busy[3] = true;
	destroyed(3);
	assert_int_equal(it.disabled, 2);
}

/* Records were on until a moment ago, which kernels under way still get. */
static void not_before_the_last_record(void **state)
{
	struct aif_cuda *c = &it.cuda;

	(void)state;
	aif_cuda_context_used(c, (void *)1);
	c->duty.mode = AIF_CUDA_SAMPLES;
	it.busy[1] = true;
	assert_false(aif_cuda_sampling_switch(c, true));
	assert_false(it.sampled[1]);
	it.busy[1] = false;
	assert_true(aif_cuda_sampling_switch(c, true));
	assert_true(it.sampled[1]);
}

/* A thread that switches waits for the destroying one: that one goes on, and nobody uses its
 * context any more. */
static void a_destroyer_does_not_wait(void **state)
{
	(void)state;
	created(1);
	it.locked = true;
	destroyed(1);
	it.locked = false;
	it.enabled--; /* it went with its context */
	assert_false(aif_cuda_is_sampling(&it.cuda) &&
		     !atomic_load(&it.cuda.sampling.contexts[0].destroyed));
	tick(); /* CUPTI would object */
	assert_null(atomic_load(&it.cuda.sampling.contexts[0].context));
	created(2);
	assert_true(it.sampled[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_of_devices_is_told),  TEST(one_context_of_a_device),
		TEST(a_destroyer_does_not_wait),  TEST(a_context_goes_beside_a_busy_device),
		TEST(not_before_the_last_record), TEST(two_kinds_of_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
