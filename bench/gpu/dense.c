/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches as fast as it can: dense SECONDS [WHAT [THREADS]]. Ends by 1 if a call fails or a sum is wrong.
 *
 *     mix      kernels of 2 to 300 us, a copy and a fill each round, a wait each 50 rounds
 *     short    empty kernels, a wait each 500
 *     copies   copies within the device, to it and from it, and fills
 *     graphs   a graph of ten kernels
 *     all      all of these in turn
 *
 *     cc -O2 -pthread -o dense dense.c -I$CUDA/include -lcuda
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES 4096

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry spin(.param .u64 for_ns, .param .u64 sum) {\n"
	".reg .pred p; .reg .b64 a, b, n, at; .reg .b32 one, t;\n"
	"ld.param.u64 n, [for_ns]; ld.param.u64 at, [sum]; mov.u64 a, %globaltimer;\n"
	"again: mov.u64 b, %globaltimer; sub.u64 b, b, a; setp.lt.u64 p, b, n; @p bra again;\n"
	"mov.u32 one, 1; mov.u32 t, %tid.x; setp.ne.u32 p, t, 0; @p bra out; red.global.add.u32 [at], one;\n"
	"out: ret; }\n";

static struct {
	CUcontext context;
	CUfunction spin;
	double end;
	const char *what;
} it;

static void must(const char *what, CUresult r)
{
	if (r) {
		fprintf(stderr, "dense: %s: %d\n", what, (int)r);
		_exit(1);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void launch(CUstream stream, CUdeviceptr at, uint64_t ns, unsigned blocks)
{
	void *parameters[] = {&ns, &at};

	must("launch",
	     cuLaunchKernel(it.spin, blocks, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static CUgraphExec new_graph(CUstream stream, CUdeviceptr at)
{
	CUgraphExec exec;
	CUgraph graph;

	must("capture", cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < 10; i++)
		launch(stream, at, 0, 1);
	must("capture", cuStreamEndCapture(stream, &graph));
	must("graph", cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void *run(void *unused)
{
	static const uint64_t lengths[] = {2000, 5000,  2000,   50000, 2000,
					   2000, 10000, 300000, 2000,  20000};
	char bytes[BYTES] = {0};
	unsigned sum = 0, expected = 0;
	CUgraphExec graph;
	CUstream stream;
	CUdeviceptr at;

	must("context", cuCtxSetCurrent(it.context));
	must("stream", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	must("memory", cuMemAlloc(&at, 4 * BYTES));
	must("fill", cuMemsetD8Async(at, 0, 4 * BYTES, stream));
	graph = new_graph(stream, at);
	for (unsigned round = 1; now() < it.end; round++) {
		const char *what = it.what;

		if (!strcmp(what, "all"))
			what = (const char *[]){"mix", "short", "copies", "graphs"}[round / 50 % 4];
		if (!strcmp(what, "graphs")) {
			must("graph", cuGraphLaunch(graph, stream));
			expected += 10;
		} else if (!strcmp(what, "copies")) {
			must("fill", cuMemsetD8Async(at + BYTES, 1, BYTES, stream));
			must("copy", cuMemcpyDtoDAsync(at + 2 * BYTES, at + BYTES, BYTES, stream));
			must("copy", cuMemcpyHtoDAsync(at + 3 * BYTES, bytes, BYTES, stream));
			if (round % 10 == 0)
				must("copy", cuMemcpyDtoHAsync(bytes, at + BYTES, BYTES, stream));
		} else {
			for (unsigned i = 0; i < 10; i++)
				launch(stream, at, *what == 'm' ? lengths[i] : 0, 8);
			expected += 80;
			if (*what == 'm') {
				must("fill", cuMemsetD8Async(at + BYTES, 1, BYTES, stream));
				must("copy",
				     cuMemcpyDtoDAsync(at + 2 * BYTES, at + BYTES, BYTES, stream));
			}
		}
		if (round % 50 == 0)
			must("wait", cuStreamSynchronize(stream));
	}
	must("wait", cuStreamSynchronize(stream));
	must("copy", cuMemcpyDtoHAsync(&sum, at, sizeof(sum), stream));
	must("wait", cuStreamSynchronize(stream));
	if (sum != expected) {
		fprintf(stderr, "dense: %u instead of %u\n", sum, expected);
		_exit(1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	pthread_t *others = calloc(threads, sizeof(*others));
	CUdevice device;
	CUmodule module;

	it.end = now() + (argc > 1 ? atof(argv[1]) : 5);
	it.what = argc > 2 ? argv[2] : "mix";
	must("init", cuInit(0));
	must("device", cuDeviceGet(&device, 0));
	must("context", cuDevicePrimaryCtxRetain(&it.context, device));
	must("context", cuCtxSetCurrent(it.context));
	must("module", cuModuleLoadData(&module, ptx));
	must("function", cuModuleGetFunction(&it.spin, module, "spin"));
	for (unsigned i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, run, NULL);
	run(NULL);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
