/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "wire/injected.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

/*
 * The agent in a process that ran already: an injector has loaded it (src/inject) and calls this, in a thread of its own,
 * with what the environment says elsewhere. From here on the process is on standby.
 *
 * Not preloaded, the agent stands in front of no function of the program. The helper looks each second whether libraries
 * were unloaded, so that a stack may be wrong for that long if another comes to lie where one was; no table of a library
 * that is gone is read, since the loader says what is there (unwind/modules.h).
 */
AIF_PUBLIC aif_injected_fn aif_agent_injected;

extern const char aif_agent_here[];

int aif_agent_injected(const struct aif_injected *about)
{
	struct aif_environment *env = &aif_agent.env;
	static atomic_bool called;
	const void *first = dlsym(RTLD_DEFAULT, "aif_agent_here");

	if (about->magic != AIF_STANDBY_MAGIC || about->wire_version != AIF_WIRE_VERSION)
		return -EPROTO;
	if (getauxval(AT_SECURE))
		return -EPERM;
	if ((first && first != aif_agent_here) || atomic_exchange(&called, true) || env->carrier)
		return -EEXIST;
	memcpy(env->standby, about->standby, sizeof(env->standby) - 1);
	memcpy(env->runtime, about->runtime, sizeof(env->runtime) - 1);
	env->level = (enum aif_standby_level)about->level;
	env->filters = AIF_FILTERS_UNKNOWN;
	env->injected = true;
	env->carrier = true;
	return aif_agent_start_without_device();
}
