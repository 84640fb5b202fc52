/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runbook/run_plan.h"

struct aif_runbook_ledger_opts {
	const char *dir, *family, *expect; /* as of aif_runbook_dir_judge() */
	const char *note, *baseline;       /* NULL: none */
	const struct aif_runbook_plan *plan;
};

/* Adds a line to the directory's ledger.jsonl: commit, note, values, verdict, stacks that grew since the baseline, and sums of the
 * files. 0 or -errno with *err. */
int aif_runbook_ledger(const struct aif_runbook_ledger_opts *o, struct aif_err *err);
