/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sandbox.h"

#include "agent/agent.h"
#include "unwind/python_read.h"
#include "base/clock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The recorder looks 100 times a second. One that does not answer in time is busy: calls are then left to the
 * next round. */
#define ASK_NS (AIF_NS_PER_S / 10)
/* Interval at which the standby bell is looked at meanwhile: a killed recorder never answers, and the next one
 * waits. */
#define BELL_EACH_NS (AIF_NS_PER_S / 100)
/* Programs install their filters within microseconds of what announces them. */
#define QUIET_NS AIF_NS_PER_S
/* A round takes a millisecond where there are hundreds of threads, more where there is no CPU for it. */
#define ROUND_NS (AIF_NS_PER_S / 2)
#define PAUSE_NS 100000

bool aif_sandbox_is_on(void)
{
	return atomic_load_explicit(&aif_agent.session.filtered, memory_order_relaxed);
}

bool aif_sandbox_may_be_on(void)
{
	uint64_t until =
		atomic_load_explicit(&aif_agent.session.quiet_until_ns, memory_order_relaxed);

	return aif_sandbox_is_on() ||
	       atomic_load_explicit(&aif_agent.session.installing, memory_order_acquire) ||
	       (until && aif_now_ns() < until);
}

/* Asks the recorder of `a` for the filter. False: there was no answer in time, or another recorder has rung. */
static bool ask(const struct aif_attachment *a)
{
	struct aif_standby *standby = &aif_agent.session.standby;
	uint32_t asked = aif_shm_ask(a->shm);
	uint64_t until = aif_now_ns() + ASK_NS;

	do {
		if (aif_shm_await_answer(a->shm, asked, BELL_EACH_NS))
			return true;
	} while (aif_now_ns() < until && !aif_standby_has_rung(standby) &&
		 !aif_own_thread_is_to_leave());
	return false;
}

bool aif_sandbox_begin(const struct aif_attachment *a, bool alive)
{
	struct aif_session *s = &aif_agent.session;
	bool is_answered = !a || !alive || ask(a);

	if (a && atomic_load(&a->shm->filter) != AIF_FILTER_NONE)
		atomic_store(&s->filtered, true);
	if (!is_answered || atomic_load(&s->filtered))
		return false;
	/* Each of the two says what it is about to do before it looks at the other. */
	atomic_store(&s->calling, true);
	if (!atomic_load(&s->installing) && aif_now_ns() >= atomic_load(&s->quiet_until_ns))
		return true;
	atomic_store(&s->calling, false);
	return false;
}

void aif_sandbox_end(void)
{
	atomic_store(&aif_agent.session.calling, false);
}

/* Waits while the helper makes calls. */
static void await_round(struct aif_session *s)
{
	uint64_t until = aif_now_ns() + ROUND_NS;

	while (atomic_load(&s->calling) && aif_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

void aif_sandbox_expect(void)
{
	struct aif_session *s = &aif_agent.session;

	if (!atomic_load_explicit(&aif_agent.own.pid, memory_order_relaxed))
		return;
	atomic_store(&s->quiet_until_ns, aif_now_ns() + QUIET_NS);
	await_round(s);
	/* A handler would take no sample, and yet return by a call that the filter may forbid. A child of vfork() has its
	 * parent's timers. */
	if (aif_session_memory() && atomic_load(&aif_agent.own.pid) == getpid()) {
		aif_cpu_silence(&aif_agent.cpu);
		aif_cpu_go_on(&aif_agent.cpu);
	}
}

/* Waits while another thread meets a recorder: it has said how many filters there are, and has no memory yet in which another
 * one could be counted. */
static void await_start(struct aif_session *s)
{
	uint64_t until = aif_now_ns() + ROUND_NS;

	while (atomic_load(&s->starting) && !atomic_load(&s->started) && aif_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static bool is_readable(const void *at, size_t len)
{
	struct aif_python_reader r = {.probe = true};

	/* The probe's page 0 is no page: it stands for no address. */
	return len && (uintptr_t)at >= AIF_PYTHON_PAGE &&
	       aif_python_probe(&r, (uint64_t)(uintptr_t)at, len);
}

static enum aif_filter_allows check(const struct sock_fprog *filter)
{
	if (!filter || !is_readable(filter, sizeof(*filter)) || filter->len > BPF_MAXINSNS ||
	    !is_readable(filter->filter, filter->len * sizeof(filter->filter[0])))
		return AIF_FILTER_ALLOWS_NOTHING;
	return aif_filter_check(filter->filter, filter->len);
}

void aif_sandbox_install_begin(struct aif_sandbox_install *i, const struct sock_fprog *filter,
			       bool is_for_all)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_shm *shm;

	*i = (struct aif_sandbox_install){0};
	if (aif_sandbox_is_on())
		return;
	await_start(s);
	shm = aif_session_memory();
	i->allows = check(filter);
	i->is_harmless = i->allows == AIF_FILTER_ALLOWS_ALL;
	i->is_counted = shm && (is_for_all || syscall(SYS_gettid) == getpid());
	if (i->is_harmless) {
		atomic_fetch_add(&s->harmless, 1);
		if (i->is_counted)
			atomic_fetch_add(&shm->harmless_filters, 1);
		atomic_store(&s->quiet_until_ns, 0); /* it was expected */
		return;
	}
	/* There is nothing of ours, or it is the parent's, whose memory a child of vfork() has. */
	if (!atomic_load(&aif_agent.own.pid) || atomic_load(&aif_agent.own.pid) != getpid())
		return;
	if (!shm)
		aif_session_report_filter();
	i->is_begun = true;
	atomic_fetch_add(&s->installing, 1);
	/* A helper beside a device writes for threads without a ring. */
	if (s->runtimes && (!is_for_all || i->allows == AIF_FILTER_ALLOWS_WAITING))
		await_round(s);
	else
		i->has_left = aif_own_threads_leave();
	/* A child of a fork has the parent's list of threads until it meets the recorder. */
	if (aif_session_memory())
		aif_cpu_silence(&aif_agent.cpu);
}

void aif_sandbox_install_end(const struct aif_sandbox_install *i, bool is_installed)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_shm *shm = aif_session_memory();

	if (i->is_harmless) {
		if (is_installed)
			return;
		atomic_fetch_sub(&s->harmless, 1);
		if (i->is_counted)
			atomic_fetch_sub(&shm->harmless_filters, 1);
		return;
	}
	if (!i->is_begun)
		return;
	if (is_installed) {
		atomic_store(&s->filtered, true);
		if (shm)
			atomic_store(&shm->filtered, 1);
	}
	atomic_fetch_sub(&s->installing, 1);
	if (!is_installed)
		aif_cpu_go_on(&aif_agent.cpu);
	if (i->has_left && is_installed)
		aif_own_threads_stay_away();
	else if (i->has_left)
		aif_own_threads_return();
}
