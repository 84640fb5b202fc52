// SPDX-License-Identifier: Apache-2.0
//
// Work for cuda.sh, which knows how much of it there is:
//   work launches THREADS N    each thread makes N launches of its own kernel in its own stream
//   work graph NODES REPLAYS   a graph of NODES kernels, captured in one function, replayed in another
//   work copies N              N copies each way of 1 MiB, N fills
//   work cooperative N         N cooperative launches
//   work occupancy            kernels with many sizes of blocks; prints how full each can make a multiprocessor
//   work endless               launches until it is killed
//   work idle SECONDS          a context and nothing else

#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

template <int N> __global__ void add(float *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] += N;
}

__global__ void together(float *x)
{
	cooperative_groups::this_grid().sync();
	x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static void check(cudaError_t r, const char *what)
{
	if (r == cudaSuccess)
		return;
	std::fprintf(stderr, "work: %s: %s\n", what, cudaGetErrorString(r));
	std::exit(1);
}

template <int N> NOINLINE static void launch_many(int n)
{
	cudaStream_t stream;
	float *x;

	check(cudaMalloc(&x, 4096), "cudaMalloc");
	check(cudaStreamCreate(&stream), "cudaStreamCreate");
	for (int i = 0; i < n; i++)
		add<N><<<4, 256, 0, stream>>>(x);
	check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

NOINLINE static cudaGraphExec_t capture(cudaStream_t stream, float *x, int nodes)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
	for (int i = 0; i < nodes; i++)
		add<100><<<4, 256, 0, stream>>>(x);
	check(cudaStreamEndCapture(stream, &graph), "end capture");
#if CUDART_VERSION < 12000
	check(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0), "cudaGraphInstantiate");
#else
	check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
#endif
	return exec;
}

NOINLINE static void replay(cudaGraphExec_t exec, cudaStream_t stream, int replays)
{
	while (replays--)
		check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
}

static void graph(int nodes, int replays)
{
	cudaStream_t stream;
	float *x;

	check(cudaMalloc(&x, 4096), "cudaMalloc");
	check(cudaStreamCreate(&stream), "cudaStreamCreate");
	replay(capture(stream, x, nodes), stream, replays);
	check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static void copies(int n)
{
	std::vector<char> host(1 << 20);
	void *device;

	check(cudaMalloc(&device, host.size()), "cudaMalloc");
	for (int i = 0; i < n; i++) {
		check(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice), "write");
		check(cudaMemset(device, i, host.size()), "fill");
		check(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost), "read");
	}
}

static void cooperative(int n)
{
	float *x;
	void *arguments[] = {&x};

	check(cudaMalloc(&x, 4096), "cudaMalloc");
	while (n--)
		check(cudaLaunchCooperativeKernel((void *)together, 4, 256, arguments, 0, 0),
		      "cudaLaunchCooperativeKernel");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

// Many registers are in use at once.
__global__ void __launch_bounds__(256) heavy(float *x)
{
	float a[48];

#pragma unroll
	for (int i = 0; i < 48; i++)
		a[i] = x[i] * x[48 + i];
	__syncthreads();
#pragma unroll
	for (int i = 0; i < 48; i++)
		x[i * 2 + threadIdx.x] = a[i] + a[47 - i];
}

template <typename K> static void each_size(K *kernel, int most, float *x)
{
	int per_unit, blocks;

	check(cudaDeviceGetAttribute(&per_unit, cudaDevAttrMaxThreadsPerMultiProcessor, 0), "threads");
	for (int threads = 32; threads <= most; threads += threads < 256 ? 32 : 128)
		for (int shared : {0, 1000, 5000, 20000, 48000}) {
			check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared),
			      "occupancy");
			kernel<<<1, threads, shared>>>(x);
			check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
			std::printf("%.4f\n", double(blocks) * threads / per_unit);
		}
}

static void occupancy()
{
	float *x;

	check(cudaMalloc(&x, 65536), "cudaMalloc");
	each_size(add<3>, 1024, x);
	each_size(heavy, 256, x);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int a = argc > 2 ? std::atoi(argv[2]) : 0, b = argc > 3 ? std::atoi(argv[3]) : 0;

	check(cudaFree(nullptr), "no CUDA");
	if (!std::strcmp(what, "launches")) {
		std::vector<std::thread> threads;

		for (int i = 0; i < a; i++)
			threads.emplace_back(i % 2 ? launch_many<1> : launch_many<2>, b);
		for (auto &t : threads)
			t.join();
	} else if (!std::strcmp(what, "graph")) {
		graph(a, b);
	} else if (!std::strcmp(what, "copies")) {
		copies(a);
	} else if (!std::strcmp(what, "cooperative")) {
		cooperative(a);
	} else if (!std::strcmp(what, "occupancy")) {
		occupancy();
	} else if (!std::strcmp(what, "endless")) {
		for (;;)
			launch_many<7>(1000);
	} else if (!std::strcmp(what, "idle")) {
		sleep((unsigned)a);
	} else {
		std::fprintf(stderr, "work: what?\n");
		return 2;
	}
	return 0;
}
