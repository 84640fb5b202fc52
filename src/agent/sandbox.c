/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sandbox.h"

#include "agent/agent.h"
#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
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

	return aif_sandbox_is_on() || (until && aif_now_ns() < until);
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
	} while (aif_now_ns() < until && !aif_standby_has_rung(standby));
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
	if (aif_now_ns() >= atomic_load(&s->quiet_until_ns))
		return true;
	atomic_store(&s->calling, false);
	return false;
}

void aif_sandbox_end(void)
{
	atomic_store(&aif_agent.session.calling, false);
}

static void expect_filter(void)
{
	struct aif_session *s = &aif_agent.session;
	uint64_t now = aif_now_ns(), until = now + ROUND_NS;

	if (!atomic_load_explicit(&s->helped, memory_order_relaxed))
		return;
	atomic_store(&s->quiet_until_ns, now + QUIET_NS);
	while (atomic_load(&s->calling) && aif_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* Preloaded, this is everybody's prctl. */
AIF_PUBLIC int prctl(int option, ...);
int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list list;

	va_start(list, option);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(arg); i++)
		arg[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) {
		int saved = errno;

		expect_filter();
		errno = saved;
	}
	return (int)syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}
