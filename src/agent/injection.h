/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/thread.h"

/*
 * The variable by which NVTX finds its tool: one library only, so that one which the environment names already is left
 * alone, and named in the profile.
 */

/* In the constructor, where the recorder asks for ranges: names this library, unless one is named. The one place where
 * the target's malloc is used (by setenv): the process has one thread then. */
void aif_injection_set(void);
/* Reports once that another library was named. */
void aif_injection_report(struct aif_thread *t);
/* Does so in a process that ends before its helper got a CPU. */
void aif_injection_at_exit(void);
