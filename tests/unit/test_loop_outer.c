/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the turns of a loop that launches in one loop within it alone, which CPU samples tell: programs made by hand. */
#include "fixture_loop.h"

enum { PREPARE_LINE = 3, LAUNCH_LINE = 5, OUTER_LINE = 2, INNER_LINE = 4 };
static const char source[] = "def run(texts):\n"
			     "    for text in texts:\n"
			     "        prepare(text)\n"
			     "        for part in text:\n"
			     "            launch(part)\n";

struct nested {
	struct program g;
	uint32_t parts;       /* launches of a turn; 0: 3 to 6 */
	uint64_t prepare;     /* ns before the first of them */
	uint32_t sample_each; /* turns, of which one has a sample; 0: no samples */
	uint32_t sample_line;
	uint32_t pause_each; /* turns, of which one has a pause between its launches */
};

/* Puts a sample of the thread in a call of run(). */
static void sample(struct program *g, uint32_t line)
{
	struct aif_err err = {0};
	struct aif_cpu_row row = {.weight = 10000 * US, .thread = 0};

	enter(g, MAIN * 100 + line);
	row.time = OPS_START + g->now;
	row.stack = g->stack[g->depth];
	leave(g);
	assert_ok(aif_writer_cpu(g->f.w, &row, 1, &err), &err);
}

static void run(struct nested *n)
{
	struct program *g = &n->g;

	begin(g);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t parts = n->parts ? n->parts : 3 + random_below(g, 4);

		step(g);
		g->now += n->prepare / 2;
		if (n->sample_each && i % n->sample_each == 1)
			sample(g, n->sample_line);
		g->now += n->prepare / 2;
		for (uint32_t k = 0; k < parts; k++) {
			g->now += 190 * US;
			if (k == 1 && n->pause_each && i % n->pause_each == 2)
				g->now += 8000 * US;
			enter(g, MAIN * 100 + LAUNCH_LINE);
			launch(g, 1, 100 * US);
			leave(g);
		}
	}
	FIXTURE_ADD(&g->f.made, programs, .process = AIF_NONE, .source = ops_string(&g->f, source),
		    .options = AIF_NONE, .source_name = ops_string(&g->f, "run.py"));
	for (uint32_t i = 0; i < g->f.made.frames_len; i++)
		FIXTURE_ADD(&g->f.made, frame_names, .frame = i, .name = ops_string(&g->f, "run"),
			    .file = ops_string(&g->f, "run.py"),
			    .line = (uint32_t)g->f.made.frames[i].address);
	find(g);
}

static void assert_loop(const struct nested *n, uint32_t line)
{
	assert_int_equal(n->g.l.level[n->g.l.chosen].line, line);
}

static void samples_tell_turns_of_an_outer_loop(void **state)
{
	struct nested n = {
		.parts = 4, .prepare = 4000 * US, .sample_each = 3, .sample_line = PREPARE_LINE};

	(void)state;
	run(&n);
	assert_loop(&n, OUTER_LINE);
	assert_steps(&n.g);
	/* The other loop is within. */
	assert_int_equal(n.g.l.level[n.g.l.chosen + 1].line, INNER_LINE);
	end(&n.g);
}

static void turns_may_have_any_number_of_the_inner_loop(void **state)
{
	struct nested n = {.prepare = 4000 * US, .sample_each = 3, .sample_line = PREPARE_LINE};

	(void)state;
	run(&n);
	assert_loop(&n, OUTER_LINE);
	assert_steps(&n.g);
	end(&n.g);
}

/* Turns have equally many launches. */
static void a_pause_is_no_turn(void **state)
{
	struct nested n = {.parts = 4,
			   .prepare = 4000 * US,
			   .sample_each = 3,
			   .sample_line = PREPARE_LINE,
			   .pause_each = 3};

	(void)state;
	run(&n);
	assert_loop(&n, OUTER_LINE);
	assert_steps(&n.g);
	end(&n.g);
}

static void without_samples_the_inner_loop_is_known_alone(void **state)
{
	struct nested n = {.parts = 4, .prepare = 4000 * US};

	(void)state;
	run(&n);
	assert_loop(&n, INNER_LINE);
	end(&n.g);
}

static void samples_of_the_inner_loop_tell_no_turns(void **state)
{
	struct nested n = {
		.parts = 4, .prepare = 4000 * US, .sample_each = 3, .sample_line = LAUNCH_LINE};

	(void)state;
	run(&n);
	assert_loop(&n, INNER_LINE);
	end(&n.g);
}

/* Launches of two turns are no farther apart than those of one: which begins a turn is not known. */
static void short_work_between_turns_tells_none(void **state)
{
	struct nested n = {
		.parts = 4, .prepare = 40 * US, .sample_each = 3, .sample_line = PREPARE_LINE};

	(void)state;
	run(&n);
	assert_loop(&n, INNER_LINE);
	end(&n.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_tell_turns_of_an_outer_loop),
		cmocka_unit_test(turns_may_have_any_number_of_the_inner_loop),
		cmocka_unit_test(a_pause_is_no_turn),
		cmocka_unit_test(without_samples_the_inner_loop_is_known_alone),
		cmocka_unit_test(samples_of_the_inner_loop_tell_no_turns),
		cmocka_unit_test(short_work_between_turns_tells_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
