/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/scratch.h"
#include "profile/file.h"

/* Writes a profile beside `path`, what fill() writes, and puts it there once it is whole; a profile that was there becomes path.old.
 * p: its times, the end as it is after fill(). 0 or -errno with *err, which names `path`; then nothing is left. */
int aif_profile_output(const char *path, const struct aif_profile *p, struct aif_scratch *scratch,
		       int (*fill)(void *arg, struct aif_writer *w, struct aif_err *err), void *arg,
		       struct aif_err *err);
