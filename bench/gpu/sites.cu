// SPDX-License-Identifier: Apache-2.0
//
// One kernel, launched from two functions that make it do different things, for ten times as long the one as the other:
//   sites mixed [SECONDS [PHASE]]   how often each launches changes each PHASE seconds (2): their insides can be told apart
//   sites steady [SECONDS]   it does not change: they cannot
//   sites major|minor [SECONDS]   one of them alone: which instructions are its own
// Prints the milliseconds of each as CUDA's events tell.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define NOINLINE __attribute__((noinline))

/* Arithmetic, or memory: two loops with instructions of their own. */
__global__ void work(float *x, int n, int sums, int reads)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float a = x[i], b = 0;

	for (int k = 0; k < sums; k++)
		a = a * 1.0001f + 0.5f;
	for (int k = 0; k < reads; k++)
		b += x[(i * 977 + k * 131071) % n];
	x[i] = a + b * 1e-9f;
}

static void check(cudaError_t r, const char *what)
{
	if (r == cudaSuccess)
		return;
	std::fprintf(stderr, "sites: %s: %s\n", what, cudaGetErrorString(r));
	std::exit(1);
}

struct site {
	double ms = 0;
	std::vector<cudaEvent_t> begun, ended;
};
static float *x;
static const int n = 1 << 24, blocks = 132 * 8;

NOINLINE static void major_site(int sums)
{
	work<<<blocks, 256>>>(x, n, sums, 0);
	__asm__ volatile("");
}

NOINLINE static void minor_site(int reads)
{
	work<<<blocks, 256>>>(x, n, 0, reads);
	__asm__ volatile("");
}

template <typename F> static void timed(site &s, F launch)
{
	cudaEvent_t a, b;

	check(cudaEventCreate(&a), "event");
	check(cudaEventCreate(&b), "event");
	check(cudaEventRecord(a), "event");
	launch();
	check(cudaEventRecord(b), "event");
	s.begun.push_back(a);
	s.ended.push_back(b);
}

static void settle(site &s)
{
	check(cudaDeviceSynchronize(), "wait");
	for (size_t i = 0; i < s.begun.size(); i++) {
		float ms;

		check(cudaEventElapsedTime(&ms, s.begun[i], s.ended[i]), "time");
		s.ms += ms;
		cudaEventDestroy(s.begun[i]);
		cudaEventDestroy(s.ended[i]);
	}
	s.begun.clear();
	s.ended.clear();
}

/* So many rounds of a loop take so many ms. */
template <typename F> static int rounds_of(double ms, F launch)
{
	for (int rounds = 16;; rounds *= 2) {
		site s;

		timed(s, [&] { launch(rounds); });
		settle(s);
		s.ms = 0;
		timed(s, [&] { launch(rounds); });
		settle(s);
		if (s.ms > ms / 4)
			return int(rounds * ms / s.ms);
	}
}

int main(int argc, char **argv)
{
	using clock = std::chrono::steady_clock;
	const char *what = argc > 1 ? argv[1] : "";
	double seconds = argc > 2 ? std::atof(argv[2]) : 12, phase = argc > 3 ? std::atof(argv[3]) : 2;
	static const int mixes[][2] = {{1, 1}, {1, 9}, {3, 2}, {1, 4}, {4, 1}, {2, 15}};
	site major, minor;
	int sums, reads;

	check(cudaMalloc(&x, n * sizeof(*x)), "memory");
	check(cudaMemset(x, 0, n * sizeof(*x)), "fill");
	sums = rounds_of(2.0, major_site);
	reads = rounds_of(0.2, minor_site);
	const auto begin = clock::now();
	for (int i = 0;; i++) {
		double now = std::chrono::duration<double>(clock::now() - begin).count();
		const int *mix = mixes[!std::strcmp(what, "mixed") ? int(now / phase) % 6 : 0];

		if (now >= seconds)
			break;
		for (int k = 0; k < mix[0] && std::strcmp(what, "minor"); k++)
			timed(major, [&] { major_site(sums); });
		for (int k = 0; k < mix[1] && std::strcmp(what, "major"); k++)
			timed(minor, [&] { minor_site(reads); });
		settle(major);
		settle(minor);
	}
	std::printf("%.3f %.3f\n", major.ms, minor.ms);
	return 0;
}
