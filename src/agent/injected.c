/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "base/auxv.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * The agent in a process that ran already: an injector has loaded it (src/inject) and calls this, in a thread of its own,
 * with what the environment says elsewhere; or the program has loaded it itself (program.c). From here on the process is on
 * standby.
 *
 * An agent that is asleep in a process, since no runtime has started there, is woken by the same call, for CPU samples. It stands
 * in front of functions and sees runtimes start as it would without that.
 *
 * Not preloaded, the agent stands in front of no function of the program. The helper looks each second whether libraries
 * were unloaded, so that a stack may be wrong for that long if another comes to lie where one was; no table of a library
 * that is gone is read, since the loader says what is there (unwind/modules.h).
 *
 * Runtimes have started without us. Those that let a tool in later are joined by the helper (start_late() of runtime.h), once
 * the program uses them; the others' launches are not seen.
 */

extern const char aif_agent_here[];

/* A forked child has no use of its parent's runtimes. */
void aif_injected_start_runtimes(void)
{
	const struct aif_environment *env = &aif_agent.env;

	if (env->injected && env->injected_into == getpid())
		aif_runtimes_start_late();
}

/* True where the agent is asleep: the program was started with it and has used no device, or was forked by one that it was put into.
 * Of it there is nothing but the constructor's work, or the parent's. */
static bool is_asleep(const struct aif_environment *env, const struct aif_injected *about,
		      const void *first)
{
	/* An agent that is loaded now may find the variables in the environment of a program that was not started with it. */
	if (!about->was_there)
		return false;
	return (first == aif_agent_here && env->carrier && *env->standby) ||
	       (env->injected && env->injected_into != getpid());
}

int aif_agent_injected(const struct aif_injected *about)
{
	struct aif_environment *env = &aif_agent.env;
	static atomic_bool called;
	const void *first = dlsym(RTLD_DEFAULT, "aif_agent_here");
	int clock = 0, r;

	if (about->magic != AIF_STANDBY_MAGIC || about->wire_version != AIF_WIRE_VERSION)
		return -EPROTO;
	if (aif_auxv(AT_SECURE))
		return -EPERM;
	if (!atomic_load(&env->is_read))
		return -EAGAIN;
	if (is_asleep(env, about, first)) {
		r = aif_agent_start_without_device();
		/* A forked child that no recorder has met yet is on standby all the same. */
		return r < 0 && aif_agent.session.standby.shown ? 0 : r;
	}
	/* This copy's own constructor may have found AIFLAME_STANDBY in the environment: nothing has begun by that. */
	if ((first && first != aif_agent_here) || atomic_exchange(&called, true) ||
	    atomic_load(&aif_agent.session.starting))
		return -EEXIST;
	aif_agent_choose_clock();
	/* A program that was prepared is seen to forbid it (guard.c). */
	if (prctl(PR_GET_TSC, &clock, 0, 0, 0) == 0 && clock == PR_TSC_SIGSEGV)
		atomic_store(&aif_clock_by_call, true);
	*env->socket = '\0';
	memcpy(env->standby, about->standby, sizeof(env->standby) - 1);
	memcpy(env->runtime, about->runtime, sizeof(env->runtime) - 1);
	env->level = (enum aif_standby_level)about->level;
	env->filters = AIF_FILTERS_UNKNOWN;
	env->injected = true;
	env->injected_into = getpid();
	env->carrier = true;
	return aif_agent_start_without_device();
}
