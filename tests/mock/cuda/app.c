/* SPDX-License-Identifier: Apache-2.0 */
#include "mock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * A CUDA program, on the mock.
 *
 *     app [OPTIONS] CUBIN
 *       -t THREADS     launch, each on its stream (1)
 *       -d DEVICES     each with a context, which threads have in turn (1)
 *       -o             these contexts are all of the first device
 *       -n LAUNCHES    of each thread (1000), or until
 *       -f FILE        is there
 *       -g US          sleeps between launches (100); 0: none
 *       -b NS          works between launches
 *       -m LAUNCHES    loads code each time after so many, in the first half of the first thread's launches
 *       -y LAUNCHES    waits for the device each time after so many
 *       -c             a copy after each tenth launch
 *       -l             a copy of 100 MB first
 *       -k             of the first thread, each third launch is of another kernel
 *       -w LAUNCHES    as many first, of the first thread, with 1 ms between them: a warm-up
 *       -s MS          sleeps before the first and after the last work
 *       -q             before, a thread waits for the device
 *       -B             opens libcupti for its own dependencies first, before all else
 *       -x STATUS      calls exit(STATUS) while the others launch; after -n launches of the first thread
 *       -F             forks after half of the first thread's launches; the child exits with 5
 *       -D             destroys its context after half of them, and makes another (of the first thread alone)
 *       -r RANK        each fifth launch is one that waits for the other rank's; 2: both ranks, a device each (one thread)
 *       -P             uses CUPTI itself for the second quarter of them (only app_profiler)
 *
 * A launch can be told from each other one nearby by its grid, and its execution by its time: see launch().
 * Prints "launches=N copies=N kernel_ns=N ..." when it is over: how much there was of each, how long kernels (of the
 * first function: chain_ns) and copies ran, how long it took from before the first work to the last's end, and the
 * sum of that over devices, each from its own first work (spans_ns).
 */

static struct {
	unsigned threads, devices, launches, gap_us, work_ns, each, loads,
		rank; /* rank + 1; 0: none */
	unsigned warmup, sleep_ms;
	int status;
	const char *until;
	bool copies, large, kernels, quits, exits, forks, destroys, profiles, one_device;
	void *contexts[2], *functions[2][2]; /* of each device */
	const char *cubin;
	_Atomic uint64_t launched, copied, ns, chain_ns, copy_ns, wait_ns, failed;
} app = {.threads = 1, .devices = 1, .launches = 1000, .gap_us = 100};

#define TURNS 50

static void setup(unsigned device)
{
	void *module, **functions = app.functions[device];

	if (cuCtxCreate_v2(&app.contexts[device], 0, app.one_device ? 0 : (int)device) ||
	    cuModuleLoad(&module, app.cubin) ||
	    cuModuleGetFunction(&functions[0], module, "_Z5chainPfPKfi") ||
	    cuModuleGetFunction(&functions[1], module, "_Z5callsPfPKfi")) {
		fprintf(stderr, "app: no %s\n", app.cubin);
		exit(1);
	}
}

static AIF_NOINLINE void launch_as(unsigned thread, unsigned i, struct mock_sum *sum)
{
	unsigned grid = 1 + thread * TURNS + i % TURNS;
	unsigned function = app.kernels && !thread ? i % 3 == 2 : thread % 2;

	if (cuLaunchKernel(app.functions[thread % app.devices][function], grid, 1, 1, 1, 1, 1, 0,
			   (void *)(uintptr_t)(thread + 1), NULL, (void **)sum)) {
		atomic_fetch_add(&app.failed, 1);
		return;
	}
	atomic_fetch_add(&app.launched, 1);
	atomic_fetch_add(&app.ns, MOCK_KERNEL_NS + (uint64_t)grid * MOCK_BLOCK_NS);
	if (!function)
		atomic_fetch_add(&app.chain_ns, MOCK_KERNEL_NS + (uint64_t)grid * MOCK_BLOCK_NS);
}

static void copy(unsigned thread, size_t bytes)
{
	if (cuMemcpyHtoDAsync_v2(0, NULL, bytes, (void *)(uintptr_t)(thread + 1)))
		return;
	atomic_fetch_add(&app.copied, 1);
	atomic_fetch_add(&app.copy_ns, MOCK_KERNEL_NS + bytes / MOCK_COPY_BYTES);
}

#define EACH_SUM 5

static void launch(unsigned thread, unsigned i)
{
	struct mock_sum sum = {.rank = app.rank - 1};

	if (!app.rank || i % EACH_SUM) {
		launch_as(thread, i, NULL);
	} else if (app.rank < 3) {
		launch_as(thread, i, &sum);
	} else {
		for (sum.rank = 0; sum.rank < 2; sum.rank++) {
			cuCtxSetCurrent(app.contexts[sum.rank]);
			launch_as(sum.rank, i, &sum);
		}
		cuCtxSetCurrent(app.contexts[0]);
	}
}

#ifdef WITH_CUPTI
#define X(name, result, parameters) result name parameters;
AIF_CUPTI_FUNCTIONS(X)
#undef X

static _Atomic unsigned called_back;
static void *subscriber;

static void callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
	const struct aif_cupti_callback *cb = data;

	(void)user, (void)domain;
	called_back += id == MOCK_LAUNCH && cb->site == AIF_CUPTI_ENTER;
}

static void profile(bool on)
{
	if (on) {
		int r = cuptiSubscribe(&subscriber, callback, NULL);

		printf("subscribed=%d\n", r);
		if (!r)
			cuptiEnableCallback(1, subscriber, AIF_CUPTI_DOMAIN_DRIVER, MOCK_LAUNCH);
	} else if (subscriber) {
		printf("unsubscribed=%d seen=%u\n", cuptiUnsubscribe(subscriber), called_back);
	}
}
#else
static void profile(bool on)
{
	(void)on;
}
#endif

static void fork_child(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		launch(0, 0); /* refused */
		exit(atomic_load(&app.failed) == 1 ? 5 : 6);
	}
	waitpid(pid, &status, 0);
	printf("child=%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void load(void)
{
	void *module;

	if (cuModuleLoad(&module, app.cubin))
		atomic_fetch_add(&app.failed, 1);
}

static void halfway(void)
{
	if (app.forks)
		fork_child();
	if (app.destroys) {
		cuCtxSynchronize();
		cuCtxDestroy_v2(app.contexts[0]);
		setup(0);
	}
}

static bool goes_on(unsigned i)
{
	return app.until ? access(app.until, F_OK) != 0 : i < app.launches;
}

static void wait_for_all(void)
{
	uint64_t from = mock_now();

	cuCtxSynchronize();
	atomic_fetch_add(&app.wait_ns, mock_now() - from);
}

static void *run(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg;
	const struct timespec gap = {.tv_sec = app.gap_us / 1000000,
				     .tv_nsec = app.gap_us % 1000000 * 1000L};

	cuCtxSetCurrent(app.contexts[thread % app.devices]);
	for (unsigned i = 0; (app.exits && thread) || goes_on(i); i++) {
		if (!thread && app.profiles && (i == app.launches / 4 || i == app.launches / 2))
			profile(i == app.launches / 4);
		if (!thread && i == app.launches / 2)
			halfway();
		if (!thread && app.loads && i < app.launches / 2 && i % app.loads == 0)
			load();
		launch(thread, i);
		if (app.copies && i % 10 == 9)
			copy(thread, 65536);
		mock_spend(app.work_ns);
		if (app.each && i % app.each == app.each - 1)
			wait_for_all();
		if (app.gap_us)
			nanosleep(&gap, NULL);
	}
	return NULL;
}

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static void *wait_once(void *unused)
{
	cuCtxSetCurrent(app.contexts[0]);
	launch(0, 0);
	cuCtxSynchronize();
	return unused;
}

/* Does what a program does once, at its start, and slowly. */
static void warm_up(void)
{
	pthread_t thread;

	cuCtxSetCurrent(app.contexts[0]);
	if (app.quits && !pthread_create(&thread, NULL, wait_once, NULL))
		pthread_join(thread, NULL);
	if (app.large)
		copy(0, 100000000);
	for (unsigned i = 0; i < app.warmup; i++) {
		launch(0, i);
		sleep_ms(1);
	}
}

static void options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "t:d:on:f:g:b:y:m:clkqBw:s:x:FDPr:")) != -1) {
		switch (o) {
		case 't':
			app.threads = (unsigned)atoi(optarg);
			break;
		case 'd':
			app.devices = (unsigned)atoi(optarg);
			break;
		case 'o':
			app.one_device = true;
			break;
		case 'n':
			app.launches = (unsigned)atoi(optarg);
			break;
		case 'f':
			app.until = optarg;
			break;
		case 'g':
			app.gap_us = (unsigned)atoi(optarg);
			break;
		case 'b':
			app.work_ns = (unsigned)atoi(optarg);
			break;
		case 'm':
			app.loads = (unsigned)atoi(optarg);
			break;
		case 'y':
			app.each = (unsigned)atoi(optarg);
			break;
		case 'c':
			app.copies = true;
			break;
		case 'l':
			app.large = true;
			break;
		case 'k':
			app.kernels = true;
			break;
		case 'B':
			if (!dlopen("libcupti.so.13", RTLD_LAZY | RTLD_DEEPBIND))
				exit(1);
			break;
		case 'q':
			app.quits = true;
			break;
		case 'w':
			app.warmup = (unsigned)atoi(optarg);
			break;
		case 's':
			app.sleep_ms = (unsigned)atoi(optarg);
			break;
		case 'x':
			app.exits = true;
			app.status = atoi(optarg);
			break;
		case 'F':
			app.forks = true;
			break;
		case 'D':
			app.destroys = true;
			break;
		case 'r':
			app.rank = 1 + (unsigned)atoi(optarg);
			break;
		case 'P':
			app.profiles = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind != argc - 1 || !app.threads || app.threads >= MOCK_STREAMS || !app.devices ||
	    app.devices > 2 || app.rank > 3 || (app.rank == 3 && app.devices != 2))
		exit(2);
	app.cubin = argv[optind];
}

int main(int argc, char **argv)
{
	pthread_t threads[MOCK_STREAMS];
	uint64_t began;

	options(argc, argv);
	if (cuInit(0))
		return 1;
	for (unsigned i = 0; i < app.devices; i++)
		setup(i);
	setvbuf(stdout, NULL, _IOLBF, 0);
	sleep_ms(app.sleep_ms);
	began = mock_now();
	warm_up();
	for (unsigned i = 1; i < app.threads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i))
			return 1;
	run(NULL);
	if (app.exits)
		exit(app.status);
	for (unsigned i = 1; i < app.threads; i++)
		pthread_join(threads[i], NULL);
	if (app.rank)
		mock_sum_over(app.rank < 3 ? app.rank - 1 : 0);
	if (app.rank == 3)
		mock_sum_over(1);
	wait_for_all();
	printf("launches=%llu copies=%llu kernel_ns=%llu failed=%llu chain_ns=%llu copy_ns=%llu span_ns=%llu wait_ns=%llu spans_ns=%llu\n",
	       (unsigned long long)app.launched, (unsigned long long)app.copied,
	       (unsigned long long)app.ns, (unsigned long long)app.failed,
	       (unsigned long long)app.chain_ns, (unsigned long long)app.copy_ns,
	       (unsigned long long)(mock_now() - began), (unsigned long long)app.wait_ns,
	       (unsigned long long)mock_device_spans());
	sleep_ms(app.sleep_ms);
	return 0;
}
