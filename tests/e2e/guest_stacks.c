/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

static void burn_briefly(void)
{
	static volatile uint64_t sum;

	for (unsigned i = 0; i < 1000000; i++)
		sum += i;
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

/* The least that the kernel took before it knew of frames that are larger. */
#define TINY 2048

static void set_tiny(unsigned char *memory, bool by_number)
{
	stack_t s = {.ss_sp = memory, .ss_size = TINY}, old;

	guest_say("set", by_number ? syscall(SYS_sigaltstack, &s, NULL) : sigaltstack(&s, NULL));
	burn_long();
	guest_say("get", sigaltstack(NULL, &old));
	guest_say("is as it was set", old.ss_sp == memory && old.ss_size == TINY);
	s.ss_flags = SS_DISABLE;
	guest_say("unset", sigaltstack(&s, NULL));
}

static void *tiny_thread(void *arg)
{
	set_tiny(map(TINY), true);
	return arg;
}

/* Sets alternate stacks that no signal's frame may fit onto, and has no signals. */
void guest_alternate_tiny(void)
{
	burn_long();
	set_tiny(map(TINY), false);
	burn_long();
}

void guest_alternate_tiny_thread(void)
{
	pthread_t thread;

	burn_long();
	pthread_create(&thread, NULL, tiny_thread, NULL);
	pthread_join(thread, NULL);
}

/* Has it before sampling begins. */
void guest_alternate_tiny_first(void)
{
	set_tiny(map(TINY), false);
}

static void *volatile shown_at;
static volatile size_t shown_size;
static volatile sig_atomic_t refused_there;

static void look_there(int signal, siginfo_t *info, void *context)
{
	stack_t other = {.ss_flags = SS_DISABLE};

	(void)info;
	shown_at = ((ucontext_t *)context)->uc_stack.ss_sp;
	shown_size = ((ucontext_t *)context)->uc_stack.ss_size;
	refused_there += sigaltstack(&other, NULL) < 0 && signal == SIGUSR1;
}

/* Replaces its alternate stack, looks at it, and has it taken away and given back by signals. */
static void *replaced_thread(void *arg)
{
	struct sigaction sa = {.sa_sigaction = look_there, .sa_flags = SA_ONSTACK | SA_SIGINFO};
	unsigned char *memory[2] = {map(65536), map(65536)};
	long differ = 0;
	stack_t s, old;

	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 400; i++) {
		s = (stack_t){.ss_sp = memory[i % 2], .ss_size = 65536 - (size_t)i};
		if (i % 4 == 3)
			s.ss_flags = (int)(1u << 31); /* SS_AUTODISARM */
		differ += sigaltstack(&s, i ? &old : NULL) != 0;
		differ += i && old.ss_sp != memory[(i + 1) % 2];
		burn_briefly();
		differ += sigaltstack(NULL, &old) || old.ss_size != s.ss_size ||
			  old.ss_sp != s.ss_sp || old.ss_flags != s.ss_flags;
		pthread_kill(pthread_self(), SIGUSR1);
		differ += shown_at != s.ss_sp || shown_size != s.ss_size;
		if (i % 8 == 7) {
			s.ss_flags = SS_DISABLE;
			differ += sigaltstack(&s, NULL) != 0;
			burn_briefly();
			differ += sigaltstack(NULL, &old) || old.ss_flags != SS_DISABLE;
			s = (stack_t){.ss_sp = memory[i % 2], .ss_size = 65536};
			differ += sigaltstack(&s, NULL) != 0;
		}
	}
	guest_say("differences", differ);
	guest_say("refused in the handler", refused_there);
	return arg;
}

void guest_alternate_replaced(void)
{
	pthread_t thread;

	burn_long();
	replaced_thread(NULL);
	refused_there = 0;
	pthread_create(&thread, NULL, replaced_thread, NULL);
	pthread_join(thread, NULL);
}

/* ---- threads of its own, which a signal interrupts ------------------------------------------------ */

#define TURNS_OWN 40

static ucontext_t own_thread;
static __thread ucontext_t own_scheduler;
static atomic_int own_ended;
static atomic_uint_least64_t own_sum;
static pthread_barrier_t own_turn;

/* The thread may have another kernel thread by now: nothing of thread-local memory may be kept. */
static __attribute__((noinline)) void own_leave(void)
{
	__asm__ volatile("" ::: "memory");
	swapcontext(&own_thread, &own_scheduler);
}

static void on_own_turn(int signal)
{
	(void)signal;
	own_leave();
}

static void own_work(void)
{
	uint64_t x = 1;

	for (int turn = 0; turn < TURNS_OWN; turn++) {
		for (unsigned i = 0; i < 8000000; i++)
			x = x * 6364136223846793005u + i;
		raise(SIGUSR1);
	}
	own_sum = x;
	own_ended = 1;
	for (;;)
		own_leave();
}

/* Runs it in each second turn, from where the other kernel thread was interrupted, and computes in between. */
static void *own_kernel_thread(void *arg)
{
	burn_long();
	for (int turn = 0; turn < TURNS_OWN + 2; turn++) {
		if ((turn + (arg != NULL)) % 2 || own_ended)
			burn_briefly();
		else
			swapcontext(&own_scheduler, &own_thread);
		pthread_barrier_wait(&own_turn);
	}
	return NULL;
}

/*
 * Goes on in another kernel thread after a signal, as schedulers of HPC runtimes do. The return from the signal gives that
 * kernel thread the alternate stack of the first: where a profiler has given one to each, two would have the same.
 */
void guest_threads_own(void)
{
	struct sigaction sa = {.sa_handler = on_own_turn, .sa_flags = SA_NODEFER};
	pthread_t thread[2];

	sigaction(SIGUSR1, &sa, NULL);
	pthread_barrier_init(&own_turn, NULL, 2);
	getcontext(&own_thread);
	own_thread.uc_stack = (stack_t){.ss_sp = map(262144), .ss_size = 262144};
	makecontext(&own_thread, own_work, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, own_kernel_thread, i ? &own_turn : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	guest_say("sum", (long)(own_sum % 1000000007));
	guest_say("ended", own_ended);
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

/* ---- without the stack that the program began on ------------------------------------------------- */

/* Begins on another stack: forgets the first one, arguments and environment included. */
static void run_elsewhere(void)
{
	unsigned long lo = 0, hi = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	pid_t child;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[stack]"))
			sscanf(line, "%lx-%lx", &lo, &hi);
	if (f)
		fclose(f);
	guest_say("unmapped",
		  munmap((void *)(uintptr_t)lo, hi - lo)); /* NOLINT(performance-no-int-to-ptr) */
	burn_long();
	child = fork();
	if (!child) {
		burn_long();
		_exit(7);
	}
	guest_say("child", guest_status(child));
	_exit(0);
}

void guest_stack_gone(void)
{
	const size_t bytes = 1 << 20;
	ucontext_t there;

	guest_burn();
	getcontext(&there);
	there.uc_stack.ss_sp = map(bytes);
	there.uc_stack.ss_size = bytes;
	there.uc_link = NULL;
	makecontext(&there, run_elsewhere, 0);
	setcontext(&there);
}
