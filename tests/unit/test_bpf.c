/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs as plain C, and what the recorder reads of what they tell. */
#define AIF_CORE
#define AIF_SETTING       static
#define __TARGET_ARCH_x86 1
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "record/ebpf/cpu.bpf.c"
#include "record/ebpf/driver.bpf.c"
#include "record/ebpf/launch.bpf.c"
#include "record/ebpf/offcpu.bpf.c"

#include "record/ebpf/event_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static size_t fake_key_size(const void *map)
{
	return map == &aif_off ? sizeof(struct aif_ebpf_off_key) : 4;
}

static size_t fake_value_size(const void *map)
{
	return map == &aif_off                                ? sizeof(struct aif_ebpf_off_value)
	       : map == &aif_left                             ? sizeof(struct aif_ebpf_left)
	       : map == &aif_lost || map == &aif_launching_at ? 8
							      : 4;
}

static int fake_is_array(const void *map)
{
	return map == &aif_lost || map == &aif_scratch;
}

static int setup(void **state)
{
	(void)state;
	fake_reset();
	aif_own_pid = 1;
	aif_pid_ino = 0;
	aif_some_wanted = 0;
	return 0;
}

static uint64_t lost(uint32_t what)
{
	uint64_t *n = bpf_map_lookup_elem(&aif_lost, &what);

	return *n;
}

static void flag(uint32_t pid, uint32_t flags)
{
	bpf_map_update_elem(&aif_unwanted, &pid, &flags, 0);
}

static void test_a_tick_tells_both_stacks(void **state)
{
	struct aif_ebpf_read r;

	(void)state;
	for (unsigned i = 0; i < 127; i++)
		fake.user[i] = 1000 + i, fake.kernel[i] = 2000 + i;
	for (fake.user_len = 0; fake.user_len <= 127; fake.user_len += 127)
		for (fake.kernel_len = 0; fake.kernel_len <= 127; fake.kernel_len++) {
			aif_cpu_tick(NULL);
			assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
			assert_int_equal(r.e.kind, AIF_EBPF_SAMPLE);
			assert_int_equal(r.e.pid, 100);
			assert_int_equal(r.e.tid, 101);
			assert_int_equal(r.e.time, 1000);
			assert_string_equal(r.e.comm, "python3");
			assert_int_equal(r.e.user_len, fake.user_len);
			assert_int_equal(r.e.kernel_len, fake.kernel_len);
			assert_memory_equal(r.user, fake.user, fake.user_len * 8);
			assert_memory_equal(r.kernel, fake.kernel, fake.kernel_len * 8);
			/* Not a byte less will do. */
			assert_false(aif_ebpf_event_read(fake.ring, fake.ring_len - 1, &r));
		}
}

static void test_who_is_not_sampled(void **state)
{
	(void)state;
	fake.pid_tgid = 0; /* idle */
	aif_cpu_tick(NULL);
	fake.pid_tgid = (uint64_t)aif_own_pid << 32 | 5;
	aif_cpu_tick(NULL);
	fake.pid_tgid = (uint64_t)100 << 32 | 101;
	flag(100, AIF_EBPF_NO_SAMPLES);
	aif_cpu_tick(NULL);
	assert_int_equal(fake.ring_records, 0);
	flag(100, AIF_EBPF_NO_LAUNCHES);
	aif_cpu_tick(NULL);
	assert_int_equal(fake.ring_records, 1);
}

static void test_numbers_of_the_recorders_namespace(void **state)
{
	struct aif_ebpf_read r;

	(void)state;
	aif_pid_ino = 4;
	fake.in_ns.tgid = 10;
	fake.in_ns.pid = 11;
	aif_cpu_tick(NULL);
	assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
	assert_int_equal(r.e.pid, 10);
	assert_int_equal(r.e.tid, 11);
	fake.no_ns = 1;
	aif_cpu_tick(NULL);
	assert_int_equal(fake.ring_records, 1);
}

static void test_what_finds_no_room_is_counted(void **state)
{
	struct aif_registers regs = {0};

	(void)state;
	fake.ring_full = 1;
	aif_cpu_tick(NULL);
	aif_cpu_tick(NULL);
	aif_launch(&regs);
	assert_int_equal(lost(AIF_EBPF_LOST_SAMPLES), 2);
	assert_int_equal(lost(AIF_EBPF_LOST_LAUNCHES), 1);
}

static void test_a_launch_knows_its_caller(void **state)
{
	uint64_t stack[] = {0x4711, 0};
	struct aif_registers regs = {.sp = (uint64_t)(uintptr_t)stack};
	struct aif_ebpf_read r;

	(void)state;
	fake.user[0] = 0x1000;
	fake.user_len = fake.kernel_len = 1;
	aif_launch(&regs);
	assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
	assert_int_equal(r.e.kind, AIF_EBPF_LAUNCH);
	assert_int_equal(r.e.caller, 0x4711);
	assert_int_equal(r.e.kernel_len, 0);
	regs.sp = 0;
	aif_launch(&regs);
	assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
	assert_int_equal(r.e.caller, 0);
	flag(100, AIF_EBPF_NO_LAUNCHES);
	aif_launch(&regs);
	assert_int_equal(fake.ring_records, 2);
}

static long driver_ioctl(void *file, unsigned int command, unsigned long argument)
{
	(void)file, (void)command, (void)argument;
	return 0;
}

static void test_a_driver_is_entered_in_a_launch(void **state)
{
	uint64_t launching = 0;
	struct task_struct task = {.thread.fsbase = (uintptr_t)&launching + 64};
	struct inode inode = {.i_mode = AIF_FILE_DEVICE | 0666};
	const struct file_operations ops = {.unlocked_ioctl = driver_ioctl};
	struct file file = {.f_inode = &inode, .f_op = &ops};
	struct aif_registers regs = {.ip = 0x1234};
	uint32_t pid = 100;
	int64_t at = -64;
	struct aif_ebpf_read r;

	(void)state;
	fake.task = &task;
	fake.regs = &regs;
	fake.kernel[0] = 0x5678;
	fake.kernel_len = 1;
	launching = 8;
	aif_ioctl(NULL, &file, 0xc0106440); /* nobody has asked for this process */
	bpf_map_update_elem(&aif_launching_at, &pid, &at, 0);
	launching = 0;
	aif_ioctl(NULL, &file, 0xc0106440); /* in no launch */
	launching = 8;
	aif_ioctl(NULL, &file, 0x5451); /* FIOCLEX */
	inode.i_mode = 0100666;         /* a regular file */
	aif_ioctl(NULL, &file, 0xc0106440);
	assert_int_equal(fake.ring_records, 0);
	inode.i_mode = AIF_FILE_DEVICE | 0666;
	fake.function_ip = 0x4711;
	aif_ioctl(NULL, &file, 0xc0106440);
	assert_int_equal(fake.ring_records, 1);
	assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
	assert_int_equal(r.e.kind, AIF_EBPF_DRIVER_INSTEAD);
	assert_int_equal(r.e.pid, 100);
	assert_int_equal(r.e.launch, 7);
	assert_int_equal(r.e.caller, (uintptr_t)driver_ioctl);
	assert_int_equal(r.e.probed, 0x4711);
	assert_int_equal(r.e.user_len, 1);
	assert_int_equal(r.user[0], 0x1234);
	assert_int_equal(r.e.kernel_len, 1);
	assert_int_equal(r.kernel[0], 0x5678);
	fake.arguments[1] = 0x99;
	aif_drm_ioctl(NULL);
	assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
	assert_int_equal(r.e.kind, AIF_EBPF_DRIVER_BELOW);
	assert_int_equal(r.e.caller, 0x99);
	fake.ring_full = 1;
	aif_ioctl(NULL, &file, 0xc0106440);
	assert_int_equal(lost(AIF_EBPF_LOST_DRIVERS), 1);
}

static void test_a_driver_is_entered_by_a_system_call(void **state)
{
	uint64_t launching = 8;
	struct inode inode = {.i_mode = AIF_FILE_DEVICE | 0666};
	const struct file_operations ops = {.unlocked_ioctl = driver_ioctl};
	struct file file = {.f_inode = &inode, .f_op = &ops}, *open[4] = {NULL, NULL, NULL, &file};
	struct fdtable table = {.max_fds = 4, .fd = open};
	struct files_struct files = {.fdt = &table};
	struct task_struct task = {.thread.fsbase = (uintptr_t)&launching, .files = &files};
	struct aif_registers regs = {.di = 3, .si = 0xc0106440, .ip = 0x1234};
	uint32_t pid = 100;
	int64_t at = 0;
	struct aif_ebpf_read r;

	(void)state;
	fake.task = &task;
	bpf_map_update_elem(&aif_launching_at, &pid, &at, 0);
	aif_sys_enter(NULL, &regs, 1); /* another call */
	regs.di = 2;                   /* no such file */
	aif_sys_enter(NULL, &regs, AIF_SYS_IOCTL);
	regs.di = 4;
	aif_sys_enter(NULL, &regs, AIF_SYS_IOCTL);
	assert_int_equal(fake.ring_records, 0);
	regs.di = 3;
	aif_sys_enter(NULL, &regs, AIF_SYS_IOCTL);
	assert_true(aif_ebpf_event_read(fake.ring, fake.ring_len, &r));
	assert_int_equal(r.e.kind, AIF_EBPF_DRIVER_SYSCALL);
	assert_int_equal(r.user[0], 0x1234);
	assert_int_equal(r.e.kernel_len, 0); /* no stack was to be had */
	assert_int_equal(r.e.launch, 7);
	assert_int_equal(r.e.caller, (uintptr_t)driver_ioctl);
	assert_int_equal(fake.ring_records, 1);
}

/* prev leaves its CPU at `time` to next. */
static void switch_to(uint64_t time, int preempt, struct task_struct *prev,
		      struct task_struct *next)
{
	fake.time = time;
	fake.pid_tgid = (uint64_t)(uint32_t)prev->tgid << 32 | (uint32_t)prev->pid;
	aif_switch(NULL, preempt, prev, next);
}

static struct aif_ebpf_off_value *sum_of(uint32_t pid, uint32_t tid, int user, uint32_t runnable)
{
	struct aif_ebpf_off_key key = {.pid = pid,
				       .tid = tid,
				       .user = user,
				       .kernel = user < 0 ? user : 8,
				       .runnable = runnable};

	return bpf_map_lookup_elem(&aif_off, &key);
}

static void test_time_off_cpu_adds_up(void **state)
{
	struct task_struct idle = {0}, a = {.pid = 11, .tgid = 10, .__state = 1};

	(void)state;
	switch_to(100, 0, &a, &idle);
	assert_null(sum_of(10, 11, 7, 0));
	switch_to(150, 0, &idle, &a);
	assert_int_equal(sum_of(10, 11, 7, 0)->ns, 50);
	switch_to(200, 0, &a, &idle);
	switch_to(230, 0, &idle, &a);
	assert_int_equal(sum_of(10, 11, 7, 0)->ns, 80);
	assert_int_equal(sum_of(10, 11, 7, 0)->times, 2);
	/* Twice back without having left counts once. */
	switch_to(300, 0, &idle, &a);
	assert_int_equal(sum_of(10, 11, 7, 0)->ns, 80);
	switch_to(400, 1, &a, &idle); /* taken off */
	switch_to(401, 0, &idle, &a);
	assert_int_equal(sum_of(10, 11, 7, 1)->ns, 1);
	a.__state = 0;
	switch_to(500, 0, &a, &idle);
	switch_to(503, 0, &idle, &a);
	assert_int_equal(sum_of(10, 11, 7, 1)->ns, 4);
}

/* A longer time is sent, as what it was, and in no sum; if there is no room it is in the sum. */
static void test_longer_times_are_sent(void **state)
{
	struct task_struct idle = {0}, a = {.pid = 11, .tgid = 10, .__state = 1};
	struct aif_ebpf_wait w;

	(void)state;
	switch_to(100, 0, &a, &idle);
	switch_to(100 + AIF_EBPF_LEAST_WAIT - 1, 0, &idle, &a);
	assert_int_equal(fake.ring_records, 0);
	assert_int_equal(sum_of(10, 11, 7, 0)->ns, AIF_EBPF_LEAST_WAIT - 1);
	switch_to(200000, 0, &a, &idle);
	switch_to(200000 + AIF_EBPF_LEAST_WAIT, 0, &idle, &a);
	assert_int_equal(fake.ring_records, 1);
	assert_int_equal(fake.ring_len, sizeof(w));
	memcpy(&w, fake.ring, sizeof(w));
	assert_int_equal(w.since, 200000);
	assert_int_equal(w.ns, AIF_EBPF_LEAST_WAIT);
	assert_int_equal(w.key.pid, 10);
	assert_int_equal(w.key.tid, 11);
	assert_int_equal(w.key.user, 7);
	assert_string_equal(w.comm, "python3");
	assert_int_equal(sum_of(10, 11, 7, 0)->times, 1);
	switch_to(900000, 0, &idle, &a); /* without having left */
	assert_int_equal(fake.ring_records, 1);
	fake.ring_full = 1;
	switch_to(1000000, 0, &a, &idle);
	switch_to(2000000, 0, &idle, &a);
	assert_int_equal(lost(AIF_EBPF_LOST_WAITS), 1);
	assert_int_equal(sum_of(10, 11, 7, 0)->ns, AIF_EBPF_LEAST_WAIT - 1 + 1000000);
}

/* Lets `by` wake p at `time`. */
static void wake(uint64_t time, const struct task_struct *by, struct task_struct *p)
{
	fake.time = time;
	fake.pid_tgid = (uint64_t)(uint32_t)by->tgid << 32 | (uint32_t)by->pid;
	aif_waking(NULL, p);
}

static struct aif_ebpf_wait last_wait(void)
{
	struct aif_ebpf_wait w;

	assert_int_equal(fake.ring_len, sizeof(w));
	memcpy(&w, fake.ring, sizeof(w));
	return w;
}

/* Tests that the first wake-up counts, of a wait that has a row of its own. */
static void test_who_wakes_is_sent(void **state)
{
	struct task_struct idle = {0}, a = {.pid = 11, .tgid = 10, .__state = 1},
			   b = {.pid = 21, .tgid = 20}, c = {.pid = 31, .tgid = 30};
	struct aif_ebpf_wait w;

	(void)state;
	wake(50, &b, &a); /* it has not left */
	switch_to(100, 0, &a, &idle);
	wake(100 + AIF_EBPF_LEAST_WAIT - 1, &c, &a); /* too early */
	wake(100 + AIF_EBPF_LEAST_WAIT, &b, &a);
	wake(101 + AIF_EBPF_LEAST_WAIT, &c, &a);
	switch_to(200 + AIF_EBPF_LEAST_WAIT, 0, &idle, &a);
	w = last_wait();
	assert_int_equal(w.waker.at, 100 + AIF_EBPF_LEAST_WAIT);
	assert_int_equal(w.waker.key.pid, 20);
	assert_int_equal(w.waker.key.tid, 21);
	assert_int_equal(w.waker.key.user, 7);
	assert_int_equal(w.waker.key.kernel, 8);
	assert_string_equal(w.waker.comm, "python3");
	/* An interrupt of an idle CPU. */
	switch_to(1000000, 0, &a, &idle);
	wake(2000000, &idle, &a);
	switch_to(2000000, 0, &idle, &a);
	w = last_wait();
	assert_int_equal(w.waker.at, 2000000);
	assert_int_equal(w.waker.key.pid, 0);
	assert_true(w.waker.key.user < 0);
	assert_int_equal(w.waker.key.kernel, 8);
	/* A thread that could run was not woken. */
	switch_to(3000000, 1, &a, &idle);
	wake(4000000, &b, &a);
	switch_to(4000000, 0, &idle, &a);
	assert_int_equal(last_wait().waker.at, 0);
}

static void test_many_waits_raise_the_bound(void **state)
{
	const uint64_t least = AIF_EBPF_LEAST_WAIT, second = 1000000000;

	(void)state;
	assert_int_equal(aif_ebpf_least_wait(least, 0, second), least);
	assert_int_equal(aif_ebpf_least_wait(least, AIF_EBPF_WAITS, second), least);
	assert_int_equal(aif_ebpf_least_wait(least, AIF_EBPF_WAITS + 1, second), 2 * least);
	assert_int_equal(aif_ebpf_least_wait(least, AIF_EBPF_WAITS + 1, 2 * second), least);
	assert_int_equal(aif_ebpf_least_wait(4 * least, AIF_EBPF_WAITS / 2, second), 4 * least);
	assert_int_equal(aif_ebpf_least_wait(4 * least, 0, second), 2 * least);
	assert_int_equal(aif_ebpf_least_wait(second, UINT64_MAX, 0), second);
}

static void test_who_does_not_come_back_is_not_waited_for(void **state)
{
	struct task_struct idle = {0}, dead = {.pid = 11, .tgid = 10, .__state = TASK_DEAD},
			   kthread = {.pid = 3, .tgid = 3, .flags = PF_KTHREAD, .__state = 1},
			   next = {.pid = 11, .tgid = 11};

	(void)state;
	switch_to(100, 0, &dead, &idle);
	switch_to(200, 0, &idle, &next); /* another of that number */
	switch_to(100, 0, &kthread, &idle);
	switch_to(200, 0, &idle, &kthread);
	assert_null(sum_of(10, 11, 7, 0));
	assert_null(sum_of(3, 3, 7, 0));
}

static void test_only_the_wanted_and_their_children(void **state)
{
	struct task_struct idle = {0}, recorder = {.pid = 1, .tgid = 1},
			   a = {.pid = 10, .tgid = 10, .__state = 1},
			   b = {.pid = 20, .tgid = 20, .__state = 1},
			   thread = {.pid = 12, .tgid = 10};
	uint32_t own = 1, children = AIF_EBPF_CHILDREN;

	(void)state;
	aif_some_wanted = 1;
	bpf_map_update_elem(&aif_wanted, &own, &children, 0);
	aif_fork(NULL, &recorder, &a);
	aif_fork(NULL, &a, &thread);
	switch_to(100, 0, &a, &b);
	switch_to(150, 0, &b, &a);
	switch_to(150, 0, &idle, &b);
	assert_int_equal(sum_of(10, 10, 7, 0)->ns, 50);
	assert_null(sum_of(20, 20, 7, 0));
	aif_fork(NULL, &a, &b);
	switch_to(200, 0, &b, &idle);
	switch_to(230, 0, &idle, &b);
	assert_int_equal(sum_of(20, 20, 7, 0)->ns, 30);
}

static void test_losses_off_cpu_are_counted(void **state)
{
	struct task_struct idle = {0}, a = {.pid = 11, .tgid = 10, .__state = 1};

	(void)state;
	fake.stack_error = -17;
	switch_to(100, 0, &a, &idle);
	switch_to(150, 0, &idle, &a);
	assert_int_equal(lost(AIF_EBPF_LOST_OFF_STACKS), 1);
	assert_int_equal(sum_of(10, 11, -17, 0)->ns, 50); /* the time is there */
	fake.stack_error = 0;
	switch_to(200, 0, &a, &idle);
	fake.update_error = -7;
	switch_to(250, 0, &idle, &a);
	assert_int_equal(lost(AIF_EBPF_LOST_OFF), 1);
}

static void test_events_that_are_none(void **state)
{
	uint64_t bytes[300] = {0};
	struct aif_ebpf_event *e = (struct aif_ebpf_event *)bytes;
	struct aif_ebpf_read r;

	(void)state;
	assert_false(aif_ebpf_event_read(bytes, sizeof(bytes), &r)); /* of no kind */
	e->kind = AIF_EBPF_SAMPLE;
	memset(e->comm, 'x', sizeof(e->comm));
	assert_true(aif_ebpf_event_read(bytes, sizeof(*e), &r));
	assert_int_equal(strlen(r.e.comm), AIF_EBPF_COMM - 1);
	e->user_len = AIF_EBPF_FRAMES + 1;
	assert_false(aif_ebpf_event_read(bytes, sizeof(bytes), &r));
	e->user_len = 1;
	e->kernel_len = UINT32_MAX;
	assert_false(aif_ebpf_event_read(bytes, sizeof(bytes), &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_tick_tells_both_stacks, setup),
		cmocka_unit_test_setup(test_who_is_not_sampled, setup),
		cmocka_unit_test_setup(test_numbers_of_the_recorders_namespace, setup),
		cmocka_unit_test_setup(test_what_finds_no_room_is_counted, setup),
		cmocka_unit_test_setup(test_a_launch_knows_its_caller, setup),
		cmocka_unit_test_setup(test_a_driver_is_entered_in_a_launch, setup),
		cmocka_unit_test_setup(test_a_driver_is_entered_by_a_system_call, setup),
		cmocka_unit_test_setup(test_time_off_cpu_adds_up, setup),
		cmocka_unit_test_setup(test_longer_times_are_sent, setup),
		cmocka_unit_test_setup(test_who_wakes_is_sent, setup),
		cmocka_unit_test(test_many_waits_raise_the_bound),
		cmocka_unit_test_setup(test_who_does_not_come_back_is_not_waited_for, setup),
		cmocka_unit_test_setup(test_only_the_wanted_and_their_children, setup),
		cmocka_unit_test_setup(test_losses_off_cpu_are_counted, setup),
		cmocka_unit_test_setup(test_events_that_are_none, setup),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	fake_reset();
	return r;
}
