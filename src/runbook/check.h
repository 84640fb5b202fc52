/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runbook/run_dir.h"

/* Judging a run directory, as aiflame runbook and aiflame gate --dir do. */

/* Classes of functions in which time should go, where nothing else is said. */
#define AIF_RUNBOOK_EXPECT "gemm,attention"

/* Appends a row of the decision table that fired. v: the run's values, NULL for a metric that the project names. */
void aif_runbook_put_signal(const struct aif_runbook_signal *s, const struct aif_runbook_values *v,
			    struct aif_buf *out);
void aif_runbook_put_signals(const struct aif_runbook_judged *j, struct aif_buf *out);

struct aif_runbook_check_opts {
	const char *who, *dir, *family, *expect; /* who: the command, for its messages */
	const char *const *require;              /* as aif_require(); ends with NULL */
	int cannot_tell;                         /* 0 fail, 1 pass, -1 neither */
	bool v7_exit;
	aif_say *say; /* what --require names and does not hold */
};
/* Judges, appends what was found, and writes perf_gate_report.json and run_index.json. Returns the exit status. */
int aif_runbook_check(const struct aif_runbook_check_opts *o, struct aif_buf *out,
		      struct aif_err *err);
