/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target of ebpf.sh, with frame pointers, that knows nothing of any agent:
 *   ebpf_app calls SECONDS     system calls all the time
 *   ebpf_app burn SECONDS      none
 *   ebpf_app sleep             sleeps three times 0.2 s, and says for how long in all, by its own measure (at least, at most),
 *                              and how long one of them is (at least, at most): time without a CPU may be a part of a sleep
 *   ebpf_app ways N            sleeps N times, at most 1024, with another stack each time
 *   ebpf_app launch N          waits for SIGUSR1, then calls cuLaunchKernel and zeCommandListAppendLaunchKernel
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int zeCommandListAppendLaunchKernel(void *list, void *kernel, const void *groups, void *signal,
				    unsigned waits, void **wait);

/* Prevents tail calls, so that each function has its frame. */
#define KEEP __asm__ volatile("")
#define OWN  __attribute__((noinline))

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static OWN int many_calls(int zero, char *buf, size_t size)
{
	struct stat st;
	int bad = 0;

	for (int i = 0; i < 40; i++)
		bad |= read(zero, buf, size) < 0;
	bad |= getrandom(buf, 2048, 0) < 0;
	for (int i = 0; i < 20; i++)
		bad |= stat("/proc/self/status", &st) < 0;
	KEEP;
	return bad;
}

static OWN int calls(double seconds)
{
	static char buf[16384];
	int zero = open("/dev/zero", O_RDONLY), bad = zero < 0;

	/* CPU time of the process, so that a busy machine gives as many samples as an idle one. */
	while (!bad && now(CLOCK_PROCESS_CPUTIME_ID) < seconds)
		bad = many_calls(zero, buf, sizeof(buf));
	return bad;
}

static OWN int burn(double seconds)
{
	volatile unsigned long sum = 0;

	do
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i * sum;
	while (now(CLOCK_PROCESS_CPUTIME_ID) < seconds);
	return 0;
}

static OWN int left(int depth, unsigned way);
static OWN int right(int depth, unsigned way);

static struct rusage count_switches(void)
{
	struct rusage u = {0};

	getrusage(RUSAGE_THREAD, &u);
	return u;
}

/* Seconds in which this thread could run and had no CPU, by the OS kernel's account. */
static double delayed(void)
{
	unsigned long long ran = 0, delay = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (!f || fscanf(f, "%llu %llu", &ran, &delay) != 2)
		delay = 0;
	if (f)
		fclose(f);
	return (double)delay / 1e9;
}

static OWN int nap(void)
{
	const struct timespec t = {.tv_nsec = 200000000};
	double begin = now(CLOCK_MONOTONIC), delay = delayed(), all;

	for (int i = 0; i < 3; i++)
		nanosleep(&t, NULL);
	all = now(CLOCK_MONOTONIC) - begin;
	delay = delayed() - delay;
	printf("%.6f %.6f %.0f %.0f\n", 0.6 - delay, all, (0.2 - delay) * 1e9, (all - 0.4) * 1e9);
	return 0;
}

/* A thread whose CPU others want may have to give that up before it sleeps, and then sleep for the rest only, or not. */
#define SLEEP()                                                             \
	({                                                                  \
		struct timespec t = {0, 1000000};                           \
		struct rusage before, after;                                \
		int failed;                                                 \
                                                                            \
		do {                                                        \
			before = count_switches();                          \
			failed = nanosleep(&t, NULL);                       \
			after = count_switches();                           \
		} while (!failed && (before.ru_nvcsw == after.ru_nvcsw ||   \
				     before.ru_nivcsw != after.ru_nivcsw)); \
		failed;                                                     \
	})

/* Each way has a stack of its own. */
static OWN int fork_at(int depth, unsigned way)
{
	int r = !depth ? SLEEP() : way & 1 ? right(depth - 1, way >> 1) : left(depth - 1, way >> 1);

	KEEP;
	return r;
}

static OWN int left(int depth, unsigned way)
{
	int r = fork_at(depth, way);

	KEEP;
	return r;
}

static OWN int right(int depth, unsigned way)
{
	int r = fork_at(depth, way);

	__asm__ volatile("nop"); /* or it would be the same function */
	return r;
}

static OWN int ways(int n)
{
	int r = 0;

	for (int i = 0; i < n; i++)
		r |= fork_at(10, (unsigned)i);
	return r;
}

static OWN int train_step(void)
{
	int r = cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);

	KEEP;
	return r;
}

static OWN int infer(void)
{
	int r = cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) +
		zeCommandListAppendLaunchKernel(NULL, NULL, NULL, NULL, 0, NULL);

	KEEP;
	return r;
}

static OWN int launch(int n)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &sig);
	for (int i = 0; i < n; i++) {
		train_step();
		train_step();
		infer();
	}
	puts("done");
	fflush(stdout);
	sigwait(&set, &sig); /* so that its memory can be looked at */
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double n = argc > 2 ? atof(argv[2]) : 0;
	int r = 2;

	if (!strcmp(what, "calls"))
		r = calls(n);
	else if (!strcmp(what, "burn"))
		r = burn(n);
	else if (!strcmp(what, "sleep"))
		r = nap();
	else if (!strcmp(what, "ways"))
		r = ways((int)n);
	else if (!strcmp(what, "launch"))
		r = launch((int)n);
	KEEP;
	return r;
}
