/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "profile/model.h"

/*
 * config.json: what was measured and on what, as texts: command, threads and CPUs it was pinned to, the machine's CPU, devices
 * and their drivers; and a hash of these. Runs of two configurations are not compared. Where a run writes
 * is no part of it: paths of the run directory begin with {}, those that options have in /tmp are one.
 */

/* Writes it. threads 0: not pinned; env: what was set, NULL-terminated, or NULL. 0 or -errno with *err. */
int aif_runbook_config_put(const char *dir, char *const *argv, uint32_t threads, char *const *env,
			   const struct aif_profile *p, struct aif_err *err);
/* Appends the hash; nothing where the directory has none. */
void aif_runbook_config_hash(const char *dir, struct aif_buf *out);
/* Appends in which texts two directories differ, and returns if they do. Directories without config.json, as v7's, do not.
 * any_machine: the CPU, devices and drivers may differ. */
bool aif_runbook_config_differs(const char *a, const char *b, bool any_machine,
				struct aif_buf *why);
