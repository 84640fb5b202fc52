/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/alternate.h"

#include "agent/agent.h"
#include "agent/memory/pages.h"
#include "agent/own_signal.h"
#include "agent/own_tls.h"
#include "agent/sandbox.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE 131072
/* Signals that the kernel has. */
#define SIGNALS 64

static int set(const stack_t *to, stack_t *ret_old)
{
	return (int)aif_guard_pass(SYS_sigaltstack, to, ret_old, NULL, 0);
}

AIF_NO_STACK_PROTECTOR static bool is_ours(const stack_t *s)
{
	return !(s->ss_flags & SS_DISABLE) && s->ss_size == AIF_ALTERNATE_BYTES;
}

AIF_NO_STACK_PROTECTOR static bool is_none(const stack_t *s)
{
	return (s->ss_flags & SS_DISABLE) || !s->ss_size;
}

AIF_NO_STACK_PROTECTOR static stack_t ours(void *memory)
{
	return (stack_t){.ss_sp = memory, .ss_size = AIF_ALTERNATE_BYTES};
}

/* True for signals that the C library keeps for itself: its handlers need hardly any stack. */
static bool is_librarys(int signal)
{
	return signal >= 32 && signal < SIGRTMIN;
}

/* True if a handler of the program's, which may have been set unseen, wants an alternate stack. */
static bool is_wanted_by_handlers(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} sa;

	for (int i = 1; i <= SIGNALS; i++)
		if (i != AIF_SHM_CPU_SIGNAL && !is_librarys(i) &&
		    aif_guard_pass(SYS_rt_sigaction, (const void *)(intptr_t)i, NULL, &sa,
				   sizeof(sa.mask)) == 0 &&
		    sa.handler != (void *)SIG_DFL && sa.handler != (void *)SIG_IGN &&
		    (sa.flags & SA_ONSTACK))
			return true;
	return false;
}

void *aif_alternate_new(void)
{
	uint8_t *top = aif_pages_stack(SIZE);

	return top ? top - SIZE : NULL;
}

void aif_alternate_look(void)
{
	if (!atomic_load(&aif_agent.cpu.keeps_alternate) && is_wanted_by_handlers())
		atomic_store(&aif_agent.cpu.keeps_alternate, true);
}

void aif_alternate_take(void *memory)
{
	int saved = errno;
	stack_t now = {0}, to;

	if (atomic_load(&aif_agent.cpu.keeps_alternate) || aif_sandbox_may_be_on() ||
	    set(NULL, &now) < 0 || !is_none(&now))
		goto out;
	if (!atomic_exchange(&aif_agent.cpu.knows_handlers, true)) {
		aif_alternate_look();
		if (atomic_load(&aif_agent.cpu.keeps_alternate))
			goto out;
	}
	to = ours(memory ? memory : aif_alternate_new());
	if (to.ss_sp)
		set(&to, NULL);
out:
	errno = saved;
}

void aif_alternate_return(void)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	int saved = errno;
	stack_t now = {0};

	if (!aif_sandbox_may_be_on() && set(NULL, &now) == 0 && is_ours(&now))
		set(&none, NULL);
	errno = saved;
}

AIF_NO_STACK_PROTECTOR void aif_alternate_at_return(ucontext_t *uc, void *memory)
{
	if (memory && is_none(&uc->uc_stack) &&
	    !atomic_load_explicit(&aif_agent.cpu.keeps_alternate, memory_order_relaxed))
		uc->uc_stack = ours(memory);
}

void aif_alternate_leave(void)
{
	atomic_store(&aif_agent.cpu.keeps_alternate, true);
}

int aif_alternate_set(const stack_t *to, stack_t *ret_old)
{
	stack_t now = {0};
	int r;

	if (set(NULL, &now) < 0 || !is_ours(&now))
		return set(to, ret_old);
	/* Ours stays where the program asks for none. */
	r = set(to, ret_old);
	if (r < 0)
		return r;
	if (to && (to->ss_flags & SS_DISABLE))
		set(&now, NULL);
	if (ret_old)
		*ret_old = (stack_t){.ss_flags = SS_DISABLE};
	return 0;
}

AIF_PUBLIC __typeof__(sigaltstack) sigaltstack;
int sigaltstack(const stack_t *to, stack_t *ret_old)
{
	return aif_alternate_set(to, ret_old);
}
