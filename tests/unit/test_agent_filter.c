/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/filter_check.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LOAD(at)           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(at))
#define NR                 LOAD(offsetof(struct seccomp_data, nr))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), yes, no)
#define RET(value)         BPF_STMT(BPF_RET | BPF_K, value)
#define ARG(i)             (offsetof(struct seccomp_data, args) + 8 * (i))

static uint64_t run_call(const struct sock_filter *f, unsigned len, struct aif_filter_call call)
{
	return aif_filter_run(f, len, &call);
}
#define RUN(f, ...) run_call(f, AIF_ARRAY_LEN(f), (struct aif_filter_call){__VA_ARGS__})
#define CHECK(f)    aif_filter_check(f, AIF_ARRAY_LEN(f))

static void a_filter_answers_by_number(void **state)
{
	const struct sock_filter f[] = {NR, IF(SYS_gettid, 0, 1), RET(SECCOMP_RET_KILL_PROCESS),
					RET(SECCOMP_RET_ALLOW)};

	(void)state;
	assert_int_equal(RUN(f, .nr = SYS_gettid), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(RUN(f, .nr = SYS_getpid), SECCOMP_RET_ALLOW);
	/* No filter that the kernel takes runs off its end. */
	assert_true(RUN(((struct sock_filter[]){NR}), .nr = 1) == AIF_FILTER_UNKNOWN);
	assert_true(run_call(f, 0, (struct aif_filter_call){0}) == AIF_FILTER_UNKNOWN);
}

static void what_depends_on_unknown_arguments_is_unknown(void **state)
{
	const struct sock_filter f[] = {NR,
					IF(SYS_clock_gettime, 0, 3),
					LOAD(ARG(0)),
					IF(CLOCK_THREAD_CPUTIME_ID, 1, 0),
					RET(SECCOMP_RET_TRAP),
					RET(SECCOMP_RET_ALLOW)};
	const struct sock_filter by_address[] = {
		LOAD(offsetof(struct seccomp_data, instruction_pointer)), RET(SECCOMP_RET_ALLOW)};

	(void)state;
	assert_true(RUN(f, .nr = SYS_clock_gettime) == AIF_FILTER_UNKNOWN);
	assert_int_equal(
		RUN(f, .nr = SYS_clock_gettime, .known = 1, .args = {CLOCK_THREAD_CPUTIME_ID}),
		SECCOMP_RET_ALLOW);
	assert_int_equal(RUN(f, .nr = SYS_clock_gettime, .known = 1, .args = {CLOCK_MONOTONIC}),
			 SECCOMP_RET_TRAP);
	assert_int_equal(RUN(f, .nr = SYS_gettid), SECCOMP_RET_ALLOW);
	assert_true(RUN(by_address, .nr = SYS_gettid) == AIF_FILTER_UNKNOWN);
}

/* Answers through all that a filter may do: the kernel's own interpreter says the same. */
static void filters_calculate_as_the_kernel_does(void **state)
{
	struct sock_filter f[] = {
		NR,
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 5),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 0xfffffff0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 3),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
		BPF_STMT(BPF_ALU | BPF_NEG, 0),
		BPF_STMT(BPF_STX, 1),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 3),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3fff),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 5000, 0, 2),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
		RET(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = AIF_ARRAY_LEN(f), .filter = f};
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(77);
		for (int nr = 5000; nr < 9000; nr++) {
			uint64_t answer = RUN(f, .nr = nr);
			long want = (long)(answer & SECCOMP_RET_DATA);

			if ((answer & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO)
				_exit(2);
			want = want > 4095 ? 4095 : want;
			if (want && (syscall(nr) != -1 || errno != want))
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_filter_of_what_we_never_call_is_harmless(void **state)
{
	const struct sock_filter f[] = {NR, IF(SYS_reboot, 0, 1), RET(SECCOMP_RET_KILL_PROCESS),
					RET(SECCOMP_RET_ALLOW)};

	(void)state;
	assert_int_equal(CHECK(f), AIF_FILTER_ALLOWS_ALL);
}

static void a_filter_of_what_we_call_is_not(void **state)
{
	static const struct {
		int nr;
		uint32_t action;
		enum aif_filter_allows want;
	} rows[] = {
		{SYS_gettid, SECCOMP_RET_KILL_PROCESS, AIF_FILTER_ALLOWS_NOTHING},
		{SYS_futex, SECCOMP_RET_ERRNO, AIF_FILTER_ALLOWS_NOTHING},
		{SYS_getrusage, SECCOMP_RET_KILL_THREAD, AIF_FILTER_ALLOWS_WAITING},
		{SYS_rt_sigreturn, SECCOMP_RET_TRAP, AIF_FILTER_ALLOWS_WAITING},
		{SYS_openat, SECCOMP_RET_ERRNO, AIF_FILTER_ALLOWS_WAITING},
		{SYS_openat, SECCOMP_RET_LOG, AIF_FILTER_ALLOWS_ALL},
		{SYS_socket, SECCOMP_RET_ERRNO, AIF_FILTER_ALLOWS_ALL},
		{SYS_socket, SECCOMP_RET_TRACE, AIF_FILTER_ALLOWS_WAITING},
		{SYS_socket, SECCOMP_RET_KILL_PROCESS, AIF_FILTER_ALLOWS_WAITING},
		{SYS_setsockopt, SECCOMP_RET_KILL_PROCESS, AIF_FILTER_ALLOWS_WAITING},
		{SYS_setsockopt, SECCOMP_RET_ERRNO, AIF_FILTER_ALLOWS_ALL},
		{SYS_prlimit64, SECCOMP_RET_KILL_THREAD, AIF_FILTER_ALLOWS_WAITING},
		{SYS_munlock, SECCOMP_RET_TRAP, AIF_FILTER_ALLOWS_WAITING},
#ifdef SYS_rseq
		{SYS_rseq, SECCOMP_RET_ERRNO, AIF_FILTER_ALLOWS_NOTHING},
#endif
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		const struct sock_filter f[] = {NR, IF(rows[i].nr, 0, 1), RET(rows[i].action),
						RET(SECCOMP_RET_ALLOW)};

		if (CHECK(f) != rows[i].want)
			fail_msg("call %d, action %x: %d", rows[i].nr, rows[i].action, CHECK(f));
	}
}

/* Anything in memory may come, before the kernel has looked at it. */
static void any_bytes_end(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int n = 0; n < 20000; n++) {
		struct sock_filter f[24];

		for (size_t i = 0; i < sizeof(f); i += 8) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			memcpy((char *)f + i, &random, 8);
		}
		for (size_t i = 0; i < AIF_ARRAY_LEN(f); i++) {
			f[i].code &= 0xff;
			if (random >> i & 1)
				f[i].k &= 63;
		}
		(void)CHECK(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_answers_by_number),
		cmocka_unit_test(what_depends_on_unknown_arguments_is_unknown),
		cmocka_unit_test(filters_calculate_as_the_kernel_does),
		cmocka_unit_test(a_filter_of_what_we_never_call_is_harmless),
		cmocka_unit_test(a_filter_of_what_we_call_is_not),
		cmocka_unit_test(any_bytes_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
