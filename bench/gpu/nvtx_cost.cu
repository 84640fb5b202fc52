// SPDX-License-Identifier: Apache-2.0
// What a push and a pop of an NVTX range cost in a program that uses a GPU, in ns: by text, and by a registered string.
//
//     nvcc -O2 -o nvtx_cost nvtx_cost.cu
//     ./nvtx_cost 1000000 1      # so many at a time, so often: 1,000,000 where nobody records
//     ./nvtx_cost 2000 100       # few enough for the agent's ring where somebody does
//
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#include <unistd.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

__global__ void nothing()
{
}

static double now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double median(std::vector<double> v)
{
	std::sort(v.begin(), v.end());
	return v[v.size() / 2];
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? std::atoi(argv[1]) : 1000000, rounds = argc > 2 ? std::atoi(argv[2]) : 1;
	nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
	nvtxEventAttributes_t registered = {};
	std::vector<double> texts, strings;

	nothing<<<1, 1>>>();
	cudaDeviceSynchronize();
	sleep(1); // whoever records has begun
	registered.version = NVTX_VERSION;
	registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	for (int round = 0; round < rounds; round++) {
		double t = now_ns();

		for (int i = 0; i < n; i++) {
			nvtxRangePushA("a name of usual length");
			nvtxRangePop();
		}
		texts.push_back((now_ns() - t) / n);
		t = now_ns();
		for (int i = 0; i < n; i++) {
			nvtxDomainRangePushEx(domain, &registered);
			nvtxDomainRangePop(domain);
		}
		strings.push_back((now_ns() - t) / n);
		usleep(20000);
	}
	std::printf("text %.1f registered %.1f\n", median(texts), median(strings));
	return 0;
}
