/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * The name of the profile: %h host, %p the recorder's pid, %r rank, %q{VAR} an environment variable,
 * %% a percent sign. Without any of %r and %p, and with one recorder for each task of a parallel job
 * (base/job_rank.h), ".HOST.RANK" is added, so that no two tasks write one file.
 */
int aif_outname(const char *pattern, char *ret, size_t size, struct aif_err *err);
