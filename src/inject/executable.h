/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* Describes the file of a process's program. */
struct aif_executable {
	bool is_narrow;       /* 32-bit */
	bool has_loader;      /* names a loader, which maps the rest */
	bool needs_libraries; /* names libraries: of C's, as a rule, one */
};

/* Reads the headers of the file; all is false of one that cannot be read, or that a user serves. */
void aif_executable_look(pid_t pid, struct aif_executable *ret);
