/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu.h"

#include "agent/cpu_buffer.h"
#include "agent/cpu_switches.h"
#include "agent/emit.h"
#include "agent/own_threads.h"
#include "agent/sandbox.h"
#include "agent/task_status.h"
#include "agent/wait.h"
#include "base/auxv.h"
#include "base/proc.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads whose signal mask is looked at in each visit: 20 us each. */
#define LOOKS 8

/* ---- the threads --------------------------------------------------------------------------------- */

/* Takes the place of a living thread for a while. False: there is none, or it begins or ends just now. */
static bool claim(struct aif_cpu *c, uint32_t i)
{
	return aif_cpu_place_change(&c->at[i], AIF_CPU_PLACE_LIVE, AIF_CPU_PLACE_LOOKED);
}

/* The thread may have ended meanwhile: the next visit sees to that. */
static void release(struct aif_cpu *c, uint32_t i)
{
	aif_cpu_place_change(&c->at[i], AIF_CPU_PLACE_LOOKED, AIF_CPU_PLACE_LIVE);
}

/* A timer that is due while its signal is ignored goes on in some kernels, and stands still in others (Linux 6.18). */
static void timers_set_again(struct aif_cpu *c)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++) {
		bool is_here = atomic_load(&c->at[i].state) == AIF_CPU_PLACE_LOOKED;

		if (!is_here && !claim(c, i))
			continue;
		if (c->at[i].thread->timer >= 0)
			aif_cpu_timer_set(c->at[i].thread);
		if (!is_here)
			release(c, i);
	}
}

void aif_cpu_lacks_memory(void)
{
	struct aif_shm *shm = aif_session_memory();

	/* A note would take a ring, which may be what there is no memory for. */
	if (shm)
		atomic_store_explicit(&shm->no_cpu_memory, 1, memory_order_relaxed);
}

static void note(enum aif_reason reason)
{
	struct aif_thread *self = aif_thread_enter();

	if (!self)
		return;
	aif_emit_note(self, reason, 1, "");
	aif_thread_leave(self);
}

/* Writes into the recorder's list whether the i-th thread is sampled by ticks alone. */
static void alone_copy(uint32_t i, bool is_alone)
{
	_Atomic uint32_t *bits = &aif_agent.session.shm->cpu_alone[i / 32];

	if (is_alone)
		atomic_fetch_or_explicit(bits, UINT32_C(1) << i % 32, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(bits, ~(UINT32_C(1) << i % 32), memory_order_relaxed);
}

/* Writes into the recorder's list whether the thread is to be signalled. */
static void list_copy(struct aif_cpu *c, uint32_t i, bool wanted)
{
	_Atomic uint32_t *copied = &aif_agent.session.shm->cpu_tids[i];
	struct aif_cpu_thread *t = c->at[i].thread;

	t->is_listed = wanted;
	alone_copy(i, wanted && atomic_load_explicit(&t->is_often, memory_order_relaxed));
	atomic_store_explicit(copied, wanted ? t->tid : 0, memory_order_release);
}

/* From now on the thread is signalled, or no more. */
static void list(struct aif_cpu *c, uint32_t i, bool wanted)
{
	struct aif_cpu_thread *t = c->at[i].thread;

	if (wanted != t->is_listed)
		list_copy(c, i, wanted);
	else if (wanted)
		return;
	if (!wanted)
		aif_cpu_timer_delete(t);
	/* A thread that began its samples itself has one. */
	else if (c->mode != AIF_CPU_RECORDER && t->timer < 0 && aif_cpu_timer_start(t) == -EAGAIN)
		note(AIF_REASON_CPU_TOO_MANY);
}

static bool is_worker(uint32_t tid)
{
	return aif_sampler_is_worker(&aif_agent.sampler, tid);
}

/* Samples a thread by ticks alone, or by events again, as often as it leaves the CPU. */
static void switches_look(const struct aif_cpu *c, uint32_t i, uint64_t switches, uint64_t cpu_ns)
{
	struct aif_cpu_thread *t = c->at[i].thread;
	bool was = atomic_load_explicit(&t->is_often, memory_order_relaxed), is,
	     may = atomic_load(&aif_agent.session.options) & AIF_OPTION_CPU_TICKS;

	if (c->mode != AIF_CPU_BOTH || !t->is_listed || (!may && !was) ||
	    atomic_load_explicit(&t->is_young, memory_order_acquire) ||
	    cpu_ns < t->switches_cpu_ns + AIF_CPU_SWITCHES_NS)
		return;
	is = may &&
	     aif_cpu_switches_often(was, switches - t->switches, cpu_ns - t->switches_cpu_ns);
	t->switches = switches;
	t->switches_cpu_ns = cpu_ns;
	if (is == was)
		return;
	atomic_store_explicit(&t->is_often, is, memory_order_release);
	alone_copy(i, is);
	if (t->timer >= 0)
		aif_cpu_timer_set(t);
}

/* A thread blocks signals for a moment when it begins and ends. One that uses so much CPU time meanwhile is reported. */
#define BLOCKS_CPU_NS (AIF_NS_PER_S / 20)

static void look(struct aif_cpu *c, uint32_t i)
{
	struct aif_cpu_thread *t = c->at[i].thread;
	struct aif_task_status s;
	uint64_t cpu_ns;
	bool blocks;

	if (is_worker(t->tid))
		return;
	s = aif_task_status_read(t->tid);
	if (t->is_listed && aif_task_has_signal(s.blocked, AIF_LIBRARY_SIGNAL))
		return;
	blocks = aif_task_has_signal(s.blocked, AIF_SHM_CPU_SIGNAL);
	/* The thread was signalled until the last look, or a little longer. A signal for the process is the program's. */
	if (blocks && !t->is_listed && aif_task_has_signal(s.waiting, AIF_SHM_CPU_SIGNAL) &&
	    !aif_task_has_signal(s.shared, AIF_SHM_CPU_SIGNAL)) {
		aif_cpu_action_drop(true);
		if (c->mode != AIF_CPU_RECORDER)
			timers_set_again(c);
	}
	cpu_ns = aif_clock_ns(AIF_THREAD_CPU_CLOCK(t->tid));
	if (!blocks) {
		t->blocks = false;
	} else if (!t->blocks) {
		t->blocks = true;
		/* Signals that were blocked when the thread was found have been so since it began. */
		t->blocks_cpu_ns = t->is_listed ? cpu_ns : t->clocks.cpu_ns;
	}
	/* A thread that was sampled meanwhile was met at two such moments. */
	t->blocks_cpu_ns = AIF_MAX(t->blocks_cpu_ns, t->clocks.cpu_ns);
	if (blocks && !t->blocks_told && cpu_ns > t->blocks_cpu_ns + BLOCKS_CPU_NS) {
		t->blocks_told = true;
		note(AIF_REASON_CPU_THREAD_BLOCKS);
	}
	list(c, i, !blocks);
	switches_look(c, i, s.switches, cpu_ns);
}

static bool contains(const struct aif_task_list *l, uint32_t tid)
{
	for (uint32_t i = 0; i < l->len; i++)
		if (l->tid[i] == tid)
			return true;
	return false;
}

static void thread_found(struct aif_cpu *c, struct aif_cpu_thread *t)
{
	t->clocks.cpu_ns = aif_clock_ns(AIF_THREAD_CPU_CLOCK(t->tid));
	aif_cpu_account_add(c, t);
}

static void thread_add(struct aif_cpu *c, uint32_t tid)
{
	struct aif_cpu_thread *t = aif_cpu_place_take(c, tid);

	if (!t) {
		if (c->len < AIF_ARRAY_LEN(c->at)) /* no memory */
			return;
		if (!c->too_many)
			note(AIF_REASON_CPU_TOO_MANY);
		c->too_many = true;
		return;
	}
	t->seen_owner = t->owner;
	thread_found(c, t);
	if (aif_cpu_place_publish(c, t))
		atomic_store(&t->place->state, AIF_CPU_PLACE_LIVE);
}

/* Forgets a thread that has ended: no handler uses its memory any more. */
static void thread_remove(struct aif_cpu *c, uint32_t i)
{
	list(c, i, false);
	aif_cpu_place_free(c->at[i].thread);
}

/* Looks whether the thread of a place is there. One that is new since the last visit may be missing among those of before. */
static void see(struct aif_cpu *c, uint32_t i, const struct aif_task_list *now)
{
	struct aif_cpu_thread *t = c->at[i].thread;
	bool is_new;

	if (atomic_load(&c->at[i].state) == AIF_CPU_PLACE_ENDED) {
		thread_remove(c, i);
		return;
	}
	if (!claim(c, i))
		return;
	is_new = t->seen_owner != t->owner;
	t->seen_owner = t->owner;
	if (!is_new && !contains(now, t->tid)) {
		thread_remove(c, i);
		return;
	}
	if (is_worker(t->tid))
		list(c, i, false);
	release(c, i);
}

static bool is_known(const struct aif_cpu *c, uint32_t tid)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++)
		if (c->at[i].tid == tid)
			return true;
	return false;
}

/* `now`: the threads that there were before the last samples were carried. */
static void scan(struct aif_cpu *c, const struct aif_task_list *now)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid),
		 len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++)
		see(c, i, now);
	for (uint32_t n = 0, i; n < LOOKS && n < len; n++) {
		i = c->looked++ % len;
		if (!claim(c, i))
			continue;
		look(c, i);
		release(c, i);
	}
	/* Whether a new thread is a worker shows when the driver has returned. */
	for (uint32_t k = 0; k < now->len && !atomic_load(&aif_agent.sampler.appearing); k++)
		if (now->tid[k] != self && !is_known(c, now->tid[k]) && !is_worker(now->tid[k]) &&
		    !aif_own_thread_has(now->tid[k]))
			thread_add(c, now->tid[k]);
	/* At once, not in turn: who was never looked at since sampling began. */
	len = atomic_load_explicit(&c->len, memory_order_relaxed);
	for (uint32_t i = 0; i < len; i++) {
		if (!claim(c, i))
			continue;
		if (!c->at[i].thread->is_listed && !c->at[i].thread->blocks)
			look(c, i);
		release(c, i);
	}
}

/* ---- the helper's visits ------------------------------------------------------------------------- */

static bool prepare(struct aif_cpu *c)
{
	struct aif_unwind_module m;

	if (c->ready)
		return true;
	if (!c->copied)
		c->copied = aif_pages_unlocked(AIF_CPU_CODES / 8);
	if (!c->codes)
		c->codes = aif_pages_unlocked(AIF_CPU_CODES * sizeof(c->codes[0]));
	if (!c->copied || !c->codes)
		aif_cpu_lacks_memory();
	if (!c->copied || !c->codes ||
	    !aif_unwinder_module(aif_agent.session.unwinder, (uint64_t)(uintptr_t)aif_cpu_on_signal,
				 &m))
		return false;
	c->text_lo = m.lo;
	c->text_hi = m.hi;
	c->stack_top = (uint64_t)aif_auxv(AT_RANDOM);
	c->ready = true;
	return true;
}

/* Holds the CPU time of the process against its samples; `now` is the same as of scan(). */
static void account(struct aif_cpu *c, const struct aif_task_list *now, bool is_last)
{
	struct aif_thread *self;

	/* Samples of other modes weigh another event (record -e), or waiting. */
	if (c->mode != AIF_CPU_BOTH && c->mode != AIF_CPU_TICK)
		return;
	self = aif_thread_enter();
	if (!self)
		return;
	aif_cpu_account(c, self, now, is_last);
	aif_thread_leave(self);
}

static void carry(struct aif_cpu *c)
{
	struct aif_thread *self = aif_thread_enter();

	if (!self) {
		if (atomic_load(&aif_agent.session.armed->on) &&
		    (!aif_self || aif_self->refused == AIF_REFUSED_MEMORY))
			aif_cpu_lacks_memory();
		return;
	}
	/* Samples' modules are those of other threads' stacks, which may have returned from them by now. */
	if (aif_session_modules_pin()) {
		aif_cpu_carry(c, self);
		aif_session_modules_unpin();
	}
	aif_thread_leave(self);
}

static void stop(struct aif_cpu *c)
{
	uint32_t len;

	atomic_store(&c->arms, false);
	len = atomic_load(&c->len);
	for (uint32_t i = 0; i < len; i++) {
		if (!claim(c, i))
			continue;
		list(c, i, false);
		release(c, i);
	}
	carry(c);
	atomic_store_explicit(&c->on, false, memory_order_release);
	c->mode = AIF_CPU_NONE;
}

void aif_cpu_stop_signals(struct aif_cpu *c)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	atomic_store_explicit(&c->wait_period_ns, 0, memory_order_relaxed);
	atomic_store(&c->arms, false);
	atomic_store_explicit(&c->on, false, memory_order_release);
	/* Timers go on; their signals find nothing to do. */
	for (uint32_t i = 0; i < len && (c->mode == AIF_CPU_RECORDER || c->mode == AIF_CPU_BOTH);
	     i++)
		if (c->at[i].thread)
			list_copy(c, i, false);
}

/* The longest that a handler of another thread is waited for, which may have no CPU. */
#define HANDLING_NS      (AIF_NS_PER_S / 2)
#define HANDLING_LOOK_NS 50000

void aif_cpu_silence(struct aif_cpu *c)
{
	uint64_t until = aif_now_ns() + HANDLING_NS;

	if (!c->installed)
		return;
	aif_cpu_stop_signals(c);
	/* The default ignores this signal: the kernel drops those that wait and those that come. */
	aif_cpu_action_drop(false);
	/* A handler says that it is there before it looks whether it may be. */
	while (atomic_load(&c->handling) && aif_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = HANDLING_LOOK_NS}, NULL);
}

void aif_cpu_go_on(struct aif_cpu *c)
{
	atomic_store(&c->is_silenced, true);
}

/* The longest that a thread waits for the helper's visit, and for the recorder to let go of the threads: a call that a
 * program makes once, as it starts. */
#define LEAVE_NS (AIF_NS_PER_S / 2)

static bool lock_until(struct aif_cpu *c, uint64_t until)
{
	while (pthread_mutex_trylock(&c->lock)) {
		if (aif_now_ns() >= until)
			return false;
		sched_yield();
	}
	return true;
}

/* Answers of the recorder's after which no event of its own is left: the first may be of a round that has begun before. */
#define ANSWERS 2

void aif_cpu_leave_signal(struct aif_cpu *c, bool waits)
{
	uint64_t now = aif_now_ns(), until = now + LEAVE_NS;
	int saved = errno, answers = 0;
	struct aif_shm *shm;
	bool was_watched;

	/* In a child of vfork() the memory is the parent's, and no signal comes. */
	if (aif_session_memory() && c->pid && c->pid != getpid())
		return;
	was_watched = atomic_exchange(&c->is_watched, true);
	if (!atomic_load(&c->installed) || atomic_load(&c->events_gone) ||
	    (waits ? atomic_exchange(&c->has_waited, true) : was_watched) ||
	    aif_sandbox_may_be_on())
		return;
	/* Looks for the recorder once the helper cannot begin to sample any more. A child that has not met it has its parent's
	 * threads and none of its memory. */
	shm = aif_session_memory();
	if (!shm) {
		atomic_store(&c->events_gone, true);
		aif_cpu_action_drop(false);
		errno = saved;
		return;
	}
	if (lock_until(c, until)) {
		stop(c);
		pthread_mutex_unlock(&c->lock);
	} else {
		aif_cpu_stop_signals(c);
	}
	for (; waits && answers < ANSWERS && (now = aif_now_ns()) < until; answers++)
		if (!aif_shm_await_answer(shm, aif_shm_ask(shm), until - now))
			break;
	if (answers == ANSWERS)
		atomic_store(&c->events_gone, true);
	aif_cpu_action_drop(false);
	errno = saved;
}

/* Finds that the recorder has closed its events, where nobody waits for that. */
static void look_for_events(struct aif_cpu *c)
{
	struct aif_shm *shm = aif_session_memory();

	if (!shm || !atomic_load(&c->is_watched) || atomic_load(&c->events_gone) ||
	    (c->asked && !aif_shm_await_answer(shm, c->asked, 0)))
		return;
	c->answers += c->asked != 0;
	if (c->answers == ANSWERS)
		atomic_store(&c->events_gone, true);
	else
		c->asked = aif_shm_ask(shm);
}

void aif_cpu_hold_timer(struct aif_cpu *c, bool hold)
{
	const struct itimerspec never = {0};
	struct aif_cpu_thread *t;
	int saved = errno;

	if (!atomic_load(&c->on))
		return;
	t = aif_cpu_thread_here(c);
	if (t && t->timer >= 0) {
		if (hold)
			syscall(SYS_timer_settime, t->timer, 0, &never, NULL);
		else
			aif_cpu_timer_set(t);
	}
	errno = saved;
}

/* Another recorder, another list. */
static void begin_session(struct aif_cpu *c)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++) {
		struct aif_cpu_thread *t = c->at[i].thread;
		bool is_claimed = claim(c, i);

		if (is_claimed && c->mode != AIF_CPU_RECORDER)
			list(c, i, false);
		if (is_claimed || atomic_load(&c->at[i].state) == AIF_CPU_PLACE_ENDED)
			t->is_listed = false;
		if (is_claimed)
			release(c, i);
	}
	c->generation = aif_agent.session.generation;
	c->mode = AIF_CPU_NONE;
	c->refused = c->too_many = false;
	/* A handler that had no CPU may have left a sample since the session before ended. */
	aif_cpu_discard(c);
	c->asked = c->answers = 0;
}

/* The time between two ticks of the kernel: the coarse clock moves with them. Each tick is looked at, so that what the
 * kernel's accounts have since the last one is of this one (cpu_weight.h): some us each. */
#define TICK_MIN_NS UINT64_C(1000000)
#define TICK_MAX_NS UINT64_C(10000000)
static uint64_t tick_ns(void)
{
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) < 0 || t.tv_sec)
		return TICK_MAX_NS;
	return AIF_MIN(AIF_MAX((uint64_t)t.tv_nsec, TICK_MIN_NS), TICK_MAX_NS);
}

static void start(struct aif_cpu *c, uint32_t mode)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	c->mode = mode;
	c->rate = AIF_MAX(aif_agent.session.cpu_rate, 1);
	c->tick_ns = tick_ns();
	aif_cpu_account_begin(c);
	for (uint32_t i = 0; i < len; i++) {
		if (!claim(c, i))
			continue;
		aif_cpu_thread_begin(c, c->at[i].thread);
		thread_found(c, c->at[i].thread);
		release(c, i);
	}
	atomic_store_explicit(&c->on, true, memory_order_release);
}

static void visit(struct aif_cpu *c, uint32_t mode)
{
	struct aif_task_list now;
	bool is_new = false;

	if (c->generation != aif_agent.session.generation)
		begin_session(c);
	look_for_events(c);
	if (mode != AIF_CPU_NONE && !aif_cpu_action_set(c, &is_new)) {
		if (!c->refused)
			note(AIF_REASON_CPU_SIGNAL_TAKEN);
		c->refused = true;
		mode = AIF_CPU_NONE;
	}
	if (c->mode != AIF_CPU_NONE && (mode != c->mode || atomic_exchange(&c->is_silenced, false)))
		stop(c);
	if (mode == AIF_CPU_NONE || !prepare(c))
		return;
	if (is_new && c->mode != AIF_CPU_RECORDER)
		timers_set_again(c);
	if (c->mode == AIF_CPU_NONE)
		start(c, mode);
	aif_task_list_read(&now);
	carry(c);
	scan(c, &now);
	account(c, &now, false);
	if (!atomic_load(&c->arms))
		aif_cpu_arm_from_now(c);
}

void aif_cpu_tick(struct aif_cpu *c, bool collect)
{
	const struct aif_session *s = &aif_agent.session;
	uint32_t mode = collect && s->cpu_rate
				? atomic_load_explicit(&s->shm->cpu, memory_order_relaxed)
				: AIF_CPU_NONE;
	uint64_t wait_period_ns = 0;

	if (mode == AIF_CPU_NEVER)
		mode = AIF_CPU_NONE;
	/* The samples of --wall are of waiting threads, too; where there are no samples, waits are told. */
	if (collect && s->cpu_rate)
		wait_period_ns =
			mode == AIF_CPU_WALL ? AIF_WAIT_SAMPLED : AIF_NS_PER_S / s->cpu_rate;
	atomic_store_explicit(&c->wait_period_ns, wait_period_ns, memory_order_relaxed);
	pthread_mutex_lock(&c->lock);
	visit(c, mode);
	pthread_mutex_unlock(&c->lock);
}

void aif_cpu_flush(struct aif_cpu *c)
{
	if (!atomic_load_explicit(&c->on, memory_order_acquire))
		return;
	pthread_mutex_lock(&c->lock);
	carry(c);
	pthread_mutex_unlock(&c->lock);
}

void aif_cpu_forget(struct aif_cpu *c)
{
	pthread_mutex_lock(&c->lock);
	aif_cpu_discard(c);
	pthread_mutex_unlock(&c->lock);
}

/* The longest that a thread which unloads a library, or the process's last one, waits for the helper's visit. */
#define VISIT_NS 2000000

void aif_cpu_last(struct aif_cpu *c)
{
	const struct aif_session *s = &aif_agent.session;
	struct aif_task_list now;

	/* A child that has not met the recorder has no samples; the helper that holds the lock for longer takes these itself. */
	if (!s->armed || !atomic_load_explicit(&s->armed->on, memory_order_acquire) ||
	    !atomic_load_explicit(&c->on, memory_order_acquire) ||
	    !lock_until(c, aif_now_ns() + VISIT_NS))
		return;
	aif_task_list_read(&now);
	/* A thread of the program may have the loader's lock until the process ends. */
	if (aif_unwinder_closed(s->unwinder) || aif_loader_await_list(&aif_agent.loader))
		carry(c);
	account(c, &now, true);
	atomic_store_explicit(&s->shm->helper_cpu_ns, aif_own_threads_cpu_ns(),
			      memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
}

static bool has_samples(const struct aif_cpu *c)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_acquire);

	for (uint32_t i = 0; i < len; i++) {
		const struct aif_cpu_thread *t = c->at[i].thread;

		if (t && atomic_load_explicit(&t->head, memory_order_relaxed) !=
				 atomic_load_explicit(&t->tail, memory_order_relaxed))
			return true;
	}
	return false;
}

void aif_cpu_before_unload(struct aif_cpu *c)
{
	const struct aif_session *s = &aif_agent.session;

	if (!s->armed || !atomic_load_explicit(&s->armed->on, memory_order_acquire) ||
	    !atomic_load_explicit(&c->on, memory_order_acquire) || !has_samples(c))
		return;
	/* The helper may wait for the loader's lock, which this thread may have. */
	if (!lock_until(c, aif_now_ns() + VISIT_NS)) {
		/* Samples that have not been carried by now may get the names of the next library: dropped, and counted. */
		atomic_store(&c->unloaded_ns, aif_now_ns());
		return;
	}
	carry(c);
	pthread_mutex_unlock(&c->lock);
}

void aif_cpu_after_fork(struct aif_cpu *c)
{
	/* The threads, their timers and events are the parent's. What was copied but not yet kept is told
	 * again by whoever finds it. */
	*c = (struct aif_cpu){.installed = atomic_load(&c->installed),
			      .is_watched = atomic_load(&c->is_watched),
			      .events_gone = atomic_load(&c->is_watched),
			      .interrupts = atomic_load(&c->interrupts),
			      .sees_tls = c->sees_tls,
			      .copied = c->copied,
			      .codes = c->codes,
			      .key = c->key,
			      .has_key = c->has_key};
	pthread_mutex_init(&c->lock, NULL);
	if (c->copied)
		madvise((void *)c->copied, AIF_CPU_CODES / 8, MADV_DONTNEED);
	if (c->codes)
		madvise(c->codes, AIF_CPU_CODES * sizeof(c->codes[0]), MADV_DONTNEED);
}
