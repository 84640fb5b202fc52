/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/scratch.h"

/* Has make() write a profile beside `path`, and puts it there once it is whole; a profile that was there becomes path.old. 0 or -errno
 * with *err; then nothing is left. */
int aif_merge_output(const char *path, struct aif_scratch *scratch,
		     int (*make)(void *arg, const char *part, struct aif_err *err), void *arg,
		     struct aif_err *err);
