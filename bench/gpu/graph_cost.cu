// SPDX-License-Identifier: Apache-2.0
// What CUPTI's records of a graph's nodes cost, and what those of whole graphs do: one graph of NODES kernels of US
// microseconds each, replayed while kinds of records are switched. Nothing of aiflame runs here.
//
//     nvcc -O2 -o graph_cost graph_cost.cu -I$CUDA/extras/CUPTI/include -L$CUDA/lib64 -lcupti
//     ./graph_cost 1000 2                # prints for each state: a replay with a wait after it, and one of 20 queued, in us
//     ./graph_cost 1000 2 alone 10       # ten seconds without CUPTI: for a recorder
//     ./graph_cost 1000 2 attach         # CUPTI comes step by step
//     ./graph_cost 1000 2 whole          # switches records of whole graphs, too
//     ./graph_cost 1000 2 nodes 8 1      # with CUpti_ActivityAttribute 8 = 1 (its size is 8 bytes or 1)
//     ./graph_cost 1000 2 subscribed     # CUPTI calls back for nodes, and has no buffer functions: what a standby would need
//     ./graph_cost 1000 2 capture        # ns a node: capturing, below 12 functions, and instantiating; for a recorder
//
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>
#include <cuda_runtime.h>
#include <cupti.h>

#define DO(call)                                                    \
	do {                                                        \
		int r_ = (int)(call);                               \
		if (r_) {                                           \
			std::fprintf(stderr, "%s: %d\n", #call, r_); \
			std::exit(1);                               \
		}                                                   \
	} while (0)

static long kernels, graphs, timeless, longest, wrong;
static int nodes_of;
static long ns_of;
static cudaStream_t stream;
static CUpti_SubscriberHandle subscriber;

__global__ void work(long ns)
{
	long now;

	long first = clock64(), cycles = ns * 17 / 10;
	do {
		now = clock64();
	} while (now - first < cycles);
}

static double now_us()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void CUPTIAPI callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 2 << 20;
	*buffer = (uint8_t *)std::malloc(*size);
	*max = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *r = nullptr;

	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)r;

			kernels++;
			longest = std::max(longest, (long)(k->end - k->start));
			wrong += k->end - k->start > 1000000;
		}
		if (r->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
			const CUpti_ActivityGraphTrace2 *g = (const CUpti_ActivityGraphTrace2 *)r;

			graphs++;
			timeless += !g->start || g->end < g->start;
		}
	}
	std::free(buffer);
}

static double median(std::vector<double> v)
{
	std::sort(v.begin(), v.end());
	return v[v.size() / 2];
}

static cudaGraphExec_t make(int nodes, long ns)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < nodes; i++)
		work<<<1, 32, 0, stream>>>(ns);
	DO(cudaStreamEndCapture(stream, &graph));
	DO(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void measure(const char *what, cudaGraphExec_t exec)
{
	std::vector<double> alone, queued;

	for (int i = 0; i < 5; i++)
		DO(cudaGraphLaunch(exec, stream));
	DO(cudaStreamSynchronize(stream));
	if (subscriber)
		cuptiActivityFlushAll(1);
	kernels = graphs = timeless = 0;
	for (int i = 0; i < 60; i++) {
		double t = now_us();

		DO(cudaGraphLaunch(exec, stream));
		DO(cudaStreamSynchronize(stream));
		alone.push_back(now_us() - t);
	}
	for (int k = 0; k < 9; k++) {
		double t = now_us();

		for (int i = 0; i < 20; i++)
			DO(cudaGraphLaunch(exec, stream));
		DO(cudaStreamSynchronize(stream));
		queued.push_back((now_us() - t) / 20);
	}
	if (subscriber)
		cuptiActivityFlushAll(1);
	std::printf("%-46s %9.1f %9.1f   records: %ld of kernels, %ld of graphs, %ld without times, of %d replays\n", what,
		    median(alone), median(queued), kernels, graphs, timeless, 60 + 180);
	std::fflush(stdout);
}

static void kind(CUpti_ActivityKind k, bool on)
{
	CUptiResult r = on ? cuptiActivityEnable(k) : cuptiActivityDisable(k);

	if (r)
		std::printf("  switching kind %d %s: error %d\n", (int)k, on ? "on" : "off", (int)r);
}

// Ways to switch records off.
enum { IN_A_REPLAY, IDLE, IDLE_FLUSHED, IDLE_FLUSHED_AFTER, IDLE_FORCED };
static const char *const ways[] = {"in a replay", "when idle", "when idle and flushed", "when idle, and flushed then",
				   "when idle, and flushed by force"};

static void switch_off(cudaGraphExec_t exec, cudaGraphExec_t other, int way)
{
	double flush_us = 0, t;
	timespec pause = {0, 50000000};

	cuptiActivityFlushAll(1);
	kernels = longest = wrong = 0;
	for (int i = 0; i < 10; i++) {
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
		for (int n = 0; n < 2; n++) {
			DO(cudaGraphLaunch(exec, stream));
			DO(cudaGraphLaunch(other, stream));
		}
		if (way != IN_A_REPLAY)
			DO(cudaStreamSynchronize(stream));
		t = now_us();
		if (way == IDLE_FLUSHED || way == IDLE_FORCED)
			cuptiActivityFlushAll(way == IDLE_FORCED);
		flush_us += now_us() - t;
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false);
		t = now_us();
		if (way == IDLE_FLUSHED_AFTER)
			cuptiActivityFlushAll(0);
		flush_us += now_us() - t;
		for (int n = 0; n < 4; n++)
			DO(cudaGraphLaunch(exec, stream));
		DO(cudaStreamSynchronize(stream));
		nanosleep(&pause, nullptr);
	}
	kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
	DO(cudaGraphLaunch(exec, stream));
	DO(cudaStreamSynchronize(stream));
	cuptiActivityFlushAll(1);
	kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false);
	std::printf("switched off %s: of 41 replays %ld kernels, the longest took %.1f us, %ld more than 1 ms; a flush took %.0f us\n",
		    ways[way], kernels, (double)longest / 1e3, wrong, flush_us / 10);
	std::fflush(stdout);
}

// What it costs that CUPTI is there at all, step by step.
static void attach(cudaGraphExec_t exec)
{
	uint64_t now;

	DO(cuptiGetTimestamp(&now));
	measure("cuptiGetTimestamp()", exec);
	DO(cuptiActivityRegisterCallbacks(request, complete));
	measure("cuptiActivityRegisterCallbacks()", exec);
	DO(cuptiSubscribe(&subscriber, callback, nullptr));
	measure("cuptiSubscribe()", exec);
	DO(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch));
	measure("callback of cuGraphLaunch()", exec);
	for (int id : {1, 3, 9, 10, 13, 17, 18, 20, 22})
		DO(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, (CUpti_CallbackId)id));
	measure("callbacks of graphs", exec);
	measure("graph made with CUPTI there", make(nodes_of, ns_of));
	kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
	measure("kernel records", exec);
	kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false);
	measure("off", exec);
	DO(cuptiUnsubscribe(subscriber));
	subscriber = nullptr;
	measure("unsubscribed", exec);
}

// What a subscription costs that nobody has asked for records with.
static void subscribed(cudaGraphExec_t exec)
{
	DO(cuptiSubscribe(&subscriber, callback, nullptr));
	measure("cuptiSubscribe()", exec);
	for (int id : {1, 3, 9, 10, 13, 17, 18, 20, 22})
		DO(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, (CUpti_CallbackId)id));
	measure("callbacks of graphs", exec);
	measure("graph made with them", make(nodes_of, ns_of));
	DO(cuptiUnsubscribe(subscriber));
	subscriber = nullptr;
	measure("unsubscribed", exec);
}

// A node each, below functions of its own.
template <int depth> __attribute__((noinline)) static void below(long ns)
{
	if constexpr (depth > 0)
		below<depth - 1>(ns);
	else
		work<<<1, 32, 0, stream>>>(ns);
	__asm__ volatile("" ::: "memory"); // no tail call
}

static void capture(int nodes, long ns)
{
	std::vector<double> captured, instantiated;

	for (int round = 0; round < 30; round++) {
		cudaGraph_t graph;
		cudaGraphExec_t exec;
		double t = now_us();

		DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
		for (int i = 0; i < nodes; i++)
			below<12>(ns);
		DO(cudaStreamEndCapture(stream, &graph));
		captured.push_back((now_us() - t) * 1e3 / nodes);
		t = now_us();
		DO(cudaGraphInstantiate(&exec, graph, 0));
		instantiated.push_back((now_us() - t) * 1e3 / nodes);
		DO(cudaGraphLaunch(exec, stream));
		DO(cudaStreamSynchronize(stream));
		DO(cudaGraphExecDestroy(exec));
		DO(cudaGraphDestroy(graph));
	}
	std::printf("ns a node: captured %.0f, instantiated %.0f\n", median(captured), median(instantiated));
}

int main(int argc, char **argv)
{
	const int nodes = argc > 1 ? std::atoi(argv[1]) : 1000;
	const long ns = (long)((argc > 2 ? std::atof(argv[2]) : 2) * 1000);
	const bool whole = argc > 3 && !std::strcmp(argv[3], "whole");
	cudaGraphExec_t exec, later;

	DO(cudaStreamCreate(&stream));
	nodes_of = nodes;
	ns_of = ns;
	if (argc > 3 && !std::strcmp(argv[3], "capture")) {
		capture(nodes, ns);
		return 0;
	}
	exec = make(nodes, ns);
	std::printf("%d nodes of %ld ns asked for; us a replay: with a wait, and queued\n", nodes, ns);
	if (argc > 4 && !std::strcmp(argv[3], "alone")) {
		const double until = now_us() + std::atof(argv[4]) * 1e6;

		while (now_us() < until)
			measure("alone", exec);
		return 0;
	}
	measure("no CUPTI", exec);
	measure("no CUPTI", exec);
	if (argc > 3 && !std::strcmp(argv[3], "attach")) {
		attach(exec);
		return 0;
	}
	if (argc > 3 && !std::strcmp(argv[3], "subscribed")) {
		subscribed(exec);
		return 0;
	}
	DO(cuptiSubscribe(&subscriber, callback, nullptr));
	DO(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch));
	DO(cuptiActivityRegisterCallbacks(request, complete));
	measure("subscribed", exec);
	for (int i = 4; i + 1 < argc; i += 2) {
		const int attribute = std::atoi(argv[i]);
		size_t value = std::strtoull(argv[i + 1], nullptr, 0), size = attribute == 5 || attribute >= 8 ? 1 : 8;
		CUptiResult r = cuptiActivitySetAttribute((CUpti_ActivityAttribute)attribute, &size, &value);

		if (r)
			std::printf("  attribute %s: error %d\n", argv[i], (int)r);
	}
	later = make(nodes, ns);
	for (int way = IN_A_REPLAY; way <= IDLE_FORCED; way++)
		switch_off(exec, later, way);
	for (int round = 0; round < 2; round++) {
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
		measure("kernel records", exec);
		later = make(nodes, ns);
		measure("kernel records, graph made with them on", later);
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false);
		measure("off after kernel records", exec);
		measure("off, graph made with them on", later);
		if (!whole)
			continue;
		kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, true);
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
		measure("graph records, then kernel records", exec);
		measure("the same, graph made with kernel records on", later);
		kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, false);
		measure("kernel records, graph records off again", exec);
		kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, true);
		measure("kernel records, then graph records", exec);
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false);
		measure("graph records alone", exec);
		kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, false);
		measure("off", exec);
	}
	return 0;
}
