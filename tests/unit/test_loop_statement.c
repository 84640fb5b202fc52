/* SPDX-License-Identifier: Apache-2.0 */
/* Tests turns of loops one of whose statements makes several calls: programs made by hand. */
#include "fixture_loop.h"

static const char source[] = "def run(batches):\n"
			     "    for x, y in batches:\n"
			     "        loss = difference(model(put(x)), put(y))\n"
			     "        step(loss)\n"
			     "def model(x):\n"
			     "    return multiply(x)\n"
			     "def apply(layer, x):\n"
			     "    return layer(x)\n"
			     "def wide(x): return multiply(x)\n";

/* Calls by their lines and by which of the line's they are. */
enum {
	PUT_X = 31,
	MODEL_CALL = 32,
	PUT_Y = 33,
	DIFFERENCE = 34,
	STEP = 41,
	APPLY_CALL = 35,
	MULTIPLY = 61,
	APPLIED = 81,
	MULTIPLY_WIDE = 91,
	EACH = 10
};

static const char *function_at(uint32_t line)
{
	return line == MULTIPLY / EACH        ? "model"
	       : line == APPLIED / EACH       ? "apply"
	       : line == MULTIPLY_WIDE / EACH ? "wide"
					      : "run";
}

/* Puts the source in the profile, and finds the loop. */
static void found(struct program *g)
{
	FIXTURE_ADD(&g->f.made, programs, .process = AIF_NONE, .source = ops_string(&g->f, source),
		    .options = AIF_NONE, .source_name = ops_string(&g->f, "run.py"));
	for (uint32_t i = 0; i < g->f.made.frames_len; i++) {
		uint32_t line = (uint32_t)g->f.made.frames[i].address / EACH;

		if (g->f.made.frames[i].address >> 32 == INIT)
			continue; /* code without source */
		FIXTURE_ADD(&g->f.made, frame_names, .frame = i,
			    .name = ops_string(&g->f, function_at(line)),
			    .file = ops_string(&g->f, "run.py"), .line = line);
	}
	find(g);
	assert_int_equal(g->l.level[g->l.chosen].line, 2);
	assert_steps(g);
	end(g);
}

static void call_model(struct program *g)
{
	enter(g, MAIN * 100 + MODEL_CALL);
	call(g, MODEL * 100 + MULTIPLY, 1, 100 * US);
	leave(g);
}

static void calls_of_one_statement_are_one_turn(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 100; i++) {
		step(&g);
		call(&g, MAIN * 100 + PUT_X, 0, 2 * US);
		call_model(&g);
		call(&g, MAIN * 100 + PUT_Y, 0, 2 * US);
		call(&g, MAIN * 100 + DIFFERENCE, 2, 10 * US);
		call(&g, MAIN * 100 + STEP, 3, 10 * US);
		g.now += 500 * US;
	}
	found(&g);
}

/* The statement is all that the loop has. */
static void a_call_that_comes_again_is_a_turn(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 100; i++) {
		step(&g);
		call(&g, MAIN * 100 + PUT_X, 0, 2 * US);
		call_model(&g);
		call(&g, MAIN * 100 + PUT_Y, 0, 2 * US);
		g.now += 500 * US;
	}
	found(&g);
}

/* Finds a loop whose statement calls the one, put() and the other; then step(). */
static void found_around_put(void (*one)(struct program *g), void (*other)(struct program *g))
{
	struct program g;

	begin(&g);
	for (uint32_t i = 0; i < 100; i++) {
		step(&g);
		one(&g);
		call(&g, MAIN * 100 + PUT_X, 0, 2 * US);
		other(&g);
		call(&g, MAIN * 100 + STEP, 3, 10 * US);
		g.now += 500 * US;
	}
	found(&g);
}

static void apply(struct program *g, uint32_t layer)
{
	enter(g, MAIN * 100 + APPLY_CALL);
	enter(g, LOSS * 100 + APPLIED);
	call(g, layer, 1, 100 * US);
	leave(g);
	leave(g);
}

static void apply_model(struct program *g)
{
	apply(g, MODEL * 100 + MULTIPLY);
}

static void apply_wide(struct program *g)
{
	apply(g, SERVE * 100 + MULTIPLY_WIDE);
}

/* model(put(model(x))) */
static void a_function_that_a_statement_calls_twice_makes_no_turn(void **state)
{
	(void)state;
	found_around_put(call_model, call_model);
}

/* apply(wide, put(apply(model, x))) */
static void a_function_that_calls_another_one_next_makes_no_turn(void **state)
{
	(void)state;
	found_around_put(apply_model, apply_wide);
}

/* step() launches kernel 5 three times, the others once. */
static void a_launch_that_a_compiled_step_repeats_makes_no_turn(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 100; i++) {
		enter(&g, MAIN * 100 + STEP);
		for (uint32_t k = 0; k < 3; k++) {
			call(&g, INIT * 100 + 1, 5, 10 * US);
			if (!k)
				step(&g);
			call(&g, INIT * 100 + 2, 6 + k, 10 * US);
		}
		leave(&g);
		g.now += 500 * US;
	}
	found(&g);
}

/* difference(model(put(x))), of which put() and difference() launch in code without source, the latter twice. */
static void launches_without_source_around_a_function_are_one_turn(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 100; i++) {
		step(&g);
		enter(&g, MAIN * 100 + MODEL_CALL);
		call(&g, INIT * 100 + 1, 5, 2 * US);
		call(&g, MODEL * 100 + MULTIPLY, 1, 100 * US);
		call(&g, INIT * 100 + 2, 6, 10 * US);
		call(&g, INIT * 100 + 3, 7, 10 * US);
		leave(&g);
		g.now += 500 * US;
	}
	found(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_one_statement_are_one_turn),
		cmocka_unit_test(a_call_that_comes_again_is_a_turn),
		cmocka_unit_test(a_function_that_a_statement_calls_twice_makes_no_turn),
		cmocka_unit_test(a_function_that_calls_another_one_next_makes_no_turn),
		cmocka_unit_test(a_launch_that_a_compiled_step_repeats_makes_no_turn),
		cmocka_unit_test(launches_without_source_around_a_function_are_one_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
