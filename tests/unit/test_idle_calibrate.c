/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whose idle time it is where launches were left out: rare gaps that are longer than a block. */
#include "fixture_idle_blame.h"

/* Twenty steps of 5 ms on the host and 2 ms on the device, then 60 ms on the host: 200 ms. */
enum {
	STEPS = 20,
	HOST_MS = 5,
	WORK_MS = 2,
	RARE_MS = 60,
	ROUNDS = 200,
	ROUND_MS = 200,
	BLOCK_MS = 20
};

static void block(struct ops_fixture *f, uint64_t from, uint64_t to, bool is_on, uint64_t launches)
{
	struct aif_err err = {0};
	struct aif_window_row row = {.start = OPS_START + from,
				     .end = OPS_START + to,
				     .device = AIF_NONE,
				     .process = 0,
				     .held = is_on,
				     .p_ppm = 250000,
				     .thread = 0,
				     .launches = launches};

	assert_ok(aif_writer_windows(f->w, &row, 1, &err), &err);
}

/* Returns the stack that the thread is in, ms since the start; AIF_NONE: none, it waits for the device without CPU time. */
static uint32_t stack_at(uint64_t ms)
{
	uint64_t at = ms % ROUND_MS;

	if (at >= ROUND_MS - RARE_MS)
		return COMPUTE;
	return at % (HOST_MS + WORK_MS) < HOST_MS ? MAIN : AIF_NONE;
}

/* Adds the launches of a block, or counts them only. */
static uint64_t launches(struct ops_fixture *f, uint64_t from, uint64_t to, bool is_on)
{
	uint64_t n = 0;

	for (uint64_t ms = from; ms < to; ms++) {
		uint64_t at = ms % ROUND_MS;

		if (at >= STEPS * (HOST_MS + WORK_MS) || at % (HOST_MS + WORK_MS) != HOST_MS)
			continue;
		n++;
		if (is_on)
			kernel(f, ms * MS, ms * MS, (ms + WORK_MS) * MS, LAUNCH_A);
	}
	return n;
}

static void rare_gaps_that_no_block_has_whole_are_there(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint64_t end_ms = ROUNDS * ROUND_MS;
	bool is_on = true;
	double share, truth = (double)RARE_MS / (RARE_MS + STEPS * HOST_MS);

	(void)state;
	begin(&f);
	f.made.end_ns = OPS_START + end_ms * MS;
	for (uint64_t from = 0, to; from < end_ms; from = to) {
		/* Off-blocks of 40 to 80 ms. */
		to = from + (is_on ? BLOCK_MS : 40 + from * 7919 % 41);
		block(&f, from * MS, to * MS, is_on, launches(&f, from, to, is_on));
		is_on = !is_on;
	}
	for (uint64_t ms = 0; ms < end_ms; ms += PERIOD / MS - 2 + ms * 7919 % 5)
		if (stack_at(ms) != AIF_NONE)
			cpu(&f, 0, ms * MS + MS / 2, PERIOD, 0, stack_at(ms));
	blame(&f, &b);
	share = (double)row(&b, AIF_IDLE_CAUSE_CPU, COMPUTE) / (double)b.idle_ns;
	if (share < truth - 0.05 || share > truth + 0.05)
		fail_msg("%.3f of the idle time, truly %.3f", share, truth);
	end(&f, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rare_gaps_that_no_block_has_whole_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
