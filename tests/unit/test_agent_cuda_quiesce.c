/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that switches sampling is alone, or does not switch. */
#include "agent/cuda/cuda.h"

#include "agent/cuda/quiesce.h"
#include "agent/helper.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, CONTEXTS = 2, NOT_READY = 600 };

static struct {
	struct aif_cuda cuda;
	_Atomic int inside, over;
	_Atomic uint64_t calls;
	unsigned busy[CONTEXTS + 1]; /* so often asked, they are not done */
	unsigned events;
	int record_error;
	bool is_program;          /* it is a thread of the program's own that switches */
	_Atomic uint64_t idle_at; /* devices are busy until then */
} it;

bool aif_helper_is_here(void)
{
	return !it.is_program;
}

static int push(void *context)
{
	return !context;
}

static int pop(void **ret)
{
	*ret = NULL;
	return 0;
}

static int event_new(void **ret, unsigned flags)
{
	(void)flags;
	*ret = (void *)(uintptr_t)++it.events;
	return 0;
}

static int event_record(void *context, void *event)
{
	assert_true(context && event);
	assert_false(atomic_load(&it.cuda.sampling.contexts[(uintptr_t)context - 1].destroyed));
	return it.record_error;
}

static int event_query(void *event)
{
	unsigned *busy = &it.busy[(uintptr_t)event];

	assert_in_range((uintptr_t)event, 1, CONTEXTS);
	*busy -= *busy > 0;
	return *busy || aif_now_ns() < atomic_load(&it.idle_at) ? NOT_READY : 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	it.cuda.callbacks_on = true;
	it.cuda.api = (struct aif_cupti){.can_record = true,
					 .cuCtxPushCurrent_v2 = push,
					 .cuCtxPopCurrent_v2 = pop,
					 .cuEventCreate = event_new,
					 .cuEventQuery = event_query,
					 .cuCtxRecordEvent = event_record};
	for (uintptr_t i = 0; i < CONTEXTS; i++)
		atomic_store(&it.cuda.sampling.contexts[i].context, (void *)(i + 1));
	aif_cuda_quiesce_begin(&it.cuda);
	aif_cuda_quiesce_settle(&it.cuda);
	return 0;
}

static bool can_shut(bool idle)
{
	if (!aif_cuda_quiesce_shut(&it.cuda, idle)) {
		assert_int_equal(atomic_load(&it.cuda.quiesce.owner), 0);
		return false;
	}
	aif_cuda_quiesce_open(&it.cuda);
	return true;
}

static void *launching(void *unused)
{
	while (!atomic_load(&it.over)) {
		aif_cuda_quiesce_enter(&it.cuda, false);
		atomic_fetch_add(&it.inside, 1);
		atomic_fetch_add(&it.calls, 1);
		atomic_fetch_sub(&it.inside, 1);
		aif_cuda_quiesce_leave(&it.cuda);
	}
	return unused;
}

/* Records are switched beside launching threads, again and again, with nobody inside. */
static void a_brief_moment_is_alone(void **state)
{
	pthread_t threads[THREADS];
	unsigned shut = 0;

	(void)state;
	it.busy[1] = it.busy[2] = 1000000; /* the devices never are idle */
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launching, NULL), 0);
	for (unsigned i = 0; i < 300; i++) {
		uint64_t before;

		if (!aif_cuda_quiesce_shut_briefly(&it.cuda)) {
			assert_int_equal(atomic_load(&it.cuda.quiesce.owner), 0);
			continue;
		}
		shut++;
		before = atomic_load(&it.calls);
		for (unsigned k = 0; k < 100; k++)
			assert_int_equal(atomic_load(&it.inside), 0);
		assert_int_equal(atomic_load(&it.calls), before);
		aif_cuda_quiesce_open(&it.cuda);
		usleep(100);
	}
	atomic_store(&it.over, 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(shut > 0);
	assert_int_equal(it.events, 0);
	assert_int_equal(atomic_load(&it.cuda.quiesce.held), 0);
}

static void *calling(void *unused)
{
	aif_cuda_quiesce_enter(&it.cuda, false);
	atomic_fetch_add(&it.inside, 1);
	while (!atomic_load(&it.over))
		usleep(1000);
	atomic_fetch_sub(&it.inside, 1);
	aif_cuda_quiesce_leave(&it.cuda);
	return unused;
}

/* A call that lasts: nobody else is kept waiting for it, and it is tried in vain without harm to later tries. */
static void a_call_that_lasts_is_not_waited_for(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, calling, NULL), 0);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_false(aif_cuda_quiesce_shut_briefly(&it.cuda));
	assert_int_equal(atomic_load(&it.cuda.quiesce.owner), 0);
	assert_true(aif_cuda_quiesce_may_try(&it.cuda, aif_now_ns()));
	atomic_store(&it.over, 1);
	pthread_join(thread, NULL);
	assert_true(aif_cuda_quiesce_shut_briefly(&it.cuda));
	aif_cuda_quiesce_open(&it.cuda);
}

/* Before callbacks came nobody was counted: the first switch needs an idle device, too. */
static void the_first_switch_waits_for_the_device(void **state)
{
	(void)state;
	aif_cuda_quiesce_begin(&it.cuda);
	assert_false(aif_cuda_quiesce_shut_briefly(&it.cuda));
	it.cuda.quiesce.again_at = 0;
	it.busy[1] = 1000000;
	assert_false(aif_cuda_quiesce_shut_briefly(&it.cuda));
	it.busy[1] = 0;
	it.cuda.quiesce.again_at = 0;
	assert_true(aif_cuda_quiesce_shut_briefly(&it.cuda));
	aif_cuda_quiesce_open(&it.cuda);
	it.cuda.callbacks_on = false;
	assert_false(aif_cuda_quiesce_shut_briefly(&it.cuda));
}

static void nobody_is_inside(void **state)
{
	pthread_t threads[THREADS];
	uint64_t before = 0;
	unsigned shut = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launching, NULL), 0);
	for (unsigned i = 0; i < 300; i++) {
		/* Between two switches they get on. */
		while (atomic_load(&it.calls) == before)
			usleep(10);
		if (!aif_cuda_quiesce_shut(&it.cuda, false))
			continue; /* a machine that let one of them wait inside */
		shut++;
		before = atomic_load(&it.calls);
		for (unsigned k = 0; k < 1000; k++)
			assert_int_equal(atomic_load(&it.inside), 0);
		assert_int_equal(atomic_load(&it.calls), before);
		aif_cuda_quiesce_open(&it.cuda);
	}
	atomic_store(&it.over, 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(shut > 100);
}

static void *inside_for_a_while(void *unused)
{
	aif_cuda_quiesce_enter(&it.cuda, false);
	atomic_store(&it.inside, 1);
	usleep(400000);
	aif_cuda_quiesce_leave(&it.cuda);
	return unused;
}

/* A thread that waits for a device which others use: nobody loses anything. */
static void a_long_call_is_waited_for_while_nobody_is_held(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, inside_for_a_while, NULL), 0);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_true(can_shut(false));
	pthread_join(thread, NULL);
}

/* A thread of the program's own that makes or destroys a context is itself kept waiting. */
static void a_thread_of_the_program_does_not_wait_so_long(void **state)
{
	pthread_t thread;

	(void)state;
	it.is_program = true;
	assert_int_equal(pthread_create(&thread, NULL, inside_for_a_while, NULL), 0);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_false(can_shut(false));
	pthread_join(thread, NULL);
}

/* Leaves 150 ms after another has come to the gate; the device is idle 240 ms later. */
static void *inside_while_another_is_held(void *unused)
{
	aif_cuda_quiesce_enter(&it.cuda, false);
	atomic_store(&it.inside, 1);
	while (!atomic_load(&it.cuda.quiesce.held))
		usleep(100);
	usleep(150000);
	atomic_store(&it.idle_at, aif_now_ns() + 240000000);
	aif_cuda_quiesce_leave(&it.cuda);
	return unused;
}

static void *launching_once_it_is_shut(void *unused)
{
	while (!atomic_load(&it.cuda.quiesce.owner))
		usleep(100);
	aif_cuda_quiesce_enter(&it.cuda, false);
	aif_cuda_quiesce_leave(&it.cuda);
	return unused;
}

/* A held thread waits for a quarter of a second in all: for calls to end, and then for the
 * device. */
static void nobody_is_held_for_long(void **state)
{
	pthread_t inside, held;

	(void)state;
	assert_int_equal(pthread_create(&inside, NULL, inside_while_another_is_held, NULL), 0);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_int_equal(pthread_create(&held, NULL, launching_once_it_is_shut, NULL), 0);
	assert_false(can_shut(true));
	pthread_join(inside, NULL);
	pthread_join(held, NULL);
}

static void *loading(void *unused)
{
	aif_cuda_quiesce_enter(&it.cuda, true);
	atomic_store(&it.inside, 1);
	while (!atomic_load(&it.over))
		usleep(100);
	aif_cuda_quiesce_leave(&it.cuda);
	return unused;
}

/* Code is loaded under the driver's lock, for which CUPTI waits while it switches sampling. But one who
 * waits for that switch for very long may be CUPTI's own thread, for which it waits. */
static void loads_are_held_but_not_for_ever(void **state)
{
	pthread_t thread;

	(void)state;
	assert_true(aif_cuda_quiesce_shut(&it.cuda, false));
	assert_int_equal(pthread_create(&thread, NULL, loading, NULL), 0);
	while (!atomic_load(&it.cuda.quiesce.held))
		usleep(100);
	usleep(20000);
	assert_int_equal(atomic_load(&it.inside), 0);
	aif_cuda_quiesce_open(&it.cuda);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_false(can_shut(false));
	atomic_store(&it.over, 1);
	pthread_join(thread, NULL);
	atomic_store(&it.inside, 0);

	assert_true(aif_cuda_quiesce_shut(&it.cuda, false));
	assert_int_equal(pthread_create(&thread, NULL, loading, NULL), 0);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_int_equal(atomic_load(&it.cuda.quiesce.held), 0);
	aif_cuda_quiesce_open(&it.cuda);
	pthread_join(thread, NULL);
	assert_true(can_shut(false));
}

static void *inside_for_long(void *unused)
{
	aif_cuda_quiesce_enter(&it.cuda, false);
	atomic_store(&it.inside, 1);
	while (!atomic_load(&it.over))
		usleep(100);
	aif_cuda_quiesce_leave(&it.cuda);
	return unused;
}

/* Then it is not waited for, and not tried again at once. */
static void somebody_stays_inside(void **state)
{
	pthread_t thread;
	uint64_t last = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, inside_for_long, NULL), 0);
	while (!atomic_load(&it.inside))
		usleep(100);
	assert_true(aif_cuda_quiesce_may_try(&it.cuda, aif_now_ns()));
	for (unsigned i = 0; i < 3; i++) {
		assert_false(can_shut(false));
		assert_true(it.cuda.quiesce.again_ns > last);
		last = it.cuda.quiesce.again_ns;
		assert_false(aif_cuda_quiesce_may_try(&it.cuda, it.cuda.quiesce.again_at - 1));
		assert_true(aif_cuda_quiesce_may_try(&it.cuda, it.cuda.quiesce.again_at));
	}
	it.cuda.quiesce.again_ns = UINT64_C(1) << 62; /* however often */
	assert_false(can_shut(false));
	assert_true(it.cuda.quiesce.again_ns < 60 * AIF_NS_PER_S);
	atomic_store(&it.over, 1);
	pthread_join(thread, NULL);
	assert_true(can_shut(false));
	assert_true(aif_cuda_quiesce_may_try(&it.cuda, 0));
}

static void a_device_must_be_idle(void **state)
{
	(void)state;
	it.busy[2] = 5;
	assert_true(can_shut(true));
	assert_int_equal(it.events, 2);
	assert_int_equal(it.busy[2], 0);
	it.busy[1] = UINT32_MAX;
	assert_false(can_shut(true));
	assert_true(can_shut(false));
	it.busy[1] = 0;
	it.record_error = 1;
	assert_false(can_shut(true));
	it.record_error = 0;
	assert_true(can_shut(true));
	assert_int_equal(it.events, 2);
	/* A destroyed context is not asked. */
	it.busy[2] = UINT32_MAX;
	atomic_store(&it.cuda.sampling.contexts[1].destroyed, true);
	assert_true(can_shut(true));
}

/* A driver that cannot say so: nobody has launched for a second. */
static void an_old_driver(void **state)
{
	uint64_t now = aif_now_ns();

	(void)state;
	it.cuda.api.can_record = false;
	assert_false(can_shut(true));
	aif_cuda_quiesce_enter(&it.cuda, false);
	aif_cuda_quiesce_leave(&it.cuda);
	aif_cuda_quiesce_tick(&it.cuda, now - 2 * AIF_NS_PER_S);
	aif_cuda_quiesce_tick(&it.cuda, now);
	assert_true(can_shut(true));
	aif_cuda_quiesce_enter(&it.cuda, false);
	aif_cuda_quiesce_leave(&it.cuda);
	assert_false(can_shut(true));
	aif_cuda_quiesce_tick(&it.cuda, now);
	assert_false(can_shut(true));
}

/* Switching during a stream capture would end the capture. */
static void not_during_a_capture(void **state)
{
	(void)state;
	atomic_store(&it.cuda.captures, 1);
	assert_false(can_shut(true));
	assert_false(can_shut(false));
	atomic_store(&it.cuda.captures, 0);
	assert_true(can_shut(false));
	/* Launches are not counted without callbacks, so switching is not safe either. */
	it.cuda.callbacks_on = false;
	assert_false(can_shut(false));
}

static void *can_another_shut(void *unused)
{
	(void)unused;
	return can_shut(false) ? &it : NULL;
}

/* cuCtxDestroy is counted, and ends sampling. */
static void who_switches_may_be_inside(void **state)
{
	pthread_t another;
	void *could;

	(void)state;
	aif_cuda_quiesce_enter(&it.cuda, false);
	assert_true(can_shut(false));
	it.busy[1] = UINT32_MAX;
	assert_false(can_shut(true)); /* and stays counted */
	assert_int_equal(pthread_create(&another, NULL, can_another_shut, NULL), 0);
	pthread_join(another, &could);
	assert_null(could);
	aif_cuda_quiesce_leave(&it.cuda);
	assert_true(can_shut(false));
	/* CUPTI's own calls, while it switches. */
	assert_true(aif_cuda_quiesce_shut(&it.cuda, false));
	aif_cuda_quiesce_enter(&it.cuda, false);
	aif_cuda_quiesce_leave(&it.cuda);
	aif_cuda_quiesce_open(&it.cuda);
	assert_true(can_shut(false));
}

static void *never_leaves(void *unused)
{
	aif_cuda_quiesce_enter(&it.cuda, false);
	return unused;
}

/* Callbacks were switched off during a call. */
static void an_end_that_is_not_told(void **state)
{
	pthread_t thread;

	(void)state;
	never_leaves(NULL);
	never_leaves(NULL);
	aif_cuda_quiesce_leave(&it.cuda);
	aif_cuda_quiesce_leave(&it.cuda);
	assert_true(can_shut(false));
	assert_int_equal(pthread_create(&thread, NULL, never_leaves, NULL), 0);
	pthread_join(thread, NULL);
	never_leaves(NULL);
	assert_false(can_shut(false));
	aif_cuda_quiesce_begin(&it.cuda);
	aif_cuda_quiesce_leave(&it.cuda); /* late */
	aif_cuda_quiesce_settle(&it.cuda);
	assert_true(can_shut(false));
}

/* Attached to a program that launches: who was inside already is not counted. */
static void what_began_before_is_waited_for(void **state)
{
	(void)state;
	aif_cuda_quiesce_begin(&it.cuda);
	assert_false(can_shut(false));
	assert_false(aif_cuda_quiesce_may_try(&it.cuda, aif_now_ns()));
	/* Later; and then the device must be idle, whatever is wanted. */
	it.cuda.quiesce.again_at = 1;
	it.busy[1] = UINT32_MAX;
	assert_false(can_shut(false));
	it.cuda.quiesce.again_at = 1;
	it.busy[1] = 0;
	assert_true(can_shut(false));
	it.busy[1] = UINT32_MAX;
	assert_true(can_shut(false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nobody_is_inside, setup),
		cmocka_unit_test_setup(a_brief_moment_is_alone, setup),
		cmocka_unit_test_setup(a_call_that_lasts_is_not_waited_for, setup),
		cmocka_unit_test_setup(the_first_switch_waits_for_the_device, setup),
		cmocka_unit_test_setup(a_long_call_is_waited_for_while_nobody_is_held, setup),
		cmocka_unit_test_setup(a_thread_of_the_program_does_not_wait_so_long, setup),
		cmocka_unit_test_setup(nobody_is_held_for_long, setup),
		cmocka_unit_test_setup(loads_are_held_but_not_for_ever, setup),
		cmocka_unit_test_setup(somebody_stays_inside, setup),
		cmocka_unit_test_setup(a_device_must_be_idle, setup),
		cmocka_unit_test_setup(an_old_driver, setup),
		cmocka_unit_test_setup(not_during_a_capture, setup),
		cmocka_unit_test_setup(who_switches_may_be_inside, setup),
		cmocka_unit_test_setup(an_end_that_is_not_told, setup),
		cmocka_unit_test_setup(what_began_before_is_waited_for, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
