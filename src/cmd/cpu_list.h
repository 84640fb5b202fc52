/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <sched.h>

/* Parses a list of CPUs, "0-3,8". 0 or -EINVAL with *err, which begins with `who`. */
int aif_cpu_list(const char *who, const char *list, cpu_set_t *ret, struct aif_err *err);
