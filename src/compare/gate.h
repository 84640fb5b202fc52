/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/budgets.h"

/*
 * A gate: each budget is kept, exceeded, or nobody can tell. It is exceeded when the change reaches the budget and cannot be
 * chance (p after Holm over all budgets); kept when the whole interval lies below the budget, whether that is because
 * nothing changed or because it got better. What is missing on a side is never kept.
 */
enum aif_gate_answer { AIF_GATE_KEPT, AIF_GATE_EXCEEDED, AIF_GATE_UNKNOWN };

/* A value that is read from somewhere else: one of each run, A's first. NAN: that run has none. */
struct aif_gate_value {
	const char *name;
	const double *values;
	const char *why; /* reason for which the first run without a value has none; NULL */
};

struct aif_gate_row {
	const struct aif_budget *budget;
	enum aif_gate_answer answer;
	struct aif_compared of; /* both sides, for a budget of a change */
	double mean, low, high; /* side B, for a limit */
	bool is_missing;
	/* the answer is not known, however near together the runs are: gate_doubts.h */
	bool is_doubted;
	struct aif_buf why; /* reason for which the answer is not known; "" */
};
struct aif_gate {
	const struct aif_comparison *c; /* NULL: a side could not be read, or nothing was judged */
	const char *a, *b;              /* the sides' names */
	struct aif_gate_row *rows;
	size_t len;
	enum aif_gate_answer answer; /* the worst of all */
	/* a requirement of the caller does not hold, which .problem says: nothing is judged */
	bool is_required;
	struct aif_buf problem; /* reason for which there is no comparison; "" */
	bool unknown_fails;     /* the caller's: what nobody can tell fails as what is exceeded */
	/* width of the terminal, to which stacks in the text are cut; 0: no terminal */
	size_t columns;
};

/* Judges. *ret is finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_gate_judge(const struct aif_comparison *c, const struct aif_budgets *budgets,
		   const struct aif_gate_value *values, size_t values_len, struct aif_gate *ret);
/* Makes the gate of sides that cannot be compared: nobody can tell. The caller may set .is_required. */
void aif_gate_fail(const char *a, const char *b, const char *why, struct aif_gate *ret);
void aif_gate_finish(struct aif_gate *g);

/* "kept", "exceeded", "cannot tell". */
const char *aif_gate_word(enum aif_gate_answer a);
/* "slower by 5.1 % (+3.9 to +6.2 %): 12.1 ms -> 12.8 ms a step, 5 runs a side". */
void aif_gate_say(const struct aif_gate *g, const struct aif_gate_row *row, struct aif_buf *out);

/* gate_formats.c */
void aif_gate_text(const struct aif_gate *g, struct aif_buf *out);
void aif_gate_markdown(const struct aif_gate *g, struct aif_buf *out);
void aif_gate_json(const struct aif_gate *g, struct aif_buf *out);
/* JUnit's XML: a test case a budget; cannot tell is skipped, or a failure by .unknown_fails; no comparison is an error. */
void aif_gate_junit(const struct aif_gate *g, struct aif_buf *out);
/* Workflow commands of CI, at most 10, exceeded budgets first: ::error of what fails, else ::warning. */
void aif_gate_annotations(const struct aif_gate *g, struct aif_buf *out);
