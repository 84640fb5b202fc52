/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A native stack of 80 frames: ours against glibc's backtrace() and, where it is installed, libunwind's
 * unw_backtrace(), in the program of walk.h, compiled without frame pointers.
 *
 * Methods are interleaved at every launch in changing order, so that all see the same noise and the
 * same paths. A figure is the median over launches of one round; printed are the median over rounds
 * and the 10th and 90th percentile of rounds. Reading the time stamp counter costs some 10 ns of
 * each figure.
 *
 * bench_unwind [rounds [paths]]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/unwind.h"

#include "walk.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/mman.h>

#define DEPTH      80
#define MAX_FRAMES 128
#define SHALLOW    4 /* frames outside the path: main and below it, and the launch itself */

/* ---- methods ---- */

typedef int backtrace_fn(void **frames, int max);

static struct {
	struct aif_unwinder *unwinder;
	backtrace_fn *glibc, *libunwind;
} methods;

enum method { OURS, OURS_COLD, GLIBC, LIBUNWIND, METHODS };

static const char *const method_names[METHODS] = {"aif_unwind", "aif_unwind, no row known",
						  "glibc backtrace()", "libunwind unw_backtrace()"};

struct samples {
	struct aif_stack_bounds bounds;
	unsigned launches, depth, mismatches;
	bool with_slow; /* this launch also measures what is slow */
	uint64_t *ticks[METHODS];
	unsigned n[METHODS];
};

static AIF_NOINLINE unsigned capture(const struct samples *s, enum method m, void **frames)
{
	struct aif_regs regs;
	struct aif_unwind_result result;
	unsigned depth;

	switch (m) {
	case GLIBC:
		depth = (unsigned)methods.glibc(frames, MAX_FRAMES);
		break;
	case LIBUNWIND:
		depth = (unsigned)methods.libunwind(frames, MAX_FRAMES);
		break;
	default:
		AIF_REGS_HERE(&regs);
		result = aif_unwind(methods.unwinder, &regs, false, s->bounds, (uint64_t *)frames,
				    MAX_FRAMES);
		depth = result.stop == AIF_STOP_END ? result.depth : 0;
	}
	use(frames); /* no tail calls: this frame must be there */
	return depth;
}

static AIF_NOINLINE unsigned measure(struct samples *s, enum method m, void **frames)
{
	unsigned aux;
	uint64_t from = __rdtscp(&aux);
	unsigned depth = capture(s, m, frames);

	s->ticks[m][s->n[m]++] = __rdtscp(&aux) - from;
	return depth;
}

static AIF_NOINLINE void launch(void *arg)
{
	struct samples *s = arg;
	void *ours[MAX_FRAMES], *other[MAX_FRAMES];
	unsigned depth = 0;

	/* The one that comes second finds the stack in the cache: take turns. */
	s->launches++;
	if (s->launches & 1)
		depth = measure(s, OURS, ours);
	if (methods.libunwind)
		measure(s, LIBUNWIND, other);
	if (!(s->launches & 1))
		depth = measure(s, OURS, ours);
	s->depth = depth;
	if (!s->with_slow)
		return;
	/* From launch()'s caller on all frames are the same calls. */
	if (measure(s, GLIBC, other) != depth || depth < 3 ||
	    memcmp(ours + 3, other + 3, (depth - 3) * sizeof(ours[0])) != 0)
		s->mismatches++;
}

static AIF_NOINLINE void walk_all(struct samples *s, const uint16_t *paths, unsigned n,
				  unsigned slow_every)
{
	struct walk w = {.len = DEPTH - SHALLOW - 2, .launch = launch, .arg = s};

	for (unsigned i = 0; i < n; i++) {
		w.path = paths + (size_t)i * w.len;
		s->with_slow = slow_every && i % slow_every == 0;
		next(&w, 0, i, 3);
	}
	__asm__ volatile("");
}

static struct aif_unwinder *new_unwinder(void)
{
	void *p = mmap(NULL, aif_unwinder_size(), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || aif_unwinder_init(p)) {
		fprintf(stderr, "bench_unwind: no memory\n");
		exit(1);
	}
	return p;
}

/* ---- two threads: do they disturb each other through shared rows? ---- */

struct runner {
	pthread_t thread;
	const uint16_t *paths;
	unsigned n_paths;
	uint64_t ns;
	struct aif_stack_bounds bounds;
};

static AIF_NOINLINE void launch_only(void *arg)
{
	struct runner *r = arg;
	struct aif_regs regs;
	uint64_t pcs[MAX_FRAMES];

	AIF_REGS_HERE(&regs);
	aif_unwind(methods.unwinder, &regs, false, r->bounds, pcs, MAX_FRAMES);
	use(pcs);
}

static void nothing(void *arg)
{
	use(arg);
}

static void *run_thread(void *arg)
{
	struct runner *r = arg;
	struct walk w = {.len = DEPTH - SHALLOW - 2, .arg = r};
	uint64_t spent[2];

	aif_stack_bounds_here(&r->bounds);
	for (int with = 0; with < 2; with++) {
		uint64_t from = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		w.launch = with ? launch_only : nothing;
		for (unsigned k = 0; k < 20; k++) {
			for (unsigned i = 0; i < r->n_paths; i++) {
				w.path = r->paths + (size_t)i * w.len;
				next(&w, 0, i, 3);
			}
		}
		spent[with] = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	}
	r->ns = (spent[1] - AIF_MIN(spent[0], spent[1])) / (20 * (uint64_t)r->n_paths);
	return NULL;
}

static double threads_together(const uint16_t *paths, unsigned n, unsigned threads)
{
	struct runner r[2];
	size_t len = DEPTH - SHALLOW - 2;
	double sum = 0;

	for (unsigned i = 0; i < threads; i++) {
		r[i] = (struct runner){.paths = paths + len * i * (n / 2), .n_paths = n / 2};
		if (pthread_create(&r[i].thread, NULL, run_thread, &r[i]))
			exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(r[i].thread, NULL);
		sum += (double)r[i].ns;
	}
	return sum / threads;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 21;
	unsigned n_paths = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	double per_ns = ticks_per_ns(), ns[METHODS][1000], ratio[1000], alone[1000], both[1000];
	uint16_t *paths = malloc(sizeof(*paths) * n_paths * DEPTH);
	void *libc = dlopen("libc.so.6", RTLD_NOW), *unw = dlopen("libunwind.so.8", RTLD_NOW);
	struct samples s = {0};

	if (!paths || rounds < 1 || rounds > 1000 || n_paths < 2) {
		fprintf(stderr, "usage: bench_unwind [rounds [paths]]\n");
		return 2;
	}
	/* backtrace() is looked up in libc itself: libunwind has one too. */
	methods.glibc = (backtrace_fn *)dlsym(libc, "backtrace");
	if (unw)
		methods.libunwind = (backtrace_fn *)dlsym(unw, "unw_backtrace");
	methods.unwinder = new_unwinder();
	make_paths(paths, n_paths, DEPTH - SHALLOW - 2);
	aif_stack_bounds_here(&s.bounds);
	for (int m = 0; m < METHODS; m++)
		s.ticks[m] = malloc(sizeof(uint64_t) * (n_paths + 1));

	walk_all(&s, paths, n_paths, 10); /* warm */
	for (unsigned round = 0; round < rounds; round++) {
		memset(s.n, 0, sizeof(s.n));
		walk_all(&s, paths, n_paths, 10);
		for (int m = 0; m < METHODS; m++)
			ns[m][round] = median_ticks(s.ticks[m], s.n[m]) / per_ns;
		ratio[round] = ns[GLIBC][round] / ns[OURS][round];

		/* A map that knows nothing: what the first launches cost. */
		struct aif_unwinder *hot = methods.unwinder;
		methods.unwinder = new_unwinder();
		memset(s.n, 0, sizeof(s.n));
		walk_all(&s, paths, 1, 0);
		ns[OURS_COLD][round] = (double)s.ticks[OURS][0] / per_ns;
		munmap(methods.unwinder, aif_unwinder_size());
		methods.unwinder = hot;

		alone[round] = threads_together(paths, n_paths, 1);
		both[round] = threads_together(paths, n_paths, 2);
	}

	printf("native stack of %u frames, %u different stacks, %u rounds\n", s.depth, n_paths,
	       rounds);
	printf("%-32s %10s %10s %10s\n", "", "median", "p10", "p90");
	for (int m = 0; m < METHODS; m++) {
		if (m != LIBUNWIND || methods.libunwind)
			print_row(method_names[m], ns[m], rounds, "ns");
	}
	print_row("one thread (CPU time)", alone, rounds, "ns");
	print_row("two threads at once (CPU time)", both, rounds, "ns");
	print_row("glibc / aif_unwind", ratio, rounds, "x   (bar: >= 15)");
	printf("%-32s %10s  (bar: <= 1200 ns)\n", "aif_unwind, median",
	       ns[OURS][rounds / 2] <= 1200 ? "met" : "MISSED");
	printf("%-32s %10u  (bar: 0)\n", "stacks that differ from glibc's", s.mismatches);
	return s.mismatches ? 1 : 0;
}
