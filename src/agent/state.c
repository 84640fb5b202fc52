/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

/* The agent's state: all of it that is mutable, but for some words of threads. */

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));
__thread uint64_t aif_launching __attribute__((tls_model("initial-exec")));
