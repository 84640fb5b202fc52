/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/cpu_buffer.h"
#include "agent/own_signal.h"
#include "agent/own_tls.h"

#include <string.h>

/*
 * The action of the signal. The program may set another one in any of its threads, and nobody locks: who replaces an
 * action looks at what was there in the same call, and puts it back if it was not the expected one.
 */

static bool is_ours(const struct sigaction *sa)
{
	return (sa->sa_flags & SA_SIGINFO) && sa->sa_sigaction == aif_cpu_on_signal;
}

static bool is_default(const struct sigaction *sa)
{
	return !(sa->sa_flags & SA_SIGINFO) && sa->sa_handler == SIG_DFL;
}

static bool is_ours_now(void)
{
	struct sigaction sa;

	return aif_own_signal_action(NULL, &sa) == 0 && is_ours(&sa);
}

bool aif_cpu_action_set(struct aif_cpu *c, bool *ret_is_new)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK}, old;

	*ret_is_new = false;
	if (atomic_load(&c->is_watched))
		return false;
	if (atomic_load(&c->installed) && is_ours_now())
		return true;
	if (aif_own_signal_action(NULL, &old) < 0 || !is_default(&old))
		return false;
	c->sees_tls = aif_tls_can_be_seen();
	sa.sa_sigaction = aif_cpu_on_signal;
	memset(&sa.sa_mask, 0xff, sizeof(sa.sa_mask));
	/* Lets sigaction() look at what it replaces. */
	atomic_store(&c->installed, true);
	if (aif_own_signal_action(&sa, &old) < 0)
		return false;
	if (!is_default(&old) && !is_ours(&old)) {
		aif_own_signal_action(&old, NULL);
		return false;
	}
	*ret_is_new = true;
	/* Each of the two says what it is about to do before it looks at the other. */
	return !atomic_load(&c->is_watched);
}

void aif_cpu_action_drop(bool goes_on)
{
	struct sigaction none = {.sa_handler = SIG_DFL}, was, now;

	if (!is_ours_now() || aif_own_signal_action(&none, &was) < 0)
		return;
	if (!is_ours(&was))
		aif_own_signal_action(&was, NULL);
	else if (goes_on && aif_own_signal_action(&was, &now) == 0 && !is_default(&now))
		aif_own_signal_action(&now, NULL);
}
