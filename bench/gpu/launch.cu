// SPDX-License-Identifier: Apache-2.0
//
// What a launch costs the thread that launches, as it sees it: launch SECONDS [THREADS [each | waits]]
// 200 empty kernels, each timed, then a wait, untimed. Prints of one thread: median, p99, p99.9, ns; or the median of
// each second. With `waits` each of 200 waits for a stream that has nothing to do is timed in place of each launch.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

__global__ void nothing()
{
}

static unsigned median(std::vector<unsigned> ns)
{
	std::sort(ns.begin(), ns.end());
	return ns.empty() ? 0 : ns[ns.size() / 2];
}

static std::vector<unsigned> run(double seconds, bool each = false, bool waits = false)
{
	using clock = std::chrono::steady_clock;
	const auto begin = clock::now();
	const auto end = begin + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
	std::vector<unsigned> ns;
	int second = 1;
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	ns.reserve(1 << 24);
	while (clock::now() < end) {
		auto before = clock::now();

		for (int i = 0; i < 200; i++) {
			if (waits)
				cudaStreamSynchronize(stream);
			else
				nothing<<<1, 1, 0, stream>>>();
			auto after = clock::now();
			ns.push_back(unsigned((after - before).count()));
			before = after;
		}
		cudaStreamSynchronize(stream);
		if (each && clock::now() - begin > std::chrono::seconds(second)) {
			std::printf("%d %u\n", second++, median(ns));
			std::fflush(stdout);
			ns.clear();
		}
	}
	if (cudaGetLastError())
		std::exit(1);
	return ns;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? std::atof(argv[1]) : 3;
	bool each = argc > 3 && !std::strcmp(argv[3], "each");
	bool waits = argc > 3 && !std::strcmp(argv[3], "waits");
	std::vector<std::thread> others;

	cudaFree(nullptr);
	for (int i = argc > 2 ? std::atoi(argv[2]) : 1; i > 1; i--)
		others.emplace_back(run, seconds, false, waits);
	auto ns = run(seconds, each, waits);
	for (auto &t : others)
		t.join();
	if (each)
		return 0;
	std::sort(ns.begin(), ns.end());
	std::printf("%u %u %u ns, of %zu\n", ns[ns.size() / 2], ns[ns.size() / 100 * 99],
		    ns[ns.size() / 1000 * 999], ns.size());
}
