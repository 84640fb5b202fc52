/* SPDX-License-Identifier: Apache-2.0 */
/* Tests loops that are looked for by where those of other runs begin. */
#include "fixture_loop.h"
#include "rounds.h"

/* Keeps launches of random blocks only, half a step to two steps long. */
static void leave_out(struct program *g)
{
	struct aif_err err = {0};
	size_t n = 0, i = 0;

	for (uint64_t at = 0, stop; at < g->now; at = stop) {
		bool held = random_below(g, 2);
		struct aif_window_row row;

		stop = at + (200 + random_below(g, 600)) * US;
		row = (struct aif_window_row){.start = OPS_START + at,
					      .end = OPS_START + stop,
					      .device = AIF_NONE,
					      .held = held,
					      .launches = 40,
					      .p_ppm = 500000};
		assert_ok(aif_writer_windows(g->f.w, &row, 1, &err), &err);
		for (; i < g->launches_len && g->launches[i].time - OPS_START < stop; i++)
			if (held) {
				g->execs[n] = g->execs[i];
				g->launches[n++] = g->launches[i];
			}
	}
	g->launches_len = g->execs_len = n;
}

/* Finds inner loops now and then, or none, in few steps of which much is left out; by the place of another run's, the steps. */
static void steps_of_another_run_are_found(void **state)
{
	size_t others = 0, missing = 0, n = rounds(80);
	uint64_t place;
	struct program g;

	(void)state;
	begin(&g);
	train(&g, 1, false);
	find(&g);
	assert_steps(&g);
	place = g.l.place;
	assert_int_not_equal(place, 0);
	end(&g);
	for (uint64_t seed = 1; seed <= n; seed++) {
		begin(&g);
		g.random = seed;
		initialise(&g); /* other frames come first: all have other numbers */
		enter(&g, MAIN * 100 + 2);
		for (unsigned i = 0; i < 40; i++) {
			step(&g);
			forward(&g, TRAIN * 100 + 1);
			call(&g, TRAIN * 100 + 2, 4, 2 * US);
			call(&g, TRAIN * 100 + 3, 5, 30 * US);
			g.now += random_below(&g, 50) * US;
		}
		leave(&g);
		leave_out(&g);
		find(&g);
		others += !g.l.levels || llabs((int64_t)g.l.median_ns - 425 * US) > 25 * US;
		find_at(&g, place);
		missing += !g.l.levels;
		for (size_t i = 0; i < g.l.len; i++) {
			int64_t ns = g.l.steps[i].end - g.l.steps[i].start;

			if (llabs(ns - 425 * US) > 25 * US)
				fail_msg("seed %d: a step takes %d us", (int)seed, (int)(ns / US));
		}
		assert_true(!g.l.levels || g.l.place == place);
		find_at(&g, place + 2);
		assert_int_equal(g.l.levels, 0);
		end(&g);
	}
	print_message("%zu of %zu had another loop or none, %zu none at the place\n", others, n,
		      missing);
	assert_true(others > 0 && missing <= n / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_another_run_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
