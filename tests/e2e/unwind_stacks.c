/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden stacks: at launch points (unwind_point) and wherever a timer signal strikes, our stack
 * against glibc's backtrace(), frame by frame. The workload, unwind_workload.cpp, is compiled by
 * several compilers at several levels (unwind_stacks.sh). Prints TAP.
 *
 *     unwind_stacks [SECONDS [MICROSECONDS between samples]]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/unwind.h"

#include "base/clock.h"

#include "../unit/signal_action.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define MAX 1024

/* No exceptions while samples are taken: for some instructions libgcc has then overwritten the very
 * return address that it is about to leave, and backtrace() itself may crash. */
void unwind_workload(unsigned seed, int throws);
void unwind_point(void);

/* State of the one thread that runs and of its signal handler. */
static struct {
	struct aif_unwinder *u;
	struct aif_stack_bounds bounds;
	int (*backtrace)(void **frames, int max);
	bool sampling; /* points are quiet, so that samples fall into the workload */
	uint64_t points, point_differ, deepest;
	uint64_t samples, not_followed, not_seen, sample_differ;
} t;

static void show(const char *what, const uint64_t *ours, struct aif_unwind_result r,
		 void *const *theirs, unsigned n)
{
	printf("# %s: %u frames (%s), glibc %u\n", what, r.depth, aif_unwind_stop_name(r.stop), n);
	for (unsigned i = 0; i < AIF_MAX(r.depth, n); i++) {
		uint64_t a = i < r.depth ? ours[i] : 0,
			 b = i < n ? (uint64_t)(uintptr_t)theirs[i] : 0;
		Dl_info info = {0};

		dladdr((void *)(uintptr_t)(b ? b : a), &info);
		if (a != b || i < 3)
			printf("#   %2u %" PRIx64 " %" PRIx64 " %s\n", i, a, b,
			       info.dli_sname ? info.dli_sname : "");
	}
}

AIF_NOINLINE void unwind_point(void)
{
	static uint64_t ours[MAX];
	static void *theirs[MAX];
	struct aif_unwind_result r;
	struct aif_regs regs;
	unsigned n;

	if (t.sampling)
		return;
	AIF_REGS_HERE(&regs);
	r = aif_unwind(t.u, &regs, false, t.bounds, ours, MAX);
	n = (unsigned)t.backtrace(theirs, MAX);
	t.points++;
	t.deepest = AIF_MAX(t.deepest, n);
	if (r.stop != AIF_STOP_END || r.depth != n ||
	    memcmp(ours + 1, theirs + 1, (n - 1) * sizeof(ours[0])) != 0) {
		if (t.point_differ++ < 3)
			show("a point differs", ours, r, theirs, n);
	}
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	static uint64_t ours[MAX];
	static void *theirs[MAX];
#if defined(__x86_64__)
	static const uint8_t lea[] = {0x49, 0x8d, 0x62, 0xf8, 0xc3};
	const uint8_t *pc;
#endif
	struct aif_regs_more more;
	struct aif_regs regs;
	struct aif_unwind_result r;
	unsigned n, at = 0;
	int saved = errno;

	(void)number;
	(void)info;
	aif_regs_of_ucontext(context, &regs, &more);
	r = aif_unwind_interrupted(t.u, &regs, &more, t.bounds, ours, MAX);
	n = (unsigned)t.backtrace(theirs, MAX);
	errno = saved;
	t.samples++;
	while (at < n && (uint64_t)(uintptr_t)theirs[at] != regs.pc)
		at++;
	if (at == n) {
		t.not_seen++; /* glibc lost its way before the interrupted function */
		return;
	}
	n -= at;
	/* aarch64: glibc cannot leave a PLT entry, which has no tables. */
	if (AIF_ARCH_LINK && n == 1 && r.depth > 1 && r.stop == AIF_STOP_END)
		return;
#if defined(__x86_64__)
	/* leaq -8(%r10), %rsp; ret: rbp has been restored, which gcc's tables do not say, nor does glibc see it. */
	pc = (const uint8_t *)(uintptr_t)regs.pc;
	if (memcmp(pc, lea, sizeof(lea) - 1) == 0 ||
	    (*pc == lea[4] && memcmp(pc - 4, lea, sizeof(lea)) == 0))
		return;
#endif
	/* A frame that cannot be followed is reported as such, not guessed. */
	if (r.stop == AIF_STOP_BAD_ROW && r.depth < n) {
		t.not_followed++;
		n = r.depth;
	} else if (r.stop != AIF_STOP_END) {
		n = 0;
	}
	if (r.depth != n || memcmp(ours, theirs + at, n * sizeof(ours[0])) != 0) {
		if (t.sample_differ++ < 3)
			show("a sample differs", ours, r, theirs + at, n);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5;
	long period = argc > 2 ? atol(argv[2]) * 1000 : 250000;
	struct itimerspec every = {{0, period}, {0, period}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
	void *libc = dlopen("libc.so.6", RTLD_NOW),
	     *symbol = libc ? dlsym(libc, "backtrace") : NULL;
	void *warm[4];
	uint64_t until, wanted = (uint64_t)(100 * seconds);
	timer_t timer;
	bool ok;

	t.u = mmap(NULL, aif_unwinder_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (!symbol || t.u == MAP_FAILED || aif_unwinder_init(t.u) ||
	    aif_stack_bounds_here(&t.bounds)) {
		printf("Bail out! no oracle or no memory\n");
		return 1;
	}
	memcpy(&t.backtrace, &symbol, sizeof(symbol));
	t.backtrace(warm, 4); /* loads libgcc */

	for (unsigned seed = 0; seed < 4; seed++)
		unwind_workload(seed, 1);
	t.sampling = true;
	signal_action(SIGPROF, &action);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL)) {
		printf("Bail out! no timer\n");
		return 1;
	}
	until = aif_now_ns() + (uint64_t)(seconds * 1e9);
	/* Longer where a busy machine gives us little of itself. */
	for (unsigned seed = 1; aif_now_ns() < until ||
				(t.samples < wanted && aif_now_ns() < until + 30 * AIF_NS_PER_S);
	     seed++)
		unwind_workload(seed, 0);
	timer_delete(timer);

	ok = t.points > 100 && t.point_differ == 0 && t.deepest > 200;
	printf("# %" PRIu64 " points, %" PRIu64 " differ, deepest %" PRIu64 "\n", t.points,
	       t.point_differ, t.deepest);
	printf("%s 1 - stacks at launch points\n", ok ? "ok" : "not ok");
	printf("# %" PRIu64 " samples, %" PRIu64 " differ, %" PRIu64 " not followed, %" PRIu64
	       " lost by glibc\n",
	       t.samples, t.sample_differ, t.not_followed, t.not_seen);
	bool sampled = t.samples >= wanted && t.sample_differ == 0 &&
		       t.not_followed * 20 <= t.samples && t.not_seen * 20 <= t.samples;
	printf("%s 2 - stacks of samples\n1..2\n", sampled ? "ok" : "not ok");
	return !ok || !sampled;
}
