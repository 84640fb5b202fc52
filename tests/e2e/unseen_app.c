/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Programs that install filters of system calls by instructions of their own: unseen.sh. `unseen_app HOW FILTER` computes,
 * installs, and computes on.
 *
 *   HOW     number: the number stands beside the instruction; argument: it is one of a function's; announced: after
 *           PR_SET_NO_NEW_PRIVS by an instruction, too; all: for all threads
 *   FILTER  few: ends the program at all calls but a worker's; none: at the return from a handler, too; error: refuses
 *           these
 */

static volatile double x = 1;

static void burn(void)
{
	for (int i = 0; i < 30000000; i++)
		x = x * 1.0001 + .5;
}

static void say(const char *what)
{
	if (write(1, what, strlen(what)) < 0)
		_exit(99);
}

#if defined(__x86_64__)
/* A function like those of libraries that do without the C library's. */
__attribute__((noipa)) static long any_call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;

	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return number;
}

static long seccomp_call(long operation, long flags, const void *filter)
{
	long r;

	__asm__ volatile("mov $317, %%eax\n\tsyscall"
			 : "=a"(r)
			 : "D"(operation), "S"(flags), "d"(filter)
			 : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__)
__attribute__((noipa)) static long any_call(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

static long seccomp_call(long operation, long flags, const void *filter)
{
	register long x0 __asm__("x0") = operation;
	register long x1 __asm__("x1") = flags;
	register long x2 __asm__("x2") = (long)filter;

	__asm__ volatile("mov x8, #277\n\tsvc #0" : "+r"(x0) : "r"(x1), "r"(x2) : "x8", "memory");
	return x0;
}
#endif

static struct sock_fprog filter_of(const char *name)
{
	static const int allowed[] = {SYS_write,  SYS_exit_group, SYS_exit,    SYS_brk,
				      SYS_munmap, SYS_futex,      SYS_madvise, SYS_rt_sigreturn};
	static struct sock_filter program[64];
	unsigned n = sizeof(allowed) / sizeof(*allowed) - !strcmp(name, "none"), len = 0;

	program[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < n; i++) {
		program[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (unsigned)allowed[i], 0, 1);
		program[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	program[len++] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K,
		!strcmp(name, "error") ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS);
	return (struct sock_fprog){.len = (unsigned short)len, .filter = program};
}

static void *work(void *arg)
{
	for (;;)
		burn();
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "number", *name = argc > 2 ? argv[2] : "few";
	struct sock_fprog filter = filter_of(name);
	pthread_t thread;
	long r = -1;

	if (!strcmp(how, "all") && pthread_create(&thread, NULL, work, NULL))
		return 2;
	burn();
	if (!strcmp(how, "announced"))
		any_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(how, "argument") || !strcmp(how, "announced"))
		r = any_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter, 0, 0);
	else
		r = seccomp_call(SECCOMP_SET_MODE_FILTER,
				 !strcmp(how, "all") ? SECCOMP_FILTER_FLAG_TSYNC : 0, &filter);
	say(r ? "refused\n" : "installed\n");
	for (int i = 0; i < 5; i++)
		burn();
	say("done\n");
	exit(3);
}
