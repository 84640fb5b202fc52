/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how system calls in which threads sleep are read and named. */
#include "record/sources/sleep_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
/* after those */
#include <cmocka.h>

static void texts_are_read(void **state)
{
	struct aif_sleep_call c;

	(void)state;
	assert_true(aif_sleep_call_parse(
		"232 0x5 0x7ffc 0x10 0xffffffffffffffff 0x0 0x8 0x7ffc20 0x7f01de5bd2ad\n", &c));
	assert_int_equal(c.number, 232);
	assert_int_equal(c.args[0], 5);
	assert_true(c.args[3] == UINT64_MAX);
	assert_true(c.sp == 0x7ffc20 && c.pc == 0x7f01de5bd2ad);
	assert_true(aif_sleep_call_parse("-1 0x7ffc20 0x7f01de5bd2ad\n", &c));
	assert_int_equal(c.number, -1);
	assert_true(c.sp == 0x7ffc20 && c.pc == 0x7f01de5bd2ad);
	assert_false(aif_sleep_call_parse("running\n", &c));
	assert_false(aif_sleep_call_parse("", &c));
	assert_false(aif_sleep_call_parse("7", &c));
	assert_false(aif_sleep_call_parse("7 0x1 0x2\n", &c));
	assert_false(aif_sleep_call_parse("-2 0x1 0x2 0x3 0x4 0x5 0x6\n", &c));
}

static void the_interpreter_is_found_in_maps(void **state)
{
	static const char maps[] =
		"00400000-00420000 r--p 00000000 fe:01 77   /usr/bin/python3.11\n"
		"00a00000-00a10000 r--p 00600000 fe:01 77   /usr/bin/python3.11\n"
		"00a10000-00b00000 rw-p 00610000 fe:01 77   /usr/bin/python3.11\n"
		"00b00000-00b20000 rw-p 00000000 00:00 0 \n"
		"01c00000-02000000 rw-p 00000000 00:00 0    [heap]\n"
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
		"7f0000001000-7f0000002000 rw-p 00000000 fe:01 78 /usr/lib/libpthread.so.0\n";
	struct aif_sleep_python python = aif_sleep_python_find(maps);
	struct aif_sleep_call call = {.number = SYS_futex, .args = {0xb1fff0, 0x189}};
	char name[AIF_SLEEP_NAME];

	(void)state;
	assert_true(python.start == 0xa10000 && python.end == 0xb20000);
	aif_sleep_call_name(getpid(), &call, &python, name);
	assert_string_equal(name, "futex of Python's GIL");
	call.args[0] = 0x1c00010; /* a lock of the program's */
	aif_sleep_call_name(getpid(), &call, &python, name);
	assert_string_equal(name, "futex");
	python = aif_sleep_python_find(
		"7f00-7f10 rw-p 00000000 fe:01 7 /opt/lib/libpython3.12.so.1.0");
	assert_true(python.start == 0x7f00 && python.end == 0x7f10);
	assert_true(aif_sleep_python_find("").end == 0);
	assert_true(aif_sleep_python_find("\n-\n1-2\nx y z\n").end == 0);
}

static void assert_named(long number, uint64_t a, uint64_t b, const char *expected)
{
	struct aif_sleep_call call = {.number = number, .args = {a, b}};
	char name[AIF_SLEEP_NAME];

	aif_sleep_call_name(getpid(), &call, NULL, name);
	assert_string_equal(name, expected);
}

static void calls_are_named_with_what_they_wait_for(void **state)
{
	int sockets[2], pipes[2], event = eventfd(0, 0), file = open("/proc/self/exe", O_RDONLY);
	int null = open("/dev/null", O_RDONLY);
	struct pollfd both[2], none = {.fd = -1};
	struct iovec from = {&none, sizeof(none)}, to = {&both[0], sizeof(none)};
	fd_set set;
	bool reads;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_named(SYS_epoll_pwait, 5, 0, "epoll_pwait");
	assert_named(SYS_futex, 5, 0, "futex");
	assert_named(-1, 0, 0, "a page fault");
	assert_named(100000, 0, 0, "system call 100000");
	assert_named(SYS_read, (uint64_t)sockets[0], 0, "read of a socket");
	assert_named(SYS_read, (uint64_t)pipes[0], 0, "read of a pipe");
	assert_named(SYS_read, (uint64_t)event, 0, "read of an eventfd");
	assert_named(SYS_read, (uint64_t)file, 0, "read of a file");
	assert_named(SYS_read, (uint64_t)null, 0, "read of a device");
	assert_named(SYS_read, 100000, 0, "read");
	reads = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(none);
	both[0] = (struct pollfd){.fd = pipes[0]};
	both[1] = (struct pollfd){.fd = sockets[0]};
	/* qemu-user reads no memory of processes. The socket is the likelier. */
	if (reads) {
		assert_named(SYS_ppoll, (uintptr_t)both, 2, "ppoll of a socket");
		assert_named(SYS_ppoll, (uintptr_t)both, 1, "ppoll of a pipe");
	}
	assert_named(SYS_ppoll, (uintptr_t)both, 0, "ppoll");
	assert_named(SYS_ppoll, (uintptr_t)&none, 1, "ppoll");
	assert_named(SYS_ppoll, 0, UINT64_MAX, "ppoll");
	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	if (reads)
		assert_named(SYS_pselect6, (uint64_t)pipes[0] + 1, (uintptr_t)&set,
			     "pselect of a pipe");
	FD_SET(sockets[0], &set);
	if (reads)
		assert_named(SYS_pselect6, UINT64_MAX, (uintptr_t)&set, "pselect of a socket");
	assert_named(SYS_pselect6, 0, (uintptr_t)&set, "pselect");
	assert_named(SYS_pselect6, 100, 0, "pselect");
	close(null);
	close(file);
	close(event);
	for (int i = 0; i < 2; i++) {
		close(sockets[i]);
		close(pipes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read),
		cmocka_unit_test(the_interpreter_is_found_in_maps),
		cmocka_unit_test(calls_are_named_with_what_they_wait_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
