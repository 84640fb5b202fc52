/* SPDX-License-Identifier: Apache-2.0 */
/* Tests reading another process: its memory, its modules' tables, the stack of a thread that sleeps or is stopped. */
#include "remote/stop.h"
#include "stacks/objects.h"
#include "stacks/stacks.h"

#include "unwind/row.h"
#include "emulated.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* after those */
#include <cmocka.h>

/* ---- memory ---- */

static unsigned reads;

/* Readable: two pages from 0x10000 on, each byte its address's lowest. */
static size_t read_fake(void *arg, uint64_t at, void *to, size_t n)
{
	(void)arg;
	reads++;
	if (at < 0x10000 || at + n > 0x12000)
		return 0;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)(at + i);
	return n;
}

static void pages_are_read_once_and_never_beyond_the_bound(void **state)
{
	struct aif_remote_memory *m = aif_remote_memory_new(0, 4);
	uint8_t bytes[64];

	(void)state;
	assert_non_null(m);
	m->read = read_fake;
	reads = 0;
	assert_true(aif_remote_read(m, 0x10ff0, bytes, 32)); /* over a page's end */
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(bytes[i], (uint8_t)(0xf0 + i));
	assert_true(aif_remote_read(m, 0x10000, bytes, 64));
	assert_int_equal(reads, 2);
	assert_false(aif_remote_read(m, 0x11ff0, bytes, 32)); /* its end is not readable */
	assert_false(aif_remote_read(m, UINT64_MAX - 8, bytes, 32));
	assert_int_equal(reads, 3);
	aif_remote_forget(m);
	assert_true(aif_remote_read(m, 0x10000, bytes, 8));
	assert_int_equal(reads, 4);
	assert_false(aif_remote_read(m, 0x11000, bytes, 8)); /* a fifth page */
	assert_int_equal(reads, 4);
	free(m);
}

static void a_copy_ends_before_what_cannot_be_read(void **state)
{
	char *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char to[3 * 4096];

	(void)state;
	if (is_emulated())
		skip();
	assert_true(pages != MAP_FAILED);
	memset(pages, 'x', 3 * 4096);
	assert_int_equal(mprotect(pages + 2 * 4096, 4096, PROT_NONE), 0);
	assert_int_equal(aif_remote_copy(getpid(), (uintptr_t)pages + 100, to, sizeof(to)),
			 2 * 4096 - 100);
	assert_int_equal(to[2 * 4096 - 101], 'x');
	assert_int_equal(aif_remote_copy(getpid(), 4096, to, sizeof(to)), -EFAULT);
	munmap(pages, 3 * 4096);
}

/* ---- maps ---- */

static void maps_may_hold_anything(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"zzz",
		"1000-2000",
		"2000-1000 r-xp 0 fe:01 7 /x",
		"1000-2000 r-xp 00000000 fe:01 7 /x\n500-600 r-xp 0 fe:01 7 /y\n",
		"ffffffffffffffff-0 r-xp 0 fe:01 7",
	};
	struct aif_remote_memory *memory = aif_remote_memory_new(0, 4);
	struct aif_remote_modules m;

	(void)state;
	memory->read = read_fake;
	for (size_t i = 0; i < AIF_ARRAY_LEN(texts); i++) {
		char *text = strdup(texts[i]);

		assert_int_equal(aif_remote_modules_init(&m, memory, text), 0);
		assert_int_equal(m.ranges_len, i == 5);
		assert_int_equal(aif_row_kind(aif_remote_row(&m, 0x1800)), AIF_ROW_NONE);
		assert_null(aif_remote_module_at(&m, 0x800));
		aif_remote_modules_finish(&m);
		free(text);
	}
	free(memory);
}

/* ---- system calls ---- */

static void texts_of_system_calls_are_read(void **state)
{
	struct aif_remote_call c;

	(void)state;
	assert_true(aif_remote_call_parse(
		"232 0x5 0x7ffc 0x10 0xffffffffffffffff 0x0 0x8 0x7ffc20 0x7f01de5bd2ad\n", &c));
	assert_int_equal(c.number, 232);
	assert_int_equal(c.args[5], 8);
	assert_true(c.sp == 0x7ffc20 && c.pc == 0x7f01de5bd2ad);
	assert_true(aif_remote_call_parse("-1 0x7ffc20 0x7f01de5bd2ad\n", &c));
	assert_true(c.number == -1 && c.sp == 0x7ffc20 && c.pc == 0x7f01de5bd2ad);
	assert_false(aif_remote_call_parse("running\n", &c));
	assert_false(aif_remote_call_parse("", &c));
	assert_false(aif_remote_call_parse("7 0x1 0x2\n", &c));
	assert_false(aif_remote_call_parse("-1 0x1\n", &c));
	assert_false(aif_remote_call_restarts(SYS_epoll_pwait));
	assert_true(aif_remote_call_restarts(SYS_futex));
}

/* ---- sockets ---- */

static void sockets_are_found_by_their_number(void **state)
{
	static const char tcp[] =
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 77 1 0 100 0 0 10 0\n"
		"   1: 0100007F:1F90 0200000A:0050 01 00000000:00000000 00:00000000 00000000  1000        0 78 1 0 20 4 30 10 -1\n";
	static const char local[] =
		"Num       RefCount Protocol Flags    Type St Inode Path\n"
		"0000000000000000: 00000002 00000000 00010000 0001 01 9001 /run/x.sock\n"
		"0000000000000000: 00000003 00000000 00000000 0001 03 9002\n";
	struct aif_buf b = {0};

	(void)state;
	assert_true(aif_stacks_find_socket(tcp, "tcp", 77, &b));
	assert_string_equal(aif_buf_str(&b), "tcp 127.0.0.1:8080");
	aif_buf_clear(&b);
	assert_true(aif_stacks_find_socket(tcp, "tcp", 78, &b));
	assert_string_equal(aif_buf_str(&b), "tcp 127.0.0.1:8080, from 10.0.0.2:80");
	aif_buf_clear(&b);
	assert_false(aif_stacks_find_socket(tcp, "tcp", 79, &b));
	assert_true(aif_stacks_find_socket(local, "unix", 9001, &b));
	assert_string_equal(aif_buf_str(&b), "unix socket /run/x.sock");
	aif_buf_clear(&b);
	assert_true(aif_stacks_find_socket(local, "unix", 9002, &b));
	assert_string_equal(aif_buf_str(&b), "unix socket");
	aif_buf_finish(&b);
}

/* ---- refusals ---- */

static void a_refusal_names_who_refuses_and_what_helps(void **state)
{
	static const struct {
		struct aif_stacks_refusal r;
		const char *says, *advises;
	} cases[] = {
		{{7, 0, 1000, 1001, false, true, 1}, "belongs to user 1000", "sudo"},
		{{7, 0, 1000, 0, false, true, -1}, "belongs to user 1000", "CAP_SYS_PTRACE"},
		{{7, 99, 1000, 1000, false, true, 0}, "process 99 traces it", "end that"},
		{{7, 0, 1000, 1000, false, true, 1},
		 "ptrace_scope is 1",
		 "sysctl kernel.yama.ptrace_scope=0"},
		{{7, 0, 1000, 1000, false, true, 2},
		 "ptrace_scope is 2",
		 "sysctl kernel.yama.ptrace_scope=0"},
		{{7, 0, 0, 0, true, true, 3}, "ptrace_scope is 3", "starts anew"},
		{{7, 0, 1000, 1000, false, false, 0}, "not dumpable", "sudo"},
		{{7, 0, 1000, 1000, false, true, 0}, "security module", "CAP_SYS_PTRACE"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_err err = {0};

		aif_stacks_refused(&cases[i].r, &err);
		assert_int_equal(err.code, -EPERM);
		assert_non_null(strstr(err.text, "process 7"));
		assert_non_null(strstr(err.text, cases[i].says));
		assert_non_null(strstr(err.text, cases[i].advises));
	}
}

/* ---- stops ---- */

static void seen(void *arg, const struct aif_remote_regs *regs)
{
	struct aif_remote_regs *ret = arg;

	*ret = *regs;
}

static void a_stopped_thread_goes_on(void **state)
{
	volatile uint64_t *count =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct aif_remote_regs regs = {0};
	uint64_t ns, was;
	pid_t child;

	(void)state;
	if (is_emulated())
		skip();
	assert_true(count != MAP_FAILED);
	child = fork();
	if (child == 0)
		for (;;)
			++*count;
	assert_true(child > 0);
	while (!*count)
		usleep(1000);
	assert_int_equal(aif_remote_stop(child, seen, &regs, &ns), 0);
	assert_true(regs.knows_more && regs.regs.pc && regs.regs.sp);
	was = *count;
	while (*count == was)
		usleep(1000);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(aif_remote_stop(child, seen, &regs, &ns), -ESRCH);
	munmap((void *)count, 4096);
}

/* A signal that comes while a thread is stopped reaches it: each of them is counted. */
static volatile uint64_t *signals;

static void count_signal(int number)
{
	(void)number;
	++*signals;
}

static void no_signal_is_lost_by_stops(void **state)
{
	struct aif_remote_regs regs;
	uint64_t ns, sent = 0;
	pid_t child;

	(void)state;
	if (is_emulated())
		skip();
	signals = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(signals != MAP_FAILED);
	child = fork();
	if (child == 0) {
		signal(SIGUSR1, count_signal);
		signals[1] = 1;
		for (;;)
			;
	}
	while (!signals[1])
		usleep(1000);
	for (unsigned i = 0; i < 200; i++) {
		kill(child, SIGUSR1);
		sent++;
		assert_int_equal(aif_remote_stop(child, seen, &regs, &ns), 0);
		while (signals[0] < sent)
			usleep(100);
	}
	assert_int_equal(signals[0], sent);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_read_once_and_never_beyond_the_bound),
		cmocka_unit_test(a_copy_ends_before_what_cannot_be_read),
		cmocka_unit_test(maps_may_hold_anything),
		cmocka_unit_test(texts_of_system_calls_are_read),
		cmocka_unit_test(sockets_are_found_by_their_number),
		cmocka_unit_test(a_refusal_names_who_refuses_and_what_helps),
		cmocka_unit_test(a_stopped_thread_goes_on),
		cmocka_unit_test(no_signal_is_lost_by_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
