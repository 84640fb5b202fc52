// SPDX-License-Identifier: Apache-2.0
//
// Work on two GPUs for several.sh, which knows how much of it there is:
//   several threads N     a thread for each GPU, with two streams and a kernel of its own: N and N/2 launches in each,
//                         after WARM_UP of another kernel
//   several alternate N   one thread: N launches and N peer copies of 1 MiB on each GPU, in turn
//   several contexts N    two contexts of one GPU, with N launches in each; the first is destroyed, N more in the second
//   several visible N     N launches on the first GPU that there is
// Prints "KERNEL BUS-ADDRESS LAUNCHES MILLISECONDS" for each kernel and GPU, the time by CUDA's events where it was
// taken; "copies BUS-ADDRESS N" for each GPU; "well" and sums of what was computed at the end.

#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <string>
#include <thread>
#include <vector>

enum { WARM_UP = 40, BLOCKS = 1024, THREADS = 256, ITEMS = BLOCKS * THREADS, COPY = 1 << 20 };

static void check(cudaError_t r, const char *what)
{
	if (r == cudaSuccess)
		return;
	std::fprintf(stderr, "several: %s: %s\n", what, cudaGetErrorString(r));
	std::exit(1);
}

static void check(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	std::fprintf(stderr, "several: %s: error %d\n", what, (int)r);
	std::exit(1);
}

#define KERNEL(name, add)                                             \
	__global__ void name(float *x, int n)                         \
	{                                                             \
		int i = blockIdx.x * blockDim.x + threadIdx.x;        \
		float a = x[i];                                       \
		for (int k = 0; k < n; k++)                           \
			a = a * 0.999f + add;                         \
		x[i] = a;                                             \
	}
KERNEL(on_first, 1.0f)
KERNEL(on_second, 2.0f)
KERNEL(in_context, 3.0f)
KERNEL(warm_up, 4.0f)

static std::string address(int device)
{
	char bus[32];

	check(cudaDeviceGetPCIBusId(bus, sizeof(bus), device), "cudaDeviceGetPCIBusId");
	for (char *c = bus; *c; c++)
		*c = (char)std::tolower(*c);
	return bus;
}

static float *memory()
{
	float *x;

	check(cudaMalloc(&x, ITEMS * sizeof(*x)), "cudaMalloc");
	check(cudaMemset(x, 0, ITEMS * sizeof(*x)), "cudaMemset");
	return x;
}

static float sum(const float *x)
{
	std::vector<float> host(ITEMS);
	double all = 0;

	check(cudaMemcpy(host.data(), x, ITEMS * sizeof(*x), cudaMemcpyDeviceToHost), "read");
	for (float f : host)
		all += f;
	return (float)all;
}

typedef void kernel_fn(float *, int);

struct result {
	std::string line;
	float sum = 0;
};

static void one_device(int device, const char *name, kernel_fn *kernel, int n, int length, result *ret)
{
	cudaStream_t streams[2];
	cudaEvent_t begin, end;
	float *x, ms, all = 0;
	char line[128];

	check(cudaSetDevice(device), "cudaSetDevice");
	x = memory();
	check(cudaEventCreate(&begin), "cudaEventCreate");
	check(cudaEventCreate(&end), "cudaEventCreate");
	// Whoever records has begun by then, on both: that takes a while, in which nobody launches.
	for (int i = 0; i < WARM_UP; i++) {
		warm_up<<<BLOCKS, THREADS>>>(x, 1000);
		check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
		std::this_thread::sleep_for(std::chrono::milliseconds(50));
	}
	for (cudaStream_t &stream : streams) {
		check(cudaStreamCreate(&stream), "cudaStreamCreate");
		// One after the other, so that events have the time of one.
		check(cudaEventRecord(begin, stream), "cudaEventRecord");
		for (int i = 0; i < n; i++)
			kernel<<<BLOCKS, THREADS, 0, stream>>>(x, length);
		check(cudaEventRecord(end, stream), "cudaEventRecord");
		check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
		check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
		all += ms;
	}
	std::snprintf(line, sizeof(line), "%s %s %d %.3f", name, address(device).c_str(), 2 * n, all);
	ret->line = line;
	ret->sum = sum(x);
}

static void threads(int n)
{
	result first, second;
	std::thread other(one_device, 1, "on_second", on_second, n / 2, 80000, &second);

	one_device(0, "on_first", on_first, n, 40000, &first);
	other.join();
	std::printf("%s\n%s\nsums %g %g\n", first.line.c_str(), second.line.c_str(), first.sum, second.sum);
}

static void alternate(int n)
{
	cudaStream_t streams[2];
	float *x[2];
	char *bytes[2];

	for (int d = 0; d < 2; d++) {
		int can = 0;

		check(cudaSetDevice(d), "cudaSetDevice");
		check(cudaStreamCreate(&streams[d]), "cudaStreamCreate");
		x[d] = memory();
		check(cudaMalloc(&bytes[d], COPY), "cudaMalloc");
		check(cudaDeviceCanAccessPeer(&can, d, 1 - d), "cudaDeviceCanAccessPeer");
		if (can)
			check(cudaDeviceEnablePeerAccess(1 - d, 0), "cudaDeviceEnablePeerAccess");
	}
	for (int i = 0; i < n; i++) {
		for (int d = 0; d < 2; d++) {
			check(cudaSetDevice(d), "cudaSetDevice");
			(d ? on_second : on_first)<<<BLOCKS, THREADS, 0, streams[d]>>>(x[d], 2000);
			check(cudaMemcpyPeerAsync(bytes[1 - d], 1 - d, bytes[d], d, COPY, streams[d]),
			      "cudaMemcpyPeerAsync");
		}
	}
	for (int d = 0; d < 2; d++) {
		check(cudaSetDevice(d), "cudaSetDevice");
		check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
		std::printf("%s %s %d\ncopies %s %d\nsums %g\n", d ? "on_second" : "on_first", address(d).c_str(), n,
			    address(d).c_str(), n, sum(x[d]));
	}
}

static CUcontext context()
{
	CUcontext ret;

#if CUDA_VERSION >= 13000
	check(cuCtxCreate(&ret, nullptr, 0, 0), "cuCtxCreate");
#else
	check(cuCtxCreate(&ret, 0, 0), "cuCtxCreate");
#endif
	return ret;
}

static float launch_in(CUcontext at, int n, float **x)
{
	check(cuCtxSetCurrent(at), "cuCtxSetCurrent");
	if (!*x)
		*x = memory();
	for (int i = 0; i < n; i++)
		in_context<<<BLOCKS, THREADS>>>(*x, 10000);
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return sum(*x);
}

static void contexts(int n)
{
	CUcontext first, second;
	float *x = nullptr, *y = nullptr, a, b, c;

	check(cuInit(0), "cuInit");
	first = context();
	second = context();
	a = launch_in(first, n, &x);
	b = launch_in(second, n, &y);
	check(cuCtxDestroy(first), "cuCtxDestroy");
	c = launch_in(second, n, &y);
	std::printf("in_context %s %d\nsums %g %g %g\n", address(0).c_str(), 3 * n, a, b, c);
	check(cuCtxDestroy(second), "cuCtxDestroy");
}

static void visible(int n)
{
	float *x = memory();

	for (int i = 0; i < n; i++)
		on_first<<<BLOCKS, THREADS>>>(x, 20000);
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	std::printf("on_first %s %d\nsums %g\n", address(0).c_str(), n, sum(x));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? std::atoi(argv[2]) : 0;

	if (!std::strcmp(what, "threads")) {
		threads(n);
	} else if (!std::strcmp(what, "alternate")) {
		alternate(n);
	} else if (!std::strcmp(what, "contexts")) {
		contexts(n);
	} else if (!std::strcmp(what, "visible")) {
		visible(n);
	} else {
		std::fprintf(stderr, "several: what?\n");
		return 2;
	}
	std::puts("well");
	return 0;
}
