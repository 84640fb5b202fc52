/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter program[64];

/* All but those that a worker needs which computes and writes. */
static struct sock_fprog allow_few(uint32_t otherwise, bool handlers)
{
	static const int allowed[] = {SYS_write, SYS_exit_group, SYS_exit,   SYS_brk,
				      SYS_read,  SYS_munmap,     SYS_execve, SYS_rt_sigreturn};
	unsigned n = sizeof(allowed) / sizeof(allowed[0]) - !handlers, len = 0;

	program[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < n; i++) {
		program[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (unsigned)allowed[i], 0, 1);
		program[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	program[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	return (struct sock_fprog){.len = (unsigned short)len, .filter = program};
}

static struct sock_fprog forbid(int nr, uint32_t action)
{
	program[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						  offsetof(struct seccomp_data, nr));
	program[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1);
	program[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	program[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return (struct sock_fprog){.len = 4, .filter = program};
}

static void no_more_privileges(void)
{
	guest_burn();
	guest_say("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void by_prctl(struct sock_fprog p)
{
	no_more_privileges();
	guest_say("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
	for (int i = 0; i < 4; i++)
		guest_burn();
	guest_say("done", 0);
}

static void by_seccomp(struct sock_fprog p, unsigned flags)
{
	no_more_privileges();
	guest_say("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p));
	for (int i = 0; i < 4; i++)
		guest_burn();
	guest_say("done", 0);
}

void guest_filter_kill(void)
{
	by_prctl(allow_few(SECCOMP_RET_KILL_PROCESS, true));
	_exit(3);
}

/* No second between the two: the program has privileges and needs no promise. */
void guest_filter_as_root(void)
{
	struct sock_fprog p = allow_few(SECCOMP_RET_KILL_PROCESS, true);

	guest_burn();
	guest_say("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
	for (int i = 0; i < 4; i++)
		guest_burn();
	guest_say("done", 0);
	_exit(3);
}

void guest_filter_kill_call(void)
{
	by_seccomp(allow_few(SECCOMP_RET_KILL_PROCESS, true), 0);
	_exit(3);
}

void guest_filter_kill_all(void)
{
	by_seccomp(allow_few(SECCOMP_RET_KILL_PROCESS, true), SECCOMP_FILTER_FLAG_TSYNC);
	_exit(3);
}

void guest_filter_kill_thread(void)
{
	by_seccomp(allow_few(SECCOMP_RET_KILL_THREAD, true), SECCOMP_FILTER_FLAG_TSYNC);
	_exit(3);
}

void guest_filter_no_handlers(void)
{
	by_seccomp(allow_few(SECCOMP_RET_KILL_PROCESS, false), SECCOMP_FILTER_FLAG_TSYNC);
	_exit(3);
}

void guest_filter_no_handlers_prctl(void)
{
	by_prctl(allow_few(SECCOMP_RET_KILL_PROCESS, false));
	_exit(3);
}

void guest_filter_error(void)
{
	by_prctl(allow_few(SECCOMP_RET_ERRNO | EPERM, true));
	_exit(3);
}

void guest_filter_error_all(void)
{
	by_seccomp(allow_few(SECCOMP_RET_ERRNO | EPERM, true), SECCOMP_FILTER_FLAG_TSYNC);
	_exit(3);
}

static volatile sig_atomic_t trapped;

static void on_trap(int signal)
{
	(void)signal;
	trapped++;
}

void guest_filter_trap(void)
{
	signal(SIGSYS, on_trap);
	by_seccomp(allow_few(SECCOMP_RET_TRAP, true), SECCOMP_FILTER_FLAG_TSYNC);
	guest_say("trapped", trapped);
	_exit(3);
}

void guest_filter_strict(void)
{
	guest_burn();
	guest_say("strict", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	guest_burn();
	guest_burn();
	syscall(SYS_exit, 3);
}

void guest_filter_harmless(void)
{
	by_prctl(forbid(SYS_swapon, SECCOMP_RET_KILL_PROCESS));
	by_seccomp(forbid(SYS_reboot, SECCOMP_RET_ERRNO | EPERM), SECCOMP_FILTER_FLAG_TSYNC);
	guest_credentials();
}

void guest_filter_two(void)
{
	by_prctl(forbid(SYS_swapon, SECCOMP_RET_KILL_PROCESS));
	by_seccomp(allow_few(SECCOMP_RET_KILL_PROCESS, true), SECCOMP_FILTER_FLAG_TSYNC);
	_exit(3);
}

/* The kernel refuses it: nothing is forbidden. */
void guest_filter_refused(void)
{
	struct sock_fprog p = {.len = 4, .filter = (void *)16};

	no_more_privileges();
	guest_say("fault", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
	guest_say("fault", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
	p = allow_few(SECCOMP_RET_KILL_PROCESS, true);
	p.filter[p.len - 1].code = 0xffff;
	guest_say("invalid",
		  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p));
	for (int i = 0; i < 4; i++)
		guest_burn();
	guest_credentials();
}

static void *filter_thread(void *arg)
{
	struct sock_fprog p = allow_few(SECCOMP_RET_KILL_PROCESS, true);

	guest_say("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
	for (int i = 0; i < 4; i++)
		guest_burn();
	syscall(SYS_exit_group, 3);
	return arg;
}

/* A thread that others work beside. */
void guest_filter_in_thread(void)
{
	pthread_t one, other;

	no_more_privileges();
	pthread_create(&other, NULL, guest_burn_thread, NULL);
	pthread_create(&one, NULL, filter_thread, NULL);
	for (;;)
		guest_burn();
}

static atomic_int working;

static void *work_on(void *arg)
{
	working++;
	for (;;)
		guest_burn();
	return arg;
}

void guest_filter_all_threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work_on, NULL);
	while (working < 4)
		guest_burn();
	by_seccomp(allow_few(SECCOMP_RET_KILL_PROCESS, false), SECCOMP_FILTER_FLAG_TSYNC);
	_exit(3);
}

void guest_filter_fork(void)
{
	struct sock_fprog p = forbid(SYS_socket, SECCOMP_RET_KILL_PROCESS);
	pid_t child;

	no_more_privileges();
	guest_say("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
	child = fork();
	if (!child) {
		for (int i = 0; i < 4; i++)
			guest_burn();
		_exit(5);
	}
	guest_say("child", guest_status(child));
	guest_burn();
}

/* Forks under a filter of one call: the child computes and makes none itself. */
static void fork_under(struct sock_fprog p)
{
	pid_t child;

	guest_burn();
	guest_say("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
	child = fork();
	if (!child) {
		for (int i = 0; i < 4; i++)
			guest_burn();
		_exit(5);
	}
	guest_say("child", guest_status(child));
}

/* The agent speaks to the recorder in a child, by this call. */
void guest_filter_fork_talks(void)
{
	fork_under(forbid(SYS_setsockopt, SECCOMP_RET_KILL_PROCESS));
}

/* The C library ends a program in which a new thread cannot register what its first one could: the child makes none. */
void guest_filter_fork_alone(void)
{
	fork_under(forbid(SYS_rseq, SECCOMP_RET_ERRNO | EPERM));
}

/* Changes its user, before which other threads make way and after which they are made again. */
void guest_filter_user_alone(void)
{
	struct sock_fprog p = forbid(SYS_rseq, SECCOMP_RET_ERRNO | EPERM);

	guest_burn();
	guest_say("seccomp",
		  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p));
	guest_say("setuid", setuid(getuid()));
	for (int i = 0; i < 4; i++)
		guest_burn();
}

/* Unloads a library under a filter, before which samples with its addresses are passed on. */
void guest_filter_unload(void)
{
	struct sock_fprog p = forbid(SYS_prlimit64, SECCOMP_RET_KILL_PROCESS);
	void *library = dlopen("libresolv.so.2", RTLD_NOW);

	guest_burn();
	guest_say("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
	guest_burn();
	guest_say("unloaded", library ? dlclose(library) : 0);
	guest_burn();
}

/* Allows what the loader of a program needs, and no socket. */
void guest_filter_exec(void)
{
	struct sock_fprog p = forbid(SYS_socket, SECCOMP_RET_KILL_PROCESS);

	no_more_privileges();
	guest_say("seccomp",
		  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p));
	execl("/bin/sh", "sh", "-c", GUEST_LOOP "echo '  alive'; /bin/echo '  and well'; exit 6",
	      NULL);
	_exit(99);
}
