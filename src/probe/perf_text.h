/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* perf's own file as text: `perf script` reads it, which knows all of its versions. */
struct aif_perf_text_child {
	pid_t pid; /* 0: none runs */
};

/* Starts perf script. Returns a descriptor of what it prints, or -errno with *err. */
int aif_perf_text_start(struct aif_perf_text_child *c, const char *path, struct aif_err *err);
/* Waits for it; is_whole: all that it printed was read, else it is stopped. 0 or -errno with *err: it failed. */
int aif_perf_text_end(struct aif_perf_text_child *c, const char *path, bool is_whole,
		      struct aif_err *err);
