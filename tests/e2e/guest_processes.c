/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile double x = 1;

void guest_plain(void)
{
	guest_burn();
	guest_burn();
}

void guest_close_all(void)
{
	long others = 0;

	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	guest_burn();
	guest_say("next", open("/dev/null", O_RDONLY));
	/* Another descriptor, open for microseconds now and then, would be in the way. */
	for (int i = 0; i < 150000; i++) {
		int fd = open("/dev/null", O_RDONLY);

		others += fd != 4;
		close(fd);
	}
	guest_say("others", others);
}

void guest_close_range_all(void)
{
	int fd;

	guest_burn();
#ifdef SYS_close_range
	syscall(SYS_close_range, 0, ~0u, 0);
#endif
	guest_burn();
	fd = open("/dev/null", O_RDONLY);
	guest_burn();
	_exit(fd == 0 || fd == 3 ? 0 : 1);
}

void guest_no_dump(void)
{
	guest_say("dumpable", prctl(PR_SET_DUMPABLE, 0));
	guest_burn();
	guest_burn();
}

void guest_stopped(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		guest_burn();
		raise(SIGSTOP);
		guest_burn();
		_exit(4);
	}
	waitpid(child, &status, WUNTRACED);
	guest_say("stopped", WIFSTOPPED(status));
	guest_burn();
	kill(child, SIGCONT);
	guest_say("child", guest_status(child));
}

void guest_traced(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		guest_burn();
		_exit(6);
	}
	do {
		waitpid(child, &status, 0);
		ptrace(PTRACE_SYSCALL, child, 0, 0);
	} while (WIFSTOPPED(status));
	guest_say("child", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

void guest_aborts(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	guest_burn();
	abort();
}

void guest_faults(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	guest_burn();
	*(volatile int *)16 = 0;
}

void guest_little_memory(void)
{
	void *block, *all = NULL;

	setrlimit(RLIMIT_AS, &(struct rlimit){1 << 28, 1 << 28});
	guest_burn();
	while ((block = malloc(1 << 16)) != NULL) {
		*(void **)block = all;
		all = block;
	}
	guest_burn();
	for (; all; all = block) {
		block = *(void **)all;
		free(all);
	}
}

/* Leaves itself so many MiB of address space, before another one may have taken any. */
static void little_space(long mib)
{
	char text[64] = "";
	long bytes;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (read(fd, text, sizeof(text) - 1) <= 0)
		_exit(98);
	close(fd);
	bytes = strtol(text, NULL, 10) * sysconf(_SC_PAGESIZE) + (mib << 20);
	setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)bytes, (rlim_t)bytes});
	for (int i = 0; i < 16; i++)
		guest_burn();
}

void guest_little_space(void)
{
	little_space(3);
}

void guest_some_space(void)
{
	little_space(5);
}

/* A child, which relies on what it has closed being closed. */
static int close_last(void)
{
	int kept = 0;
	char c;

	for (int i = 0; i < 400; i++) {
		int p[2];

		if (pipe2(p, O_NONBLOCK))
			return 98;
		close(p[1]);
		kept += read(p[0], &c, 1) != 0;
		close(p[0]);
	}
	return kept ? 8 : 7;
}

void guest_closed_at_once(void)
{
	long ended[2] = {0};

	for (int i = 0; i < 600; i++) {
		pid_t child = fork();

		if (!child)
			_exit(close_last());
		ended[guest_status(child) == 7]++;
	}
	guest_say("children whose pipe ended late", ended[0]);
}

void guest_few_files(void)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
	guest_burn();
	guest_burn();
	guest_say("open", open("/dev/null", O_RDONLY));
}

void guest_few_processes(void)
{
	setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1});
	guest_say("setresuid", setresuid(GUEST_OTHER, GUEST_OTHER, GUEST_OTHER));
	guest_burn();
	guest_burn();
}

void guest_few_timers(void)
{
	setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){0, 0});
	guest_burn();
	guest_burn();
}

void guest_vforks(void)
{
	int bad = 0;

	for (int i = 0; i < 30; i++) {
		pid_t child = vfork();

		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(9);
		}
		bad += guest_status(child) != 0;
	}
	guest_say("bad", bad);
}

/* Changes the user as subprocess.Popen(user=...) does in some versions. */
void guest_vfork_user(void)
{
	int bad = 0;

	guest_burn();
	for (int i = 0; i < 30; i++) {
		pid_t child = vfork();

		if (!child) {
			setgroups(0, NULL);
			setregid(GUEST_OTHER, GUEST_OTHER);
			setreuid(GUEST_OTHER, GUEST_OTHER);
			execl("/bin/true", "true", NULL);
			_exit(9);
		}
		bad += guest_status(child) != 0;
	}
	guest_say("bad", bad);
	guest_burn();
}

void guest_vfork_by_number(void)
{
#ifdef SYS_fork
	long child = syscall(SYS_fork);
#else
	long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif

	if (!child) {
		guest_burn();
		_exit(11);
	}
	guest_say("child", guest_status((pid_t)child));
}

void guest_spawns(void)
{
	char *const argv[] = {(char[]){"true"}, NULL}, *const none[] = {NULL};
	int bad = 0;

	for (int i = 0; i < 30; i++) {
		pid_t child;

		bad += posix_spawn(&child, "/bin/true", NULL, NULL, argv, i % 2 ? environ : none) !=
			       0 ||
		       guest_status(child) != 0;
	}
	guest_say("bad", bad);
}

void guest_daemon_(void)
{
	int pipes[2];
	char c = 0;

	if (pipe(pipes) < 0)
		_exit(98);
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
		for (int i = 0; i < 1024; i++)
			if (i != pipes[1])
				close(i);
		guest_burn();
		guest_burn();
		_exit(write(pipes[1], "k", 1) != 1);
	}
	wait(NULL);
	close(pipes[1]);
	guest_say("read", read(pipes[0], &c, 1));
}

static int shares_memory(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000000; i++)
		x = x * 1.0001;
	return 5;
}

void guest_clone_memory(void)
{
	static char stack[1 << 18] __attribute__((aligned(16)));

	guest_burn();
	guest_say("child", guest_status(clone(shares_memory, stack + sizeof(stack),
					      CLONE_VM | SIGCHLD, NULL)));
}

void guest_raw_fork(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!child) {
		guest_burn();
		guest_burn();
		execl("/bin/true", "true", NULL);
		_exit(2);
	}
	guest_say("child", guest_status(child));
}

void guest_threads(void)
{
	pthread_t thread[200];
	pthread_attr_t attr;
	int n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	while (n < 200 && !pthread_create(&thread[n], &attr, guest_short_thread, NULL))
		n++;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	guest_say("threads", n);
}

void guest_short_children(void)
{
	int bad = 0;

	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		if (!child)
			_exit(i & 63);
		bad += guest_status(child) != (i & 63);
	}
	guest_say("bad", bad);
}

void guest_many_children(void)
{
	int n = 0;

	for (int i = 0; i < 20; i++)
		if (!fork()) {
			for (int k = 0; k < 4; k++)
				if (!fork()) {
					guest_short_thread(NULL);
					_exit(0);
				}
			while (wait(NULL) > 0)
				;
			_exit(0);
		}
	while (wait(NULL) > 0)
		n++;
	guest_say("children", n);
}

void guest_handlers(void)
{
	sigset_t set;
	int others = 0;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	guest_burn();
	guest_burn();
	for (int i = 1; i < 65; i++) {
		struct sigaction a;

		if (i != SIGURG && !sigaction(i, NULL, &a) && a.sa_handler != SIG_DFL &&
		    a.sa_handler != SIG_IGN)
			others++;
	}
	guest_say("handlers", others);
}

void guest_pending(void)
{
	sigset_t set;
	int n = 0;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 4; i++)
		guest_burn();
	sigpending(&set);
	for (int i = 1; i < 65; i++)
		n += sigismember(&set, i) == 1;
	guest_say("pending", n);
}

void guest_timers(void)
{
	struct itimerspec every = {{0, 1000000}, {0, 1000000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};

	signal(SIGRTMIN, SIG_IGN);
	for (int i = 0; i < 20; i++) {
		timer_t timer;

		guest_say("timer", timer_create(CLOCK_MONOTONIC, &event, &timer));
		timer_settime(timer, 0, &every, NULL);
	}
	guest_burn();
}

void guest_alternate(void)
{
	stack_t stack;

	guest_burn();
	guest_say("sigaltstack", sigaltstack(NULL, &stack));
	guest_say("flags", stack.ss_flags);
}

void guest_no_environment(void)
{
	clearenv();
	guest_burn();
	execl("/bin/sh", "sh", "-c", GUEST_LOOP "exit 0", NULL);
}

void guest_no_libraries(void)
{
	guest_say("ldconfig", guest_shell("/sbin/ldconfig -p >/dev/null"));
}

void guest_killed(void)
{
	guest_burn();
	kill(getpid(), SIGKILL);
}

void guest_terminated(void)
{
	guest_burn();
	raise(SIGTERM);
}

void guest_leaves_main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, guest_burn_thread, NULL);
	pthread_exit(NULL);
}

/* ---- how many threads there are ------------------------------------------------------------------ */

/* The functions for 32-bit offsets, which the headers replace. */
int plain_stat(const char *path, struct stat *ret) __asm__("stat");
int plain_fstatat(int dir, const char *path, struct stat *ret, int flags) __asm__("fstatat");

static void say_threads(long r, unsigned long links)
{
	guest_say("stat", r);
	guest_say("threads", (long)links - 2);
	guest_burn();
}

void guest_counts_plain(void)
{
	struct stat st = {0};
	long r;

	guest_burn();
	r = plain_stat("/proc/self/task", &st);
	say_threads(r, st.st_nlink);
}

void guest_counts_at(void)
{
	struct stat st = {0};
	long r;

	guest_burn();
	r = plain_fstatat(AT_FDCWD, "/proc/self/task/", &st, 0);
	say_threads(r, st.st_nlink);
}

void guest_counts_extended(void)
{
	struct statx st = {0};
	long r;

	guest_burn();
	r = statx(AT_FDCWD, "/proc/self/task", 0, STATX_BASIC_STATS, &st);
	say_threads(r, st.stx_nlink);
}

void guest_counts_number(void)
{
	struct stat st = {0};
	long r;
	char path[64];

	guest_burn();
	snprintf(path, sizeof(path), "/proc/%d/task", (int)getpid());
	r = stat(path, &st);
	say_threads(r, st.st_nlink);
}
