/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * A program whose accelerator is the agent's fake runtime.
 *
 *     fake_app SCRIPT                 a file, or the text of a script itself; also $AIFLAME_FAKE
 *     fake_app -t N SCRIPT            the same on N threads at once
 *     fake_app -b LAUNCHES [-d DEPTH] real stacks of that depth, 40 different ones; prints ns per launch
 *
 * Without the agent it exits 3.
 */

static int (*fake_run)(const char *script);
static void (*fake_launch)(uint32_t stream, uint32_t kernel);

static void *run_thread(void *arg)
{
	return (void *)(intptr_t)fake_run(arg);
}

/* Two functions that call each other in an order given by the bits of `path`: 2^n different stacks. */
static AIF_NOINLINE uint64_t left(unsigned path, unsigned depth);
static AIF_NOINLINE uint64_t right(unsigned path, unsigned depth);

static AIF_NOINLINE uint64_t bottom(unsigned path)
{
	uint64_t begin = aif_now_ns();

	fake_launch(path % 3, path % 20);
	return aif_now_ns() - begin;
}

static uint64_t left(unsigned path, unsigned depth)
{
	volatile uint64_t r = !depth                    ? bottom(path)
			      : path >> (depth % 8) & 1 ? right(path, depth - 1)
							: left(path, depth - 1);
	return r;
}

static uint64_t right(unsigned path, unsigned depth)
{
	volatile uint64_t r = !depth                    ? bottom(path)
			      : path >> (depth % 8) & 1 ? right(path, depth - 1)
							: left(path, depth - 1);
	return r + 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int bench(unsigned launches, unsigned depth)
{
	uint64_t *ns = calloc(launches, sizeof(*ns));
	int r = fake_run("generate kernels=20 streams=3");

	if (!ns || r < 0)
		return 1;
	for (unsigned i = 0; i < launches; i++)
		ns[i] = left(i % 40, depth);
	qsort(ns, launches, sizeof(*ns), compare);
	printf("launch hook, %u frames: p10 %lu, median %lu, p90 %lu, p99 %lu, p99.9 %lu ns "
	       "(two clock readings included)\n",
	       depth + 5, (unsigned long)ns[launches / 10], (unsigned long)ns[launches / 2],
	       (unsigned long)ns[launches / 10 * 9], (unsigned long)ns[launches / 100 * 99],
	       (unsigned long)ns[launches / 1000 * 999]);
	free(ns);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned threads = 0, launches = 0, depth = 20;
	pthread_t thread[256];
	char *script = getenv("AIFLAME_FAKE");
	int opt, r = 0;

	while ((opt = getopt(argc, argv, "t:b:d:")) >= 0) {
		if (opt == 't')
			threads = AIF_MIN((unsigned)atoi(optarg), 256u);
		else if (opt == 'b')
			launches = (unsigned)atoi(optarg);
		else if (opt == 'd')
			depth = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (optind < argc)
		script = argv[optind];
	fake_run = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	fake_launch = (void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
	if (!fake_run || !fake_launch)
		return 3;
	if (launches)
		return bench(launches, depth);
	if (!script)
		return 2;
	if (!threads) {
		r = fake_run(script);
		if (r < 0)
			fprintf(stderr, "fake_app: %s\n", strerror(-r));
		return r < 0;
	}
	/* A vendor's library is initialised before threads use it. */
	fake_run("# nothing");
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, run_thread, script);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
