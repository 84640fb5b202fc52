/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Student's t distribution with `df` degrees of freedom (> 0, not necessarily whole). The distribution function is the
 * regularised incomplete beta function by its continued fraction (Abramowitz and Stegun, Handbook of Mathematical
 * Functions, 26.7.1 and 26.5.8), correct to about 1e-12; the quantile is its inverse by Newton's
 * method.
 */

/* Returns the probability of a value of at most t. */
double aif_student_cdf(double t, double df);
/* Returns the t of which that is p, 0 < p < 1. */
double aif_student_quantile(double p, double df);
