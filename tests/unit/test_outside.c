/* SPDX-License-Identifier: Apache-2.0 */
/* Tests reading samples with registers and a copy of the stack, as perf_event writes them. */
#include "record/outside/children.h"
#include "record/outside/rings.h"
#include "record/outside/waits.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* after those */
#include <cmocka.h>

#if defined(__x86_64__)
enum { REGS = 7, AT_SP = 2, AT_PC = 3 };
#else
enum { REGS = 4, AT_SP = 2, AT_PC = 3 };
#endif

/* A sample's record behind its header, of `stack` bytes of stack, of which `used` were copied. Returns its length. */
static size_t make(uint8_t *to, uint64_t abi, uint64_t stack, uint64_t used)
{
	const uint64_t head[] = {0x1234, UINT64_C(8) << 32 | 7, 1000, 5000000, 77000000, abi};
	uint64_t regs[REGS];
	size_t n = sizeof(head);

	memcpy(to, head, n);
	for (unsigned i = 0; i < REGS; i++)
		regs[i] = 0x100 + i;
	if (abi) {
		memcpy(to + n, regs, sizeof(regs));
		n += sizeof(regs);
	}
	memcpy(to + n, &stack, 8);
	n += 8;
	if (stack) {
		memset(to + n, 's', stack);
		memcpy(to + n + stack, &used, 8);
		n += stack + 8;
	}
	return n;
}

static void samples_are_read(void **state)
{
	uint8_t record[4096];
	struct aif_outside_sample s;
	size_t n = make(record, PERF_SAMPLE_REGS_ABI_64, 64, 40);

	(void)state;
	assert_true(aif_outside_sample_parse(record, n, PERF_RECORD_MISC_KERNEL, &s));
	assert_int_equal(s.pid, 7);
	assert_int_equal(s.tid, 8);
	assert_int_equal(s.time, 1000);
	assert_int_equal(s.period, 5000000);
	assert_int_equal(s.cpu_ns, 77000000);
	assert_true(s.in_kernel && s.has_user && s.regs.knows_more);
	assert_int_equal(s.regs.regs.pc, 0x100 + AT_PC);
	assert_int_equal(s.regs.regs.sp, 0x100 + AT_SP);
	assert_int_equal(s.stack.at, 0x100 + AT_SP);
	assert_int_equal(s.stack.len, 40);
	assert_int_equal(s.stack.bytes[39], 's');
	assert_true(aif_outside_sample_parse(record, n, PERF_RECORD_MISC_USER, &s));
	assert_false(s.in_kernel);
	/* More bytes than there are were never copied. */
	n = make(record, PERF_SAMPLE_REGS_ABI_64, 64, 4000);
	assert_true(aif_outside_sample_parse(record, n, 0, &s));
	assert_int_equal(s.stack.len, 64);
	/* A thread of the kernel has no registers of a program; a 32-bit program's are not followed. */
	n = make(record, PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	assert_true(aif_outside_sample_parse(record, n, 0, &s));
	assert_false(s.has_user);
	n = make(record, PERF_SAMPLE_REGS_ABI_32, 64, 64);
	assert_true(aif_outside_sample_parse(record, n, 0, &s));
	assert_false(s.has_user);
}

static void cut_samples_are_refused(void **state)
{
	uint8_t record[4096];
	struct aif_outside_sample s;
	size_t n = make(record, PERF_SAMPLE_REGS_ABI_64, 64, 40);
	uint64_t huge = UINT64_MAX;

	(void)state;
	for (size_t len = 0; len < n; len++)
		assert_false(aif_outside_sample_parse(record, len, 0, &s));
	memcpy(record + 48 + 8 * REGS, &huge, 8);
	assert_false(aif_outside_sample_parse(record, n, 0, &s));
}

struct seen {
	unsigned samples, ours;
	uint64_t sum_ns, cpu_ns; /* of all samples; of the thread at the last one */
	bool has_lost;
};

static void count(void *arg, const struct aif_outside_sample *s)
{
	struct seen *seen = arg;

	seen->samples++;
	seen->sum_ns += s->period;
	seen->cpu_ns = s->cpu_ns;
	seen->ours += s->tid == (uint32_t)syscall(SYS_gettid) && s->has_user && s->stack.len > 0;
}

static void note_lost(void *arg, uint64_t n)
{
	((struct seen *)arg)->has_lost |= n > 0;
}

static void ignore(void *arg)
{
	(void)arg;
}

static void a_thread_that_computes_is_sampled(void **state)
{
	static uint8_t scratch[AIF_OUTSIDE_RECORD];
	struct seen seen = {0};
	const struct aif_outside_reader reader = {.arg = &seen,
						  .sample = count,
						  .lost = note_lost,
						  .mapped = ignore,
						  .scratch = scratch};
	struct aif_outside_ring ring;
	volatile double sum = 0;
	uint64_t random = 1;
	int r = aif_outside_ring_open(&ring, (uint32_t)syscall(SYS_gettid), 999);

	(void)state;
	if (r == -EACCES || r == -EPERM || r == -ENOENT || r == -ENOSYS)
		skip(); /* perf_event is refused here */
	assert_int_equal(r, 0);
	while (seen.samples <
	       150) { /* more than after which the period changes, and than the ring holds */
		for (unsigned i = 0; i < 100000; i++)
			sum += i;
		aif_outside_ring_read(&ring, &reader);
		aif_outside_ring_vary(&ring, 999, &random);
	}
	assert_int_equal(seen.ours, seen.samples);
	aif_outside_ring_close(&ring);
}

/* The kernel restarts its timer at each switch, and leaves time out. */
static void samples_of_a_thread_that_sleeps_often_have_all_of_its_cpu_time(void **state)
{
	static uint8_t scratch[AIF_OUTSIDE_RECORD];
	const struct timespec nap = {.tv_nsec = 20000};
	struct seen seen = {0};
	const struct aif_outside_reader reader = {.arg = &seen,
						  .sample = count,
						  .lost = note_lost,
						  .mapped = ignore,
						  .scratch = scratch};
	struct aif_outside_ring ring;
	volatile double sum = 0;
	int r = aif_outside_ring_open(&ring, (uint32_t)syscall(SYS_gettid), 999);

	(void)state;
	if (r == -EACCES || r == -EPERM || r == -ENOENT || r == -ENOSYS)
		skip(); /* perf_event is refused here */
	assert_int_equal(r, 0);
	while (seen.samples < 50) {
		for (unsigned i = 0; i < 10000; i++)
			sum += i;
		nanosleep(&nap, NULL);
		aif_outside_ring_read(&ring, &reader);
	}
	aif_outside_ring_close(&ring);
	if (!ring.sees_kernel || seen.has_lost)
		skip(); /* time in the kernel is in no sample, or samples are missing */
	assert_true(seen.cpu_ns > 0);
	assert_int_equal(seen.sum_ns, seen.cpu_ns);
}

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

static void a_wait_is_placed_between_the_two_looks_that_saw_it(void **state)
{
	struct aif_outside_waited sum;
	struct aif_outside_wait w;

	(void)state;
	aif_outside_wait_init(&w, 7 * S, 100 * S);
	for (unsigned i = 1; i <= 10; i++)
		assert_false(aif_outside_wait_look(&w, 7 * S, (100 + i) * S, 100 * S, &sum));
	assert_true(aif_outside_wait_look(&w, 7 * S + 50 * MS, 111 * S, 100 * S, &sum));
	assert_int_equal(sum.since_ns, 110 * S);
	assert_int_equal(sum.ns, 50 * MS);
	assert_false(aif_outside_wait_look(&w, 7 * S + 50 * MS, 112 * S, 100 * S, &sum));
}

static void short_waits_are_told_when_they_add_up(void **state)
{
	struct aif_outside_waited sum;
	struct aif_outside_wait w;

	(void)state;
	aif_outside_wait_init(&w, 0, 100 * S);
	assert_false(aif_outside_wait_look(&w, MS / 2, 101 * S, 100 * S, &sum));
	assert_true(aif_outside_wait_look(&w, MS, 102 * S, 100 * S, &sum));
	assert_int_equal(sum.since_ns, 101 * S);
	assert_int_equal(sum.ns, MS);
}

static void what_a_thread_waited_before_collecting_began_is_not_told(void **state)
{
	struct aif_outside_waited sum;
	struct aif_outside_wait w;

	(void)state;
	aif_outside_wait_init(&w, 0, 100 * S);
	assert_false(aif_outside_wait_look(&w, 5 * S, 106 * S, 0, &sum));
	assert_true(aif_outside_wait_look(&w, 6 * S, 108 * S, 107 * S, &sum));
	assert_int_equal(sum.since_ns, 107 * S);
	assert_int_equal(sum.ns, S);
}

#define CHILDREN 300 /* the kernel gives their numbers in more than a kilobyte of text */

static void count_child(void *arg, uint32_t child)
{
	(void)child;
	++*(unsigned *)arg;
}

static void all_children_are_found_however_many_there_are(void **state)
{
	pid_t child[CHILDREN];
	unsigned n = 0;
	int ends[2];
	char c;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (unsigned i = 0; i < CHILDREN; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] == 0) {
			close(ends[1]);
			_exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
		}
	}
	aif_outside_children((uint32_t)getpid(), (uint32_t)getpid(), count_child, &n);
	close(ends[0]);
	close(ends[1]);
	for (unsigned i = 0; i < CHILDREN; i++)
		waitpid(child[i], NULL, 0);
	assert_int_equal(n, CHILDREN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_children_are_found_however_many_there_are),
		cmocka_unit_test(a_wait_is_placed_between_the_two_looks_that_saw_it),
		cmocka_unit_test(short_waits_are_told_when_they_add_up),
		cmocka_unit_test(what_a_thread_waited_before_collecting_began_is_not_told),
		cmocka_unit_test(samples_are_read),
		cmocka_unit_test(cut_samples_are_refused),
		cmocka_unit_test(a_thread_that_computes_is_sampled),
		cmocka_unit_test(samples_of_a_thread_that_sleeps_often_have_all_of_its_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
