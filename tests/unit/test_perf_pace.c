/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/perf_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TURN_NS UINT64_C(10000000)

struct lived {
	double on; /* share of the time */
	double slowdown;
	uint64_t blocks;
};

/* `seconds` with turns each 10 ms, as the drain makes them. */
static struct lived live(struct aif_perf_pace *p, double switches_per_s, unsigned seconds)
{
	uint64_t began = p->since, on_before = p->on_ns, cost_before = p->cost_ns, blocks = 0;
	double ns = seconds * 1e9;
	bool was_on = p->is_on;

	aif_perf_pace_rate(p, switches_per_s);
	for (uint64_t now = began; now < began + (uint64_t)ns; now += TURN_NS) {
		bool is_on = aif_perf_pace_turn(p, now);

		blocks += is_on && !was_on;
		was_on = is_on;
	}
	return (struct lived){(double)(p->on_ns - on_before) / ns,
			      (double)(p->cost_ns - cost_before) / ns, blocks};
}

static void few_switches_are_always_sampled(void **state)
{
	struct aif_perf_pace p;

	(void)state;
	aif_perf_pace_init(&p, 10000, 1, 1000);
	assert_true(live(&p, 900, 10).on > 0.99);
}

static void many_switches_cost_what_is_allowed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++)
		for (double rate = 5000; rate < 1e5; rate *= 2) {
			struct aif_perf_pace p;
			struct lived l;

			aif_perf_pace_init(&p, 10000, seed, 1000);
			live(&p, rate, 10);
			l = live(&p, rate, 1000);
			if (l.slowdown < 0.008 || l.slowdown > 0.012)
				fail_msg("%g switches: slowdown %g", rate, l.slowdown);
			assert_true(l.blocks > 10);
		}
}

static void it_follows_the_rate(void **state)
{
	struct aif_perf_pace p;

	(void)state;
	aif_perf_pace_init(&p, 10000, 3, 1000);
	assert_true(live(&p, 50000, 100).on < 0.1);
	assert_true(live(&p, 0, 10).on > 0.99);
	assert_true(live(&p, 50000, 100).on < 0.1);
}

static void without_a_limit_it_is_always_on(void **state)
{
	struct aif_perf_pace p;

	(void)state;
	aif_perf_pace_init(&p, 0, 1, 1000);
	assert_true(live(&p, 1e6, 10).on > 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_switches_are_always_sampled),
		cmocka_unit_test(many_switches_cost_what_is_allowed),
		cmocka_unit_test(it_follows_the_rate),
		cmocka_unit_test(without_a_limit_it_is_always_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
