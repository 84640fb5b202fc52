/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/inject.h"

/* Does an injector's work. 0, or -errno with *err; counts in *ret. `program`: the target's (base/program_held.h), of
 * which it stays out once it has become another; `agent`: a descriptor of the library. */
int aif_inject_work(pid_t pid, int program, int agent, const struct aif_injected *about,
		    struct aif_inject_result *ret, struct aif_err *err);
