/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runbook/run_dir.h"

/* Judging a run directory, as aiflame runbook and aiflame gate --dir do. */

enum { AIF_EXIT_REGRESSION = 3, AIF_EXIT_CANNOT_TELL = 4 };
/* Classes of functions in which time should go, where nothing else is said. */
#define AIF_RUNBOOK_EXPECT "gemm,attention"

/* Prints a row of the decision table that fired. v: the run's values, NULL for a metric that the project names. */
void aif_runbook_print_signal(const struct aif_runbook_signal *s,
			      const struct aif_runbook_values *v);
void aif_runbook_print_signals(const struct aif_runbook_judged *j);

struct aif_runbook_check_opts {
	const char *who, *dir, *family, *expect; /* who: the command, for its messages */
	const char *const *require;              /* as aif_require(); ends with NULL */
	int cannot_tell;                         /* 0 fail, 1 pass, -1 neither */
	bool v7_exit;
};
/* Judges, prints, and writes perf_gate_report.json and run_index.json. Returns the exit status. */
int aif_runbook_check(const struct aif_runbook_check_opts *o, struct aif_err *err);
