/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May callbacks and records of launches be switched off while threads launch? CUPTI loses count of a call that is
 * under way on another thread when the last of what it watches is switched off (bench/results/h100-cupti.md). Tried
 * here, apart from aiflame: what must stay on so that it does not (a keeper), who switches (a thread beside, or the
 * launching thread at the end of its own call), and what a launch costs with each. Built where it runs:
 *
 *     cc -O2 -pthread -o switching switching.c -I$CUDA/include -L$CUDA/lib64 -lcupti -lcuda
 *     ./switching [CYCLES]
 */
#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define LAUNCH  307 /* cuLaunchKernel */
#define COPY    277 /* cuMemcpyHtoDAsync_v2 */
#define COST_OF 2000
#define ROUNDS  15

enum keeper { NOTHING, COPY_CALLBACK, COPY_RECORDS, FILL_RECORDS, KEEPERS };
static const char *const keepers[] = {"nothing", "a copy's callback", "copies' records",
				      "fills' records"};

static struct {
	CUcontext context;
	CUfunction kernel;
	CUpti_SubscriberHandle subscriber;
	_Atomic int want_off; /* a launching thread is to switch, at the end of a call */
	_Atomic int over;
	_Atomic unsigned confused; /* threads */
	_Atomic uint64_t launches, calls, records;
} it;
static _Thread_local struct {
	uint32_t correlation;
	bool confused;
	CUstream stream;
} self;

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry nothing() { ret; }\n";

static void must(const char *what, int r)
{
	if (!r)
		return;
	fprintf(stderr, "switching: %s: %d\n", what, r);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void launches(bool on, bool records)
{
	cuptiEnableCallback(on, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH);
	if (records && on)
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	else if (records)
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static void keep(enum keeper k, bool on)
{
	CUpti_ActivityKind kind =
		k == COPY_RECORDS ? CUPTI_ACTIVITY_KIND_MEMCPY : CUPTI_ACTIVITY_KIND_MEMSET;

	if (k == COPY_CALLBACK)
		cuptiEnableCallback(on, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, COPY);
	else if (k != NOTHING && on)
		cuptiActivityEnable(kind);
	else if (k != NOTHING)
		cuptiActivityDisable(kind);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *cb = data;

	(void)user;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id != LAUNCH)
		return;
	if (cb->callbackSite != CUPTI_API_ENTER) {
		if (atomic_load(&it.want_off) && atomic_exchange(&it.want_off, 0))
			launches(false, true);
		return;
	}
	it.calls++;
	if (cb->correlationId == self.correlation && !self.confused) {
		self.confused = true;
		it.confused++;
	}
	self.correlation = cb->correlationId;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 2 << 20;
	*buffer = malloc(*size);
	*max = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	(void)c, (void)s, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		it.records++;
	free(buffer);
}

static void launch(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		must("launch",
		     (int)cuLaunchKernel(it.kernel, 1, 1, 1, 1, 1, 1, 0, self.stream, NULL, NULL));
	it.launches += n;
}

/* Launches, seldom pausing; also waits for its work, as programs do. */
static void *launching(void *seed)
{
	uint64_t x = (uint64_t)(uintptr_t)seed * 2654435761u + 1;

	must("context", (int)cuCtxSetCurrent(it.context));
	must("stream", (int)cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING));
	self.correlation = UINT32_MAX;
	self.confused = false;
	while (!atomic_load(&it.over)) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		launch(1 + (unsigned)(x >> 60));
		if (x >> 40 & 7)
			continue;
		cuStreamSynchronize(self.stream);
		usleep((unsigned)(x >> 50 & 63));
	}
	cuStreamSynchronize(self.stream);
	cuStreamDestroy(self.stream);
	return NULL;
}

static void begin(void)
{
	must("subscribe", (int)cuptiSubscribe(&it.subscriber, callback, NULL));
	must("buffers", (int)cuptiActivityRegisterCallbacks(request, complete));
}

static void try(enum keeper k, bool at_end, unsigned threads, unsigned cycles)
{
	pthread_t thread[THREADS];
	unsigned done, late = 0;
	uint64_t before = it.launches, calls, seen;

	begin();
	keep(k, true);
	it.over = 0;
	it.confused = 0;
	it.records = it.calls = 0;
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, launching, (void *)(uintptr_t)(i + 1));
	for (done = 0; done < cycles && !it.confused; done++) {
		launches(true, true);
		usleep(5000);
		if (at_end) {
			it.want_off = 1;
			for (unsigned i = 0; i < 10000 && it.want_off; i++)
				usleep(10);
			late += atomic_exchange(&it.want_off, 0) != 0;
		} else {
			launches(false, true);
		}
		usleep(5000);
		cuptiActivityFlushAll(0);
	}
	/* A confused thread shows when it is called back again. */
	launches(true, true);
	usleep(50000);
	seen = it.confused;
	it.over = 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	cuptiActivityFlushAll(1);
	calls = it.calls;
	keep(k, false);
	launches(false, true);
	cuptiUnsubscribe(it.subscriber);
	printf("  %-18s %-9s %u: %llu confused after %u cycles; %llu of %llu launches called back, %llu recorded%s\n",
	       keepers[k], at_end ? "at end" : "beside", threads, (unsigned long long)seen, done,
	       (unsigned long long)calls, (unsigned long long)(it.launches - before),
	       (unsigned long long)it.records, late ? "; NOBODY SWITCHED" : "");
	fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* What one launch costs the thread that launches, ns. */
static double cost(void)
{
	uint64_t ns = 0, begin_ns;

	for (unsigned i = 0; i < COST_OF; i += 200) {
		begin_ns = now_ns();
		launch(200);
		ns += now_ns() - begin_ns;
		cuStreamSynchronize(self.stream);
	}
	return (double)ns / COST_OF;
}

/* State 0 has no subscriber, 1 has, then the keepers, then launches' callbacks, and those with records. */
static void costs(void)
{
	static const char *const names[] = {
		"no subscriber",  "subscribed",          "a copy's callback", "copies' records",
		"fills' records", "launches' callbacks", "and records"};
	enum { STATES = sizeof(names) / sizeof(*names) };
	static double ns[STATES][ROUNDS];

	must("stream", (int)cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING));
	launch(5000);
	cuStreamSynchronize(self.stream);
	for (unsigned i = 0; i < ROUNDS; i++)
		for (unsigned j = 0; j < STATES; j++) {
			unsigned s = i & 1 ? STATES - 1 - j : j;

			if (s)
				begin();
			if (s >= 2 && s <= 4)
				keep((enum keeper)(s - 1), true);
			if (s >= 5)
				launches(true, s == 6);
			launch(200);
			cuStreamSynchronize(self.stream);
			ns[s][i] = cost();
			if (s >= 2 && s <= 4)
				keep((enum keeper)(s - 1), false);
			if (s >= 5)
				launches(false, s == 6);
			if (s)
				cuptiUnsubscribe(it.subscriber);
		}
	for (unsigned s = 0; s < STATES; s++) {
		qsort(ns[s], ROUNDS, sizeof(ns[s][0]), by_value);
		printf("  %-20s %6.0f ns a launch [%.0f .. %.0f]\n", names[s], ns[s][ROUNDS / 2],
		       ns[s][ROUNDS / 4], ns[s][ROUNDS * 3 / 4]);
	}
	cuStreamDestroy(self.stream);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned cycles = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	CUmodule module;
	CUdevice device;

	must("init", (int)cuInit(0));
	must("device", (int)cuDeviceGet(&device, 0));
	must("context", (int)cuDevicePrimaryCtxRetain(&it.context, device));
	must("context", (int)cuCtxSetCurrent(it.context));
	must("module", (int)cuModuleLoadData(&module, ptx));
	must("function", (int)cuModuleGetFunction(&it.kernel, module, "nothing"));
	printf("a launch:\n");
	costs();
	printf("what stays on, who switches the rest off, launching threads:\n");
	for (unsigned k = 0; k < KEEPERS; k++)
		for (unsigned end = 0; end < 2; end++)
			for (unsigned threads = 1; threads <= THREADS; threads *= 2)
				try((enum keeper)k, end, threads, cycles);
	return 0;
}
