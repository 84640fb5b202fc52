/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Finds libaiflame-agent.so: $AIFLAME_AGENT; beside this executable (the build directory); or in
 * the library directory that was installed with it. Always a name, in `to`; whether it is there
 * is the caller's to see. Holds neither space nor colon where there is another name without
 * them. */
void aif_agent_path(char *to, size_t size);

/* Finds what keeps other users from reading the agent: writes the file, or the folder above it, into `to`. False: nothing
 * does. */
bool aif_agent_is_closed(const char *agent, char *to, size_t size);

/* NULL, or why nothing can be recorded, and what to do: "WHY; DO THIS". This build has no agent, or /proc is not mounted. */
const char *aif_agent_why_none(void);
