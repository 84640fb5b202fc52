/* SPDX-License-Identifier: Apache-2.0 */
// Frames of all shapes, see unwind_stacks.c: recursion, alloca, over-aligned locals, variable arrays,
// callbacks through libc and libstdc++, virtual calls, exceptions with clean-up, calls through the PLT.
#include <algorithm>
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
void unwind_workload(unsigned seed, int throws);
void unwind_point(void);
}

#define NOINLINE __attribute__((noinline))

static NOINLINE void use(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

struct shape {
	virtual ~shape() = default;
	virtual long draw(unsigned depth) = 0;
};

static NOINLINE long frames(unsigned depth, unsigned seed);

struct plain final : shape {
	NOINLINE long draw(unsigned depth) override
	{
		char frame[72];
		memset(frame, (int)depth, sizeof(frame));
		use(frame);
		long r = frames(depth, (unsigned)frame[3]);
		use(frame);
		return r + frame[5];
	}
};

struct with_alloca final : shape {
	NOINLINE long draw(unsigned depth) override
	{
		char *frame = (char *)alloca(32 + depth % 100);
		memset(frame, (int)depth, 32);
		use(frame);
		long r = frames(depth, depth * 7);
		use(frame);
		return r + frame[5];
	}
};

struct over_aligned final : shape {
	NOINLINE long draw(unsigned depth) override
	{
		alignas(128) char frame[64];
		memset(frame, (int)depth, sizeof(frame));
		use(frame);
		long r = frames(depth, depth * 5);
		use(frame);
		return r + frame[5];
	}
};

struct both final : shape {
	NOINLINE long draw(unsigned depth) override
	{
		alignas(64) char frame[64];
		char *more = (char *)alloca(16 + depth % 64);
		memset(frame, (int)depth, sizeof(frame));
		more[0] = frame[1];
		use(frame);
		use(more);
		long r = frames(depth, depth * 3);
		use(more);
		return r + frame[5];
	}
};

// Many arguments: the caller pushes some, and its CFA moves around the call.
static NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i,
			  unsigned depth)
{
	long r = frames(depth, (unsigned)(a + i));
	use(&r);
	return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + r;
}

struct at_exit {
	std::string name;
	// The stack while an exception passes: through the unwinder of C++ itself.
	NOINLINE ~at_exit()
	{
		unwind_point();
	}
};

static NOINLINE long throws(unsigned depth)
{
	at_exit guard{std::string(40, 'x')};
	if (depth == 0)
		throw std::runtime_error("bottom");
	long r = throws(depth - 1);
	use(&r);
	return r + (long)guard.name.size();
}

static bool may_throw;

static NOINLINE long catches(unsigned depth)
{
	if (!may_throw)
		return 0;
	try {
		return throws(depth % 5);
	} catch (const std::exception &e) {
		unwind_point();
		return (long)strlen(e.what());
	}
}

static int compare(const void *a, const void *b)
{
	if (rand() % 64 == 0)
		unwind_point();
	return *(const int *)a - *(const int *)b;
}

static NOINLINE long through_libraries(unsigned seed)
{
	int v[32];
	std::map<std::string, std::function<long(long)>> table;
	char text[64];
	long sum = 0;

	for (int &x : v)
		x = rand() % 1000;
	qsort(v, 32, sizeof(v[0]), compare);
	std::vector<int> w(v, v + 32);
	std::sort(w.begin(), w.end(), [&](int a, int b) {
		if (rand() % 64 == 0)
			unwind_point();
		return a > b;
	});
	for (unsigned i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "%u %d %.3f", seed + i, w[i], w[i] / 7.0);
		table[text] = [i](long x) {
			unwind_point();
			return x + i;
		};
	}
	for (auto &entry : table)
		sum += entry.second((long)entry.first.size());
	return sum;
}

static NOINLINE long frames(unsigned depth, unsigned seed)
{
	static plain a;
	static with_alloca b;
	static over_aligned c;
	static both d;
	shape *const shapes[] = {&a, &b, &c, &d};

	if (depth == 0) {
		unwind_point();
		return catches(seed) + through_libraries(seed);
	}
	if (depth % 7 == 3)
		return many(depth, seed, 3, 4, 5, 6, 7, 8, 9, depth - 1) + 1;
	return shapes[(depth + seed) % 4]->draw(depth - 1) + 1;
}

static NOINLINE long deep(unsigned depth)
{
	char frame[24];
	memset(frame, 1, sizeof(frame));
	use(frame);
	if (depth == 0)
		unwind_point();
	long r = depth ? deep(depth - 1) : 0;
	use(frame);
	return r + frame[0];
}

void unwind_workload(unsigned seed, int throws)
{
	may_throw = throws;
	for (unsigned depth = 1; depth < 40; depth += 3)
		frames(depth, seed);
	deep(250);
}
