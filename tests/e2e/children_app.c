/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Programs whose CPU time passes in processes that use no device, with the agent's fake runtime:
 *
 *     children_app burn MS           uses no device, and MS of CPU time
 *     children_app workers N MS      launches, then forks N workers of MS each, and launches again
 *     children_app early N MS        forks N workers of MS each, then launches
 *     children_app meanwhile MS      forks workers of MS each while the agent joins it, 0.1 s after the start, and prints how many
 *     children_app late MS           a forked child computes for MS, then uses a device
 *     children_app late-self MS      the same without a fork
 *     children_app files             waits until another thread has a table of descriptors of its own, uses a device, and looks
 *                                    that none has any more
 *     children_app storm N           forks N children beside threads that allocate, load libraries and start threads; each
 *                                    child allocates, starts a thread, exits or calls exec; none loads a library or calls
 *                                    exit(), which glibc's locks do not bear beside a thread that was in dlopen(). "hung N": how many did not end
 */
#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define HUNG_S    30

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static unsigned burn(uint64_t ms)
{
	volatile unsigned x = 1;
	uint64_t end = cpu_ns() + ms * NS_PER_MS;

	while (cpu_ns() < end)
		for (int i = 0; i < 100000; i++)
			x = x * 1664525 + 1013904223;
	return x;
}

__attribute__((noinline)) static unsigned worker(uint64_t ms)
{
	return burn(ms) + 1;
}

static void launch(unsigned n)
{
	int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	void (*one)(uint32_t, uint32_t) =
		(void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");

	if (!run || !one)
		return;
	run("device test 4\nstream\nkernel k\n");
	for (unsigned i = 0; i < n; i++)
		one(0, 0);
}

static void await_all(const pid_t *child, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		waitpid(child[i], NULL, 0);
}

static void fork_workers(pid_t *child, unsigned n, uint64_t ms)
{
	for (unsigned i = 0; i < n; i++) {
		child[i] = fork();
		if (!child[i])
			_exit(worker(ms) == 0);
	}
}

static int workers(unsigned n, uint64_t ms, bool early)
{
	pid_t child[64];

	n = n < 64 ? n : 64;
	if (!early)
		launch(100);
	fork_workers(child, n, ms);
	launch(100);
	await_all(child, n);
	return 0;
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int meanwhile(uint64_t ms)
{
	uint64_t begin = wall_ns();
	pid_t child[64];
	unsigned n = 0;

	while (wall_ns() < begin + 96 * NS_PER_MS)
		;
	for (; n < 64 && wall_ns() < begin + 106 * NS_PER_MS; n++) {
		fork_workers(child + n, 1, ms);
		usleep(200);
	}
	await_all(child, n);
	printf("%u\n", n);
	return 0;
}

static int late(uint64_t ms, bool forks)
{
	pid_t child = forks ? fork() : 0;

	if (child) {
		await_all(&child, 1);
		return 0;
	}
	worker(ms);
	launch(100);
	exit(0);
}

/* ---- a storm ---------------------------------------------------------------------------------- */

static atomic_bool over;

static void *nothing(void *arg)
{
	return arg;
}

static void start_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL) == 0)
		pthread_join(t, NULL);
}

static void load_library(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW), *other = dlopen("libutil.so.1", RTLD_NOW);

	if (other)
		dlclose(other);
	if (lib)
		dlclose(lib);
}

static void allocate(void)
{
	void *p[64];

	for (size_t i = 0; i < 64; i++)
		p[i] = malloc(16 + i * i * 40);
	for (size_t i = 0; i < 64; i++)
		free(p[i]);
}

static void *disturb(void *arg)
{
	void (*what)(void) = arg ? (uintptr_t)arg == 1 ? load_library : start_thread : allocate;

	while (!atomic_load(&over)) {
		what();
		usleep(50);
	}
	return NULL;
}

static void be_child(unsigned i)
{
	switch (i % 5) {
	case 0:
		_exit(0);
	case 1:
		allocate();
		_exit(0);
	case 2:
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	case 3:
		start_thread();
		_exit(0);
	default:
		usleep(200000); /* old enough to join */
		allocate();
		_exit(0);
	}
}

static bool has_ended(pid_t child)
{
	for (unsigned ms = 0; ms < HUNG_S * 1000; ms++) {
		if (waitpid(child, NULL, WNOHANG) == child)
			return true;
		usleep(1000);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return false;
}

static int storm(unsigned n)
{
	pid_t child[16];
	pthread_t thread[3];
	unsigned hung = 0;

	launch(100);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, disturb, (void *)i);
	for (unsigned i = 0; i < n; i += 16) {
		for (unsigned k = 0; k < 16; k++) {
			child[k] = fork();
			if (!child[k])
				be_child(i + k);
		}
		for (unsigned k = 0; k < 16; k++)
			hung += !has_ended(child[k]);
	}
	atomic_store(&over, true);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("hung %u\n", hung);
	return hung != 0;
}

/* Counts the threads that do not have this process's descriptor. */
static unsigned count_apart(int fd)
{
	DIR *dir = fdopendir(open("/proc/self/task", O_RDONLY | O_DIRECTORY));
	struct dirent *e;
	unsigned n = 0;

	while (dir && (e = readdir(dir)) != NULL) {
		char path[300];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/task/%s/fd/%d", e->d_name, fd);
		n += *e->d_name != '.' && lstat(path, &st) < 0 && errno == ENOENT;
	}
	if (dir)
		closedir(dir);
	return n;
}

static bool await_apart(int fd)
{
	for (unsigned i = 0; i < HUNG_S * 100; i++) {
		if (count_apart(fd))
			return true;
		burn(10);
	}
	return false;
}

static int files(void)
{
	int fd = open("/dev/null", O_RDONLY);

	if (fd < 0 || !await_apart(fd)) {
		puts("no thread has a table of its own");
		return 1;
	}
	launch(100);
	if (count_apart(fd)) {
		puts("a thread does not have the program's descriptors");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned a = argc > 2 ? (unsigned)atoi(argv[2]) : 0,
		 b = argc > 3 ? (unsigned)atoi(argv[3]) : 0;

	if (!strcmp(what, "burn"))
		return burn(a) == 0;
	if (!strcmp(what, "workers") || !strcmp(what, "early"))
		return workers(a, b, *what == 'e');
	if (!strcmp(what, "meanwhile"))
		return meanwhile(a);
	if (!strcmp(what, "late") || !strcmp(what, "late-self"))
		return late(a, !what[4]);
	if (!strcmp(what, "files"))
		return files();
	if (!strcmp(what, "storm"))
		return storm(a);
	fprintf(stderr,
		"usage: children_app burn|workers|early|meanwhile|late|late-self|files|storm ...\n");
	return 2;
}
