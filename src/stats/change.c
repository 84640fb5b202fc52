/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/change.h"

#include "stats/student.h"

#include <math.h>

struct moments {
	double mean, variance; /* variance: of one run */
	double known;          /* of it, what the runs' own errors make */
	size_t len;
};

static bool is_positive(const struct aif_change_side *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (!(s->values[i] > 0))
			return false;
	return s->len > 0;
}

static bool is_constant(const struct aif_change_side *s)
{
	for (size_t i = 1; i < s->len; i++)
		if (s->values[i] != s->values[0])
			return false;
	return s->len > 0;
}

static struct moments moments_of(const struct aif_change_side *s, bool by_log)
{
	struct moments m = {.len = s->len};

	/* Counts that never vary are exact: sums of logarithms would not be. */
	if (is_constant(s)) {
		m.mean = by_log ? log(s->values[0]) : s->values[0];
		goto known;
	}
	for (size_t i = 0; i < s->len; i++)
		m.mean += (by_log ? log(s->values[i]) : s->values[i]) / (double)s->len;
	for (size_t i = 0; i < s->len && s->len > 1; i++) {
		double off = (by_log ? log(s->values[i]) : s->values[i]) - m.mean;

		m.variance += off * off / (double)(s->len - 1);
	}
known:
	m.known = by_log ? s->error2 : s->error2 * m.mean * m.mean;
	return m;
}

/* Fewer degrees of freedom say nothing of a variance: three runs a side have 4. */
#define LEAST_FREEDOM 4

/* The quantile of chi-squared by its degrees of freedom that one in a thousand is below, as a part of its mean (E. B. Wilson, M. M.
 * Hilferty, The distribution of chi-square, PNAS 17, 1931); for few degrees of freedom rather too small, which is the safe side. */
static double least_credible(double df)
{
	double z = -3.0902, x = 1 - 2 / (9 * df) + z * sqrt(2 / (9 * df));

	return x > 0 ? x * x * x : 0;
}

/* Lets the variances be no less than the runs' own errors: a few runs may agree by chance. But where all runs of both sides
 * agree as not one in a thousand such sets would, they are not as uncertain as they say. Returns true if a variance grew. */
static bool add_errors(struct moments *a, struct moments *b)
{
	double df = (double)(a->len + b->len) - 2;
	double seen =
		(a->variance * (double)(a->len - 1) + b->variance * (double)(b->len - 1)) / df;
	double said = (a->known * (double)(a->len - 1) + b->known * (double)(b->len - 1)) / df;

	bool grew = a->known > a->variance || b->known > b->variance;

	if (df >= LEAST_FREEDOM && seen > 0 && seen < least_credible(df) * said)
		return false;
	a->variance = fmax(a->variance, a->known);
	b->variance = fmax(b->variance, b->known);
	return grew;
}

/* Degrees of freedom of the difference of two means. */
static double freedom(const struct moments *a, const struct moments *b)
{
	double x = a->variance / (double)a->len, y = b->variance / (double)b->len;
	double under = x * x / (double)(a->len - 1) + y * y / (double)(b->len - 1);

	return under > 0 ? (x + y) * (x + y) / under : (double)(a->len + b->len - 2);
}

/* Half of the interval that n runs a side would give. */
static double half_of(const struct aif_change *c, size_t n, double level)
{
	return aif_student_quantile(1 - level / 2, 2 * (double)n - 2) *
	       sqrt(2 * c->variance / (double)n);
}

static bool would_tell(const struct aif_change *c, size_t n)
{
	double size = fabs(c->delta);

	return size >= c->margin ? half_of(c, n, AIF_CHANGE_P) < size
				 : half_of(c, n, AIF_CHANGE_ALPHA) < c->margin - size;
}

/* Intervals shrink with each run, so the least number that tells is found by halving. */
size_t aif_change_needed(const struct aif_change *c)
{
	const size_t most = AIF_CHANGE_RUNS_MAX;

	if (!c->has_interval || !would_tell(c, most))
		return 0;
	return AIF_BISECT(n, (size_t)AIF_CHANGE_RUNS_MIN, most, !would_tell(c, n));
}

static double shown(const struct aif_change *c, double delta, bool by_log, double scale)
{
	return by_log ? expm1(delta) : c->is_ratio ? delta / scale : delta;
}

void aif_change_measure(const struct aif_change_side *a, const struct aif_change_side *b,
			double margin, struct aif_change *ret)
{
	bool by_log = is_positive(a) && is_positive(b);
	struct moments x = moments_of(a, by_log), y = moments_of(b, by_log);
	struct aif_change c = {.a_len = a->len, .b_len = b->len, .p = 1};
	double error;

	c.is_by_errors = add_errors(&x, &y);
	c.a = by_log ? exp(x.mean) : x.mean;
	c.b = by_log ? exp(y.mean) : y.mean;
	c.is_ratio = by_log || x.mean > 0;
	c.margin = by_log ? log1p(margin) : margin * fabs(x.mean);
	c.delta = y.mean - x.mean;
	c.has_interval = a->len > 1 && b->len > 1;
	c.has_answer = a->len >= AIF_CHANGE_RUNS_MIN && b->len >= AIF_CHANGE_RUNS_MIN;
	c.estimate = c.low = c.high = shown(&c, c.delta, by_log, x.mean);
	if (c.has_interval) {
		double df = freedom(&x, &y);

		error = sqrt(x.variance / (double)x.len + y.variance / (double)y.len);
		c.variance = (x.variance + y.variance) / 2;
		c.half = aif_student_quantile(1 - AIF_CHANGE_ALPHA / 2, df) * error;
		c.low = shown(&c, c.delta - c.half, by_log, x.mean);
		c.high = shown(&c, c.delta + c.half, by_log, x.mean);
		if (error > 0)
			c.p = 2 * aif_student_cdf(-fabs(c.delta) / error, df);
		else
			c.p = c.delta != 0 ? 0 : 1;
	}
	*ret = c;
}

enum aif_change_answer aif_change_answer(const struct aif_change *c, double p)
{
	return aif_change_answer_at(c, p, AIF_CHANGE_P);
}

enum aif_change_answer aif_change_answer_at(const struct aif_change *c, double p, double level)
{
	if (!c->has_answer)
		return AIF_CHANGE_UNKNOWN;
	if (p < level && c->delta != 0 && fabs(c->delta) >= c->margin)
		return c->delta > 0 ? AIF_CHANGE_UP : AIF_CHANGE_DOWN;
	if (fabs(c->delta) + c->half < c->margin || (c->delta == 0 && c->half == 0))
		return AIF_CHANGE_SAME;
	return AIF_CHANGE_UNKNOWN;
}

bool aif_change_is_no_more(const struct aif_change *c)
{
	return c->has_answer && (c->delta + c->half < c->margin || (c->delta <= 0 && !c->half));
}

void aif_change_interval(const double *values, size_t n, double *ret_mean, double *ret_low,
			 double *ret_high)
{
	struct moments m = moments_of(&(struct aif_change_side){values, n, 0}, false);
	double half = n > 1 ? aif_student_quantile(1 - AIF_CHANGE_ALPHA / 2, (double)n - 1) *
				      sqrt(m.variance / (double)n)
			    : 0;

	*ret_mean = m.mean;
	*ret_low = m.mean - half;
	*ret_high = m.mean + half;
}
