/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * A change between two sets of runs. The run is the unit of replication: what varies within one run says nothing of how
 * the next one differs, so a run is one value here.
 *
 * Values of times and amounts vary in proportion, so logarithms are compared: the estimate is the ratio of the geometric
 * means, its interval Welch's (B. L. Welch, The generalization of "Student's" problem when several different population
 * variances are involved, Biometrika 34, 1947) with the degrees of freedom after Satterthwaite. Where a value is 0,
 * the values themselves are compared, with the margin as a part of A's mean.
 *
 * The variance of a side is that of its runs, but never less than what is known of the runs' own errors: launches that an
 * overhead budget left out give each run a standard error, and a few runs may agree by chance. Errors with which runs would
 * agree so well in less than one set in a thousand are not believed: they are estimates themselves.
 *
 * Four answers, with a margin below which a change is of no interest:
 *
 *   up, down   it differs from 0 (p, after an adjustment for many tests, below AIF_CHANGE_P), and the estimate reaches the
 *              margin. A change that is none is called one in at most 1 % of comparisons each way, however much runs vary
 *   same       the whole interval lies within the margin: two one-sided tests (D. J. Schuirmann, J. Pharmacokinetics and
 *              Biopharmaceutics 15, 1987), here with the 95 % interval that is shown, in place of 90 %
 *   unknown    neither: more runs would tell
 */
/* The level of the intervals. */
#define AIF_CHANGE_ALPHA 0.05
/* The level of the test for up and down: of equal sides that vary by more than the margin, 5 % would be called changed at 0.05. */
#define AIF_CHANGE_P 0.02
/* Fewer runs on a side give differences and no answer. */
#define AIF_CHANGE_RUNS_MIN 3
/* The default margin. */
#define AIF_CHANGE_MARGIN 0.03
/* The number of runs a side that would tell is looked for up to here. */
#define AIF_CHANGE_RUNS_MAX 1000

enum aif_change_answer {
	AIF_CHANGE_UNKNOWN, /* cannot tell */
	AIF_CHANGE_SAME,
	AIF_CHANGE_UP,
	AIF_CHANGE_DOWN,
};

/* One value a run. error2: the mean of the runs' squared standard errors, relative to their values; 0: exact. */
struct aif_change_side {
	const double *values;
	size_t len;
	double error2;
};

struct aif_change {
	double a, b; /* means: geometric where is_ratio, else arithmetic */
	size_t a_len, b_len;
	bool is_ratio; /* estimate, low and high are parts of A's mean: 0.05 is 5 % more. Else: of no mean, A's is 0 */
	bool has_interval;          /* both sides have at least two runs */
	bool has_answer;            /* both have AIF_CHANGE_RUNS_MIN */
	double estimate, low, high; /* 95 % interval */
	double p;                   /* two-sided, of no difference; 1 without an interval */
	bool is_by_errors; /* the interval is as wide as the runs' own errors make it, not as the runs differ */
	/* On the scale of the test. */
	double delta, half, margin, variance;
};

/* Compares two sides. margin: 0.03 is 3 %. */
void aif_change_measure(const struct aif_change_side *a, const struct aif_change_side *b,
			double margin, struct aif_change *ret);
/* Answers with p adjusted for how many were tested: change->p where it was one. */
enum aif_change_answer aif_change_answer(const struct aif_change *c, double p);
/* The same with another level than AIF_CHANGE_P: AIF_CHANGE_ALPHA for the rows of tables, p after Benjamini and Hochberg. */
enum aif_change_answer aif_change_answer_at(const struct aif_change *c, double p, double level);
/* Returns the runs a side that would tell, about; 0: AIF_CHANGE_RUNS_MAX would not. */
size_t aif_change_needed(const struct aif_change *c);
/* True if the whole interval lies below the margin: it is no more, whether it is the same or less. */
bool aif_change_is_no_more(const struct aif_change *c);
/* The 95 % interval of a mean (Student's), from at least two values; of one value, the value. */
void aif_change_interval(const double *values, size_t n, double *ret_mean, double *ret_low,
			 double *ret_high);
