// SPDX-License-Identifier: Apache-2.0
// Replays CUDA graphs, each node of which was made by a stack of its own, and says so in its size: node number I is
// made under the functions digit<A>, digit<B>, digit<C>, where ABC is I in decimal, and has I + 1 blocks.
//
//   graphs CASE NODES REPLAYS [fills]
//
// With `fills` node I fills I + 1 floats: records of fills have their bytes, those of kernels no size.
//
//     plain        captured from a stream
//     api          added node by node
//     twice        one graph, instantiated twice
//     cloned       a clone of a captured graph, which is destroyed
//     updated      a graph captured again, which an executable graph is updated with before each replay
//     child        a captured graph, twice a node of another
//     conditional  the body of an if
//     several      ten graphs captured from one stream
//     forked       captured from two streams, one of which waits for the other
//     mixed        kernels, fills and copies: node I fills or copies I + 1 floats where I % 3 is 1 or 2
//     nested       nodes, a child within a child, nodes, another child, an if, nodes
//
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define DO(call)                                                                          \
	do {                                                                              \
		cudaError_t r_ = (call);                                                  \
		if (r_) {                                                                 \
			std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(r_)); \
			std::exit(1);                                                     \
		}                                                                         \
	} while (0)

// The number of the node that is being made.
extern "C" {
extern volatile int graphs_current;
volatile int graphs_current = -1;
}

static float *data;
static cudaStream_t stream, other;
static cudaGraph_t adding; // by node; else captured
static cudaGraphNode_t before;
static bool forks, mixes, fills;
#define MOST 100000

__global__ void work(float *x)
{
	if (x && threadIdx.x == 0 && blockIdx.x == 0)
		x[0] += 1;
}

static void make(int i)
{
	graphs_current = i;
	if (fills && adding) {
		cudaGraphNode_t node;
		cudaMemsetParams p = {};

		p.dst = data;
		p.elementSize = sizeof(*data);
		p.width = (size_t)i + 1;
		p.height = 1;
		DO(cudaGraphAddMemsetNode(&node, adding, before ? &before : nullptr, before ? 1 : 0, &p));
		before = node;
	} else if (fills || (mixes && i % 3)) {
		if (fills || i % 3 == 1)
			DO(cudaMemsetAsync(data, 0, (i + 1) * sizeof(*data),
					   forks && i % 2 ? other : stream));
		else
			DO(cudaMemcpyAsync(data, data + MOST, (i + 1) * sizeof(*data),
					   cudaMemcpyDeviceToDevice, stream));
	} else if (adding) {
		cudaGraphNode_t node;
		cudaKernelNodeParams p = {};
		void *args[] = {&data};

		p.func = (void *)work;
		p.gridDim = dim3(i + 1);
		p.blockDim = dim3(32);
		p.kernelParams = args;
		DO(cudaGraphAddKernelNode(&node, adding, before ? &before : nullptr, before ? 1 : 0, &p));
		before = node;
	} else {
		work<<<i + 1, 32, 0, forks && i % 2 ? other : stream>>>(data);
		DO(cudaGetLastError());
	}
	graphs_current = -1;
}

typedef void (*digit_fn)(int i, int level);
extern const digit_fn digits[10];

template <int D> __attribute__((noinline)) void digit(int i, int level)
{
	static const int powers[] = {1, 10, 100, 1000, 10000};

	if (level)
		digits[i / powers[level - 1] % 10](i, level - 1);
	else
		make(i);
	asm volatile("" ::: "memory"); // no tail call
}

const digit_fn digits[10] = {digit<0>, digit<1>, digit<2>, digit<3>, digit<4>,
			     digit<5>, digit<6>, digit<7>, digit<8>, digit<9>};

__attribute__((noinline)) static void nodes(int first, int n)
{
	for (int i = first; i < first + n; i++)
		digits[i / 1000 % 10](i, 3);
	asm volatile("" ::: "memory");
}

static cudaGraph_t capture(int first, int n)
{
	cudaGraph_t graph;
	cudaEvent_t fork, join;

	DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	if (forks) {
		DO(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
		DO(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
		DO(cudaEventRecord(fork, stream));
		DO(cudaStreamWaitEvent(other, fork, 0));
	}
	nodes(first, n);
	if (forks) {
		DO(cudaEventRecord(join, other));
		DO(cudaStreamWaitEvent(stream, join, 0));
	}
	DO(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

#if CUDART_VERSION < 12000
	DO(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
#else
	DO(cudaGraphInstantiate(&exec, graph, 0));
#endif
	return exec;
}

__attribute__((noinline)) static void replay(cudaGraphExec_t exec)
{
	DO(cudaGraphLaunch(exec, stream));
	DO(cudaStreamSynchronize(stream));
	asm volatile("" ::: "memory");
}

// Adds an if, whose body has n nodes.
static cudaGraphNode_t add_if(cudaGraph_t graph, const cudaGraphNode_t *after, int first, int n)
{
	cudaGraphNode_t node = nullptr;

#if CUDART_VERSION >= 12040
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams p = {};

	DO(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = handle;
	p.conditional.type = cudaGraphCondTypeIf;
	p.conditional.size = 1;
#if CUDART_VERSION >= 13000
	DO(cudaGraphAddNode(&node, graph, after, nullptr, after ? 1 : 0, &p));
#else
	DO(cudaGraphAddNode(&node, graph, after, after ? 1 : 0, &p));
#endif
	DO(cudaStreamBeginCaptureToGraph(stream, p.conditional.phGraph_out[0], nullptr, nullptr, 0,
					 cudaStreamCaptureModeThreadLocal));
	nodes(first, n);
	cudaGraph_t body;
	DO(cudaStreamEndCapture(stream, &body));
#else
	(void)graph, (void)after, (void)first, (void)n;
	std::fprintf(stderr, "graphs: this CUDA has no conditional nodes\n");
	std::exit(77);
#endif
	return node;
}

// Adds n kernels one after another, after the last node of `graph`.
static void add(cudaGraph_t graph, int first, int n)
{
	adding = graph;
	nodes(first, n);
	adding = nullptr;
}

// Eight parts of n nodes: 0, [1, [2], 3], 4, [5], if 6, 7. CUDA does not take an if in a child.
static cudaGraph_t nested(int n)
{
	cudaGraph_t graph, outer, inner = capture(2 * n, n), last = capture(5 * n, n);

	DO(cudaGraphCreate(&outer, 0));
	before = nullptr;
	add(outer, n, n);
	DO(cudaGraphAddChildGraphNode(&before, outer, &before, 1, inner));
	add(outer, 3 * n, n);
	DO(cudaGraphCreate(&graph, 0));
	before = nullptr;
	add(graph, 0, n);
	DO(cudaGraphAddChildGraphNode(&before, graph, &before, 1, outer));
	add(graph, 4 * n, n);
	DO(cudaGraphAddChildGraphNode(&before, graph, &before, 1, last));
	before = add_if(graph, &before, 6 * n, n);
	add(graph, 7 * n, n);
	return graph;
}

int main(int argc, char **argv)
{
	fills = argc == 5 && !std::strcmp(argv[4], "fills");
	if (argc != 4 && !fills) {
		std::fprintf(stderr, "usage: graphs CASE NODES REPLAYS [fills]\n");
		return 2;
	}
	const std::string what = argv[1];
	const int n = std::atoi(argv[2]), replays = std::atoi(argv[3]);
	std::vector<cudaGraphExec_t> execs;
	cudaGraph_t graph;

	DO(cudaMalloc(&data, 2 * MOST * sizeof(*data)));
	DO(cudaStreamCreate(&stream));
	DO(cudaStreamCreate(&other));
	if (what == "plain" || what == "forked" || what == "twice" ||
	    what == "mixed") {
		mixes = what == "mixed";
		forks = what == "forked";
		graph = capture(0, n);
		execs.push_back(instantiate(graph));
		if (what == "twice")
			execs.push_back(instantiate(graph));
	} else if (what == "api") {
		DO(cudaGraphCreate(&adding, 0));
		nodes(0, n);
		execs.push_back(instantiate(adding));
	} else if (what == "cloned") {
		cudaGraph_t first = capture(0, n);
		DO(cudaGraphClone(&graph, first));
		DO(cudaGraphDestroy(first));
		execs.push_back(instantiate(graph));
		DO(cudaGraphDestroy(graph));
	} else if (what == "updated") {
		execs.push_back(instantiate(capture(0, n)));
	} else if (what == "child") {
		cudaGraphNode_t a, b;
		cudaGraph_t child = capture(0, n);
		DO(cudaGraphCreate(&graph, 0));
		DO(cudaGraphAddChildGraphNode(&a, graph, nullptr, 0, child));
		DO(cudaGraphAddChildGraphNode(&b, graph, &a, 1, child));
		execs.push_back(instantiate(graph));
	} else if (what == "conditional") {
		DO(cudaGraphCreate(&graph, 0));
		add_if(graph, nullptr, 0, n);
		execs.push_back(instantiate(graph));
	} else if (what == "nested") {
		execs.push_back(instantiate(nested(n / 8)));
	} else if (what == "several") {
		for (int i = 0; i < 10; i++)
			execs.push_back(instantiate(capture(i * (n / 10), n / 10)));
	} else {
		std::fprintf(stderr, "graphs: no case %s\n", argv[1]);
		return 2;
	}
	for (int i = 0; i < replays; i++)
		for (cudaGraphExec_t exec : execs) {
			if (what == "updated") {
				// The same kernels by other stacks: those of the last capture are the truth.
				const int first = (i + 1) % 2 * n;
				cudaGraph_t again = capture(first, n);
				cudaGraphExecUpdateResultInfo info;
				DO(cudaGraphExecUpdate(exec, again, &info));
				DO(cudaGraphDestroy(again));
			}
			replay(exec);
		}
	DO(cudaDeviceSynchronize());
	std::printf("%s: %d nodes, %d replays\n", argv[1], n, replays);
	return 0;
}
