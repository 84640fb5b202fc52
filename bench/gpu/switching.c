/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May callbacks and records of launches be switched off while threads launch? CUPTI loses count of a call that is
 * under way on another thread when the last of what it watches is switched off (bench/results/h100-cupti.md). Tried
 * here, apart from aiflame: what must stay on so that it does not (a keeper), who switches (a thread beside, or the
 * launching thread at the end of its own call), and what a launch costs with each. Built where it runs:
 *
 *     cc -O2 -pthread -o switching switching.c -I$CUDA/include -L$CUDA/lib64 -lcupti -lcudart -lcuda
 *     ./switching [CYCLES [OFF_MS]]
 *
 * All of it by the driver's calls, and by the runtime's, which make them.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
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
#define COPY    277 /* cuMemcpyHtoDAsync_v2 */
#define COST_OF 2000
#define ROUNDS  15

enum keeper { NOTHING, COPY_CALLBACK, COPY_RECORDS, KEEPERS };
static const char *const keepers[] = {"nothing", "a copy's callback", "copies' records"};

/* cuLaunchKernel, its cooperative and extended kinds. */
static const CUpti_CallbackId ids[] = {307, 442, 477, 478, 652, 653};
/* cuMemcpy*, cuMemset* */
static const CUpti_CallbackId spans[][2] = {{216, 227}, {249, 255}, {276, 294}, {305, 307}};

static struct {
	CUcontext context;
	CUfunction kernel;
	cudaKernel_t runtime_kernel;
	bool by_runtime, keeps_copy;
	unsigned off_ms;
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
	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		cuptiEnableCallback(on, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]);
	for (unsigned i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		for (CUpti_CallbackId k = spans[i][0]; k < spans[i][1]; k++)
			if (k != COPY || !it.keeps_copy)
				cuptiEnableCallback(on, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
						    k);
	if (records && on)
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	else if (records)
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static void keep(enum keeper k, bool on)
{
	it.keeps_copy = k == COPY_CALLBACK && on;
	if (k == COPY_CALLBACK)
		cuptiEnableCallback(on, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, COPY);
	else if (k != NOTHING && on)
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	else if (k != NOTHING)
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *cb = data;

	(void)user;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || (id == COPY && it.keeps_copy))
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
	const dim3 one = {1, 1, 1};

	for (unsigned i = 0; i < n; i++)
		must("launch", it.by_runtime ? (int)cudaLaunchKernel(it.runtime_kernel, one, one,
								     NULL, 0, self.stream)
					     : (int)cuLaunchKernel(it.kernel, 1, 1, 1, 1, 1, 1, 0,
								   self.stream, NULL, NULL));
	it.launches += n;
}

/* From memory that the driver does not know, and so in several steps. */
static void copy(CUdeviceptr to)
{
	char from[8192] = {0};

	if (it.by_runtime) {
		must("copy", (int)cudaMemcpyAsync((void *)to, from, sizeof(from),
						  cudaMemcpyHostToDevice, self.stream));
		must("fill", (int)cudaMemsetAsync((void *)to, 1, 64, self.stream));
		must("copy", (int)cudaMemcpy(from, (void *)to, 64, cudaMemcpyDeviceToHost));
	} else {
		must("copy", (int)cuMemcpyHtoDAsync(to, from, sizeof(from), self.stream));
		must("fill", (int)cuMemsetD8Async(to, 1, 64, self.stream));
		must("copy", (int)cuMemcpyDtoH(from, to, 64));
	}
}

/* Launches, seldom pausing; also copies and waits for its work, as programs do. */
static void *launching(void *seed)
{
	CUdeviceptr memory;
	uint64_t x = (uint64_t)(uintptr_t)seed * 2654435761u + 1;

	must("context", (int)cuCtxSetCurrent(it.context));
	must("stream", (int)cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING));
	must("memory", (int)cuMemAlloc(&memory, 8192));
	self.correlation = UINT32_MAX;
	self.confused = false;
	while (!atomic_load(&it.over)) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		launch(1 + (unsigned)(x >> 60));
		if (!(x >> 44 & 15))
			copy(memory);
		if (x >> 40 & 7)
			continue;
		cuStreamSynchronize(self.stream);
		usleep((unsigned)(x >> 50 & 63));
	}
	cuStreamSynchronize(self.stream);
	cuStreamDestroy(self.stream);
	cuMemFree(memory);
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
		usleep(1000 * it.off_ms);
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

/* Returns the cost of one launch for the thread that launches, ns. */
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

/* Switches sampling on and off once, as an empty recording does. */
static void sample_once(void)
{
	static CUpti_PCSamplingPCData pcs[64];
	static CUpti_PCSamplingStallReason reasons[64][64];
	static CUpti_PCSamplingData data = {
		.size = sizeof(data), .collectNumPcs = 64, .pPcData = pcs};
	CUpti_PCSamplingConfigurationInfo info = {
		.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER};
	CUpti_PCSamplingConfigurationInfoParams c = {
		.size = CUpti_PCSamplingConfigurationInfoParamsSize,
		.ctx = it.context,
		.numAttributes = 1,
		.pPCSamplingConfigurationInfo = &info};
	CUpti_PCSamplingEnableParams on = {.size = CUpti_PCSamplingEnableParamsSize,
					   .ctx = it.context};
	CUpti_PCSamplingDisableParams off = {.size = CUpti_PCSamplingDisableParamsSize,
					     .ctx = it.context};

	for (unsigned i = 0; i < 64; i++) {
		pcs[i].size = sizeof(pcs[i]);
		pcs[i].stallReason = reasons[i];
	}
	info.attributeData.samplingDataBufferData.samplingDataBuffer = &data;
	must("sampling", (int)cuptiPCSamplingEnable(&on));
	must("sampling", (int)cuptiPCSamplingSetConfigurationAttribute(&c));
	launch(200);
	cuStreamSynchronize(self.stream);
	must("sampling", (int)cuptiPCSamplingDisable(&off));
}

/* Contexts, modules, nodes of graphs. */
static void resources(void)
{
	static const CUpti_CallbackId events[] = {1, 2, 6, 13};

	for (unsigned i = 0; i < sizeof(events) / sizeof(*events); i++)
		cuptiEnableCallback(1, it.subscriber, CUPTI_CB_DOMAIN_RESOURCE, events[i]);
}

/* Parts of CUPTI that are on, and those that were on before (AFTER_*). */
enum {
	SUBSCRIBED = 1,
	CALLBACKS = 2,
	RECORDS = 4,
	RESOURCES = 8,
	AFTER_RECORDS = 16,
	AFTER_SAMPLING = 32
};
static const struct {
	const char *name;
	unsigned what;
} states[] = {
	{"no subscriber", 0},
	{"subscribed", SUBSCRIBED},
	{"resources' callbacks", SUBSCRIBED | RESOURCES},
	{"calls' callbacks", SUBSCRIBED | CALLBACKS},
	{"both", SUBSCRIBED | RESOURCES | CALLBACKS},
	{"both, and records", SUBSCRIBED | RESOURCES | CALLBACKS | RECORDS},
	{"both, after records", SUBSCRIBED | RESOURCES | CALLBACKS | AFTER_RECORDS},
	{"both, after sampling", SUBSCRIBED | RESOURCES | CALLBACKS | AFTER_SAMPLING},
	{"none, after sampling", SUBSCRIBED | AFTER_SAMPLING},
};
enum { STATES = sizeof(states) / sizeof(*states) };

static double cost_of(unsigned what)
{
	double ns;

	if (what & SUBSCRIBED)
		begin();
	if (what & (CALLBACKS | AFTER_RECORDS))
		launches(true, what & (RECORDS | AFTER_RECORDS));
	if (what & RESOURCES)
		resources();
	launch(200);
	cuStreamSynchronize(self.stream);
	if (what & AFTER_RECORDS)
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (what & AFTER_SAMPLING)
		sample_once();
	launch(200);
	cuStreamSynchronize(self.stream);
	ns = cost();
	if (what & CALLBACKS)
		launches(false, what & RECORDS);
	if (what & SUBSCRIBED)
		cuptiUnsubscribe(it.subscriber);
	return ns;
}

static void print_cost(const char *name, double ns[ROUNDS])
{
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	printf("  %-22s %6.0f ns a launch [%.0f .. %.0f]\n", name, ns[ROUNDS / 2], ns[ROUNDS / 4],
	       ns[ROUNDS * 3 / 4]);
	fflush(stdout);
}

/* Measures what CUPTI costs once it is in the process, for good or until cuptiFinalize(). The four states follow one
 * another, as the first can be had only once. */
static void lasting(void)
{
	static const char *const names[] = {"before CUPTI", "after unsubscribing",
					    "after cuptiFinalize", "subscribed again"};
	double ns[ROUNDS];

	must("stream", (int)cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING));
	launch(20000);
	cuStreamSynchronize(self.stream);
	for (unsigned k = 0; k < 4; k++) {
		if (k & 1)
			begin();
		if (k == 1) {
			launches(true, true);
			launch(200);
			launches(false, true);
			cuptiUnsubscribe(it.subscriber);
		} else if (k == 2) {
			must("finalize", (int)cuptiFinalize());
		}
		for (unsigned i = 0; i < ROUNDS; i++)
			ns[i] = cost();
		print_cost(names[k], ns);
	}
	cuptiUnsubscribe(it.subscriber);
	cuStreamDestroy(self.stream);
}

static void costs(void)
{
	static double ns[STATES][ROUNDS];

	must("stream", (int)cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING));
	launch(5000);
	cuStreamSynchronize(self.stream);
	for (unsigned i = 0; i < ROUNDS; i++)
		for (unsigned j = 0; j < STATES; j++) {
			unsigned s = i & 1 ? STATES - 1 - j : j;

			ns[s][i] = cost_of(states[s].what);
		}
	for (unsigned s = 0; s < STATES; s++)
		print_cost(states[s].name, ns[s]);
	cuStreamDestroy(self.stream);
}

int main(int argc, char **argv)
{
	unsigned cycles = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	cudaLibrary_t library;
	CUmodule module;
	CUdevice device;

	it.off_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
	must("init", (int)cuInit(0));
	must("device", (int)cuDeviceGet(&device, 0));
	must("context", (int)cuDevicePrimaryCtxRetain(&it.context, device));
	must("context", (int)cuCtxSetCurrent(it.context));
	must("module", (int)cuModuleLoadData(&module, ptx));
	must("function", (int)cuModuleGetFunction(&it.kernel, module, "nothing"));
	must("library", (int)cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	must("kernel", (int)cudaLibraryGetKernel(&it.runtime_kernel, library, "nothing"));
	it.by_runtime = true;
	printf("a launch by cudaLaunchKernel:\n");
	lasting();
	for (int runtime = 0; runtime < 2; runtime++) {
		it.by_runtime = runtime;
		printf("a launch by %s:\n", runtime ? "cudaLaunchKernel" : "cuLaunchKernel");
		costs();
		printf("what stays on, who switches the rest off, launching threads:%s\n",
		       cycles ? "" : " not tried");
		for (unsigned k = 0; k < KEEPERS && cycles; k++)
			for (unsigned end = 0; end < 2; end++)
				for (unsigned threads = 1; threads <= THREADS; threads *= 4)
					try((enum keeper)k, end, threads, cycles);
	}
	return 0;
}
