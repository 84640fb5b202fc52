// SPDX-License-Identifier: Apache-2.0
// Threads that throw exceptions through several frames without a pause, until standard input ends.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<bool> over;

struct counted {
	int *n;
	explicit counted(int *to) : n(to)
	{
		++*n;
	}
	~counted()
	{
		--*n;
	}
};

__attribute__((noinline)) static void descend(int depth, int *alive)
{
	counted here(alive);

	if (depth == 0)
		throw std::runtime_error(std::to_string(*alive));
	descend(depth - 1, alive);
}

int main()
{
	std::vector<std::thread> threads;
	std::atomic<int> wrong{0};

	for (int i = 0; i < 8; i++)
		threads.emplace_back([&wrong] {
			int alive = 0;

			while (!over)
				try {
					descend(12, &alive);
				} catch (const std::exception &e) {
					if (std::string(e.what()) != "13" || alive != 0)
						wrong++;
				}
		});
	char c;
	while (read(0, &c, 1) > 0)
		;
	over = true;
	for (auto &t : threads)
		t.join();
	std::printf("throws: %d wrong\n", wrong.load());
	return wrong ? 99 : 21;
}
