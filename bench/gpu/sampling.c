/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May instruction sampling be switched on and off while other threads are in the driver? CUPTI's Disable takes a
 * lock of CUPTI's and then one of the driver's; a launch takes them the other way round. Tried here, apart
 * from aiflame: one thread switches, two do one kind of call. Built where it runs:
 *
 *     cc -O2 -pthread -o sampling sampling.c -I$CUDA/include -L$CUDA/lib64 -lcupti -lcuda
 *     for call in $(./sampling); do ./sampling $call; done
 *
 * May it be switched on where kernel records have just gone off, which some launches that are under way still get?
 * ("records")
 *
 * And may CUPTI be sent away, by cuptiFinalize(), after records were on, and after sampling was? ("finalize")
 *
 * Where a call is "gated", it is not begun while sampling is switched, and sampling is not switched before all that
 * were begun have returned. A run ends after 5 s (or so many as are said behind its name), or when nobody has got on
 * for 3 s; then it says in which calls they are. "beside-records": kernel records are on throughout.
 */
#include <cuda.h>
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

#define WORKERS 2
#define SECONDS 5
#define STUCK   3
#define PCS     4096
#define REASONS 64

static struct {
	CUcontext context;
	CUdevice device;
	CUfunction nothing, slow, second;
	CUgraphExec graph;
	CUpti_SubscriberHandle subscriber;
	bool is_gated;
	enum {
		SWITCHES,
		BESIDE_RECORDS,
		DRAINS,
		FINALIZES,
		FINALIZES_ONCE,
		FINALIZES_INSIDE,
		SAMPLES_AND_FINALIZES,
		AFTER_RECORDS,
		AFTER_RECORDS_IDLE
	} does;
	_Atomic int gate, under_way, over, due; /* due: to be finalized */
	_Atomic unsigned cycles;
	_Atomic uint64_t calls;
	double slowest[2]; /* disabling, enabling, s */
	CUpti_PCSamplingData *data, *out;
} it;
static _Thread_local CUstream stream;
/* The call that each thread is in, the switching one first. */
static const char *volatile doing[WORKERS + 1];
static _Thread_local unsigned self;
/* A call of a worker's, gated or not. */
#define DO(gated, f, ...)                      \
	do {                                   \
		if (gated)                     \
			enter();               \
		doing[self] = #f;              \
		must(#f, (int)f(__VA_ARGS__)); \
		doing[self] = "";              \
		if (gated)                     \
			it.under_way--;        \
	} while (0)

/* slow: 3 ms. second: one. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry nothing() { ret; }\n"
#define WAITING(name, ns)                                                                       \
	".visible .entry " name "() { .reg .pred p; .reg .u64 a, b; mov.u64 a, %globaltimer;\n" \
	"again: mov.u64 b, %globaltimer; sub.u64 b, b, a; setp.lt.u64 p, b, " ns                \
	"; @p bra again; ret; }\n"
	WAITING("slow", "3000000") WAITING("second", "1000000000");

static void must(const char *what, int r)
{
	if (!r)
		return;
	printf("%s: error %d\n", what, r);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the switching thread ---- */

static CUpti_PCSamplingData *new_buffer(void)
{
	CUpti_PCSamplingData *b = calloc(1, sizeof(*b));

	b->size = sizeof(*b);
	b->collectNumPcs = PCS;
	b->pPcData = calloc(PCS, sizeof(*b->pPcData));
	for (unsigned i = 0; i < PCS; i++) {
		b->pPcData[i].size = sizeof(b->pPcData[i]);
		b->pPcData[i].stallReason = calloc(REASONS, sizeof(*b->pPcData[i].stallReason));
	}
	return b;
}

static void enable(void)
{
	CUpti_PCSamplingEnableParams p = {.size = CUpti_PCSamplingEnableParamsSize,
					  .ctx = it.context};
	CUpti_PCSamplingConfigurationInfo info[2] = {
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER}};
	CUpti_PCSamplingConfigurationInfoParams c = {
		.size = CUpti_PCSamplingConfigurationInfoParamsSize,
		.ctx = it.context,
		.numAttributes = 2,
		.pPCSamplingConfigurationInfo = info};

	info[0].attributeData.collectionModeData.collectionMode =
		CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	info[1].attributeData.samplingDataBufferData.samplingDataBuffer = it.data;
	must("enable", (int)cuptiPCSamplingEnable(&p));
	must("configure", (int)cuptiPCSamplingSetConfigurationAttribute(&c));
}

static void disable(void)
{
	CUpti_PCSamplingDisableParams p = {.size = CUpti_PCSamplingDisableParamsSize,
					   .ctx = it.context};

	must("disable", (int)cuptiPCSamplingDisable(&p));
}

static void drain(void)
{
	CUpti_PCSamplingGetDataParams p = {.size = CUpti_PCSamplingGetDataParamsSize,
					   .ctx = it.context,
					   .pcSamplingData = it.out};

	cuptiPCSamplingGetData(&p);
}

static void between(void (*what)(void))
{
	double *slowest = &it.slowest[what != disable], begin;

	it.gate = 1;
	while (it.is_gated && it.under_way)
		usleep(10);
	begin = now();
	doing[0] = what == disable ? "disable" : "enable";
	what();
	doing[0] = "";
	it.gate = 0;
	if (now() - begin > *slowest)
		*slowest = now() - begin;
}

static void finalize(void)
{
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(1);
	cuptiUnsubscribe(it.subscriber);
	must("finalize", (int)cuptiFinalize());
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *call = data;
	int due = 1;

	(void)user, (void)domain, (void)id;
	/* NVIDIA's documentation asks for cuptiFinalize() at the end of a call. */
	if (call->callbackSite == CUPTI_API_EXIT && it.due == 1 &&
	    atomic_compare_exchange_strong(&it.due, &due, 2)) {
		finalize();
		it.due = 0;
	}
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 2 << 20;
	*buffer = malloc(*size);
	*max = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
	(void)c, (void)s, (void)size, (void)valid;
	free(buffer);
}

static void subscribe(void)
{
	must("subscribe", (int)cuptiSubscribe(&it.subscriber, callback, NULL));
	must("buffers", (int)cuptiActivityRegisterCallbacks(request, complete));
	cuptiEnableCallback(1, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307 /* cuLaunchKernel */);
	cuptiEnableCallback(1, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 514 /* cuGraphLaunch */);
	must("records", (int)cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void from_records(void)
{
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (it.does == AFTER_RECORDS_IDLE)
		must("idle", (int)cuCtxSynchronize());
	enable();
}

static void *switching(void *unused)
{
	must("context", (int)cuCtxSetCurrent(it.context));
	if (it.does == BESIDE_RECORDS)
		subscribe();
	if (it.does < FINALIZES)
		between(enable);
	while (!it.over) {
		usleep(20000);
		switch (it.does) {
		case SWITCHES:
		case BESIDE_RECORDS:
			drain();
			between(disable);
			usleep(5000);
			between(enable);
			break;
		case DRAINS:
			drain();
			break;
		case FINALIZES:
			subscribe();
			usleep(20000);
			between(finalize);
			break;
		case FINALIZES_ONCE:
			if (!it.cycles) {
				subscribe();
				usleep(20000);
				finalize();
			}
			break;
		case FINALIZES_INSIDE:
			subscribe();
			usleep(20000);
			for (it.due = 1; it.due && !it.over;)
				usleep(1000);
			break;
		case AFTER_RECORDS:
		case AFTER_RECORDS_IDLE:
			if (!it.cycles)
				subscribe();
			usleep(20000);
			between(from_records);
			usleep(20000);
			between(disable);
			must("records",
			     (int)cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
			break;
		case SAMPLES_AND_FINALIZES:
			subscribe();
			between(enable);
			usleep(20000);
			between(disable);
			finalize(); /* the gate is open */
			break;
		}
		it.cycles++;
	}
	if (it.does < FINALIZES)
		between(disable);
	return unused;
}

/* ---- the others ---- */

static void enter(void)
{
	for (;;) {
		while (it.is_gated && it.gate)
			usleep(10);
		it.under_way++;
		if (!it.is_gated || !it.gate)
			return;
		it.under_way--;
	}
}

static void launch_it(CUfunction f)
{
	enter();
	must("launch", (int)cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	it.under_way--;
}

static void launch(void)
{
	for (int i = 0; i < 100; i++)
		launch_it(it.nothing);
}

static void launch_graph(void)
{
	enter();
	must("graph", (int)cuGraphLaunch(it.graph, stream));
	it.under_way--;
}

/* Graphs only when CUPTI has gone: one that was made before, or new ones. */
static void old_graph_after(void)
{
	if (it.cycles)
		launch_graph();
	else
		launch();
}

static void new_graphs_after(void)
{
	CUgraphExec exec;
	CUgraph graph;

	if (!it.cycles) {
		launch();
		return;
	}
	must("capture", (int)cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch_it(it.nothing);
	must("capture", (int)cuStreamEndCapture(stream, &graph));
	must("graph", (int)cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 10; i++)
		must("graph", (int)cuGraphLaunch(exec, stream));
	must("wait", (int)cuStreamSynchronize(stream));
	must("graph", (int)cuGraphExecDestroy(exec));
	must("graph", (int)cuGraphDestroy(graph));
}

static void wait_for(void)
{
	launch_it(it.slow);
	must("wait", (int)cuStreamSynchronize(stream));
}

static void poll_event(void)
{
	CUevent event;

	must("event", (int)cuEventCreate(&event, 0));
	launch_it(it.slow);
	cuEventRecord(event, stream);
	while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
		;
	cuEventDestroy(event);
}

static void copy(void)
{
	static _Thread_local CUdeviceptr at;
	char bytes[4096] = {0};

	if (!at)
		must("memory", (int)cuMemAlloc(&at, sizeof(bytes)));
	must("copy", (int)cuMemcpyHtoDAsync(at, bytes, sizeof(bytes), stream));
	must("fill", (int)cuMemsetD8Async(at, 1, 64, stream));
	must("copy", (int)cuMemcpyDtoH(bytes, at, 64));
}

static void allocate(void)
{
	CUdeviceptr at;

	must("memory", (int)cuMemAlloc(&at, 4 << 20));
	must("free", (int)cuMemFree(at));
}

static void make_stream(void)
{
	CUstream s;

	must("stream", (int)cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	must("stream", (int)cuStreamDestroy(s));
}

static void load(void)
{
	CUmodule module;

	must("module", (int)cuModuleLoadData(&module, ptx));
	must("unload", (int)cuModuleUnload(module));
}

/* Loads a module, looks a function up and unloads the module; the bits of `gated` say which of
 * these passes the gate: 1 looking up, 2 unloading, 4 loading. */
static void loaded(unsigned gated, bool launches)
{
	CUmodule module;
	CUfunction f;

	if (gated & 4)
		enter();
	must("module", (int)cuModuleLoadData(&module, ptx));
	if (gated & 4)
		it.under_way--;
	if (gated & 1)
		enter();
	must("function", (int)cuModuleGetFunction(&f, module, "nothing"));
	if (gated & 1)
		it.under_way--;
	if (launches) {
		launch_it(f);
		must("wait", (int)cuStreamSynchronize(stream));
	}
	if (gated & 2)
		enter();
	must("unload", (int)cuModuleUnload(module));
	if (gated & 2)
		it.under_way--;
}

static void look_up(void)
{
	loaded(0, false);
}

static void look_up_1(void)
{
	loaded(1, false);
}

static void look_up_2(void)
{
	loaded(2, false);
}

static void look_up_3(void)
{
	loaded(3, false);
}

static void loaded_3(void)
{
	loaded(3, true);
}

static void loaded_7(void)
{
	loaded(7, true);
}

/* Loads, launches from and unloads a library, by the calls that CUDA's runtime makes. */
static void library(void)
{
	CUlibrary l;
	CUkernel k;
	int n;

	must("library", (int)cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
	must("kernel", (int)cuLibraryGetKernel(&k, l, "nothing"));
	must("attribute", (int)cuKernelGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, k, it.device));
	launch_it((CUfunction)k);
	must("wait", (int)cuStreamSynchronize(stream));
	must("unload", (int)cuLibraryUnload(l));
}

static void library_lazily(void)
{
	CUlibrary l;
	CUkernel k;

	must("library", (int)cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
	must("kernel", (int)cuLibraryGetKernel(&k, l, "nothing"));
	launch_it((CUfunction)k);
	must("wait", (int)cuStreamSynchronize(stream));
	enter();
	must("unload", (int)cuLibraryUnload(l));
	it.under_way--;
}

/* Loads a library, sets and asks attributes, launches from it and unloads it, as cuDNN does with a plan compiled at run
 * time. Launches and unloading pass the gate; the others do if `gated`. */
static void plan(bool gated)
{
	CUfunction f;
	CUlibrary l;
	CUkernel k;
	int n;

	DO(gated, cuLibraryLoadData, &l, ptx, NULL, NULL, 0, NULL, NULL, 0);
	DO(gated, cuLibraryGetKernel, &k, l, "nothing");
	DO(gated, cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, k,
	   it.device);
	DO(gated, cuKernelGetAttribute, &n, CU_FUNC_ATTRIBUTE_NUM_REGS, k, it.device);
	DO(gated, cuKernelGetFunction, &f, k);
	DO(gated, cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, f, 128, 0);
	for (int i = 0; i < 20; i++)
		DO(true, cuLaunchKernel, (CUfunction)k, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
	DO(false, cuStreamSynchronize, stream);
	DO(true, cuLibraryUnload, l);
}

static void plan_open(void)
{
	plan(false);
}

static void plan_gated(void)
{
	plan(true);
}

static void keep_busy(void)
{
	launch_it(it.second);
	must("wait", (int)cuStreamSynchronize(stream));
	usleep(300000);
}

static void make_context(void)
{
	CUcontext c;

	must("context", (int)cuCtxCreate(&c, NULL, 0, it.device));
	must("context", (int)cuCtxDestroy(c));
	must("context", (int)cuCtxSetCurrent(it.context));
}

static void CUDA_CB on_host(void *unused)
{
	(void)unused;
	usleep(500);
}

static void call_host(void)
{
	must("host", (int)cuLaunchHostFunc(stream, on_host, NULL));
	must("wait", (int)cuStreamSynchronize(stream));
}

static void wait_for_all(void)
{
	launch_it(it.slow);
	must("wait", (int)cuCtxSynchronize());
}

static const struct {
	const char *name;
	void (*call)(void);
	bool is_gated;
	int does;
} tries[] = {
	{"launch", launch, false, SWITCHES},
	{"launch-gated", launch, true, SWITCHES},
	{"drain-beside-launches", launch, false, DRAINS},
	{"finalize", launch, false, FINALIZES},
	{"finalize-gated", launch, true, FINALIZES},
	{"finalize-beside-waits", wait_for, true, FINALIZES},
	{"finalize-beside-copies", copy, false, FINALIZES},
	{"finalize-beside-loads", library_lazily, true, FINALIZES},
	{"finalize-graphs", launch_graph, false, FINALIZES},
	{"finalize-graphs-gated", launch_graph, true, FINALIZES},
	{"old-graph-after-finalize", old_graph_after, false, FINALIZES_ONCE},
	{"new-graphs-after-finalize", new_graphs_after, false, FINALIZES_ONCE},
	{"finalize-inside", launch, false, FINALIZES_INSIDE},
	{"finalize-inside-graphs", launch_graph, false, FINALIZES_INSIDE},
	{"finalize-sampled", launch, true, SAMPLES_AND_FINALIZES},
	{"finalize-sampled-graphs", launch_graph, true, SAMPLES_AND_FINALIZES},
	{"finalize-sampled-waits", wait_for, true, SAMPLES_AND_FINALIZES},
	{"records", launch, true, AFTER_RECORDS},
	{"records-idle", launch, true, AFTER_RECORDS_IDLE},
	{"records-waits", wait_for, true, AFTER_RECORDS},
	{"records-loads", library_lazily, true, AFTER_RECORDS},
	{"records-graphs", launch_graph, true, AFTER_RECORDS},
	{"graph", launch_graph, false, SWITCHES},
	{"graph-gated", launch_graph, true, SWITCHES},
	{"wait-gated", wait_for, true, SWITCHES},
	{"wait-for-all-gated", wait_for_all, true, SWITCHES},
	{"poll-gated", poll_event, true, SWITCHES},
	{"copy", copy, false, SWITCHES},
	{"allocate", allocate, false, SWITCHES},
	{"stream", make_stream, false, SWITCHES},
	{"load", load, false, SWITCHES},
	{"look-up", look_up, false, SWITCHES},
	{"look-up-gated", look_up_1, true, SWITCHES},
	{"unload-gated", look_up_2, true, SWITCHES},
	{"look-up-unload-gated", look_up_3, true, SWITCHES},
	{"loaded-gated", loaded_3, true, SWITCHES},
	{"load-gated", loaded_7, true, SWITCHES},
	{"library-gated-launch", library, true, SWITCHES},
	{"library-gated", library_lazily, true, SWITCHES},
	{"plan", plan_open, true, SWITCHES},
	{"plan-gated", plan_gated, true, SWITCHES},
	{"plan-beside-records", plan_open, true, BESIDE_RECORDS},
	{"plan-gated-beside-records", plan_gated, true, BESIDE_RECORDS},
	{"device-busy-gated", keep_busy, true, SWITCHES},
	{"context", make_context, false, SWITCHES},
	{"host-function", call_host, false, SWITCHES},
};

struct job {
	void (*call)(void);
	unsigned self;
};

static void *worker(void *of)
{
	const struct job *job = of;

	self = job->self;
	must("context", (int)cuCtxSetCurrent(it.context));
	must("stream", (int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (!it.over) {
		job->call();
		it.calls++;
	}
	return NULL;
}

static void prepare(void)
{
	CUmodule module;
	CUstream s;
	CUgraph graph;

	must("init", (int)cuInit(0));
	must("device", (int)cuDeviceGet(&it.device, 0));
	must("context", (int)cuDevicePrimaryCtxRetain(&it.context, it.device));
	must("context", (int)cuCtxSetCurrent(it.context));
	must("module", (int)cuModuleLoadData(&module, ptx));
	must("function", (int)cuModuleGetFunction(&it.nothing, module, "nothing"));
	must("function", (int)cuModuleGetFunction(&it.slow, module, "slow"));
	must("function", (int)cuModuleGetFunction(&it.second, module, "second"));
	must("stream", (int)cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	must("capture", (int)cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < 10; i++)
		must("node", (int)cuLaunchKernel(it.nothing, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	must("capture", (int)cuStreamEndCapture(s, &graph));
	must("graph", (int)cuGraphInstantiate(&it.graph, graph, 0));
	it.data = new_buffer();
	it.out = new_buffer();
}

int main(int argc, char **argv)
{
	struct job jobs[WORKERS + 1];
	pthread_t threads[WORKERS + 1];
	unsigned cycles = 0, i;
	uint64_t calls = 0;
	double begin, moved, seconds = argc > 2 ? atof(argv[2]) : SECONDS;

	for (i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		if (argc < 2)
			puts(tries[i].name);
		else if (!strcmp(argv[1], tries[i].name))
			break;
	}
	if (i == sizeof(tries) / sizeof(*tries))
		return argc >= 2;
	prepare();
	it.is_gated = tries[i].is_gated;
	it.does = tries[i].does;
	pthread_create(&threads[0], NULL, switching, NULL);
	for (unsigned k = 1; k <= WORKERS; k++) {
		jobs[k] = (struct job){.call = tries[i].call, .self = k};
		pthread_create(&threads[k], NULL, worker, &jobs[k]);
	}
	begin = moved = now();
	while (now() - begin < seconds + STUCK && now() - moved < STUCK) {
		usleep(50000);
		if (now() - begin > seconds)
			it.over = 1;
		if (cycles != it.cycles && calls != it.calls)
			moved = now();
		else if (cycles == it.cycles && calls == it.calls && it.over)
			break;
		cycles = it.cycles;
		calls = it.calls;
	}
	printf("%-24s %4u switches, slowest %.2f s on, %.2f s off; %llu calls%s\n", tries[i].name,
	       cycles, it.slowest[1], it.slowest[0], (unsigned long long)calls,
	       now() - moved > 1 ? "; STUCK" : "");
	for (unsigned k = 0; k <= WORKERS && now() - moved > 1; k++)
		printf("    %s: %s\n", k ? "a worker" : "who switches", doing[k] ? doing[k] : "");
	fflush(stdout);
	_exit(now() - moved > 1);
}
