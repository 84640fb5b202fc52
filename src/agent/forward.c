/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/forward.h"

#include "agent/agent.h"
#include "agent/own_signal.h"
#include "agent/own_tls.h"
#include "agent/sandbox.h"

/* Flags of a handler that are its entry's to heed, behind the addresses of a process. */
#define HAS_INFO  (UINT64_C(1) << 62)
#define IS_RESET  (UINT64_C(1) << 63)
#define IS_HEEDED (HAS_INFO | IS_RESET)

/* forward_entry.S */
#define ENTRY_BYTES 16
extern const char aif_forward_entries[AIF_FORWARD_ENTRIES][ENTRY_BYTES];
void *aif_forward_begin(uint32_t i, const siginfo_t *info);

static struct aif_forward_entry *entry_of(const struct sigaction *sa)
{
	uintptr_t at = (uintptr_t)sa->sa_sigaction - (uintptr_t)aif_forward_entries;

	return at < sizeof(aif_forward_entries) && at % ENTRY_BYTES == 0
		       ? &aif_agent.forward.at[at / ENTRY_BYTES]
		       : NULL;
}

void aif_forward_wrap(struct sigaction *sa)
{
	uint64_t to = (uint64_t)(uintptr_t)sa->sa_sigaction;

	/* SIG_DFL, SIG_IGN, and what sigaction() was said to refuse. */
	if (to <= 1 || (to & IS_HEEDED) || entry_of(sa))
		return;
	to |= (sa->sa_flags & SA_SIGINFO ? HAS_INFO : 0) |
	      (sa->sa_flags & (int)SA_RESETHAND ? IS_RESET : 0);
	for (uint32_t i = 0; i < AIF_FORWARD_ENTRIES; i++) {
		struct aif_forward_entry *e = &aif_agent.forward.at[i];
		uint64_t was = 0;

		if (i == AIF_FORWARD_ENTRIES - 1)
			atomic_store(&e->to, to);
		else if (!atomic_compare_exchange_strong(&e->to, &was, to) && was != to)
			continue;
		atomic_store(&e->has_come, false);
		sa->sa_sigaction = (void (*)(int, siginfo_t *, void *))aif_forward_entries[i];
		sa->sa_flags = (sa->sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
		return;
	}
}

void aif_forward_unwrap(struct sigaction *sa)
{
	struct aif_forward_entry *e = entry_of(sa);
	uint64_t to;

	if (!e)
		return;
	to = atomic_load(&e->to);
	if ((to & IS_RESET) && atomic_load(&e->has_come))
		to = 0;
	sa->sa_flags &= ~SA_SIGINFO;
	sa->sa_flags |= (to & HAS_INFO ? SA_SIGINFO : 0) | (to & IS_RESET ? (int)SA_RESETHAND : 0);
	sa->sa_sigaction = (void (*)(int, siginfo_t *, void *))(uintptr_t)(to & ~IS_HEEDED);
}

/* Layout of the kernel's. */
struct action {
	const void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

AIF_NO_STACK_PROTECTOR static void change(const struct action *to, struct action *ret_old)
{
	aif_bare_call(SYS_rt_sigaction, AIF_SHM_CPU_SIGNAL, (long)to, (long)ret_old,
		      sizeof(to->mask), 0, 0);
}

/* The kernel sets the default before it calls such a handler. Here the entry stays, and ends what comes: the default
 * would take signals away that wait in other threads, and a handler that another thread sets at this moment. Calls go on
 * where the default would not have ended them. False: the signal has come before. */
AIF_NO_STACK_PROTECTOR static bool reset(uint32_t i)
{
	struct aif_forward_entry *e = &aif_agent.forward.at[i];
	struct action now, was;

	if (atomic_exchange(&e->has_come, true))
		return false;
	if (aif_sandbox_is_on())
		return true;
	change(NULL, &now);
	if (now.handler != aif_forward_entries[i] || (now.flags & SA_RESTART))
		return true;
	now.flags |= SA_RESTART;
	change(&now, &was);
	if (was.handler != now.handler || (was.flags | SA_RESTART) != now.flags ||
	    !atomic_load(&e->has_come))
		change(&was, NULL);
	return true;
}

/* On the stack that the program's handler is to have, where thread-local variables may be another's. Returns that handler,
 * or NULL: the signal is the agent's. */
AIF_NO_STACK_PROTECTOR void *aif_forward_begin(uint32_t i, const siginfo_t *info)
{
	struct aif_forward_entry *e = &aif_agent.forward.at[i];
	uint64_t to = atomic_load(&e->to);

	if (aif_own_signal_is_ours(info) || ((to & IS_RESET) && !reset(i)))
		return NULL;
	return (void *)(uintptr_t)(to & ~IS_HEEDED); /* NOLINT(performance-no-int-to-ptr) */
}
