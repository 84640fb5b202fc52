/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "analysis/attribution/unmix.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Simulated recordings, of which the truth is known: a kernel with different insides by stack. */
#define PLACES     48
#define MAX_STACKS 40
#define SEEDS      24

struct world {
	struct aif_unmix u;
	uint64_t state;
	double truth[MAX_STACKS][PLACES]; /* sums to 1 */
	double rates[MAX_STACKS * PLACES];
	bool apart[MAX_STACKS];
};

static double uniform(struct world *w)
{
	w->state = aif_mix64(w->state + 1);
	return ((double)(w->state >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

static double normal(struct world *w)
{
	double r = sqrt(-2 * log(uniform(w)));

	return r * cos(2 * M_PI * uniform(w));
}

/* Poisson, to the precision that matters here. */
static double poisson(struct world *w, double mean)
{
	double limit = exp(-mean), p = uniform(w), n = 0;

	if (mean > 30)
		return AIF_MAX(0.0, floor(mean + sqrt(mean) * normal(w) + 0.5));
	for (; p > limit; n++)
		p *= uniform(w);
	return n;
}

static void begin(struct world *w, uint64_t seed, size_t windows, size_t stacks)
{
	*w = (struct world){.state = aif_mix64(seed),
			    .u = {.windows = windows, .stacks = stacks, .places = PLACES}};
	w->u.exposure = calloc(windows * stacks, sizeof(double));
	w->u.counts = calloc(windows * PLACES, sizeof(*w->u.counts));
	for (size_t g = 0; g < stacks; g++) {
		double sum = 0;

		for (size_t k = 0; k < PLACES; k++) {
			w->truth[g][k] = pow(uniform(w), 3);
			sum += w->truth[g][k];
		}
		for (size_t k = 0; k < PLACES; k++)
			w->truth[g][k] /= sum;
	}
}

static double *exposure(struct world *w, size_t window)
{
	return (double *)w->u.exposure + window * w->u.stacks;
}

/* rate: samples by unit of exposure. Seen from far to near, so that order does not matter. */
static void count_samples(struct world *w, double rate)
{
	for (size_t i = w->u.windows; i-- > 0;)
		for (uint32_t k = 0; k < PLACES; k++) {
			double mean = 0, n;

			for (size_t g = 0; g < w->u.stacks; g++)
				mean += exposure(w, i)[g] * w->truth[g][k] * rate;
			n = poisson(w, mean);
			if (n > 0)
				w->u.counts[w->u.counts_len++] = (struct aif_unmix_count){
					.window = (uint32_t)i, .place = k, .samples = n};
		}
}

/* Returns the part of stack g that is at the first half of the places, which only stack 0
 * passes. */
static double not_its_own(const struct world *w, size_t g)
{
	double sum = 0, first = 0;

	for (size_t k = 0; k < PLACES; k++) {
		sum += w->rates[g * PLACES + k];
		first += k < PLACES / 2 ? w->rates[g * PLACES + k] : 0;
	}
	return first / sum;
}

static int solve(struct world *w)
{
	return aif_unmix(&w->u, w->rates, w->apart);
}

/* Half of the sum of what each place's share is off. */
static double error_of(const struct world *w, size_t stack)
{
	double sum = 0, off = 0;

	for (size_t k = 0; k < PLACES; k++)
		sum += w->rates[stack * PLACES + k];
	for (size_t k = 0; k < PLACES; k++)
		off += fabs(w->rates[stack * PLACES + k] / sum - w->truth[stack][k]);
	return off / 2;
}

static void over(struct world *w)
{
	free((void *)w->u.exposure);
	free(w->u.counts);
}

/* Windows of 100 ms; launches of two stacks, of which the first's take `ratio` times as long, in a mix that differs by
 * `spread` around one half. */
static void two_stacks(struct world *w, uint64_t seed, double ratio, double spread, double rate)
{
	begin(w, seed, 100, 2);
	for (size_t i = 0; i < w->u.windows; i++) {
		double p = 0.5 + spread * (2 * uniform(w) - 1), a = ratio * p, b = 1 - p;

		exposure(w, i)[0] = 1e8 * a / (a + b);
		exposure(w, i)[1] = 1e8 * b / (a + b);
	}
	count_samples(w, rate / 1e9);
}

/* The reasons at the first stack's instructions change with the amount of the second: by place its samples seem to be
 * the second's, by instruction they do not. */
static void instructions_are_told_apart_though_their_reasons_change(void **state)
{
	uint32_t instruction[PLACES];
	double by_place = 0, by_instruction = 0;

	(void)state;
	for (uint32_t k = 0; k < PLACES; k++)
		instruction[k] = k / 2;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		for (int again = 0; again < 2; again++) {
			two_stacks(&w, seed, 10, 0.45, 1e6);
			w.u.counts_len = 0;
			for (uint32_t i = 0; i < w.u.windows; i++)
				for (uint32_t k = 0; k < PLACES; k++) {
					double *x = exposure(&w, i), mix = x[1] / (x[0] + x[1]),
					       part = k % 2 ? 1 - mix : mix, n;

					n = k < PLACES / 2 ? x[0] * part : x[1] / 2;
					n = poisson(&w, n * 1e6 / 1e9 / (PLACES / 4.0));
					if (n > 0)
						w.u.counts[w.u.counts_len++] =
							(struct aif_unmix_count){i, k, n};
				}
			if (again) {
				w.u.instruction = instruction;
				w.u.instructions = PLACES / 2;
			}
			assert_int_equal(solve(&w), 0);
			*(again ? &by_instruction : &by_place) += not_its_own(&w, 1) / SEEDS;
			assert_true(not_its_own(&w, 0) > 0.9);
			over(&w);
		}
	}
	assert_true(by_place > 0.2);
	assert_true(by_instruction < 0.03);
}

static void a_mix_that_differs_is_unmixed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		two_stacks(&w, seed, 10, 0.45, 1e6);
		assert_int_equal(solve(&w), 0);
		assert_true(w.apart[0]);
		assert_true(w.apart[1]);
		assert_true(error_of(&w, 0) <= 0.02);
		assert_true(error_of(&w, 1) <= 0.05);
		over(&w);
	}
}

static void a_mix_that_stays_the_same_is_not(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		two_stacks(&w, seed, 10, 0, 1e6);
		assert_int_equal(solve(&w), -ENODATA);
		over(&w);
		/* A mix that differs by a hair is lost in noise. */
		two_stacks(&w, seed, 1, 0.01, 1e6);
		assert_int_equal(solve(&w), -ENODATA);
		over(&w);
		/* Any mix is lost in noise with few samples. */
		two_stacks(&w, seed, 10, 0.45, 50);
		assert_int_equal(solve(&w), -ENODATA);
		over(&w);
	}
}

/* Plain steps would be stopped far from the end: at 0.11. */
static void a_mix_that_differs_little_takes_leaps(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		two_stacks(&w, seed, 10, 0.15, 1e6);
		assert_int_equal(solve(&w), 0);
		assert_true(error_of(&w, 0) <= 0.02);
		assert_true(error_of(&w, 1) <= 0.05);
		over(&w);
	}
}

/* Two of three always alternate: those are a pair, the third is known all the same. */
static void what_cannot_be_told_apart_is_a_pair(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;
		double together = 0;

		begin(&w, seed, 100, 3);
		for (size_t i = 0; i < w.u.windows; i++) {
			double pair = 1e8 * uniform(&w);

			exposure(&w, i)[0] = pair * 0.6;
			exposure(&w, i)[1] = 1e8 - pair;
			exposure(&w, i)[2] = pair * 0.4;
		}
		count_samples(&w, 1e-3);
		assert_int_equal(solve(&w), 0);
		assert_false(w.apart[0]);
		assert_true(w.apart[1]);
		assert_false(w.apart[2]);
		assert_true(error_of(&w, 1) <= 0.02);
		for (size_t k = 0; k < PLACES; k++)
			together += fabs(w.rates[k] - w.rates[2 * PLACES + k]);
		assert_true(together == 0);
		over(&w);
	}
}

/* A stack that fills half of the device only has half the samples: no error of its neighbour's. */
static void a_thin_stack_has_lower_rates(void **state)
{
	struct world w;
	double rates[2] = {0};

	(void)state;
	begin(&w, 5, 100, 2);
	for (size_t i = 0; i < w.u.windows; i++) {
		exposure(&w, i)[0] = 1e8 * uniform(&w);
		exposure(&w, i)[1] = 1e8 - exposure(&w, i)[0];
	}
	for (size_t k = 0; k < PLACES; k++)
		w.truth[1][k] /= 2;
	count_samples(&w, 1e-3);
	assert_int_equal(solve(&w), 0);
	for (size_t k = 0; k < 2 * PLACES; k++)
		rates[k / PLACES] += w.rates[k];
	assert_true(fabs(rates[1] / rates[0] - 0.5) < 0.02);
	over(&w);
}

/* More stacks than have columns, and more windows than are worth it. */
static void what_is_too_much_is_put_together(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 7, 3000, MAX_STACKS);
	for (size_t i = 0; i < w.u.windows; i++)
		for (size_t g = 0; g < MAX_STACKS; g++)
			exposure(&w, i)[g] = uniform(&w) < 0.1 ? 1e8 / (double)(1 + g) : 0;
	count_samples(&w, 1e-3);
	assert_int_equal(solve(&w), 0);
	assert_true(w.apart[0]);
	assert_true(error_of(&w, 0) <= 0.02);
	assert_false(w.apart[MAX_STACKS - 1]);
	over(&w);
}

static void nothing_at_all_is_no_data(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, 10, 2);
	assert_int_equal(solve(&w), -ENODATA); /* nobody ran */
	for (size_t i = 0; i < w.u.windows; i++)
		exposure(&w, i)[0] = 1e8;
	assert_int_equal(solve(&w), -ENODATA); /* one did, and no samples came */
	over(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_told_apart_though_their_reasons_change),
		cmocka_unit_test(a_mix_that_differs_is_unmixed),
		cmocka_unit_test(a_mix_that_stays_the_same_is_not),
		cmocka_unit_test(a_mix_that_differs_little_takes_leaps),
		cmocka_unit_test(what_cannot_be_told_apart_is_a_pair),
		cmocka_unit_test(a_thin_stack_has_lower_rates),
		cmocka_unit_test(what_is_too_much_is_put_together),
		cmocka_unit_test(nothing_at_all_is_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
