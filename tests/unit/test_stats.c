/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/change.h"
#include "stats/many.h"
#include "stats/student.h"
#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define assert_near(value, wanted, by) assert_true(fabs((value) - (wanted)) <= (by))

/* Values: integrals of the density by Simpson's rule in Python, its decimals agreeing with the printed tables
 * (t.975 of 1, 4, 8, 30 degrees of freedom: 12.706, 2.776, 2.306, 2.042). */
static void student_has_the_values_of_the_tables(void **state)
{
	static const struct {
		double t, df, p;
	} rows[] = {
		{0.5, 1, 0.647583617650},   {3, 1, 0.897583617650},
		{1, 2, 0.788675134595},     {2, 2.5, 0.921304252121},
		{0.1, 4, 0.537422079530},   {2.7764451052, 4, 0.975000000000},
		{4, 4, 0.991934955050},     {2, 5, 0.949030260585},
		{1.5, 7.3, 0.912218453598}, {2.306, 8, 0.974999838619},
		{5, 8, 0.999473587103},     {1, 30, 0.837345692287},
		{2.04, 30, 0.974880212630}, {3.3, 1000, 0.999499501638},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		assert_near(aif_student_cdf(rows[i].t, rows[i].df), rows[i].p, 1e-9);
		assert_near(aif_student_cdf(-rows[i].t, rows[i].df), 1 - rows[i].p, 1e-9);
		assert_near(aif_student_quantile(rows[i].p, rows[i].df), rows[i].t, 1e-6);
	}
	assert_near(aif_student_quantile(0.975, 1), 12.7062047362, 1e-8);
	assert_near(aif_student_quantile(0.975, 4), 2.7764451052, 1e-8);
	assert_near(aif_student_quantile(0.975, 8), 2.3060041352, 1e-8);
	assert_near(aif_student_quantile(0.975, 30), 2.0422724563, 1e-8);
	assert_near(aif_student_quantile(0.025, 8), -2.3060041352, 1e-8);
	assert_near(aif_student_quantile(0.5, 8), 0, 1e-9);
}

static struct aif_change change_of(const double *a, size_t a_len, const double *b, size_t b_len)
{
	struct aif_change c;

	aif_change_measure(&(struct aif_change_side){a, a_len, 0},
			   &(struct aif_change_side){b, b_len, 0}, AIF_CHANGE_MARGIN, &c);
	return c;
}

/* Worked out by hand: logs of A have the mean ln 100 and the variance ln(1.01)^2, B's 1.1 times as much; error = ln(1.01) * sqrt(2/3),
 * 4 degrees of freedom. */
static void a_change_has_welchs_interval(void **state)
{
	const double a[] = {100 / 1.01, 100, 101}, b[] = {110 / 1.01, 110, 111.1};
	struct aif_change c = change_of(a, 3, b, 3);
	double half = 2.7764451052 * log(1.01) * sqrt(2.0 / 3);

	(void)state;
	assert_near(c.a, 100, 1e-9);
	assert_near(c.b, 110, 1e-9);
	assert_near(c.estimate, 0.1, 1e-12);
	assert_near(c.low, exp(log(1.1) - half) - 1, 1e-9);
	assert_near(c.high, exp(log(1.1) + half) - 1, 1e-9);
	assert_near(c.p, 2 * aif_student_cdf(-log(1.1) / (log(1.01) * sqrt(2.0 / 3)), 4), 1e-12);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UP);
	c = change_of(b, 3, a, 3);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_DOWN);
	assert_near(c.estimate, 1 / 1.1 - 1, 1e-12);
}

/* Welch's own case: unequal variances and numbers. Of logs {0, 2} and {0, 0.1, 0.2}: variances 2 and 0.01, x = 1,
 * y = 1/300, df = (301/300)^2 / (1 + (1/300)^2 / 2). */
static void unequal_variances_have_satterthwaites_freedom(void **state)
{
	const double a[] = {1, exp(2)}, b[] = {1, exp(0.1), exp(0.2)};
	struct aif_change c = change_of(a, 2, b, 3);
	double df = pow(301.0 / 300, 2) / (1 + pow(1.0 / 300, 2) / 2);

	(void)state;
	assert_near(c.half, aif_student_quantile(0.975, df) * sqrt(301.0 / 300), 1e-9);
	assert_false(c.has_answer);
	assert_int_equal(aif_change_answer(&c, 0), AIF_CHANGE_UNKNOWN);
}

static void one_run_a_side_has_no_answer(void **state)
{
	const double a[] = {100}, b[] = {200};
	struct aif_change c = change_of(a, 1, b, 1);

	(void)state;
	assert_false(c.has_interval);
	assert_near(c.estimate, 1, 1e-12);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UNKNOWN);
}

static void counts_that_never_vary_are_exact(void **state)
{
	const double a[] = {10, 10, 10}, b[] = {11, 11, 11}, zero[] = {0, 0, 0},
		     third[] = {4194304 / 3.0, 4194304 / 3.0, 4194304 / 3.0};
	struct aif_change c = change_of(a, 3, a, 3);

	(void)state;
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_SAME);
	c = change_of(a, 3, b, 3);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UP);
	c = change_of(third, 3, third, 3);
	assert_true(c.delta == 0 && c.half == 0);
	c = change_of(zero, 3, zero, 3);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_SAME);
	c = change_of(zero, 3, a, 3);
	assert_false(c.is_ratio);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UP);
	c = change_of(a, 3, zero, 3);
	assert_near(c.estimate, -1, 1e-12);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_DOWN);
}

/* Runs that agree by chance are no better known than each of them is. */
static void errors_of_runs_are_part_of_the_variance(void **state)
{
	const double a[] = {100, 100.5, 101}, b[] = {104, 104.5, 105};
	struct aif_change c;

	(void)state;
	c = change_of(a, 3, b, 3);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UP);
	aif_change_measure(&(struct aif_change_side){a, 3, 0.03 * 0.03},
			   &(struct aif_change_side){b, 3, 0.03 * 0.03}, AIF_CHANGE_MARGIN, &c);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UNKNOWN);
	assert_true(aif_change_needed(&c) > 3);
}

/* Launches were left out, and the estimate says 45 % of error: ten runs that differ by 0.1 % contradict it. With an error of 3 % and
 * runs that differ by 1 % chance may be at work. */
static void errors_that_runs_contradict_are_not_believed(void **state)
{
	const double a[] = {1000, 1001, 1002, 999, 1000}, b[] = {1001, 1000, 1002, 1000, 999};
	const double x[] = {990, 1000, 1010, 995, 1005}, y[] = {1000, 990, 1010, 1005, 995};
	struct aif_change c;

	(void)state;
	aif_change_measure(&(struct aif_change_side){a, 5, 0.45 * 0.45},
			   &(struct aif_change_side){b, 5, 0.45 * 0.45}, AIF_CHANGE_MARGIN, &c);
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_SAME);
	aif_change_measure(&(struct aif_change_side){x, 5, 0.02 * 0.02},
			   &(struct aif_change_side){y, 5, 0.02 * 0.02}, AIF_CHANGE_MARGIN, &c);
	assert_near(c.half, 2.306 * 0.02 * sqrt(0.4), 1e-3);
	/* Two runs a side contradict nothing. */
	aif_change_measure(&(struct aif_change_side){a, 2, 0.45 * 0.45},
			   &(struct aif_change_side){b, 2, 0.45 * 0.45}, AIF_CHANGE_MARGIN, &c);
	assert_true(c.half > 1);
}

static void needed_runs_would_tell(void **state)
{
	const double a[] = {98, 100, 102}, b[] = {102, 104, 106};
	struct aif_change c = change_of(a, 3, b, 3);

	(void)state;
	assert_int_equal(aif_change_answer(&c, c.p), AIF_CHANGE_UNKNOWN);
	assert_in_range(aif_change_needed(&c), 4, 8);
}

/* Worked out by hand for 4 tests: Holm 4 p1, then 3 p2, 2 p3, p4, never falling; Benjamini and Hochberg 4 p1, 2 p2, 4/3 p3, p4, taken
 * from the last on, never rising. */
static void adjustments_for_many_tests(void **state)
{
	double holm[] = {0.04, 0.01, 0.03, 0.005}, bh[] = {0.04, 0.01, 0.03, 0.005};

	(void)state;
	assert_int_equal(aif_holm_adjust(holm, 4), 0);
	assert_near(holm[3], 0.02, 1e-12);
	assert_near(holm[1], 0.03, 1e-12);
	assert_near(holm[2], 0.06, 1e-12);
	assert_near(holm[0], 0.06, 1e-12);
	assert_int_equal(aif_benjamini_hochberg_adjust(bh, 4), 0);
	assert_near(bh[3], 0.02, 1e-12);
	assert_near(bh[1], 0.02, 1e-12);
	assert_near(bh[2], 0.04, 1e-12);
	assert_near(bh[0], 0.04, 1e-12);
}

/* ---- simulation, with a fixed seed ----------------------------------------------------------- */

static double uniform(uint64_t *seed)
{
	*seed += UINT64_C(0x9e3779b97f4a7c15);
	return ((double)(aif_mix64(*seed) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *seed)
{
	double u = uniform(seed), v = uniform(seed);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Runs of one side: log-normal with a standard deviation of `noise`. */
static void simulate(double mean, double noise, size_t n, uint64_t *seed, double *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = mean * exp(noise * normal(seed));
}

struct shares {
	double same, up, down, unknown; /* in percent */
};

static struct shares shares_of(double change, double noise, size_t runs, uint64_t seed)
{
	enum { SETS = 4000 };
	double counts[4] = {0}, a[32], b[32];

	for (int i = 0; i < SETS; i++) {
		struct aif_change c;

		simulate(100, noise, runs, &seed, a);
		simulate(100 * (1 + change), noise, runs, &seed, b);
		c = change_of(a, runs, b, runs);
		counts[aif_change_answer(&c, c.p)] += 100.0 / SETS;
	}
	print_message("simulated %+.0f %% at %.1f %% noise, %zu runs a side: same %.1f %%, slower "
		      "%.1f %%, faster %.1f %%, cannot tell %.1f %%\n",
		      100 * change, 100 * noise, runs, counts[AIF_CHANGE_SAME],
		      counts[AIF_CHANGE_UP], counts[AIF_CHANGE_DOWN], counts[AIF_CHANGE_UNKNOWN]);
	return (struct shares){counts[AIF_CHANGE_SAME], counts[AIF_CHANGE_UP],
			       counts[AIF_CHANGE_DOWN], counts[AIF_CHANGE_UNKNOWN]};
}

static void simulated_runs_get_the_right_answers(void **state)
{
	struct shares s;

	(void)state;
	s = shares_of(0, 0.01, 5, 1);
	assert_true(s.up <= 1 && s.down <= 1);
	assert_true(s.same >= 90);
	s = shares_of(0.05, 0.01, 5, 2);
	assert_true(s.up >= 95 && s.down == 0);
	s = shares_of(0, 0.02, 5, 3);
	assert_true(s.up <= 1 && s.down <= 1);
	assert_true(s.unknown >= 70);
	s = shares_of(0.03, 0.02, 5, 4);
	assert_true(s.unknown >= 50 && s.same <= 5);
	s = shares_of(0, 0.003, 3, 5);
	assert_true(s.same >= 95 && s.up <= 1);
	s = shares_of(0, 0.15, 5, 9);
	assert_true(s.up <= 1.3 && s.down <= 1.3);
	s = shares_of(0.10, 0.02, 5, 6);
	assert_true(s.up >= 99);
}

/* Shares of the answers where runs say that their standard error is `said`, and they differ by `noise`; *ret_doubted: of the
 * sets whose errors were not believed. */
static struct shares shares_with_errors(double change, double noise, double said, uint64_t seed,
					double *ret_doubted)
{
	enum { SETS = 20000, RUNS = 5 };
	double counts[4] = {0}, a[32], b[32];

	*ret_doubted = 0;
	for (int i = 0; i < SETS; i++) {
		struct aif_change c;

		simulate(100, noise, RUNS, &seed, a);
		simulate(100 * (1 + change), noise, RUNS, &seed, b);
		aif_change_measure(&(struct aif_change_side){a, RUNS, said * said},
				   &(struct aif_change_side){b, RUNS, said * said},
				   AIF_CHANGE_MARGIN, &c);
		counts[aif_change_answer(&c, c.p)] += 100.0 / SETS;
		*ret_doubted += c.variance < said * said ? 100.0 / SETS : 0;
	}
	print_message(
		"simulated %+.0f %% at %.1f %% noise, errors of %.1f %%: same %.1f %%, slower "
		"%.2f %%, faster %.2f %%; not believed %.2f %%\n",
		100 * change, 100 * noise, 100 * said, counts[AIF_CHANGE_SAME],
		counts[AIF_CHANGE_UP], counts[AIF_CHANGE_DOWN], *ret_doubted);
	return (struct shares){counts[AIF_CHANGE_SAME], counts[AIF_CHANGE_UP],
			       counts[AIF_CHANGE_DOWN], counts[AIF_CHANGE_UNKNOWN]};
}

/* True errors are hardly ever doubted and make no wrong answers; those far from what runs differ by do not keep from an answer. */
static void simulated_errors_are_believed_where_they_are_true(void **state)
{
	double doubted;
	struct shares s;

	(void)state;
	s = shares_with_errors(0, 0.02, 0.02, 11, &doubted);
	assert_true(doubted > 0 && doubted <= 0.2);
	assert_true(s.up <= 1 && s.down <= 1);
	s = shares_with_errors(0, 0.05, 0.05, 12, &doubted);
	assert_true(doubted <= 0.2 && s.up <= 1 && s.down <= 1);
	s = shares_with_errors(0, 0.01, 0.45, 13, &doubted);
	assert_true(doubted >= 99.9 && s.same >= 90 && s.up <= 1 && s.down <= 1);
	s = shares_with_errors(0.05, 0.01, 0.45, 14, &doubted);
	assert_true(s.up >= 95);
	/* Errors that are half of the noise change nothing. */
	s = shares_with_errors(0, 0.02, 0.01, 15, &doubted);
	assert_true(s.up <= 1 && s.down <= 1);
}

struct discoveries {
	double wrong, found; /* part of those named; part of those that changed */
	double alone;        /* wrong ones in a table, without the adjustment */
};

/* Tables of 500 kernels, of which 25 became slower. */
static struct discoveries discover(double change, double noise, uint64_t seed)
{
	enum { KERNELS = 500, SLOWER = 25, TABLES = 50, RUNS = 5 };
	struct discoveries d = {0};

	for (int t = 0; t < TABLES; t++) {
		struct aif_change c[KERNELS];
		double p[KERNELS], a[RUNS], b[RUNS];
		size_t right = 0, bad = 0;

		for (int k = 0; k < KERNELS; k++) {
			simulate(100, noise, RUNS, &seed, a);
			simulate(k < SLOWER ? 100 * (1 + change) : 100, noise, RUNS, &seed, b);
			c[k] = change_of(a, RUNS, b, RUNS);
			p[k] = c[k].p;
			d.alone += (k >= SLOWER &&
				    aif_change_answer_at(&c[k], p[k], AIF_CHANGE_ALPHA) >=
					    AIF_CHANGE_UP) /
				   (double)TABLES;
		}
		assert_int_equal(aif_benjamini_hochberg_adjust(p, KERNELS), 0);
		for (int k = 0; k < KERNELS; k++)
			if (aif_change_answer_at(&c[k], p[k], AIF_CHANGE_ALPHA) >= AIF_CHANGE_UP)
				*(k < SLOWER ? &right : &bad) += 1;
		d.wrong += right + bad ? (double)bad / (double)(right + bad) / TABLES : 0;
		d.found += (double)right / SLOWER / TABLES;
	}
	print_message("simulated tables of 500 kernels, 25 of them %+.0f %%, at %.0f %% noise: "
		      "false discoveries %.1f %%, found %.0f %%; %.1f wrong ones without the "
		      "adjustment\n",
		      100 * change, 100 * noise, 100 * d.wrong, 100 * d.found, d.alone);
	return d;
}

static void a_table_of_500_kernels_has_few_false_discoveries(void **state)
{
	struct discoveries d;

	(void)state;
	d = discover(0.05, 0.01, 7);
	assert_true(d.wrong <= 0.05 && d.found >= 0.9);
	d = discover(0.06, 0.02, 8);
	assert_true(d.wrong <= 0.05 && d.alone > 3);
}

/* A gate lets pass what is at most the margin worse, or better by whatever it likes. */
static void no_more_is_the_same_or_less(void **state)
{
	const double a[] = {99, 100, 101}, b[] = {94, 95, 96}, c[] = {95, 100, 105};
	struct aif_change change = change_of(a, 3, b, 3);

	(void)state;
	assert_true(aif_change_is_no_more(&change));
	change = change_of(b, 3, a, 3);
	assert_false(aif_change_is_no_more(&change));
	change = change_of(a, 3, c, 3);
	assert_false(aif_change_is_no_more(&change));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_has_the_values_of_the_tables),
		cmocka_unit_test(a_change_has_welchs_interval),
		cmocka_unit_test(unequal_variances_have_satterthwaites_freedom),
		cmocka_unit_test(one_run_a_side_has_no_answer),
		cmocka_unit_test(counts_that_never_vary_are_exact),
		cmocka_unit_test(errors_of_runs_are_part_of_the_variance),
		cmocka_unit_test(errors_that_runs_contradict_are_not_believed),
		cmocka_unit_test(needed_runs_would_tell),
		cmocka_unit_test(adjustments_for_many_tests),
		cmocka_unit_test(no_more_is_the_same_or_less),
		cmocka_unit_test(simulated_runs_get_the_right_answers),
		cmocka_unit_test(simulated_errors_are_believed_where_they_are_true),
		cmocka_unit_test(a_table_of_500_kernels_has_few_false_discoveries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
