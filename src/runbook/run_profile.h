/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runbook/judge.h"

/* Reads profile_summary.json, ours or v7's: what is made of its entries, and of our paths where they are there. expect: classes,
 * with commas. 0 or -errno with *err. */
int aif_runbook_profile_read(const char *path, const char *expect, struct aif_runbook_values *ret,
			     struct aif_err *err);
