/* SPDX-License-Identifier: Apache-2.0 */
/* Reduced profiles of programs that mark no steps: turns of the loop are steps. */
#include "fixture_loop.h"

#include "analysis/weights.h"
#include "merge/reduce.h"

enum { STEPS = 400, LAUNCHES = 40, EVERY = 8 };

/* Adds steps of LAUNCHES launches that a device has time for. */
static void add_steps(struct program *g)
{
	enter(g, MAIN * 100 + 2);
	for (unsigned s = 0; s < STEPS; s++) {
		step(g);
		enter(g, TRAIN * 100 + 1);
		call(g, LOSS * 100 + 1, 0, 2 * US);
		for (unsigned i = 0; i + 2 < LAUNCHES; i += 2) {
			call(g, LAYER * 100 + 1, 1, 3 * US);
			call(g, LAYER * 100 + 2, 2, 3 * US);
		}
		call(g, LOSS * 100 + 2, 3, 2 * US);
		leave(g);
		g->now += 100 * US;
	}
	leave(g);
}

struct kept {
	uint64_t launches, steps;
};

static int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct kept *k = arg;

	(void)rows;
	k->launches += n;
	return 0;
}

static int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct kept *k = arg;

	for (size_t i = 0; i < n; i++)
		k->steps += rows[i].kind == AIF_OP_STEP && rows[i].end > rows[i].start;
	return 0;
}

static void turns_are_left_out_and_marked(void **state)
{
	const struct aif_reduce_opts o = {.every = EVERY};
	struct aif_reduce_sum sum;
	struct aif_weights *w;
	struct aif_profile p;
	struct program g;
	struct kept k = {0};
	struct aif_err err = {0};
	char path[80];

	(void)state;
	begin(&g);
	add_steps(&g);
	find(&g);
	assert_steps(&g);
	snprintf(path, sizeof(path), "%s-reduced", g.f.path);
	assert_ok(aif_reduce_file(g.f.path, path, &o, &sum, &err), &err);
	assert_in_range(sum.steps, STEPS - 2, STEPS);
	assert_true(sum.left_out > sum.launches / 2);
	assert_ok(aif_profile_open(path, &p, &err), &err);
	/* Views say of steps that are written that nobody has marked them. */
	assert_int_equal(strtoull(aif_profile_meta(&p, "reduced_turns"), NULL, 10), sum.steps);
	assert_int_equal(aif_profile_launches(&p, take_launches, &k, NULL), 0);
	assert_int_equal(aif_profile_ops(&p, take_ops, &k, NULL), 0);
	assert_int_equal(k.launches, sum.launches - sum.left_out);
	assert_int_equal(k.steps, sum.steps);
	assert_int_equal(aif_weights_new(&p, &w), 0);
	assert_int_equal(aif_weights_uncaptured(w), sum.left_out);
	aif_weights_free(w);
	aif_profile_finish(&p);
	unlink(path);
	end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_left_out_and_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
