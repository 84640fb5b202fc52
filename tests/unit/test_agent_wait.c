/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait by looking again and again: when samples are of waiting, and what is told behind them. */
#include "agent/wait.h"

#include "agent/capture.h"
#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

static struct {
	struct aif_armed armed;
	struct aif_thread thread;
	struct aif_regs regs;
	unsigned rows;
	uint64_t reported;
} it;

struct aif_thread *aif_thread_enter_slow(void)
{
	return NULL;
}

void aif_emit_wait(struct aif_thread *t, uint64_t since, uint64_t weight, uint32_t stack)
{
	assert_ptr_equal(t, &it.thread);
	assert_true(since && weight && stack == 7);
	it.rows++;
	it.reported += weight;
}

uint32_t aif_capture(struct aif_thread *t, const struct aif_regs *regs,
		     const struct aif_emit_api *api)
{
	(void)t, (void)api;
	assert_ptr_equal(regs, &it.regs);
	return 7;
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	memset(&aif_agent, 0, sizeof(aif_agent));
	it.armed = (struct aif_armed){.on = 1, .recorder_alive = 1, .generation = 1};
	it.thread.generation = 1;
	aif_agent.session.armed = &it.armed;
	atomic_store(&aif_agent.cpu.wait_period_ns, 1000000);
	aif_self = &it.thread;
	return 0;
}

static void wait_asleep(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void wait_looking(uint64_t ms)
{
	const uint64_t until = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	while (aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

/* Not before, and not behind it. */
static void samples_between_the_two_are_of_waiting(void **state)
{
	(void)state;
	assert_false(aif_wait_spins());
	for (unsigned i = 0; i < 3; i++) {
		errno = 5;
		aif_wait_spin_begin();
		assert_true(aif_wait_spins());
		aif_wait_spin_end(&it.regs);
		assert_false(aif_wait_spins());
		assert_int_equal(errno, 5);
		assert_int_equal(aif_thread_busy(&it.thread), AIF_BUSY_NOT);
	}
}

/* CPU time is left to the samples: the row has only the time asleep. */
static void what_was_used_of_a_cpu_is_not_told(void **state)
{
	uint64_t begin = aif_now_ns(), wall, cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	(void)state;
	aif_wait_spin_begin();
	wait_asleep(50);
	wait_looking(50);
	aif_wait_spin_end(&it.regs);
	wall = aif_now_ns() - begin;
	cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	assert_int_equal(it.rows, 1);
	assert_true(it.reported >= 40000000);
	assert_true(it.reported + cpu <= wall + 1000000);
	/* Each end belongs to one beginning: a second end is no row. */
	aif_wait_spin_end(&it.regs);
	assert_int_equal(it.rows, 1);
}

/* With --wall samples tell all of it. */
static void samples_tell_it(void **state)
{
	(void)state;
	atomic_store(&aif_agent.cpu.wait_period_ns, AIF_WAIT_SAMPLED);
	aif_wait_spin_begin();
	assert_true(aif_wait_spins());
	wait_asleep(5);
	aif_wait_spin_end(&it.regs);
	assert_false(aif_wait_spins());
	assert_int_equal(it.rows, 0);
	/* A wait that began before its rows were asked for is no row either. */
	atomic_store(&aif_agent.cpu.wait_period_ns, 1000000);
	aif_wait_spin_end(&it.regs);
	assert_int_equal(it.rows, 0);
}

static void ends_that_do_not_come_are_forgotten(void **state)
{
	(void)state;
	aif_wait_spin_begin();
	aif_wait_spins_forget();
	assert_false(aif_wait_spins());
	wait_asleep(5);
	aif_wait_spin_end(&it.regs);
	assert_int_equal(it.rows, 0);
	aif_wait_spin_begin();
	assert_true(aif_wait_spins());
	aif_wait_spin_end(&it.regs);
	assert_false(aif_wait_spins());
}

/* Waits are not told when nobody records, within an entry of ours, and of a thread that has not launched anything and
 * gets no place. */
static void where_nothing_is_told(void **state)
{
	(void)state;
	atomic_store(&aif_agent.cpu.wait_period_ns, 0);
	aif_wait_spin_begin();
	assert_false(aif_wait_spins());
	aif_wait_spin_end(&it.regs);
	atomic_store(&aif_agent.cpu.wait_period_ns, 1000000);
	aif_thread_set_busy(&it.thread, AIF_BUSY_VENDOR);
	aif_wait_spin_begin();
	assert_false(aif_wait_spins());
	aif_wait_spin_end(&it.regs);
	assert_int_equal(aif_thread_busy(&it.thread), AIF_BUSY_VENDOR);
	aif_self = NULL;
	aif_wait_spin_begin();
	assert_false(aif_wait_spins());
	aif_wait_spin_end(&it.regs);
	assert_int_equal(it.rows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(samples_between_the_two_are_of_waiting, setup),
		cmocka_unit_test_setup(what_was_used_of_a_cpu_is_not_told, setup),
		cmocka_unit_test_setup(samples_tell_it, setup),
		cmocka_unit_test_setup(ends_that_do_not_come_are_forgotten, setup),
		cmocka_unit_test_setup(where_nothing_is_told, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
