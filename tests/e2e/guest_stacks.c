/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Programs with little stack: coroutines, small alternate stacks, and handlers that leave by a jump. A signal takes the
 * kernel's frame from the stack that it interrupts, at most AT_MINSIGSTKSZ; ROOM is what its handler may need beside it, with
 * the red zone and what the coroutine uses itself.
 */

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define ROOM    1024
#define BELOW   65536
#define PATTERN 0xa5
/* Long enough for the agent to find the thread, and for some samples. */
#define ROUNDS 16

static size_t least(void)
{
	size_t bytes = getauxval(AT_MINSIGSTKSZ);

	return (bytes ? bytes : 4096) + ROOM;
}

static void burn_long(void)
{
	for (int i = 0; i < ROUNDS; i++)
		guest_burn();
}

static unsigned char *map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- coroutines ---------------------------------------------------------------------------------- */

/* Runs a function on a stack of so many bytes, below which there is memory that is none of it. */
static long touched_below(void (*run)(void), size_t bytes)
{
	unsigned char *memory = map(BELOW + bytes);
	ucontext_t here, there;
	size_t clean = 0;

	memset(memory, PATTERN, BELOW);
	getcontext(&there);
	there.uc_stack = (stack_t){.ss_sp = memory + BELOW, .ss_size = bytes};
	there.uc_link = &here;
	makecontext(&there, run, 0);
	swapcontext(&here, &there);
	while (clean < BELOW && memory[clean] == PATTERN)
		clean++;
	munmap(memory, BELOW + bytes);
	return (long)(BELOW - clean);
}

void guest_coroutine(void)
{
	guest_say("bytes touched below a coroutine's stack", touched_below(burn_long, least()));
}

/* Prints how far a sample reaches below the stack pointer, on a stack that is large enough: to be looked at, not judged. */
void guest_depth(void)
{
	unsigned char *memory = map(BELOW);
	ucontext_t here, there;
	size_t clean = 0;

	memset(memory, PATTERN, BELOW);
	getcontext(&there);
	there.uc_stack = (stack_t){.ss_sp = memory, .ss_size = BELOW};
	there.uc_link = &here;
	makecontext(&there, burn_long, 0);
	swapcontext(&here, &there);
	while (clean < BELOW && memory[clean] == PATTERN)
		clean++;
	guest_say("bytes of a coroutine's stack used", (long)(BELOW - clean));
}

#define COROUTINES 64
#define STACK      8192
#define TURNS      400

struct scheduler {
	ucontext_t here, of[COROUTINES];
	unsigned now, ended;
	size_t leave; /* bytes that each leaves free when it computes */
	uint64_t sums[COROUTINES];
};

static __thread struct scheduler *scheduler;

/* Goes down until hardly anything is left of a coroutine's stack, and computes there. */
static __attribute__((noinline)) uint64_t go_down(const unsigned char *end, uint64_t sum)
{
	volatile unsigned char frame[256];

	memset((void *)frame, (int)sum, sizeof(frame));
	if ((size_t)((const unsigned char *)frame - end) > scheduler->leave + 2 * sizeof(frame))
		return go_down(end, sum + 1) + frame[(size_t)sum % sizeof(frame)] % 2;
	for (unsigned i = 0; i < 20000; i++)
		sum = sum * 6364136223846793005u + frame[i % sizeof(frame)] + 1;
	return sum;
}

static void coroutine(void)
{
	struct scheduler *s = scheduler;
	unsigned me = s->now;
	const unsigned char *end = s->of[me].uc_stack.ss_sp;

	for (unsigned i = 0; i < TURNS / COROUTINES + 1; i++) {
		s->sums[me] = go_down(end, s->sums[me]);
		swapcontext(&s->of[me], &s->here);
	}
	s->ended++;
}

/* Coroutines on 8 KiB each, with a page below that nobody may touch. */
static void *schedule(void *arg)
{
	static const size_t bytes = (4096 + STACK) * COROUTINES;
	unsigned char *memory = map(bytes);
	struct scheduler *s = (void *)map(sizeof(*s));
	uint64_t sum = 0;

	scheduler = s;
	s->leave = least();
	for (int round = 0; round < 12; round++) {
		s->ended = 0;
		for (unsigned i = 0; i < COROUTINES; i++) {
			unsigned char *at = memory + (size_t)i * (4096 + STACK);

			mprotect(at, 4096, PROT_NONE);
			getcontext(&s->of[i]);
			s->of[i].uc_stack = (stack_t){.ss_sp = at + 4096, .ss_size = STACK};
			s->of[i].uc_link = &s->here;
			makecontext(&s->of[i], coroutine, 0);
		}
		for (unsigned turn = 0; s->ended < COROUTINES; turn++) {
			s->now = turn % COROUTINES;
			if (turn / COROUTINES <= TURNS / COROUTINES + 1)
				swapcontext(&s->here, &s->of[s->now]);
			else
				break;
		}
	}
	for (unsigned i = 0; i < COROUTINES; i++)
		sum = sum * 31 + s->sums[i];
	*(uint64_t *)arg = sum;
	munmap(memory, bytes);
	return NULL;
}

void guest_coroutines(void)
{
	pthread_t threads[3];
	uint64_t sums[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, schedule, &sums[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		guest_say("sum", (long)(sums[i] % 1000000007));
	}
}

/* ---- alternate stacks ---------------------------------------------------------------------------- */

static void *alternate_thread(void *arg)
{
	size_t bytes = least(), room = (bytes + 4095) / 4096 * 4096;
	unsigned char *memory = map(room + 4096);
	long bad = 0;
	stack_t s;

	mprotect(memory, 4096, PROT_NONE);
	s = (stack_t){.ss_sp = memory + 4096 + room - bytes, .ss_size = bytes};
	memset(memory + 4096, PATTERN, room);
	guest_say("alternate stack", sigaltstack(&s, NULL));
	burn_long();
	for (unsigned char *at = memory + 4096; at < (unsigned char *)s.ss_sp; at++)
		bad += *at != PATTERN;
	guest_say("bytes touched below an alternate stack", bad);
	s.ss_flags = SS_DISABLE;
	sigaltstack(&s, NULL);
	munmap(memory, room + 4096);
	return arg;
}

void guest_alternate_small(void)
{
	pthread_t thread;

	alternate_thread(NULL);
	pthread_create(&thread, NULL, alternate_thread, NULL);
	pthread_join(thread, NULL);
}

/* ---- handlers ------------------------------------------------------------------------------------ */

#define JUMPS 150
static sigjmp_buf back;
static volatile sig_atomic_t handled;

static void compute(unsigned loops)
{
	static volatile uint64_t sum;

	for (unsigned i = 0; i < loops; i++)
		sum += i;
}

static void jump_out(int signal)
{
	(void)signal;
	handled++;
	compute(300000);
	siglongjmp(back, 1);
}

static void ring(long us)
{
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = us}, NULL);
}

/* Leaves a handler of the program by a jump, again and again; samples come before, within and after. */
static void jump(int flags)
{
	struct sigaction sa = {.sa_handler = jump_out, .sa_flags = flags};

	handled = 0;
	sigaction(SIGALRM, &sa, NULL);
	while (handled < JUMPS) {
		if (!sigsetjmp(back, 1)) {
			ring(500);
			for (;;)
				compute(1000);
		}
		ring(0);
	}
	guest_say("jumps", handled);
}

void guest_jumps(void)
{
	static unsigned char memory[32768];
	stack_t s = {.ss_sp = memory, .ss_size = sizeof(memory)};

	burn_long();
	jump(0);
	sigaltstack(&s, NULL);
	jump(SA_ONSTACK);
	jump(SA_ONSTACK | SA_NODEFER);
}

static volatile sig_atomic_t bad_children;

static void fork_there(int signal)
{
	pid_t child;

	(void)signal;
	compute(300000);
	child = fork();
	if (!child) {
		compute(3000000);
		_exit(7);
	}
	handled++;
	compute(300000);
	if (guest_status(child) != 7)
		bad_children++;
}

void guest_handler_forks(void)
{
	static unsigned char memory[32768];
	stack_t s = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction sa = {.sa_handler = fork_there, .sa_flags = SA_RESTART};

	burn_long();
	for (int i = 0; i < 2; i++) {
		handled = 0;
		sigaction(SIGALRM, &sa, NULL);
		while (handled < 20) {
			int before = handled;

			ring(2000);
			while (handled == before)
				compute(1000);
		}
		guest_say("children", handled);
		sigaltstack(&s, NULL);
		sa.sa_flags |= SA_ONSTACK;
	}
	guest_say("children that failed", bad_children);
}

/* ---- threads that the C library knows nothing of ------------------------------------------------- */

static int alone(void *arg)
{
	burn_long();
	atomic_fetch_add((atomic_int *)arg, 1);
	return (int)syscall(SYS_exit, 0);
}

void guest_threads_raw(void)
{
	static unsigned char tls[3][4096] __attribute__((aligned(64)));
	static atomic_int tids[3], ended;
	size_t bytes = least() + 4096;

	for (int i = 0; i < 3; i++) {
		int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			    CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;

		tids[i] = 1;
		/* The first one has this thread's thread-local variables, the others memory without any. */
		if (i)
			flags |= CLONE_SETTLS;
		if (clone(alone, map(bytes) + bytes, flags, &ended, NULL, tls[i], &tids[i]) < 0)
			guest_say("clone", -1);
	}
	burn_long();
	for (int i = 0; i < 3; i++)
		while (tids[i])
			syscall(SYS_futex, &tids[i], FUTEX_WAIT, 1, NULL, NULL, 0);
	guest_say("threads that ended", ended);
}
