/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/facts.h"
#include "analysis/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define CLOCK   AIF_CLOCK_DEVICE
#define SECOND  ((int64_t)AIF_NS_PER_S)
#define START   (1000 * AIF_NS_PER_S)
#define BRACKET 200 /* ns from before to after */

/* Clock pairs of one clock, at each second of a recording. */
struct clock {
	struct aif_profile p;
	const struct aif_timeline *t;
};

static void pair(struct clock *c, uint32_t clock, int64_t at, uint64_t value)
{
	struct aif_profile *p = &c->p;

	p->start_ns = START;
	assert_int_equal(aif_grow(&p->clock_pairs, &p->clock_pairs_cap, p->clock_pairs_len + 1,
				  sizeof(*p->clock_pairs)),
			 0);
	p->clock_pairs[p->clock_pairs_len++] = (struct aif_clock_pair){
		.clock = clock,
		.process = clock >= AIF_CLOCK_DEVICE ? 0 : AIF_NONE,
		.before = START + (uint64_t)at - BRACKET / 2,
		.after = START + (uint64_t)at + BRACKET / 2,
		.value = value,
	};
}

static void ready(struct clock *c)
{
	assert_int_equal(aif_timeline_get(&c->p, &c->t), 0);
}

static void done(struct clock *c)
{
	aif_facts_put(c->t);
	free(c->p.clock_pairs);
}

static int64_t map(struct clock *c, uint64_t raw)
{
	return aif_timeline_map(c->t, CLOCK, 0, raw, NULL);
}

static void assert_near(int64_t got, int64_t wanted)
{
	if (got - wanted > BRACKET || wanted - got > BRACKET)
		fail_msg("%lld instead of %lld", (long long)got, (long long)wanted);
}

static void the_base_is_itself(void **state)
{
	struct clock c = {.p.start_ns = START};

	(void)state;
	ready(&c);
	assert_int_equal(aif_timeline_map(c.t, AIF_CLOCK_MONOTONIC, 0, START + 7, NULL), 7);
	assert_int_equal(aif_timeline_map(c.t, AIF_CLOCK_MONOTONIC, 0, START - 7, NULL), -7);
	done(&c);
}

static void an_offset_is_taken_away(void **state)
{
	struct clock c = {0};
	bool known = false;

	(void)state;
	for (int64_t s = 0; s < 5; s++)
		pair(&c, CLOCK, s * SECOND, (uint64_t)(5 + s * SECOND));
	ready(&c);
	assert_near(map(&c, 5 + (uint64_t)SECOND / 2), SECOND / 2);
	assert_near(map(&c, 5 + (uint64_t)(4 * SECOND)), 4 * SECOND);
	assert_near(map(&c, 5 + (uint64_t)(6 * SECOND)), 6 * SECOND); /* beyond the last pair */
	aif_timeline_map(c.t, CLOCK, 0, 5, &known);
	assert_true(known);
	done(&c);
}

/* 100 ppm fast, then 100 ppm slow: a clock that is being slewed. */
static void a_slew_is_followed(void **state)
{
	struct clock c = {0};
	uint64_t value = 77;

	(void)state;
	for (int64_t s = 0; s <= 10; s++) {
		pair(&c, CLOCK, s * SECOND, value);
		value += (uint64_t)(SECOND + (s < 5 ? 100000 : -100000));
	}
	ready(&c);
	assert_near(map(&c, 77 + (uint64_t)(2 * SECOND + SECOND / 2) + 250000),
		    2 * SECOND + SECOND / 2);
	assert_near(map(&c, 77 + (uint64_t)(7 * SECOND + SECOND / 2) + 500000 - 250000),
		    7 * SECOND + SECOND / 2);
	done(&c);
}

/* Somebody sets the clock forward by an hour between two pairs. */
static void a_step_does_not_bend_what_was_before(void **state)
{
	struct clock c = {0};
	uint64_t hour = 3600 * AIF_NS_PER_S;

	(void)state;
	for (int64_t s = 0; s <= 8; s++)
		pair(&c, CLOCK, s * SECOND, 1000 + (uint64_t)(s * SECOND) + (s >= 4 ? hour : 0));
	ready(&c);
	assert_near(map(&c, 1000 + (uint64_t)(2 * SECOND + 5)), 2 * SECOND + 5);
	assert_near(map(&c, 1000 + (uint64_t)(3 * SECOND + SECOND / 4)), 3 * SECOND + SECOND / 4);
	assert_near(map(&c, 1000 + (uint64_t)(6 * SECOND) + hour), 6 * SECOND);
	done(&c);
}

/* A 32-bit counter of ns wraps each 4.3 s. */
static void a_wrap_is_unrolled(void **state)
{
	struct clock c = {0};

	(void)state;
	for (int64_t s = 0; s <= 8; s++)
		pair(&c, CLOCK, s * SECOND, (uint32_t)(4000000000 + s * SECOND));
	ready(&c);
	for (int64_t at = SECOND / 2; at < 4 * SECOND; at += SECOND / 2) {
		uint64_t raw = (uint32_t)(4000000000 + at);

		assert_near(aif_timeline_map_after(c.t, CLOCK, 0, raw, at - SECOND / 4, NULL), at);
	}
	/* The same stamp a turn later, by what is known of when it cannot have been. */
	assert_near(aif_timeline_map_after(c.t, CLOCK, 0, (uint32_t)(4000000000 + 6 * SECOND),
					   5 * SECOND, NULL),
		    6 * SECOND);
	done(&c);
}

static void one_pair_gives_the_offset(void **state)
{
	struct clock c = {0};

	(void)state;
	pair(&c, CLOCK, 0, 123456789);
	ready(&c);
	assert_near(map(&c, 123456789 + 3 * AIF_NS_PER_S), 3 * SECOND);
	done(&c);
}

static void no_pair_is_said(void **state)
{
	struct clock c = {.p.start_ns = START};
	bool known = true;

	(void)state;
	ready(&c);
	assert_int_equal(aif_timeline_map(c.t, CLOCK, 0, START + 5, &known), 5);
	assert_false(known);
	done(&c);
}

static void time_does_not_go_back_within_a_piece(void **state)
{
	struct clock c = {0};
	int64_t last = INT64_MIN;

	(void)state;
	for (int64_t s = 0; s < 6; s++) /* brackets whose middle is off by some ns */
		pair(&c, CLOCK, s * SECOND + (s * 37) % 90, (uint64_t)(s * SECOND));
	ready(&c);
	for (uint64_t raw = 0; raw < 5 * AIF_NS_PER_S; raw += 1234567) {
		int64_t at = map(&c, raw);

		assert_true(at >= last);
		last = at;
	}
	done(&c);
}

/* 0.1 ms apart and each off by 20 ns: what lies between and after them still has the clock's slope. */
static void two_pairs_side_by_side_do_not_tell_a_slope(void **state)
{
	struct clock c = {0};

	(void)state;
	pair(&c, CLOCK, 0, START + 20);
	pair(&c, CLOCK, 100000, START + 100000 - 20);
	ready(&c);
	assert_near(map(&c, START + 50000), 50000);
	assert_near(map(&c, START + (uint64_t)SECOND), SECOND);
	assert_near(map(&c, START - (uint64_t)SECOND), -SECOND);
	done(&c);
}

/* The same, where the clock's slope, 52.083 ns a tick, is known from elsewhere. */
static void a_slope_is_taken_where_it_is_known(void **state)
{
	struct clock c = {0};
	uint64_t last = (uint64_t)(2 * SECOND * 12 / 625);

	(void)state;
	for (int64_t s = 0; s < 3; s++)
		pair(&c, CLOCK, s * SECOND, 5000 + (uint64_t)(s * SECOND * 12 / 625));
	/* The last pair is one tick too late, 1 of 19,200. */
	pair(&c, CLOCK, 2 * SECOND + 1000000, 5000 + last + 19200 + 1);
	ready(&c);
	assert_near(map(&c, 5000 + last + 19200 * 100), 2 * SECOND + 100000000);
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_base_is_itself),
		cmocka_unit_test(an_offset_is_taken_away),
		cmocka_unit_test(a_slew_is_followed),
		cmocka_unit_test(a_step_does_not_bend_what_was_before),
		cmocka_unit_test(a_wrap_is_unrolled),
		cmocka_unit_test(one_pair_gives_the_offset),
		cmocka_unit_test(no_pair_is_said),
		cmocka_unit_test(time_does_not_go_back_within_a_piece),
		cmocka_unit_test(two_pairs_side_by_side_do_not_tell_a_slope),
		cmocka_unit_test(a_slope_is_taken_where_it_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
