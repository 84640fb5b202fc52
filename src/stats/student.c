/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/student.h"

#include <float.h>
#include <math.h>

/* The continued fraction converges in a few dozen terms where x is below the mean of the distribution. */
#define MOST_TERMS 500
/* Steps of the search for a quantile: halvings alone need 50. */
#define MOST_STEPS 200

static double not_zero(double x)
{
	return fabs(x) < DBL_MIN ? DBL_MIN : x;
}

/* Lentz's evaluation of the continued fraction of the incomplete beta function. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;

	for (int m = 1; m <= MOST_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		value *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		step = d * c;
		value *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return value;
}

/* The regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double aif_student_cdf(double t, double df)
{
	double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;

	return t > 0 ? 1 - tail : tail;
}

static double density(double t, double df)
{
	return exp(lgamma((df + 1) / 2) - lgamma(df / 2) - (df + 1) / 2 * log1p(t * t / df)) /
	       sqrt(df * M_PI);
}

/* Newton's steps, each within what is known to hold the quantile, else the middle of that. */
double aif_student_quantile(double p, double df)
{
	double low = 0, high = 2, t;

	if (p < 0.5)
		return -aif_student_quantile(1 - p, df);
	while (aif_student_cdf(high, df) < p && high < DBL_MAX / 4) {
		low = high;
		high *= 2;
	}
	t = low + (high - low) / 2;
	for (int i = 0; i < MOST_STEPS; i++) {
		double off = aif_student_cdf(t, df) - p, next = t - off / density(t, df);

		if (off < 0)
			low = t;
		else
			high = t;
		if (!(next > low && next < high))
			next = low + (high - low) / 2;
		if (fabs(next - t) <= 1e-13 * fabs(t))
			return next;
		t = next;
	}
	return t;
}
