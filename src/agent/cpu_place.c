/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/births.h"
#include "agent/cpu_buffer.h"
#include "agent/own_signal.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Places of sampled threads: taken by the helper for a thread that it has found, or by a thread that begins its samples
 * itself, which nobody waits for and which waits for nobody. Such a thread leaves the place as it ends, in the destructor of a
 * key: whichever way it ends, and after what the program has to do then. Its samples stay in the queue, and the next thread
 * writes behind them. Where the helper is looking at it at this moment, or has listed it for the recorder, the rest is left to
 * the helper.
 */

/* Between two visits of the helper (250 ms; twice that, if it is late) come rate / 2 samples, of 256 words
 * each: PyTorch's deepest stacks have 100 native and 50 Python frames. At least so much that copies of
 * functions fit beside them, which come in swarms (modules of large packages have tables of 16 KiB) but not
 * more often when samples do. 512 KiB of address space a thread; touched is the most that ever lay there. */
#define WORDS_A_SAMPLE 256
#define WORDS_MIN      65536

/* The stack that a thread's samples are taken on: 3.7 KiB of it are used with 600 frames of Python; a library that stands in
 * front of the clock may use more. */
#define STACK 32768

static struct aif_cpu_thread *thread_new(uint32_t rate)
{
	enum { SELF, WORDS, SCRATCH, PARTS = SCRATCH + AIF_SCRATCH_PARTS };
	struct aif_cpu_thread *t;
	size_t words = WORDS_MIN, bytes[PARTS];
	void *at[PARTS], *stack;

	while (words < (size_t)rate / 2 * WORDS_A_SAMPLE)
		words *= 2;
	bytes[SELF] = sizeof(*t);
	bytes[WORDS] = words * sizeof(t->words[0]);
	aif_scratch_bytes(bytes + SCRATCH);
	stack = aif_pages_stack(STACK);
	if (!stack)
		return NULL;
	if (!aif_pages_shared(bytes, at, PARTS)) {
		aif_pages_stack_free(stack, STACK);
		return NULL;
	}
	t = at[SELF];
	t->stack = stack;
	t->words = at[WORDS];
	aif_scratch_init(&t->scratch, at + SCRATCH);
	t->words_len = words;
	aif_cpu_credit_init(&t->credit, aif_now_ns() ^ (uintptr_t)t, AIF_NS_PER_S / rate);
	return t;
}

/* ---- timers -------------------------------------------------------------------------------------- */

void aif_cpu_timer_set(const struct aif_cpu_thread *t)
{
	/* Looks at each tick where there are events, too, even one that comes a little early. */
	bool is_often = atomic_load_explicit(&t->is_often, memory_order_relaxed),
	     is_young = atomic_load_explicit(&t->is_young, memory_order_relaxed);
	uint64_t ns = is_young                      ? t->clocks.tick_ns / 64 /* each tick */
		      : is_often                    ? AIF_MAX(t->event_ns, t->clocks.tick_ns)
		      : t->is_wall || t->only_ticks ? t->event_ns
						    : t->clocks.tick_ns / 2;
	struct timespec period = {.tv_sec = (time_t)(ns / AIF_NS_PER_S),
				  .tv_nsec = (long)(ns % AIF_NS_PER_S)};
	struct itimerspec when = {.it_interval = period, .it_value = period};

	/* The first tick, too, however early it comes. */
	if (is_young)
		when.it_value = (struct timespec){.tv_nsec = 1};
	syscall(SYS_timer_settime, t->timer, 0, &when, NULL);
}

int aif_cpu_timer_start(struct aif_cpu_thread *t)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = AIF_SHM_CPU_SIGNAL};

	event._sigev_un._tid = (pid_t)t->tid;
	event.sigev_value.sival_ptr = aif_own_signal_mark();
	if (syscall(SYS_timer_create, t->is_wall ? CLOCK_MONOTONIC : AIF_THREAD_CPU_CLOCK(t->tid),
		    &event, &t->timer) < 0) {
		t->timer = -1;
		return -errno;
	}
	aif_cpu_timer_set(t);
	return 0;
}

void aif_cpu_timer_delete(struct aif_cpu_thread *t)
{
	if (t->timer >= 0)
		syscall(SYS_timer_delete, t->timer);
	t->timer = -1;
}

/* ---- places -------------------------------------------------------------------------------------- */

bool aif_cpu_place_change(struct aif_cpu_place *p, uint32_t from, enum aif_cpu_place_state to)
{
	return atomic_load_explicit(&p->state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong(&p->state, &from, (uint32_t)to);
}

static void cover(struct aif_cpu *c, uint32_t len)
{
	uint32_t was = atomic_load(&c->len);

	while (was < len && !atomic_compare_exchange_weak(&c->len, &was, len))
		;
}

static struct aif_cpu_thread *take(struct aif_cpu *c, enum aif_cpu_place_state kind)
{
	uint32_t len = kind == AIF_CPU_PLACE_EMPTY ? AIF_ARRAY_LEN(c->at) : atomic_load(&c->len);

	for (uint32_t i = 0; i < len; i++) {
		struct aif_cpu_place *p = &c->at[i];

		if (!aif_cpu_place_change(p, kind, AIF_CPU_PLACE_TAKEN))
			continue;
		if (kind == AIF_CPU_PLACE_FREE)
			return atomic_load_explicit(&p->thread, memory_order_relaxed);
		atomic_store_explicit(&p->thread, thread_new(c->rate), memory_order_release);
		if (!p->thread) {
			aif_cpu_lacks_memory();
			atomic_store(&p->state, AIF_CPU_PLACE_EMPTY);
			return NULL;
		}
		atomic_load(&p->thread)->place = p;
		cover(c, i + 1);
		return atomic_load(&p->thread);
	}
	return NULL;
}

struct aif_cpu_thread *aif_cpu_place_take(struct aif_cpu *c, uint32_t tid)
{
	struct aif_cpu_thread *t = take(c, AIF_CPU_PLACE_FREE);

	if (!t)
		t = take(c, AIF_CPU_PLACE_EMPTY);
	if (!t)
		return NULL;
	t->tid = tid;
	t->owner++;
	t->pid = c->pid;
	t->switches = 0;
	t->switches_cpu_ns = 0;
	t->is_listed = false;
	t->timer = -1;
	t->tcb = 0;
	t->found_ns = 0;
	/* A thread that had the place for a moment may be in the handler still, which clears `is_inside` when it leaves. */
	aif_cpu_thread_begin(c, t);
	return t;
}

void aif_cpu_place_free(struct aif_cpu_thread *t)
{
	atomic_store(&t->place->tid, 0);
	atomic_store(&t->place->state, AIF_CPU_PLACE_FREE);
}

bool aif_cpu_place_publish(struct aif_cpu *c, struct aif_cpu_thread *t)
{
	uint32_t len, others = 0;

	/* The helper and the thread itself may both be at it: each says so before it looks for the other. */
	atomic_store(&t->place->tid, t->tid);
	len = atomic_load(&c->len);
	for (uint32_t i = 0; i < len; i++)
		others += &c->at[i] != t->place && atomic_load(&c->at[i].tid) == t->tid;
	if (others)
		aif_cpu_place_free(t);
	return !others;
}

void aif_cpu_thread_begin(const struct aif_cpu *c, struct aif_cpu_thread *t)
{
	t->clocks.period_ns = t->clocks.tick_ns = AIF_NS_PER_S / c->rate;
	if (c->mode == AIF_CPU_BOTH)
		t->clocks.tick_ns = c->tick_ns;
	t->clocks.has_sample = false;
	t->clocks.missed_ns = t->clocks.ticks_ns = 0;
	t->clocks.user_ns = t->clocks.system_ns = 0;
	t->clocks.tick_cpu_ns = t->clocks.switches = t->clocks.reach_ns = 0;
	t->clocks.user_ticks = 0;
	t->is_wall = c->mode == AIF_CPU_WALL;
	t->is_alone = t->only_ticks = c->mode == AIF_CPU_TICK;
	t->event_ns = t->clocks.period_ns;
	atomic_store_explicit(&t->is_often, false, memory_order_relaxed);
	atomic_store_explicit(&t->is_young, false, memory_order_relaxed);
	t->unknown_ns = 0;
	t->blocks = false;
	t->blocks_told = false;
}

/* ---- threads that begin and end their samples themselves ----------------------------------------- */

/* Keys from here on make the C library allocate in each thread (PTHREAD_KEY_2NDLEVEL_SIZE). */
#define KEYS_AT_HAND 32

bool aif_cpu_arms(const struct aif_cpu *c)
{
	/* Whether a thread is a CPU device's worker shows when the driver has returned. */
	return atomic_load_explicit(&c->arms, memory_order_acquire) && c->pid == getpid() &&
	       !atomic_load(&aif_agent.sampler.appearing) && !aif_sandbox_may_be_on();
}

/* The thread ends. */
static void disarm(void *arg)
{
	struct aif_cpu_thread *t = arg;
	struct aif_cpu_place *p = t->place;
	int saved = errno;

	/* No system call where one may be forbidden: the helper finds that the thread has gone. */
	if (aif_sandbox_may_be_on())
		return;
	/* In a forked child the timer is the parent's, and the place another's. */
	if (t->pid == getpid() && t->tid == (uint32_t)syscall(SYS_gettid)) {
		/* From here on the handler writes nothing. */
		atomic_store(&p->tid, 0);
		if (aif_cpu_place_change(p, AIF_CPU_PLACE_LIVE, AIF_CPU_PLACE_TAKEN)) {
			aif_cpu_timer_delete(t);
			if (atomic_load(&t->is_young))
				aif_cpu_credit_end(&t->credit,
						   aif_clock_ns(CLOCK_THREAD_CPUTIME_ID));
			atomic_store(&p->state,
				     t->is_listed ? AIF_CPU_PLACE_ENDED : AIF_CPU_PLACE_FREE);
		} else {
			/* Should the helper have done just now, it finds later that the thread has gone. */
			(void)aif_cpu_place_change(p, AIF_CPU_PLACE_LOOKED, AIF_CPU_PLACE_ENDED);
		}
	}
	errno = saved;
}

static bool prepare_key(struct aif_cpu *c)
{
	if (c->has_key)
		return c->key < KEYS_AT_HAND;
	c->has_key = pthread_key_create(&c->key, disarm) == 0;
	return c->has_key && c->key < KEYS_AT_HAND;
}

void aif_cpu_arm_from_now(struct aif_cpu *c)
{
	/* Signals of --wall interrupt calls that sleep: threads get them once the helper has found them. */
	bool may = c->mode == AIF_CPU_TICK || c->mode == AIF_CPU_BOTH;

	c->pid = getpid();
	if (may && prepare_key(c))
		atomic_store(&c->arms, true);
}

/* Sets the clocks of a thread that samples itself from its beginning. */
static void begin_young(const struct aif_cpu *c, struct aif_cpu_thread *t)
{
	t->clocks.cpu_ns = 0;
	t->clocks.tick_ns = c->tick_ns;
	aif_cpu_credit_begin(&t->credit, c->tick_ns);
	t->is_alone = true;
	atomic_store_explicit(&t->is_often, c->mode == AIF_CPU_BOTH, memory_order_relaxed);
	atomic_store_explicit(&t->is_young, true, memory_order_relaxed);
}

static bool blocks_signal(void)
{
	sigset_t set;

	return pthread_sigmask(SIG_BLOCK, NULL, &set) || sigismember(&set, AIF_SHM_CPU_SIGNAL);
}

void aif_cpu_arm_here(struct aif_cpu *c)
{
	struct aif_cpu_thread *t;

	if (!aif_cpu_arms(c) || blocks_signal())
		return;
	t = aif_cpu_place_take(c, (uint32_t)syscall(SYS_gettid));
	if (!t)
		return;
	begin_young(c, t);
	if (!aif_cpu_place_publish(c, t))
		return;
	/* Without a destructor nobody would give back the place. */
	if (pthread_setspecific(c->key, t)) {
		aif_cpu_place_free(t);
		return;
	}
	/* Leaves a failure to the helper, which tries again and says that the user has too many timers. */
	(void)aif_cpu_timer_start(t);
	atomic_store(&t->place->state, AIF_CPU_PLACE_LIVE);
	/* Looks whether all samples have ended meanwhile: the helper says so before it looks for places in use. */
	if (!atomic_load(&c->arms) &&
	    aif_cpu_place_change(t->place, AIF_CPU_PLACE_LIVE, AIF_CPU_PLACE_TAKEN)) {
		aif_cpu_timer_delete(t);
		atomic_store(&t->place->state, AIF_CPU_PLACE_LIVE);
	}
}
