/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/profile_names.h"
#include "runbook/run_dir.h"

/*
 * runbook.json: what a project runs and how, so that each run is of the same configuration (docs/runbook.md). What the
 * command line says replaces it.
 */
#define AIF_RUNBOOK_PLAN "runbook.json"

enum { AIF_RUNBOOK_PLAN_LIST = 64 };
/* Strings with a NULL behind them. */
struct aif_runbook_words {
	char *at[AIF_RUNBOOK_PLAN_LIST + 1];
	size_t len;
};
struct aif_runbook_plan {
	char *family, *expect, *cpus; /* NULL: not said; expect: with commas */
	uint32_t threads, runs, warmup;
	bool with_vtune, with_advisor;
	struct aif_runbook_words thread_env, require;
	struct aif_runbook_words env,
		metrics; /* NAME=VALUE; NAME=FILE:.WAY or NAME=range:RANGE, and a direction */
	struct aif_runbook_plan_mode {
		char *name;
		struct aif_runbook_words cli, python;
	} modes[AIF_RUNBOOK_MODES];
	size_t modes_len;
	aif_profile_opener *open; /* of recordings, for metrics; NULL: none is opened */
};

/* Reads a file. 0; -ENOENT without it; another -errno: it is damaged or has what is not known; *err is set. *ret is finished
 * by the caller in any case. */
int aif_runbook_plan_read(const char *path, struct aif_runbook_plan *ret, struct aif_err *err);
void aif_runbook_plan_finish(struct aif_runbook_plan *p);

/* Finds the command of these modes (NULL-terminated; none: all of the plan, which *modes then names), of Python programs
 * where V7_PERF_RUNTIME says so. 0, or -EINVAL with *err: there is none, or they have several. */
int aif_runbook_plan_command(const struct aif_runbook_plan *p,
			     const char *modes[AIF_RUNBOOK_MODES + 1], char ***ret,
			     struct aif_err *err);

/* Adds a tool by its name. False: there is no such. */
bool aif_runbook_plan_tool(struct aif_runbook_plan *p, const char *name, size_t len);

/* True if a text is a metric: NAME=FILE:.WAY or NAME=range:RANGE, and " higher" or " lower" behind it where more or less
 * of it is better. */
bool aif_runbook_is_metric(const char *text);
/* Returns which way a metric is better, as of aif_runbook_metric_signal(): as is said behind it, less of a range's time,
 * or by a name that is known ("train_tok_s"); else 0. */
char aif_runbook_metric_direction(const char *metric);
/* Takes these (NULL-terminated) in place of the plan's metrics, if there are any. 0 or -errno with *err. */
int aif_runbook_plan_set_metrics(struct aif_runbook_plan *p, const char *const *metrics,
				 struct aif_err *err);
/* Returns the metric i of a run directory: a number of a file, or the mean milliseconds of the recording's ranges of a name;
 * NAN where there is none. *ret_name_len: of its name, with which the text begins. metric.c */
double aif_runbook_plan_metric(const struct aif_runbook_plan *p, size_t i, const char *dir,
			       size_t *ret_name_len);
