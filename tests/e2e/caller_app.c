/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose malloc() takes for granted that the first thread of a process alone calls it, and ends the process where another one
 * does: callers.sh. `caller_app WAY` makes another process in this way, and prints how that ended; both compute for a while.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESS_MS \
	300 /* of CPU time; the agent's thread begins after some ms, or a tenth of a second */
#define ALIGN 16

extern char **environ;
static char pool[256 << 20] __attribute__((aligned(4096)));
static size_t used;
static volatile double x = 1;

/* ---- the allocator ------------------------------------------------------------------------------- */

static void *take(size_t size, size_t align)
{
	static const char other[] = "malloc() is called by another thread\n";
	size_t at = (used + sizeof(size) + align - 1) / align * align;

	if (syscall(SYS_gettid) != syscall(SYS_getpid)) {
		if (write(2, other, sizeof(other) - 1) > 0)
			abort();
		abort();
	}
	if (size > sizeof(pool) || at + size > sizeof(pool)) {
		errno = ENOMEM;
		return NULL;
	}
	used = at + size;
	memcpy(pool + at - sizeof(size), &size, sizeof(size));
	return pool + at;
}

static size_t size_of(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - sizeof(size), sizeof(size));
	return size;
}

void *malloc(size_t size)
{
	return take(size, ALIGN);
}

void *calloc(size_t n, size_t size)
{
	return take(n * size, ALIGN); /* no byte is given twice */
}

void *realloc(void *old, size_t size)
{
	void *p = take(size, ALIGN);

	if (p && old)
		memcpy(p, old, size_of(old) < size ? size_of(old) : size);
	return p;
}

void *memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size)
{
	return take(size, align < ALIGN ? ALIGN : align);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
	void *p = memalign(align, size);

	if (p)
		*ret = p;
	return p ? 0 : ENOMEM;
}

void free(void *p)
{
	if (p)
		(void)take(0, ALIGN);
}

/* ---- the processes ------------------------------------------------------------------------------- */

static void compute(void)
{
	clock_t until = clock() + PROCESS_MS * (CLOCKS_PER_SEC / 1000);

	while (clock() < until) {
		for (int i = 0; i < 100000; i++)
			x = x * 1.0001 + .5;
		if (!malloc(1))
			_exit(98);
	}
}

/* Ends the process as a child that has computed. */
static void compute_and_exit(void)
{
	compute();
	_exit(7);
}

static int run_cloned(void *arg)
{
	(void)arg;
	compute();
	return 7;
}

static int status_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static pid_t by_fork(void)
{
	pid_t child = fork();

	if (!child)
		compute_and_exit();
	return child;
}

/* The child forks as well. */
static pid_t by_forks(void)
{
	pid_t child = fork();

	if (!child) {
		compute();
		_exit(status_of(by_fork()));
	}
	return child;
}

static pid_t by_vfork(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/proc/self/exe", "caller_app", "program", NULL);
		_exit(97);
	}
	return child;
}

static pid_t by_spawn(void)
{
	static char name[] = "caller_app", mode[] = "program";
	char *argv[] = {name, mode, NULL};
	pid_t child;

	return posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) ? -1 : child;
}

static pid_t by_clone(int flags)
{
	static char stack[1 << 18] __attribute__((aligned(16)));

	return clone(run_cloned, stack + sizeof(stack), flags | SIGCHLD, NULL);
}

static pid_t by_clone_memory(void)
{
	return by_clone(CLONE_VM);
}

static pid_t by_clone_alone(void)
{
	return by_clone(0);
}

/* The process that makes the daemon ends at once; its parent's parent waits for a pipe's end. */
static pid_t by_daemon(void)
{
	int ends[2];
	char status = 0;
	pid_t child;

	if (pipe(ends) < 0)
		return -1;
	child = fork();
	if (!child) {
		if (daemon(1, 1) == 0) {
			compute();
			status = 7;
			if (write(ends[1], &status, 1) == 1)
				_exit(0);
		}
		_exit(96);
	}
	close(ends[1]);
	if (status_of(child) != 0 || read(ends[0], &status, 1) != 1)
		status = 95;
	child = fork();
	if (!child)
		_exit(status);
	return child;
}

static _Atomic int is_held;

static int hold(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	is_held = 1;
	while (is_held)
		pause();
	return 1;
}

static void *hold_loader(void *arg)
{
	dl_iterate_phdr(hold, NULL);
	return arg;
}

/* Another thread has the loader's lock at the fork, and the child changes its user, if to the same one. */
static pid_t by_fork_held(void)
{
	pthread_t thread;
	pid_t child;

	if (pthread_create(&thread, NULL, hold_loader, NULL))
		return -1;
	while (!is_held)
		sched_yield();
	child = fork();
	if (!child) {
		compute();
		if (setuid(getuid()) < 0)
			_exit(94);
		compute_and_exit();
	}
	return child;
}

static const struct {
	const char *name;
	pid_t (*make)(void);
} ways[] = {
	{"fork", by_fork},     {"forks", by_forks},         {"vfork", by_vfork},
	{"spawn", by_spawn},   {"clone", by_clone_alone},   {"clone_memory", by_clone_memory},
	{"daemon", by_daemon}, {"fork_held", by_fork_held},
};

int main(int argc, char **argv)
{
	char line[64];
	int n;

	if (argc > 1 && !strcmp(argv[1], "program"))
		compute_and_exit();
	for (unsigned i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		compute();
		n = snprintf(line, sizeof(line), "%s: %d\n", argv[1], status_of(ways[i].make()));
		_exit(write(1, line, (size_t)n) == n ? 0 : 93);
	}
	return 92;
}
