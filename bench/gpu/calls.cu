// SPDX-License-Identifier: Apache-2.0
// A loop that waits for its device in each step, for calls.sh: calls MODE STEPS prints "wall CPU" in ns a step (that of the
// launching thread), both the median of batches of 100 steps.
//
//     nvcc -O2 -o calls calls.cu
//
// MODE: wait, a kernel of 20 us and a cudaStreamSynchronize; item, that and a copy of 4 bytes to the host, as `.item()` makes;
// allocate, 16 MB allocated, touched by a kernel and freed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>
#include <cuda_runtime.h>

#define DO(call)                                                                         \
	do {                                                                             \
		cudaError_t error_ = (call);                                             \
		if (error_) {                                                            \
			std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
			std::exit(1);                                                    \
		}                                                                        \
	} while (0)

__global__ void work(long cycles, int *out)
{
	long first = clock64();

	while (clock64() - first < cycles)
		;
	*out = 1;
}

static double read_ns(clockid_t id)
{
	timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double median(std::vector<double> v)
{
	std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
	return v[v.size() / 2];
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "wait";
	int steps = argc > 2 ? std::atoi(argv[2]) : 20000, *word, value;
	bool item = !std::strcmp(mode, "item"), allocates = !std::strcmp(mode, "allocate");
	cudaStream_t stream;
	std::vector<double> wall, cpu;

	DO(cudaStreamCreate(&stream));
	DO(cudaMalloc(&word, sizeof(*word)));
	for (int batch = -10; batch < steps / 100; batch++) {
		double from = read_ns(CLOCK_MONOTONIC), used = read_ns(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < 100; i++) {
			int *at = word;

			if (allocates)
				DO(cudaMalloc(&at, 16 << 20));
			work<<<1, 1, 0, stream>>>(30000, at);
			if (item)
				DO(cudaMemcpyAsync(&value, word, sizeof(value), cudaMemcpyDeviceToHost, stream));
			DO(cudaStreamSynchronize(stream));
			if (allocates)
				DO(cudaFree(at));
		}
		if (batch < 0)
			continue;
		wall.push_back((read_ns(CLOCK_MONOTONIC) - from) / 100);
		cpu.push_back((read_ns(CLOCK_THREAD_CPUTIME_ID) - used) / 100);
	}
	std::printf("%.0f %.0f\n", median(wall), median(cpu));
	return 0;
}
