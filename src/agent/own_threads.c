/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/own_threads.h"

#include "agent/agent.h"
#include "agent/births.h"
#include "agent/cpu_buffer.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
/* The process's static TLS (KiBs in large programs) comes out of this, and once the exit handlers of a
 * program whose other threads have all ended (helper.c). */
#define STACK (1u << 20)
/* The longest that a call of the program's waits: with a thread that is still there it may end the program. One that
 * yields to all others, on a machine with much to do, may get no CPU for seconds. */
#define LEAVE_NS (20 * AIF_NS_PER_S)
#define LOOK_NS  50000
/* The most of that wait that one look counts for: a process that is stopped meanwhile, or gets no CPU, waits for nobody. */
#define STEP_NS 10000000
/* The longest that a new thread is waited for until it has a table of descriptors of its own. With 50
 * runnable processes on two CPUs some wait longer than that for one. */
#define PARTING_NS 250000000
/* `tid` of a thread that has not begun yet. */
#define STARTING UINT32_MAX

static __thread struct aif_own_thread *self __attribute__((tls_model("initial-exec")));

bool aif_own_thread_is_here(void)
{
	return self;
}

bool aif_own_thread_has(uint32_t tid)
{
	for (unsigned i = 0; i < AIF_OWN_KINDS; i++)
		if (atomic_load_explicit(&aif_agent.own.at[i].tid, memory_order_relaxed) == tid)
			return true;
	return false;
}

uint64_t aif_own_threads_cpu_ns(void)
{
	struct aif_own_threads *own = &aif_agent.own;
	uint64_t ns = atomic_load(&own->ended_ns);

	for (unsigned i = 0; i < AIF_OWN_KINDS; i++) {
		uint32_t tid = atomic_load(&own->at[i].tid);

		/* Adds nothing for one that has ended, whose clock is gone. */
		if (tid && tid != STARTING)
			ns += aif_clock_ns(AIF_THREAD_CPU_CLOCK(tid));
	}
	return ns;
}

/* True once the kernel has forgotten the thread. Its number may be another's of this process by then: who waits for
 * that one waits for nothing, and no longer than LEAVE_NS. */
static bool is_gone(struct aif_own_thread *t)
{
	uint32_t tid = atomic_load(&t->tid);

	if (!tid)
		return true;
	if (tid == STARTING || syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) == 0 || errno != ESRCH)
		return false;
	atomic_compare_exchange_strong(&t->tid, &tid, 0);
	return true;
}

bool aif_own_thread_is_to_leave(void)
{
	return self && (atomic_load(&aif_agent.own.away) || atomic_load(&self->is_late));
}

void aif_own_thread_waits_on(const void *word)
{
	if (self)
		atomic_store(&self->word, word);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / AIF_NS_PER_S),
				 .tv_nsec = (long)(ns % AIF_NS_PER_S)};
}

void aif_own_thread_sleep(uint64_t ns)
{
	struct timespec time = timespec_of(ns);

	if (syscall(SYS_futex, &aif_agent.own.away, FUTEX_WAIT, 0, &time, NULL, 0) < 0 &&
	    errno != ETIMEDOUT && errno != EINTR && errno != EAGAIN)
		nanosleep(&time, NULL); /* a sandbox that knows no futexes */
}

/* States of a thread on the way to a table of its own. */
enum {
	PARTING_NOT, /* no thread waits for the table: this one keeps the table that it has */
	PARTING_MAY,
	PARTING_BEGUN,
	PARTING_LATE, /* the thread that waited has gone on */
};

/* Takes a new table of descriptors, with nothing in it. Where nobody waits for that any more, what the program closes while
 * the new table is a copy of its own stays open for these microseconds; to go on with the program's would show in the numbers
 * that its open() returns. */
static void take_own_files(struct aif_own_thread *t)
{
	uint32_t may = PARTING_MAY;

	if (!atomic_compare_exchange_strong(&t->parting, &may, PARTING_BEGUN) &&
	    (may != PARTING_LATE || aif_sandbox_is_on()))
		return;
	/* Each of the two says what it is about to do before it looks at the other. */
	atomic_store(&t->is_apart, true);
	if (atomic_load(&aif_agent.own.is_shared) ||
	    syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		atomic_store(&t->is_apart, false);
	atomic_store(&t->parting, PARTING_NOT);
	syscall(SYS_futex, &t->parting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Lets a thread that is about to be made take a table of its own. */
static void let_part(struct aif_own_thread *t)
{
	bool may = !atomic_load(&t->is_apart) && !aif_agent.env.injected && !aif_sandbox_is_on() &&
		   !atomic_load(&aif_agent.own.is_shared);

	atomic_store(&t->parting, may ? PARTING_MAY : PARTING_NOT);
}

/* Waits until it has, or has no CPU to begin with. */
static void await_parting(struct aif_own_thread *t)
{
	uint64_t until = aif_now_ns() + PARTING_NS, now;
	struct timespec time;
	uint32_t state;

	while ((state = atomic_load(&t->parting)) != PARTING_NOT) {
		now = aif_now_ns();
		if (now >= until && state == PARTING_MAY &&
		    atomic_compare_exchange_strong(&t->parting, &state, PARTING_LATE))
			return;
		time = timespec_of(now < until ? until - now : LOOK_NS);
		syscall(SYS_futex, &t->parting, FUTEX_WAIT, state, &time, NULL, 0);
	}
}

static void run_thread(struct aif_own_thread *t)
{
	unsigned kind = (unsigned)(t - aif_agent.own.at);

	if (atomic_load(&t->run)())
		atomic_fetch_or(&aif_agent.own.again, 1u << kind);
}

/* Goes on as another of the agent's threads, which waits for that. */
static void become(struct aif_own_thread *t, struct aif_own_thread *next)
{
	uint32_t tid = atomic_load(&t->tid);

	t->becomes = NULL;
	self = next;
	/* Keeps an order in which a search for threads with tables of their own finds this one under either kind. */
	atomic_store(&next->is_apart, atomic_load(&t->is_apart));
	atomic_store(&next->is_late, atomic_load(&t->is_late));
	atomic_store(&next->tid, tid);
	atomic_store(&t->tid, 0);
	atomic_store(&t->is_apart, false);
	run_thread(next);
}

/* Sets what a thread has at its start: the maker's traps of floating-point arithmetic would end the program in ours. */
static void untrap(void)
{
#if defined(__x86_64__)
	const unsigned masked = 0x1f80;

	__asm__ volatile("ldmxcsr %0\n\tfninit" ::"m"(masked));
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, xzr");
#endif
}

static void *begin(void *arg)
{
	struct aif_own_thread *t = arg;

	untrap();
	self = t;
	take_own_files(t);
	atomic_store(&t->tid, (uint32_t)syscall(SYS_gettid));
	if (!aif_sandbox_is_on())
		prctl(PR_SET_NAME, "aiflame");
	run_thread(t);
	if (t->becomes)
		become(t, t->becomes);
	atomic_fetch_add(&aif_agent.own.ended_ns, aif_clock_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

static int create(struct aif_own_thread *t)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = aif_birth_create_own(&thread, &attr, begin, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

/* A child of a fork has none of its parent's. */
static void forget_parents(struct aif_own_threads *own)
{
	int pid = getpid();

	if (atomic_load(&own->pid) == pid)
		return;
	atomic_store(&own->away, 0);
	atomic_store(&own->again, 0);
	atomic_store(&own->ended_ns, 0);
	atomic_store(&aif_agent.session.installing, 0); /* by another thread of the parent */
	for (unsigned i = 0; i < AIF_ARRAY_LEN(own->lists); i++)
		atomic_store(&own->lists[i], NULL);
	for (unsigned i = 0; i < AIF_OWN_KINDS; i++) {
		atomic_store(&own->at[i].tid, 0);
		atomic_store(&own->at[i].is_apart, false);
		own->at[i].becomes = NULL;
	}
	atomic_store(&own->pid, pid);
}

int aif_own_thread_start(enum aif_own_thread_kind kind, aif_own_run run)
{
	struct aif_own_threads *own = &aif_agent.own;
	struct aif_own_thread *t = &own->at[kind];
	uint32_t none = 0;
	int r;

	forget_parents(own);
	if (!is_gone(t) || !atomic_compare_exchange_strong(&t->tid, &none, STARTING))
		return -EBUSY;
	atomic_store(&t->run, run);
	atomic_store(&t->is_late, false);
	/* Each of the two says what it is about to do before it looks at the other. */
	if (atomic_load(&own->away)) {
		atomic_fetch_or(&own->again, 1u << kind);
		atomic_store(&t->tid, 0);
		return 0;
	}
	/* The joiner has nothing else to do. To create a thread takes memory, for which malloc() in a thread of ours would
	 * reserve 64 MiB of the program's address space. */
	if (kind == AIF_OWN_HELPER && self == &own->at[AIF_OWN_JOINER]) {
		atomic_store(&t->is_apart, atomic_load(&self->is_apart));
		self->becomes = t;
		return 0;
	}
	/* A thread begins with the table of the one that makes it. */
	atomic_store(&t->is_apart, self && atomic_load(&self->is_apart));
	let_part(t);
	r = create(t);
	if (r < 0)
		atomic_store(&t->tid, 0);
	else
		await_parting(t);
	return r;
}

static bool are_gone(struct aif_own_threads *own)
{
	bool gone = true;

	for (unsigned i = 0; i < AIF_OWN_KINDS; i++) {
		const void *word = atomic_load(&own->at[i].word);

		if (is_gone(&own->at[i]))
			continue;
		gone = false;
		if (word)
			syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	return gone;
}

bool aif_own_threads_leave(void)
{
	return aif_own_threads_leave_within(LEAVE_NS);
}

/* Waits until all have ended, or `ns` have gone by in which the process was not stopped. */
static bool await_all_gone(struct aif_own_threads *own, uint64_t ns)
{
	uint64_t waited = 0, now, last = aif_now_ns();

	while (!are_gone(own)) {
		if (waited >= ns)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		now = aif_now_ns();
		waited += AIF_MIN(now - last, STEP_NS);
		last = now;
	}
	return true;
}

/* Says of threads that have not ended in time that they are to, as soon as they can: they may do what the program may do no
 * more. */
static void mark_late(struct aif_own_threads *own)
{
	for (unsigned i = 0; i < AIF_OWN_KINDS; i++)
		if (!is_gone(&own->at[i]))
			atomic_store(&own->at[i].is_late, true);
}

bool aif_own_threads_leave_within(uint64_t ns)
{
	struct aif_own_threads *own = &aif_agent.own;
	int saved = errno;

	/* Under a filter the calls that this takes may be forbidden, and nothing is made again. In a child of
	 * vfork() the memory is the parent's. */
	if (self || !atomic_load(&own->pid) || aif_sandbox_is_on() ||
	    atomic_load(&own->pid) != getpid())
		return false;
	atomic_fetch_add(&own->away, 1);
	atomic_fetch_add(&own->leaves, 1);
	syscall(SYS_futex, &own->away, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (!await_all_gone(own, ns))
		mark_late(own);
	errno = saved;
	return true;
}

int aif_own_threads_return(void)
{
	struct aif_own_threads *own = &aif_agent.own;
	int saved = errno, r = 0;
	uint32_t again;

	if (atomic_fetch_sub(&own->away, 1) != 1)
		return 0;
	again = atomic_load(&aif_agent.session.leaving) ? 0 : atomic_exchange(&own->again, 0);
	for (unsigned i = 0; i < AIF_OWN_KINDS; i++)
		if (again >> i & 1) {
			int r2 = aif_own_thread_start((enum aif_own_thread_kind)i,
						      atomic_load(&own->at[i].run));

			r = r2 < 0 ? r2 : r;
		} else if (atomic_load(&own->at[i].is_late) && !is_gone(&own->at[i])) {
			r = -EBUSY; /* the late thread still runs: no second one of its kind is started beside it */
		}
	errno = saved;
	return r;
}

static bool is_any_apart(struct aif_own_threads *own)
{
	bool is = false;

	for (unsigned i = 0; i < AIF_OWN_KINDS && atomic_load(&own->pid) == getpid(); i++)
		is |= !is_gone(&own->at[i]) && atomic_load(&own->at[i].is_apart);
	return is;
}

bool aif_own_threads_share_files(void)
{
	struct aif_own_threads *own = &aif_agent.own;
	bool is_apart;

	atomic_store(&own->is_shared, true);
	if (!is_any_apart(own))
		return true;
	if (!aif_own_threads_leave())
		return false;
	/* A thread that has not left in time goes on with its own. */
	is_apart = is_any_apart(own);
	return aif_own_threads_return() == 0 && !is_apart;
}

void aif_own_threads_stay_away(void)
{
	atomic_store(&aif_agent.own.again, 0);
	atomic_fetch_sub(&aif_agent.own.away, 1);
}
