/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/standby.h"

/*
 * Carries what an injector tells the agent that it has put into a running process, in place of the variables of `aiflame env`. One
 * that it wakes there has these.
 * Constant once the call has returned.
 */
#define AIF_INJECTED_SYMBOL "aif_agent_injected"

struct aif_injected {
	uint32_t magic, wire_version;      /* AIF_STANDBY_MAGIC, AIF_WIRE_VERSION */
	uint32_t level;                    /* enum aif_standby_level */
	char runtime[16];                  /* the only one to listen to; "" = all */
	char standby[AIF_STANDBY_DIR_MAX]; /* terminated; as the process sees it */
	bool was_there;                    /* the agent was not loaded for this call */
};

/* The agent's function of that name: 0 or -errno. */
typedef int aif_injected_fn(const struct aif_injected *about);
