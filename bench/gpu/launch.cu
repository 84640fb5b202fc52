// SPDX-License-Identifier: Apache-2.0
//
// What a launch costs the thread that launches, as it sees it: launch SECONDS [THREADS]
// 200 empty kernels, each timed, then a wait, untimed. Prints of one thread: median, p99, p99.9, ns.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

__global__ void nothing()
{
}

static std::vector<unsigned> run(double seconds)
{
	using clock = std::chrono::steady_clock;
	const auto end = clock::now() + std::chrono::duration<double>(seconds);
	std::vector<unsigned> ns;
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	ns.reserve(1 << 24);
	while (clock::now() < end) {
		auto before = clock::now();

		for (int i = 0; i < 200; i++) {
			nothing<<<1, 1, 0, stream>>>();
			auto after = clock::now();
			ns.push_back(unsigned((after - before).count()));
			before = after;
		}
		cudaStreamSynchronize(stream);
	}
	if (cudaGetLastError())
		std::exit(1);
	return ns;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? std::atof(argv[1]) : 3;
	std::vector<std::thread> others;

	cudaFree(nullptr);
	for (int i = argc > 2 ? std::atoi(argv[2]) : 1; i > 1; i--)
		others.emplace_back(run, seconds);
	auto ns = run(seconds);
	for (auto &t : others)
		t.join();
	std::sort(ns.begin(), ns.end());
	std::printf("%u %u %u ns, of %zu\n", ns[ns.size() / 2], ns[ns.size() / 100 * 99],
		    ns[ns.size() / 1000 * 999], ns.size());
}
