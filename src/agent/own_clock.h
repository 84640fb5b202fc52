/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"
#include "agent/sandbox.h"

#include <sys/prctl.h>

/* A thread of a program may forbid itself the processor's clock (PR_SET_TSC), and with it its children and the threads that it
 * makes, the agent's among them: clock_gettime() ends the process then. */

/* Allows this thread to read the clock; *ret_was_forbidden: it was not. False: it may not, as a filter of system calls could end
 * the program at the call that allows it. */
static inline bool aif_own_clock_allow(bool *ret_was_forbidden)
{
	const struct aif_session *s = &aif_agent.session;
	int how = PR_TSC_ENABLE;

	*ret_was_forbidden = false;
	if (!atomic_load_explicit(&s->clock_forbidden, memory_order_relaxed))
		return true;
	if (aif_sandbox_is_on() || atomic_load(&s->harmless) ||
	    prctl(PR_GET_TSC, &how, 0, 0, 0) < 0)
		return false;
	*ret_was_forbidden = how == PR_TSC_SIGSEGV;
	return !*ret_was_forbidden || prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0) == 0;
}
