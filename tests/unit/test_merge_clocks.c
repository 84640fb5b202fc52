/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "merge/clocks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ends of the operations of a loop, as two hosts see them: each turn has four, and lasts 10 ms give or take `jitter`. */
struct job {
	struct aif_merge_ends a, b;
	uint64_t seed;
	double ahead, drift; /* of b's clock */
	bool has_numbers;
};

#define TURN_NS 10000000

static int64_t drawn(struct job *j, int64_t below)
{
	j->seed = j->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return below ? (int64_t)((j->seed >> 33) % (uint64_t)below) : 0;
}

static void add(struct aif_merge_ends *e, uint64_t group, int64_t at, uint32_t sequence)
{
	assert_int_equal(aif_grow(&e->at, &e->cap, e->len + 1, sizeof(*e->at)), 0);
	e->at[e->len++] = (struct aif_merge_end){.group = group, .at = at, .sequence = sequence};
}

/* One turn of so many is captured by a, of others by b; 1: all of them. */
static void make(struct job *j, size_t turns, int64_t jitter, size_t by_a, size_t by_b)
{
	int64_t now = 5000000;
	uint32_t nth = 0;

	for (size_t i = 0; i < turns; i++) {
		for (unsigned k = 0; k < 4; k++) {
			int64_t at = now + (int64_t)k * (k + 1) * 700000, off = drawn(j, 8000);

			nth++;
			if (i % by_a == 0)
				add(&j->a, k % 2, at, j->has_numbers ? nth : 0);
			if (i % by_b == 0)
				add(&j->b, k % 2,
				    at + off + llround(j->ahead + j->drift * (double)at),
				    j->has_numbers ? nth : 0);
		}
		now += TURN_NS + drawn(j, jitter);
	}
	aif_merge_ends_sort(&j->a);
	aif_merge_ends_sort(&j->b);
}

static struct aif_merge_relation relate(struct job *j, const int64_t *by_dates)
{
	struct aif_merge_relation r;

	assert_int_equal(aif_merge_relate(&j->b, &j->a, by_dates, &r), 0);
	return r;
}

static void finish(struct job *j)
{
	free(j->a.at);
	free(j->b.at);
}

/* Checks that each time of b is mapped to that of a, within what ends scatter. */
static void check_map(const struct job *j, const struct aif_merge_relation *r)
{
	for (int64_t at = 5000000; at < INT64_C(3000000000); at += 100000000) {
		int64_t of_b = at + llround(j->ahead + j->drift * (double)at);

		assert_true(llabs(aif_clock_fit_map(&r->fit, of_b) - at) < 20000);
	}
}

static void test_offset_and_drift(void **state)
{
	static const double ahead[] = {0, 5.3e9, -86400e9}, drift[] = {0, 50e-6, -80e-6};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(ahead); i++) {
		struct job j = {.seed = i, .ahead = ahead[i], .drift = drift[i]};
		struct aif_merge_relation r;

		make(&j, 300, 200000, 1, 1);
		r = relate(&j, NULL);
		assert_int_equal(r.is, AIF_MERGE_BY_VOTES);
		assert_true(r.pairs > 1100 && r.fit.within < 20000);
		assert_true(fabs(r.fit.drift - drift[i]) < 2e-6);
		check_map(&j, &r);
		finish(&j);
	}
}

/* A host that lacks most of the operations, and one that began later. */
static void test_what_is_in_common(void **state)
{
	struct job j = {.seed = 3, .ahead = 2e9, .drift = 30e-6};
	struct aif_merge_relation r;

	(void)state;
	make(&j, 300, 200000, 1, 3);
	memmove(j.b.at, j.b.at + 100, (j.b.len -= 100) * sizeof(*j.b.at));
	r = relate(&j, NULL);
	assert_int_equal(r.is, AIF_MERGE_BY_VOTES);
	check_map(&j, &r);
	finish(&j);
}

static void test_by_number(void **state)
{
	struct job j = {.seed = 4, .ahead = 1e9, .drift = 50e-6, .has_numbers = true};
	struct aif_merge_relation r;

	(void)state;
	make(&j, 100, 0, 1, 1);
	r = relate(&j, NULL);
	assert_int_equal(r.is, AIF_MERGE_BY_NUMBER);
	assert_int_equal(r.pairs, 400);
	check_map(&j, &r);
	finish(&j);
}

/* Turns that all last the same fit after a shift by some of them: dates decide if they are near one only. */
static void test_turns_alike(void **state)
{
	struct job j = {.seed = 5, .ahead = 1e9};
	const int64_t right = 1000000000 + TURN_NS / 20, between = 1000000000 + TURN_NS / 2;
	struct aif_merge_relation r;

	(void)state;
	make(&j, 300, 0, 1, 1);
	assert_int_equal(relate(&j, NULL).is, AIF_MERGE_AMBIGUOUS);
	assert_int_equal(relate(&j, &between).is, AIF_MERGE_AMBIGUOUS);
	r = relate(&j, &right);
	assert_int_equal(r.is, AIF_MERGE_BY_DATES);
	check_map(&j, &r);
	finish(&j);
}

static void test_unrelated(void **state)
{
	struct job j = {.seed = 6}, other = {.seed = 7};
	struct aif_merge_ends none = {0}, b;
	struct aif_merge_relation r;

	(void)state;
	make(&j, 300, 4000000, 1, 1);
	make(&other, 300, 4000000, 1, 1);
	b = j.b;
	j.b = other.b;
	r = relate(&j, NULL);
	assert_true(r.is < AIF_MERGE_BY_NUMBER);
	assert_int_equal(aif_merge_relate(&none, &j.a, NULL, &r), 0);
	assert_int_equal(r.is, AIF_MERGE_UNRELATED);
	j.b = b;
	finish(&j);
	finish(&other);
}

/* Times of a damaged file are any that its reader lets through. */
static void test_hostile(void **state)
{
	struct job j = {.seed = 8};

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		add(&j.a, 0, (drawn(&j, 3) - 1) * (INT64_C(1) << 61), 0);
		add(&j.b, (uint64_t)drawn(&j, 2) * UINT64_MAX, (INT64_C(1) << 61) - drawn(&j, 2),
		    0);
	}
	aif_merge_ends_sort(&j.a);
	aif_merge_ends_sort(&j.b);
	relate(&j, NULL);
	relate(&j, &(int64_t){INT64_C(1) << 61});
	relate(&j, &(int64_t){-(INT64_C(1) << 61)});
	finish(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offset_and_drift), cmocka_unit_test(test_what_is_in_common),
		cmocka_unit_test(test_by_number),        cmocka_unit_test(test_turns_alike),
		cmocka_unit_test(test_unrelated),        cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
