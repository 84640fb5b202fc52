/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/injection.h"

#include "agent/emit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Any place in this library. */
extern const char aif_agent_here[];

void aif_injection_set(void)
{
	struct aif_environment *env = &aif_agent.env;
	const char *theirs = getenv(AIF_ENV_NVTX_INJECTION);
	Dl_info own;

	if (!dladdr(aif_agent_here, &own) || !own.dli_fname)
		return;
	if (!theirs || !*theirs)
		setenv(AIF_ENV_NVTX_INJECTION, own.dli_fname, 1);
	else if (strcmp(theirs, own.dli_fname) != 0)
		memcpy(env->nvtx_taken, theirs, strnlen(theirs, sizeof(env->nvtx_taken) - 1));
}

void aif_injection_report(struct aif_thread *t)
{
	struct aif_environment *env = &aif_agent.env;

	if (*env->nvtx_taken && !atomic_exchange(&env->nvtx_reported, true) &&
	    !aif_emit_note(t, AIF_REASON_NVTX_TAKEN, 1, env->nvtx_taken))
		atomic_store(&env->nvtx_reported, false);
}

void aif_injection_at_exit(void)
{
	struct aif_environment *env = &aif_agent.env;
	struct aif_thread *t;

	if (!*env->nvtx_taken || atomic_load(&env->nvtx_reported))
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	aif_injection_report(t);
	aif_thread_leave(t);
}
