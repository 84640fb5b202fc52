/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/inject.h"

/* Does an injector's work. 0, or -errno with *err; counts in *ret. `agent`: a descriptor of the library. */
int aif_inject_work(pid_t pid, int agent, const struct aif_injected *about,
		    struct aif_inject_result *ret, struct aif_err *err);
