/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "compare/compare.h"
#include "names/filter.h"

/*
 * Budgets: how much worse a gate lets each of some metrics get. A line is a metric and its conditions:
 *
 *   time +3%                     may grow by 3 %
 *   kernel:/gemm/ +5% +20us      may grow by 5 % or by 20 us a unit, whichever is more
 *   launches 0                   may not grow at all
 *   tok_s -2%                    more is better: may fall by 2 %
 *   ttft lower +3%               less is better
 *   busy >= 60%                  side B alone
 *   time <= 12ms
 *
 * Metrics: the keys of metrics.def; busy (B's share of time with work); kernel:/RE/, the time of kernels that match;
 * stack:/RE/, the device time under frames that match; op:/RE/ and range:/RE/, that in operators, and in ranges that the
 * program marked; and names of values that the caller reads. From # on a line is a comment, but not within an expression.
 */

enum aif_budget_of {
	AIF_BUDGET_METRIC,
	AIF_BUDGET_BUSY,
	AIF_BUDGET_KERNEL,
	AIF_BUDGET_STACK,
	AIF_BUDGET_OPERATOR,
	AIF_BUDGET_RANGE,
	AIF_BUDGET_VALUE,
};
enum aif_budget_better { AIF_BUDGET_LESS, AIF_BUDGET_MORE, AIF_BUDGET_NOT_SAID };
enum aif_budget_kind { AIF_BUDGET_CHANGE, AIF_BUDGET_AT_MOST, AIF_BUDGET_AT_LEAST };

struct aif_budget {
	char *text; /* as it was written, blanks as one */
	char *name; /* the metric alone */
	enum aif_budget_of of;
	enum aif_metric metric;
	struct aif_regex re;
	enum aif_budget_kind kind;
	/* AIF_BUDGET_NOT_SAID: a value of --metric, of which the command refuses a change. */
	enum aif_budget_better better;
	double part;     /* AIF_BUDGET_CHANGE: 0.03 */
	double absolute; /* and more than this, in ns or the metric's own number */
	double limit;    /* of the others */
};
struct aif_budgets {
	struct aif_budget *budget;
	size_t len, cap;
};

/* Adds one line, nothing for an empty one. 0; -EINVAL with *err, which names `where`, or -ENOMEM. */
int aif_budgets_add(struct aif_budgets *b, const char *line, const char *where,
		    struct aif_err *err);
/* Adds the lines of a text; *err names the line, too. */
int aif_budgets_add_text(struct aif_budgets *b, const char *text, const char *where,
			 struct aif_err *err);
/* True if the budget is of what matches an expression. */
bool aif_budget_is_by_name(const struct aif_budget *b);
/* True if values of the budget are times. */
bool aif_budget_is_time(const struct aif_budget *b);
void aif_budgets_finish(struct aif_budgets *b);
