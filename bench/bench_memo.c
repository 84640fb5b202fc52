/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A native stack of 80 frames that was seen before: the memo against unwinding it again, libunwind's
 * unw_backtrace() with its cache, glibc's backtrace(), and a walk by frame pointers in the same program
 * compiled with them. Repeated sequences of 50, 1,000 and 10,000 different stacks, and 1,000 in random
 * order; between launches the program reads 0, 64 or 512 KB at random.
 *
 * Methods are interleaved at every launch in changing order, so that all see the same noise. A figure is the
 * median over the launches of one round; printed are the median over rounds and the 10th and 90th
 * percentile of rounds. Reading the time stamp counter costs some 10 ns of each figure.
 *
 * bench_memo [rounds]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/memo.h"

#include "bench_memo_fp.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <sys/mman.h>

#define DEPTH      80
#define MAX_FRAMES 128
#define SHALLOW    6 /* frames outside the path: main and below it, and the launch itself */
#define LEN        (DEPTH - SHALLOW)
#define MAX_PATHS  10000

typedef int backtrace_fn(void **frames, int max);

enum method { MEMO, PLAIN, LIBUNWIND, FRAME_POINTERS, GLIBC, METHODS };

static const char *const names[METHODS] = {"memo", "aif_unwind", "libunwind unw_backtrace()",
					   "frame pointers", "glibc backtrace()"};

struct bench {
	struct aif_unwinder *unwinder;
	struct aif_memo *memo;
	struct aif_stack_bounds bounds;
	backtrace_fn *glibc, *libunwind;
	struct pollution pollution;
	unsigned launches, depth, wrong;
	bool shuffled; /* stacks come in any order, so that none can be predicted */
	uint64_t random;
	uint64_t *ticks[METHODS];
	unsigned n[METHODS];
};

static AIF_NOINLINE unsigned capture(struct bench *b, enum method m, void **frames)
{
	struct aif_regs regs;
	unsigned depth;

	switch (m) {
	case GLIBC:
		depth = (unsigned)b->glibc(frames, MAX_FRAMES);
		break;
	case LIBUNWIND:
		depth = (unsigned)b->libunwind(frames, MAX_FRAMES);
		break;
	case MEMO: {
		AIF_REGS_HERE(&regs);
		struct aif_memo_result r = aif_memo_capture(b->memo, &regs);

		if (r.pcs)
			frames[0] = (void *)(uintptr_t)r.pcs[0];
		depth = r.depth;
		break;
	}
	default:
		AIF_REGS_HERE(&regs);
		depth = aif_unwind(b->unwinder, &regs, false, b->bounds, (uint64_t *)frames,
				   MAX_FRAMES)
				.depth;
	}
	use(frames); /* no tail calls: this frame must be there */
	return depth;
}

static AIF_NOINLINE unsigned measure(struct bench *b, enum method m, void **frames)
{
	unsigned aux, depth;
	uint64_t from;

	pollute(&b->pollution);
	from = __rdtscp(&aux);
	depth = capture(b, m, frames);
	b->ticks[m][b->n[m]++] = __rdtscp(&aux) - from;
	return depth;
}

static AIF_NOINLINE void launch(void *arg)
{
	struct bench *b = arg;
	void *frames[MAX_FRAMES];
	unsigned depth[METHODS] = {0};

	/* The one that comes second finds the stack in the cache: take turns. */
	b->launches++;
	for (unsigned i = 0; i < 3; i++) {
		enum method m = (enum method)((i + b->launches) % 3);

		if (m != LIBUNWIND || b->libunwind)
			depth[m] = measure(b, m, frames);
	}
	if (b->launches % 50 == 0)
		measure(b, GLIBC, frames);
	b->wrong += depth[MEMO] != depth[PLAIN];
	b->depth = depth[PLAIN];
}

static AIF_NOINLINE void walk_all(struct bench *b, const uint16_t *paths, unsigned n)
{
	struct walk w = {.len = LEN, .launch = launch, .arg = b};

	memset(b->n, 0, sizeof(b->n));
	for (unsigned k = 0; k < n; k++) {
		unsigned i = b->shuffled ? random_below(&b->random, n) : k;

		w.path = paths + (size_t)i * LEN;
		next(&w, 0, i, 3);
	}
	__asm__ volatile("");
}

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "bench_memo: no memory\n");
		exit(1);
	}
	return p;
}

static bool bar(const char *what, double v, double most, const char *unit)
{
	printf("  %-40s %8.1f %-2s (bar: <= %g) %s\n", what, v, unit, most,
	       v <= most ? "met" : "MISSED");
	return v <= most;
}

/* With the windows in which the memo tries in vain; without launches that were preempted. */
static double mean_ticks(const uint64_t *v, unsigned n)
{
	double sum = 0;
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++) {
		if (v[i] < 100000) {
			sum += (double)v[i];
			taken++;
		}
	}
	return sum / AIF_MAX(taken, 1);
}

static void compare(struct bench *b, const uint16_t *paths, unsigned n, unsigned kb,
		    unsigned rounds, double per_ns)
{
	static double ns[METHODS][1000], ratio[1000], mean[1000];
	struct aif_memo_counts before, after;

	b->pollution.kb = kb;
	aif_memo_init(b->memo, b->unwinder, b->bounds, AIF_MEMO_MAX_DEPTH);
	/* From one place only, else the stacks would be others. */
	for (unsigned round = 0, warm = 3; round < rounds; round += !warm, warm -= !!warm) {
		walk_all(b, paths, n);
		if (warm) {
			aif_memo_counts(b->memo, &before);
			continue;
		}
		bench_frame_pointers(paths, n, LEN, &b->pollution, b->bounds.lo, b->bounds.hi,
				     b->ticks[FRAME_POINTERS]);
		b->n[FRAME_POINTERS] = n;
		mean[round] = mean_ticks(b->ticks[MEMO], n) / per_ns;
		for (int m = 0; m < METHODS; m++)
			ns[m][round] = median_ticks(b->ticks[m], b->n[m]) / per_ns;
		ratio[round] = ns[LIBUNWIND][round] / ns[MEMO][round];
	}
	aif_memo_counts(b->memo, &after);
	printf("\n%u frames, %u different stacks%s, %u KB read in between, %u rounds\n", b->depth,
	       n, b->shuffled ? " in random order" : "", kb, rounds);
	printf("%-32s %10s %10s %10s\n", "", "median", "p10", "p90");
	for (int m = 0; m < METHODS; m++) {
		if (m != LIBUNWIND || b->libunwind)
			print_row(names[m], ns[m], rounds, "ns");
	}
	printf("  of the memo's captures: %.1f %% predicted, %.1f %% found, %.1f %% passed by\n",
	       100. * (double)(after.predicted - before.predicted) / (rounds * n),
	       100. * (double)(after.found - before.found) / (rounds * n),
	       100. * (double)(after.passed - before.passed) / (rounds * n));
	if (b->libunwind)
		print_row("libunwind / memo", ratio, rounds, n <= 1000 ? "x   (bar: >= 3)" : "x");
	if (n == 50 && kb == 0)
		bar("a hit, hot", ns[MEMO][rounds / 2], 150, "ns");
	if (n == MAX_PATHS)
		print_row("memo, mean", mean, rounds, "ns");
	if (n == MAX_PATHS && kb == 0)
		bar("more stacks than fit", ns[MEMO][rounds / 2], 1500, "ns");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 15;
	uint16_t *paths = malloc(sizeof(*paths) * MAX_PATHS * LEN);
	void *libc = dlopen("libc.so.6", RTLD_NOW), *unw = dlopen("libunwind.so.8", RTLD_NOW);
	double per_ns = ticks_per_ns();
	static struct bench b;

	if (!paths || rounds < 1 || rounds > 1000) {
		fprintf(stderr, "usage: bench_memo [rounds]\n");
		return 2;
	}
	/* backtrace() is looked up in libc itself: libunwind has one too. */
	b.glibc = (backtrace_fn *)dlsym(libc, "backtrace");
	if (unw)
		b.libunwind = (backtrace_fn *)dlsym(unw, "unw_backtrace");
	b.unwinder = pages(aif_unwinder_size());
	b.memo = pages(aif_memo_size());
	b.pollution = (struct pollution){.words = pages(512 * 1024), .random = 1234567};
	memset(b.pollution.words, 1,
	       512 * 1024); /* pages that were only read are all the same one */
	if (aif_unwinder_init(b.unwinder) || aif_stack_bounds_here(&b.bounds))
		return 1;
	make_paths(paths, MAX_PATHS, LEN);
	for (int m = 0; m < METHODS; m++)
		b.ticks[m] = malloc(sizeof(uint64_t) * MAX_PATHS);

	printf("memo: %zu bytes a thread at most\n", aif_memo_size());
	for (unsigned kb = 0; kb <= 512; kb = kb ? kb * 8 : 64) {
		compare(&b, paths, 50, kb, rounds, per_ns);
		compare(&b, paths, 1000, kb, kb < 512 ? rounds : AIF_MIN(rounds, 5), per_ns);
	}
	b.shuffled = true;
	b.random = 7654321;
	compare(&b, paths, 1000, 0, rounds, per_ns);
	b.shuffled = false;
	compare(&b, paths, MAX_PATHS, 0, AIF_MIN(rounds, 9), per_ns);
	compare(&b, paths, MAX_PATHS, 64, AIF_MIN(rounds, 5), per_ns);
	printf("\n%-32s %10u  (bar: 0)\n", "depths that differ from a fresh unwind's", b.wrong);
	return b.wrong ? 1 : 0;
}
