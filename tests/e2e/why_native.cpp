/* SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <poll.h>
#include <queue>
#include <random>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

/*
 * Programs in C++ on the mock of CUDA (tests/mock/cuda), each with one function that the device waits for:
 *
 *     why_native CUBIN PROGRAM [repaired]
 *
 *   tree     a tree of shared pointers is evaluated by virtual functions
 *   futures  the loop waits for a thread of its own for each step, which lives too short to be sampled
 *   events   an event loop by poll(), whose handlers are lambdas in a map
 *   words    two loops, and all that they call inlined
 *   log      each step is written to a file, by fsync()
 *   jobs     another thread than the first one takes jobs from a queue
 *
 * Prints the line of shapes_app.c: "loop=FUNCTION line=N steps=N owner=FUNCTION owner_ns=N ns=N".
 */

static uint64_t now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_repaired;
static std::atomic<uint64_t> owner_ns;
static unsigned counted;
static int loop_line;

/* Adds what passes until the end of the block to owner_ns. */
struct timed {
	uint64_t begin = now();

	~timed()
	{
		owner_ns += now() - begin;
	}
};

/* ---- the device ---- */

static void *context, *functions[2];
static int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			    unsigned, void *, void **, void **);
static int (*synchronize)();
static int (*set_current)(void *);

template <class F> static void find(void *lib, F &f, const char *name)
{
	f = (F)dlsym(lib, name);
	if (!f)
		abort();
}

static void open_device(const char *cubin)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *module;
	int (*init)(unsigned), (*create)(void **, unsigned, int), (*load)(void **, const char *);
	int (*get)(void **, void *, const char *);

	if (!lib)
		abort();
	find(lib, launch_kernel, "cuLaunchKernel");
	find(lib, synchronize, "cuCtxSynchronize");
	find(lib, set_current, "cuCtxSetCurrent");
	find(lib, init, "cuInit");
	find(lib, create, "cuCtxCreate_v2");
	find(lib, load, "cuModuleLoad");
	find(lib, get, "cuModuleGetFunction");
	if (init(0) || create(&context, 0, 0) || load(&module, cubin) ||
	    get(&functions[0], module, "_Z5chainPfPKfi") ||
	    get(&functions[1], module, "_Z5callsPfPKfi"))
		abort();
}

static void kernel(uint64_t ns, int which = 0)
{
	if (launch_kernel(functions[which], (unsigned)(ns - 5000) / 100, 1, 1, 1, 1, 1, 0, nullptr,
			  nullptr, nullptr))
		abort();
}

/* ---- programs: loop_line is that of the loop's `for`, `while` or `do` ---- */

struct node {
	virtual ~node() = default;
	virtual double evaluate(double) const = 0;
};

static const int evaluations = 6;

struct leaf : node {
	double value;

	leaf(double v) : value(v)
	{
	}
	double evaluate(double x) const override
	{
		double sum = 0;

		for (int i = 0; i < evaluations; i++)
			sum += std::sin(value * x + i) + std::cos(value - x);
		return sum;
	}
};

struct sum : node {
	std::vector<std::shared_ptr<node>> parts;

	double evaluate(double x) const override
	{
		double ret = 0;

		for (auto &part : parts)
			ret += part->evaluate(x);
		return ret;
	}
};

static void tree()
{
	auto root = std::make_shared<sum>();

	for (int i = 0; i < 200; i++) {
		auto inner = std::make_shared<sum>();

		for (int k = 0; k < 60; k++)
			inner->parts.push_back(std::make_shared<leaf>(i + k));
		root->parts.push_back(inner);
	}
	loop_line = __LINE__ + 1;
	for (unsigned step = 0; step < 400; step++) {
		double value = 0;

		if (!is_repaired) {
			timed t;
			value = root->evaluate(step);
		}
		kernel(700000 + (value > 1e9));
		synchronize();
		counted++;
	}
}

static std::vector<int> sort_part(unsigned seed)
{
	std::minstd_rand random(seed);
	std::vector<int> part(is_repaired ? 10 : 60000);

	for (auto &x : part)
		x = (int)random();
	std::sort(part.begin(), part.end());
	return part;
}

__attribute__((noinline)) static int take_sorted(std::future<std::vector<int>> &part)
{
	timed t;

	return part.get()[0];
}

static void futures()
{
	loop_line = __LINE__ + 1;
	for (unsigned step = 0; step < 320; step++) {
		auto part = std::async(std::launch::async, sort_part, step);

		kernel(600000 + take_sorted(part) % 2);
		synchronize();
		counted++;
	}
}

static const unsigned events_sent = 330;

static void send_events(int fd)
{
	for (unsigned i = 0; i < events_sent; i++) {
		uint64_t until = now() + (is_repaired ? 0 : 4000000);

		while (now() < until)
			;
		if (write(fd, &i, sizeof(i)) < 0)
			break;
	}
	_exit(0);
}

__attribute__((noinline)) static int next_event(std::vector<pollfd> &fds)
{
	timed t;

	if (poll(fds.data(), fds.size(), -1) > 0)
		for (auto &fd : fds)
			if (fd.revents & POLLIN)
				return fd.fd;
	return -1;
}

static void events()
{
	std::map<int, std::function<void()>> handlers;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		abort();
	child = fork();
	if (!child) {
		close(ends[0]);
		send_events(ends[1]);
	}
	close(ends[1]);
	std::vector<pollfd> fds{{ends[0], POLLIN, 0}};
	handlers[ends[0]] = [&] {
		unsigned i;

		if (read(ends[0], &i, sizeof(i)) != sizeof(i))
			return;
		kernel(500000);
		kernel(200000, 1);
		synchronize();
		counted++;
	};
	loop_line = __LINE__ + 1;
	while (counted < events_sent) {
		int fd = next_event(fds);

		if (fd < 0)
			break;
		handlers[fd]();
	}
	waitpid(child, nullptr, 0);
}

static inline __attribute__((always_inline)) unsigned parse_words(const std::string &text)
{
	unsigned hash = 0;
	timed t;

	for (int i = 0; i < (is_repaired ? 0 : 120); i++) {
		std::istringstream in(text);
		std::string word;

		while (in >> word)
			hash = hash * 31 + (unsigned)word.size();
	}
	return hash;
}

static void words()
{
	std::string text;

	for (int i = 0; i < 600; i++)
		text += "word" + std::to_string(i) + " ";
	for (int epoch = 0; epoch < 4; epoch++) {
		loop_line = __LINE__ + 1;
		for (int step = 0; step < 90; step++) {
			kernel(600000 + parse_words(text) % 2);
			kernel(300000, 1);
			synchronize();
			counted++;
		}
	}
}

__attribute__((noinline)) static void append_log(int fd)
{
	char line[4096];
	timed t;

	memset(line, 'x', sizeof(line));
	for (int i = 0; i < (is_repaired ? 0 : 20); i++)
		if (write(fd, line, sizeof(line)) < 0 || fsync(fd))
			abort();
}

static void log()
{
	int fd = open("log.bin", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	unsigned step = 0;

	loop_line = __LINE__ + 1;
	do {
		kernel(800000);
		synchronize();
		append_log(fd);
		counted++;
	} while (++step < 300);
	close(fd);
}

__attribute__((noinline)) static unsigned decode_job(unsigned job)
{
	uint64_t until = now() + (is_repaired ? 0 : 3000000);
	timed t;

	while (now() < until)
		for (int i = 0; i < 200; i++)
			job = job * 1664525 + 1013904223;
	return job;
}

static void work(std::queue<unsigned> &jobs, std::mutex &lock)
{
	set_current(context);
	loop_line = __LINE__ + 1;
	for (;;) {
		unsigned job;

		{
			std::lock_guard<std::mutex> guard(lock);

			if (jobs.empty())
				return;
			job = jobs.front();
			jobs.pop();
		}
		kernel(500000 + decode_job(job) % 2);
		synchronize();
		counted++;
	}
}

static void jobs()
{
	std::queue<unsigned> queue;
	std::mutex lock;

	for (unsigned i = 0; i < 400; i++)
		queue.push(i);
	std::thread(work, std::ref(queue), std::ref(lock)).join();
}

int main(int argc, char **argv)
{
	static const struct {
		void (*run)();
		const char *name, *loop, *owner;
	} programs[] = {
		{tree, "tree", "tree", "leaf::evaluate"},
		/* Waits for what sort_part() computes, in a thread whose samples show it. */
		{futures, "futures", "futures", "sort_part|take_sorted"},
		{events, "events", "events", "next_event"},
		{words, "words", "words", "parse_words"},
		/* Sleeps in fsync() that are too short to be looked at have no stack: then it is the next launch's place. */
		{log, "log", "log", "append_log|kernel"},
		{jobs, "jobs", "work", "decode_job"},
	};

	if (argc < 3)
		return 2;
	is_repaired = argc > 3;
	open_device(argv[1]);
	kernel(100000);
	synchronize();
	for (auto &program : programs) {
		uint64_t begin;

		if (strcmp(argv[2], program.name) != 0)
			continue;
		begin = now();
		program.run();
		printf("loop=%s line=%d steps=%u owner=%s owner_ns=%lu ns=%lu\n", program.loop,
		       loop_line, counted, program.owner, (unsigned long)owner_ns.load(),
		       (unsigned long)(now() - begin));
		return 0;
	}
	return 2;
}
