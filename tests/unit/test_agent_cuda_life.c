/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is left on when recordings pause, end and come back, and who is the subscriber of
 * CUPTI. */
#include "agent/cuda/cuda.h"

#include "agent/cuda/activity.h"
#include "agent/cuda/claim.h"
#include "agent/cuda/duty.h"
#include "agent/cuda/launch.h"
#include "agent/cuda/library.h"
#include "agent/cuda/lock.h"
#include "agent/cuda/names.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/records.h"
#include "agent/cuda/sampling.h"
#include "agent/cuda/use.h"
#include "agent/emit.h"
#include "agent/wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

static struct aif_armed armed;
static struct {
	bool subscribed, watched, callbacks_on, blocks, flushed;
	unsigned subscriptions, inits, finalized, forgotten, ends_forgotten;
	uint32_t version;
	struct aif_thread thread;
	bool ring_full;
	uint64_t confused, timeless;
	uint64_t timeless_at_the_end; /* of what is flushed last */
	int subscribe_error, init_error;
	bool sampled, may_try; /* sampling is still on, where it could not be ended */
	unsigned tries, ends_after, try_ms;
	unsigned lookups, refused; /* of libcuda by dlopen(); CUDA_REFUSED */
} it;

/* ---- CUPTI ---- */

static int subscribe(void **ret, aif_cupti_callback_fn *callback, void *user)
{
	(void)callback, (void)user;
	if (it.subscribe_error)
		return it.subscribe_error;
	assert_false(it.subscribed);
	it.subscribed = true;
	it.subscriptions++;
	*ret = &it;
	return 0;
}

static int unsubscribe(void *subscriber)
{
	assert_ptr_equal(subscriber, &it);
	/* Buffers that CUPTI still had would come back to somebody else. */
	assert_true(it.flushed || it.init_error);
	it.subscribed = it.watched = it.callbacks_on = false;
	return 0;
}

static int finalize(void)
{
	assert_false(it.subscribed);
	it.finalized++;
	return 0;
}

static int text(int result, const char **ret)
{
	(void)result;
	*ret = "why";
	return 0;
}

/* ---- the rest of the adapter ---- */

int aif_cuda_library_open(struct aif_cupti *api, void **ret_library, uint32_t *ret_version)
{
	api->cuptiGetResultString = text;
	api->cuptiSubscribe = subscribe;
	api->cuptiUnsubscribe = unsubscribe;
	api->cuptiFinalize = finalize;
	*ret_library = NULL;
	*ret_version = it.version;
	return 0;
}

void aif_cuda_library_bounds(uintptr_t inside, uintptr_t *ret_lo, uintptr_t *ret_hi)
{
	(void)inside, (void)ret_lo, (void)ret_hi;
}

void aif_cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

int aif_cuda_callbacks_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	assert_true(it.subscribed);
	it.callbacks_on = on;
	return 0;
}

void aif_cuda_callbacks_subscribe(struct aif_cuda *cuda)
{
	(void)cuda;
	it.watched = true;
}

int aif_cuda_activity_init(struct aif_cuda *cuda)
{
	(void)cuda;
	return it.init_error;
}

bool aif_cuda_activity_may_flush(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	return true;
}

void aif_cuda_activity_tick(struct aif_cuda *cuda, uint64_t launches, uint64_t now)
{
	(void)cuda, (void)launches, (void)now;
}

void aif_cuda_activity_use_peers(struct aif_cuda *cuda)
{
	(void)cuda;
}

bool aif_cuda_uses_several_devices(const struct aif_cuda *cuda)
{
	(void)cuda;
	return false;
}

uint64_t aif_cuda_duty_launches(const struct aif_cuda *cuda)
{
	(void)cuda;
	return 0;
}

void aif_cuda_activity_flush(struct aif_cuda *cuda, bool last)
{
	it.flushed = last;
	if (!cuda->on)
		atomic_fetch_add(&cuda->timeless, it.timeless_at_the_end);
}

void aif_cuda_duty_begin(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	/* Records need callbacks: a recorded launch must be known by its callback. */
	assert_true(it.callbacks_on && !it.blocks);
	it.blocks = true;
}

void aif_cuda_duty_end(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	assert_true(it.callbacks_on && it.blocks);
	it.blocks = false;
}

void aif_cuda_duty_charge(struct aif_cuda *cuda)
{
	(void)cuda;
}

void aif_cuda_duty_at_exit(struct aif_cuda *cuda)
{
	(void)cuda;
}

uint64_t aif_cuda_duty_poll(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda;
	return now;
}

bool aif_cuda_records_settle(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	return true;
}

bool aif_cuda_records_end(struct aif_cuda *cuda, uint64_t within_ns)
{
	(void)cuda, (void)within_ns;
	return true;
}

bool aif_cuda_trylock_briefly(struct aif_cuda *cuda)
{
	return !pthread_mutex_trylock(&cuda->switching);
}

void aif_cuda_claim_init(struct aif_cuda *cuda)
{
	(void)cuda;
}

void aif_cuda_use_init(struct aif_cuda *cuda)
{
	(void)cuda;
}

void aif_cuda_use_choose(struct aif_cuda *cuda)
{
	cuda->use = AIF_CUPTI_USE_BLOCKS;
}

void aif_cuda_use_publish(const struct aif_cuda *cuda, bool is_used)
{
	(void)cuda, (void)is_used;
}

bool aif_cuda_is_sampling(const struct aif_cuda *cuda)
{
	(void)cuda;
	return it.sampled;
}

bool aif_cuda_duty_records_only(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	assert_true(it.callbacks_on);
	it.tries++;
	aif_cuda_sleep(it.try_ms * 1000000L);
	it.sampled = it.tries < it.ends_after;
	return !it.sampled;
}

void aif_cuda_names_invalidate(struct aif_cuda *cuda)
{
	(void)cuda;
}

void aif_cuda_quiesce_begin(struct aif_cuda *cuda)
{
	(void)cuda;
	assert_false(it.callbacks_on);
}

void aif_cuda_quiesce_settle(struct aif_cuda *cuda)
{
	(void)cuda;
}

void aif_cuda_sleep(long ns)
{
	const struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

bool aif_cuda_quiesce_may_try(const struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	return it.may_try;
}

void aif_cuda_quiesce_tick(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
}

void aif_cuda_sampling_init(struct aif_cuda *cuda)
{
	(void)cuda;
	it.inits++;
}

void aif_cuda_sampling_forget(struct aif_cuda *cuda)
{
	(void)cuda;
	/* Before threads are in our callbacks. */
	assert_false(it.callbacks_on || it.watched || it.sampled);
	it.forgotten++;
}

void aif_cuda_sampling_tick(struct aif_cuda *cuda)
{
	(void)cuda;
}

void aif_cuda_clock_tick(struct aif_thread *t, struct aif_cuda *cuda, uint64_t now)
{
	(void)t, (void)cuda, (void)now;
}

/* ---- the agent ---- */

struct aif_thread *aif_thread_enter_slow(void)
{
	return &it.thread;
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t n, const char *detail)
{
	(void)t, (void)detail;
	if (it.ring_full)
		return false;
	if (reason == AIF_REASON_CUDA_CONFUSED)
		it.confused += n;
	else if (reason == AIF_REASON_NO_TIMES)
		it.timeless += n;
	else if (reason == AIF_REASON_CUDA_REFUSED)
		it.refused += n;
	return true;
}

void aif_agent_leave_before_driver(void)
{
}

void aif_wait_spins_forget(void)
{
	assert_false(it.subscribed);
	it.ends_forgotten++;
}

void aif_agent_leave_first(void)
{
}

int aif_agent_start(enum aif_runtime_id runtime)
{
	(void)runtime;
	return 0;
}

/* ---- */

int InitializeInjection(void);

/* Turns the runtime on and off as the helper does (helper.c). */
static void enable(bool on, bool alive)
{
	atomic_store(&armed.recorder_alive, alive);
	aif_runtime_cuda.enable(on);
	atomic_store(&armed.on, on);
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	memset(&aif_agent, 0, sizeof(aif_agent));
	aif_self = NULL;
	armed = (struct aif_armed){.on = 1, .recorder_alive = 1, .generation = 1};
	aif_agent.session.armed = &armed;
	aif_agent.session.generation = 1;
	aif_agent.session.device_rate = 999;
	it.version = AIF_CUPTI_VERSION_13_0;
	assert_int_equal(InitializeInjection(), 1);
	return 0;
}

/* Switched off, callbacks are lost for threads that are inside a call: not for a pause. */
static void callbacks_stay_in_a_pause(void **state)
{
	(void)state;
	assert_true(it.subscribed && it.watched && it.callbacks_on && it.blocks);
	enable(false, true);
	assert_false(it.blocks);
	assert_true(it.callbacks_on);
	enable(false, true);
	enable(true, true);
	assert_true(it.callbacks_on && it.blocks);
	assert_int_equal(it.subscriptions, 1);
}

/* A recorder that has gone will not ask again: nothing stays, and callbacks end with the
 * subscription (cuda.c). */
static void nothing_stays_when_the_recorder_has_gone(void **state)
{
	(void)state;
	enable(false, false);
	assert_false(it.callbacks_on || it.blocks || it.subscribed);
	/* Back again, or the next. */
	enable(true, true);
	assert_true(it.callbacks_on && it.blocks);
	/* The new recorder is told what it does not get. */
	assert_int_equal(it.inits, 2);
	/* First a pause, then the end. */
	enable(false, true);
	assert_true(it.callbacks_on);
	enable(false, false);
	assert_false(it.callbacks_on);
}

/* Ending CUPTI takes its part of each launch away, and another recording subscribes anew. */
static void cupti_goes_for_good(void **state)
{
	(void)state;
	aif_runtime_cuda.detach(); /* not while it records */
	assert_true(it.blocks && !it.finalized);
	enable(false, false);
	aif_runtime_cuda.detach();
	aif_runtime_cuda.detach();
	assert_true(it.finalized == 1 && !it.subscribed && it.ends_forgotten == 1);
	enable(true, true);
	assert_true(it.subscriptions == 2 && it.watched && it.callbacks_on && it.blocks);
	assert_int_equal(it.forgotten, 2); /* contexts may have gone meanwhile */
	/* Meanwhile graphs may have been made: with those it would be a crash. */
	enable(false, false);
	aif_runtime_cuda.detach();
	assert_true(it.finalized == 1 && !it.subscribed);

	setup(NULL);
	atomic_store(&CUDA->has_graphs, true);
	enable(false, false);
	aif_runtime_cuda.detach();
	assert_true(!it.subscribed && !it.finalized);

	/* Another has subscribed meanwhile. */
	setup(NULL);
	aif_cuda_subscriber_release(CUDA);
	aif_cuda_subscriber_reclaim(CUDA);
	enable(false, false);
	aif_runtime_cuda.detach();
	assert_true(!it.subscribed && !it.finalized);

	/* Sampling that could not be ended. */
	setup(NULL);
	it.sampled = true;
	it.ends_after = 100;
	enable(false, false);
	aif_runtime_cuda.detach();
	assert_true(it.subscribed && !it.finalized);

	/* CUPTI is not ours to end while another has subscribed. */
	setup(NULL);
	aif_cuda_subscriber_release(CUDA);
	enable(false, false);
	aif_runtime_cuda.detach();
	assert_false(it.finalized);

	setup(NULL);
	CUDA->version = AIF_CUPTI_VERSION_12_4;
	enable(false, false);
	aif_runtime_cuda.detach();
	assert_true(!it.subscribed && !it.finalized);
}

static void another_profiler_goes_first(void **state)
{
	(void)state;
	aif_cuda_subscriber_release(CUDA);
	assert_false(it.subscribed || it.blocks);
	assert_int_equal(it.ends_forgotten, 1); /* of calls that are under way */
	enable(true, true);
	assert_false(it.subscribed);
	aif_cuda_subscriber_reclaim(CUDA);
	assert_true(it.subscribed && it.callbacks_on && it.blocks);
	/* The same in a pause. */
	enable(false, true);
	aif_cuda_subscriber_release(CUDA);
	assert_false(it.subscribed);
	aif_cuda_subscriber_reclaim(CUDA);
	assert_false(it.subscribed);
	enable(false, true);
	enable(true, true);
	assert_true(it.subscribed && it.callbacks_on && it.blocks);
}

/* A subscription that cannot be used is given back. */
static void half_a_subscription_is_none(void **state)
{
	(void)state;
	aif_cuda_subscriber_release(CUDA);
	it.init_error = AIF_CUPTI_UNKNOWN;
	aif_cuda_subscriber_reclaim(CUDA);
	assert_int_equal(it.subscriptions, 2);
	assert_false(it.subscribed || it.callbacks_on || it.blocks);
}

static void another_may_have_subscribed(void **state)
{
	(void)state;
	enable(false, true);
	aif_cuda_subscriber_release(CUDA);
	it.subscribe_error = AIF_CUPTI_MULTIPLE_SUBSCRIBERS;
	armed.on = 1;
	aif_cuda_subscriber_reclaim(CUDA);
	assert_false(it.subscribed || it.callbacks_on || it.blocks);
	enable(true, true);
	enable(false, false);
	assert_false(it.subscribed || it.callbacks_on || it.blocks);
	/* The other subscriber may have gone by the next recording. */
	it.subscribe_error = 0;
	enable(true, true);
	assert_false(it.subscribed);
	enable(false, false);
	aif_agent.session.generation++;
	enable(true, true);
	assert_true(it.subscribed && it.callbacks_on && it.blocks);
}

static void losses_are_told_once(void **state)
{
	struct aif_cuda *cuda = CUDA;

	(void)state;
	atomic_store(&cuda->confused, 5);
	atomic_store(&cuda->timeless, 3);
	it.ring_full = true;
	aif_runtime_cuda.tick(1);
	it.ring_full = false;
	aif_runtime_cuda.tick(2);
	aif_runtime_cuda.tick(3);
	assert_true(it.confused == 5 && it.timeless == 3);
	atomic_store(&cuda->confused, 2);
	aif_runtime_cuda.at_exit();
	assert_int_equal(it.confused, 7);
}

/* After the end, or once another has subscribed, no tick reports any more. */
static void what_the_last_buffers_lack_is_told(void **state)
{
	(void)state;
	it.timeless_at_the_end = 2;
	enable(false, false);
	assert_int_equal(
		it.timeless,
		6); /* three flushes: then, when the device is idle, before it unsubscribes */
	enable(true, true);
	aif_cuda_subscriber_release(CUDA);
	assert_int_equal(it.timeless, 10);
}

/* Callbacks are what ends it: they stay until it has ended. */
static void sampling_that_does_not_end_is_tried_again(void **state)
{
	(void)state;
	it.sampled = true;
	it.ends_after = 2;
	enable(false, true); /* nothing is tried again at once */
	assert_int_equal(it.tries, 0);
	it.may_try = true;
	enable(false, true);
	assert_true(it.sampled && it.tries == 1);
	enable(false, true);
	assert_false(it.sampled);
	enable(false, true);
	assert_true(it.callbacks_on && it.tries == 2);

	setup(NULL);
	it.sampled = true;
	it.ends_after = 5;
	enable(false, false);
	assert_false(it.callbacks_on || it.sampled);

	setup(NULL);
	it.sampled = true;
	it.ends_after = 100;
	enable(false, false);
	assert_true(it.callbacks_on && it.sampled && it.tries < 20);
	/* Another subscriber comes first all the same. */
	aif_cuda_subscriber_release(CUDA);
	assert_false(it.subscribed);

	/* Tries that take long are fewer: whoever stops a recording waits for them. */
	setup(NULL);
	it.sampled = true;
	it.ends_after = 100;
	it.try_ms = 900;
	enable(false, false);
	assert_true(it.callbacks_on && it.sampled && it.tries < 8);
}

/* The test's own: there is no driver. */
void *dlopen(const char *name, int flags)
{
	(void)name, (void)flags;
	it.lookups++;
	return NULL;
}

/* The loader is asked for the driver once, not each second. */
static void a_driver_is_looked_for_when_something_was_loaded(void **state)
{
	(void)state;
	aif_agent.runtime[AIF_RUNTIME_ID(cuda)].state = NULL;
	for (unsigned i = 0; i < 5; i++)
		aif_runtime_cuda.start_late();
	assert_int_equal(it.lookups, 1);
}

static size_t address_space(void)
{
	char text[256] = "";
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_int_equal(sscanf(text, "%zu", &pages), 1);
	fclose(f);
	return pages * (size_t)getpagesize();
}

/* Enough memory for CUDA's state, and not for its launches. */
static void what_cannot_begin_keeps_no_memory(void **state)
{
	enum { BEYOND = 64 << 20 };
	size_t before = address_space();
	struct rlimit old, less;
	void *beyond;

	(void)state;
	aif_agent.runtime[AIF_RUNTIME_ID(cuda)].state = NULL;
	it.refused = 0;
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	less = old;
	less.rlim_cur = before + AIF_ALIGN_UP(sizeof(struct aif_cuda), 4096) + (1u << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
	beyond = mmap(NULL, BEYOND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (beyond != MAP_FAILED) { /* emulators take the limit for their own */
		assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
		munmap(beyond, BEYOND);
		skip();
	}
	assert_int_equal(InitializeInjection(), 1);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_null(CUDA);
	assert_int_equal(it.refused, 1);
	assert_true(address_space() <= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(callbacks_stay_in_a_pause, setup),
		cmocka_unit_test_setup(nothing_stays_when_the_recorder_has_gone, setup),
		cmocka_unit_test_setup(cupti_goes_for_good, setup),
		cmocka_unit_test_setup(another_profiler_goes_first, setup),
		cmocka_unit_test_setup(half_a_subscription_is_none, setup),
		cmocka_unit_test_setup(another_may_have_subscribed, setup),
		cmocka_unit_test_setup(losses_are_told_once, setup),
		cmocka_unit_test_setup(what_the_last_buffers_lack_is_told, setup),
		cmocka_unit_test_setup(sampling_that_does_not_end_is_tried_again, setup),
		cmocka_unit_test_setup(a_driver_is_looked_for_when_something_was_loaded, setup),
		cmocka_unit_test_setup(what_cannot_begin_keeps_no_memory, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
