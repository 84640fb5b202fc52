/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Targets that are hard on a guest. `agent_hard CASE [N]`; each launches add_one 8 times before the hard
 * thing and 8 times after it, where there is an after. Exit status 0 unless the case says otherwise. */

#define ITEMS 64
#define EACH  8

static struct target t;
static cl_mem buffer;
static cl_kernel kernel;

static void launches(void)
{
	for (int i = 0; i < EACH; i++)
		target_launch(t.queue, kernel, ITEMS);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

static void open_all(void)
{
	target_open(&t);
	buffer = target_buffer(&t, ITEMS);
	kernel = target_kernel(&t, "add_one", buffer, 1);
}

static void wait_for(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* fork without exec; the child uses what the parent made. Needs a device without worker threads, since
 * threads do not survive a fork: POCL_DEVICES=basic. */
static void case_fork(void)
{
	pid_t child;

	launches();
	child = fork();
	if (!child) {
		launches();
		_exit(0);
	}
	wait_for(child);
	launches();
}

/* The usual form: the child is forked before the runtime is used, and starts its own. */
static void case_fork_first(void)
{
	pid_t child = fork();

	open_all();
	launches();
	if (!child)
		_exit(0);
	wait_for(child);
}

/* The parent looks for platforms only, which starts the runtime; the child does the rest. */
static void case_fork_early(void)
{
	pid_t child;

	CHECK(clGetPlatformIDs(1, &t.platform, NULL) == CL_SUCCESS);
	child = fork();
	if (!child) {
		open_all();
		launches();
		_exit(0);
	}
	wait_for(child);
}

static void case_close_all(void)
{
	struct stat st;
	int fds[3], null;

	launches();
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	/* The agent's closed descriptors have numbers that are ours now: nobody else may touch
	 * them. */
	null = open("/dev/null", O_WRONLY);
	CHECK(null == 3);
	for (int i = 0; i < 3; i++)
		CHECK((fds[i] = dup(null)) == 4 + i);
	launches();
	nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
	launches();
	for (int fd = 3; fd < 7; fd++)
		CHECK(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(open("/dev/null", O_WRONLY) == 7);
}

static void case_chdir(void)
{
	launches();
	CHECK(chdir("/") == 0);
	launches();
}

static void case_setuid(void)
{
	launches();
	if (getuid() == 0)
		CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	launches();
}

static void *short_thread(void *arg)
{
	size_t items = ITEMS;

	(void)arg;
	CHECK(clEnqueueNDRangeKernel(t.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL) ==
	      CL_SUCCESS);
	return NULL;
}

static void case_threads(unsigned n)
{
	pthread_t thread[16];

	for (unsigned i = 0; i < n / 16; i++) {
		for (int k = 0; k < 16; k++)
			CHECK(pthread_create(&thread[k], NULL, short_thread, NULL) == 0);
		for (int k = 0; k < 16; k++)
			CHECK(pthread_join(thread[k], NULL) == 0);
		CHECK(clFinish(t.queue) == CL_SUCCESS);
	}
}

/* More threads alive than there are slots. */
static void *waiting_thread(void *arg)
{
	pthread_barrier_t *barrier = arg;

	short_thread(NULL);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void case_crowd(unsigned n)
{
	pthread_barrier_t barrier;
	pthread_t *thread = calloc(n, sizeof(*thread));

	pthread_barrier_init(&barrier, NULL, n);
	for (unsigned i = 0; i < n; i++)
		CHECK(pthread_create(&thread[i], NULL, waiting_thread, &barrier) == 0);
	for (unsigned i = 0; i < n; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	free(thread);
}

static void case_exec(char **argv)
{
	launches();
	execl(argv[0], argv[0], "chdir", NULL);
	CHECK(!"exec");
}

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static long returned;

static void say_how_long(void)
{
	fprintf(stderr, "left after %ld us\n", (now_ns() - returned) / 1000);
}

/* Returns from main while the driver still compiles what was launched: its cache is empty. Says how long an
 * agent's handler took, if there is one. */
static void case_exit_compiling(void)
{
	cl_uint n;

	/* The driver is loaded, so its handlers come later; the agent comes with the queue. */
	CHECK(clGetPlatformIDs(0, NULL, &n) == CL_SUCCESS);
	CHECK(atexit(say_how_long) == 0);
	open_all();
	target_launch(t.queue, target_kernel(&t, "spin", buffer, 1000), ITEMS);
	returned = now_ns();
}

static void *exit_thread(void *arg)
{
	launches();
	if (arg)
		_exit(0);
	exit(0);
}

/* exit or _exit from a thread while the main thread waits. */
static void case_exit_thread(bool quick)
{
	pthread_t thread;

	launches();
	CHECK(pthread_create(&thread, NULL, exit_thread, quick ? &thread : NULL) == 0);
	pthread_join(thread, NULL);
}

static void case_signal(int signal)
{
	launches();
	raise(signal);
}

/* Signals with our own handlers, and calls that a stray signal would interrupt. */
static volatile sig_atomic_t profs;

static void on_prof(int signal)
{
	(void)signal;
	profs++;
}

static void case_signals(void)
{
	struct sigaction sa = {.sa_handler = on_prof}, old;

	CHECK(sigaction(SIGPROF, &sa, NULL) == 0);
	launches();
	for (int i = 0; i < 10; i++) {
		CHECK(nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL) == 0);
		CHECK(poll(NULL, 0, 20) == 0);
	}
	launches();
	CHECK(sigaction(SIGPROF, NULL, &old) == 0 && old.sa_handler == on_prof && !profs);
}

/* A library that comes and goes between launches. */
static void case_dlclose(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

		CHECK(lib);
		target_launch(t.queue, kernel, ITEMS);
		CHECK(dlclose(lib) == 0);
	}
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

/* Prints what one clEnqueueNDRangeKernel costs: a bench, compared without and with the agent. */
static void case_rate(unsigned n)
{
	long *ns = calloc(n, sizeof(*ns)), begin, all = now_ns();

	for (unsigned i = 0; i < n; i++) {
		begin = now_ns();
		target_launch(t.queue, kernel, ITEMS);
		ns[i] = now_ns() - begin;
		if (i % 64 == 63)
			CHECK(clFinish(t.queue) == CL_SUCCESS);
	}
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	all = now_ns() - all;
	qsort(ns, n, sizeof(*ns), compare);
	printf("enqueue median %ld p90 %ld p99 %ld ns; all %ld ns a launch\n", ns[n / 2],
	       ns[n / 10 * 9], ns[n / 100 * 99], all / n);
	free(ns);
}

/* Launches for N ms, for tests that stop and kill meanwhile. */
static void case_busy(unsigned ms)
{
	long end = now_ns() + ms * 1000000L;

	while (now_ns() < end) {
		launches();
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

/* Returns whether a timer of the process sends SIGURG. */
static bool has_timer(void)
{
	char line[128], wanted[32];
	bool has = false;
	FILE *f = fopen("/proc/self/timers", "r");

	CHECK(f);
	snprintf(wanted, sizeof(wanted), "signal: %d/", SIGURG);
	while (!has && fgets(line, sizeof(line), f))
		has = !strncmp(line, wanted, strlen(wanted));
	fclose(f);
	return has;
}

/* Computes until its samples have begun, has its recorder end, and computes until they have ended. */
static void case_samples_end(void)
{
	while (!has_timer())
		launches();
	CHECK(kill(getppid(), SIGUSR1) == 0);
	while (has_timer())
		launches();
}

static void *launch_thread(void *arg)
{
	launches();
	return arg;
}

/* On a small stack of its own: what is left of the address space is not asked for one. */
static void launch_in_thread(void)
{
	static _Alignas(4096) char stack[1 << 20];
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(pthread_attr_init(&attr) == 0);
	CHECK(pthread_attr_setstack(&attr, stack, sizeof(stack)) == 0);
	CHECK(pthread_create(&thread, &attr, launch_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* A sandbox that ends the program at the first call of a kind that it does not make itself any more. For all
 * threads of the process, or for this one and those that it makes. */
static void case_sandbox(bool whole)
{
	static const int forbidden[] = {
		SYS_openat, SYS_getdents64, SYS_rt_sigaction, SYS_prctl,   SYS_readlink,
		SYS_socket, SYS_connect,    SYS_timer_create, SYS_munlock, SYS_timer_delete};
	enum { N = sizeof(forbidden) / sizeof(forbidden[0]) };
	struct sock_filter f[2 * N + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {.len = sizeof(f) / sizeof(f[0]), .filter = f};

	for (unsigned i = 0; i < N; i++) {
		f[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							    (unsigned)forbidden[i], 0, 1);
		f[2 + 2 * i] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	f[2 * N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	launches();
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, whole ? SECCOMP_FILTER_FLAG_TSYNC : 0,
		      &program) == 0);
	for (int i = 0; i < 24; i++) {
		target_launch(t.queue, kernel, ITEMS);
		CHECK(clFinish(t.queue) == CL_SUCCESS);
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	launch_in_thread();
	nanosleep(&(struct timespec){.tv_nsec = 800000000},
		  NULL); /* the agent counts each 250 ms */
	_exit(0);        /* the driver's own exit opens files */
}

/* All that is mapped stays in memory: how much of that is the rings. Exit status 1: more than is used. */
static int case_locked(void)
{
	char line[512];
	long kib = 0, of_rings = 0, n;
	bool is_ring = false;
	FILE *f;

	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return 77;
	open_all();
	launches();
	f = fopen("/proc/self/smaps", "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] >= 'A' && line[0] <= 'Z') {
			if (sscanf(line, "Rss: %ld", &n) == 1) {
				kib += n;
				of_rings += is_ring ? n : 0;
			}
		} else {
			is_ring = strstr(line, "/memfd:aiflame");
		}
	}
	fclose(f);
	printf("rings %ld KiB of %ld\n", of_rings, kib);
	return of_rings > 16 << 10;
}

/* No more address space from here on, for a thread that has no ring yet. */
static void case_space(void)
{
	struct rlimit limit;
	long pages;
	FILE *f;

	launches();
	f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%ld", &pages) == 1);
	fclose(f);
	limit.rlim_cur = limit.rlim_max = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (1 << 19);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	launches();
	launch_in_thread();
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

	if (!strcmp(name, "fork_first")) {
		case_fork_first();
		return 0;
	}
	if (!strcmp(name, "fork_early")) {
		case_fork_early();
		return 0;
	}
	if (!strcmp(name, "exit_compiling")) {
		case_exit_compiling();
		return 0;
	}
	if (!strcmp(name, "locked"))
		return case_locked();
	open_all();
	if (!strcmp(name, "fork"))
		case_fork();
	else if (!strcmp(name, "close_all"))
		case_close_all();
	else if (!strcmp(name, "chdir"))
		case_chdir();
	else if (!strcmp(name, "setuid"))
		case_setuid();
	else if (!strcmp(name, "threads"))
		case_threads(n);
	else if (!strcmp(name, "crowd"))
		case_crowd(n);
	else if (!strcmp(name, "exec"))
		case_exec(argv);
	else if (!strcmp(name, "exit_thread"))
		case_exit_thread(false);
	else if (!strcmp(name, "_exit_thread"))
		case_exit_thread(true);
	else if (!strcmp(name, "sigterm"))
		case_signal(SIGTERM);
	else if (!strcmp(name, "sigkill"))
		case_signal(SIGKILL);
	else if (!strcmp(name, "signals"))
		case_signals();
	else if (!strcmp(name, "dlclose"))
		case_dlclose(n);
	else if (!strcmp(name, "rate"))
		case_rate(n);
	else if (!strcmp(name, "busy"))
		case_busy(n);
	else if (!strcmp(name, "samples_end"))
		case_samples_end();
	else if (!strcmp(name, "sandbox"))
		case_sandbox(true);
	else if (!strcmp(name, "sandbox_thread"))
		case_sandbox(false);
	else if (!strcmp(name, "space"))
		case_space();
	else
		return 2;
	return 0;
}
