/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#define AIF_RUNBOOK_VALUE(id, key, file, way, runs) AIF_RUNBOOK_##id,
enum aif_runbook_value {
#include "runbook/values.def"
	AIF_RUNBOOK_VALUES
};
#undef AIF_RUNBOOK_VALUE

/* Values of a run directory; NAN: not known. */
struct aif_runbook_values {
	double of[AIF_RUNBOOK_VALUES];
	double least[AIF_RUNBOOK_VALUES], most[AIF_RUNBOOK_VALUES]; /* of its runs */
	double decode_us, decode_tokens, legacy_ms; /* as v7's gate takes decode_tok_s apart */
	struct aif_buf outside;                     /* functions outside the expected, most first */
};

const char *aif_runbook_value_key(enum aif_runbook_value v);
const char *aif_runbook_value_file(enum aif_runbook_value v);
const char *aif_runbook_value_way(enum aif_runbook_value v);
const char *aif_runbook_value_runs(enum aif_runbook_value v);

/* A row of the decision table that fired. */
struct aif_runbook_signal {
	const char *signal, *means, *action;
	enum aif_runbook_value of; /* AIF_RUNBOOK_VALUES: a metric that the project names */
	double value,
		threshold; /* of a change: the worst that is allowed, by the other run's value */
	const char *key;   /* the value's name, key_len bytes */
	size_t key_len;
};
#define AIF_RUNBOOK_SIGNALS_MAX 16

/* Asks the decision table. base: the run before, NULL for none. Returns the number of those that fired. */
size_t aif_runbook_signals(const struct aif_runbook_values *v,
			   const struct aif_runbook_values *base,
			   struct aif_runbook_signal ret[AIF_RUNBOOK_SIGNALS_MAX]);

/* Asks whether a metric that the project names got worse by more than `throughput drop` allows. direction: '<' more of it is
 * better, '>' less is, 0: nobody knows. Returns false where it did not, or nobody knows: a part of 0 is no limit. */
bool aif_runbook_metric_signal(const char *name, size_t name_len, char direction, double before,
			       double value, struct aif_runbook_signal *ret);

/* Absolute budgets of a model's family; environment variables CK_V7_PERF_[FAMILY_]MIN_IPC and the like replace them. */
enum aif_runbook_budget {
	AIF_RUNBOOK_MIN_TOK_S,
	AIF_RUNBOOK_MIN_IPC,
	AIF_RUNBOOK_MAX_CACHE,
	AIF_RUNBOOK_MAX_BRANCH,
	AIF_RUNBOOK_BUDGETS
};
enum aif_runbook_verdict { AIF_RUNBOOK_PASS, AIF_RUNBOOK_FAIL, AIF_RUNBOOK_CANNOT_TELL };
struct aif_runbook_check {
	const char *metric, *comparison, *reason;
	double value, threshold;
	enum aif_runbook_verdict verdict;
};
/* Returns the family of a directory's name: qwen3, qwen2, gemma, default. */
const char *aif_runbook_family(const char *dir);
void aif_runbook_budgets(const char *family, double ret[AIF_RUNBOOK_BUDGETS]);
/* Judges; the worst of all is returned. */
enum aif_runbook_verdict aif_runbook_judge(const struct aif_runbook_values *v,
					   const double budgets[AIF_RUNBOOK_BUDGETS],
					   struct aif_runbook_check ret[AIF_RUNBOOK_BUDGETS]);
const char *aif_runbook_verdict_word(enum aif_runbook_verdict v);
/* The contents of perf_gate_report.json. missing_passes: what is missing does not fail, v7's --allow-missing-metrics. */
struct aif_runbook_gate {
	const char *dir, *family;
	const struct aif_runbook_values *values;
	const double *budgets;                  /* AIF_RUNBOOK_BUDGETS */
	const struct aif_runbook_check *checks; /* as many */
	enum aif_runbook_verdict verdict;
	const struct aif_runbook_signal *signals;
	size_t signals_len;
	bool missing_passes;
};
/* Appends perf_gate_report.json. */
void aif_runbook_gate_json(const struct aif_runbook_gate *g, struct aif_buf *out);
