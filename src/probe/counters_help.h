/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/*
 * The list of `record --counters`, and what could stand in it: the metric groups that Level Zero's
 * drivers tell of, which differ from GPU to GPU. A driver is asked in a child process, as one that
 * is asked for metrics may crash.
 */

/* 0: names with commas between, none of them empty, and few enough for the agent. Else -EINVAL
 * with *err. */
int aif_counters_check(const char *list, struct aif_err *err);
/* "help" or "list", alone or with names of groups behind it. */
bool aif_counters_is_help(const char *list);
/* Appends the groups of all GPUs, or what is in those that it names. 0 or -errno with *err. */
int aif_counters_help(const char *list, struct aif_buf *out, struct aif_err *err);
/* Intel's library that describes metrics is there: asked for them without it, Intel's driver
 * does not start at all. */
bool aif_counters_can_be(void);
