/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of the attribution by themselves; test_attribution.c has them together. */
#include "analysis/attribution/active.h"
#include "analysis/attribution/count.h"
#include "analysis/attribution/insides.h"
#include "analysis/attribution/rows.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_group_is_found_again_by_all_of_what_it_has_in_common(void **state)
{
	struct aif_groups g = {0};
	struct aif_group like = {.process = 1, .kernel = 2, .stack = 3};
	uint32_t first, id;

	(void)state;
	assert_int_equal(aif_groups_find_or_add(&g, &like, &first), 0);
	like.time = 7; /* a sum says nothing of which group it is */
	assert_int_equal(aif_groups_find_or_add(&g, &like, &id), 0);
	assert_int_equal(id, first);
	for (int i = 0; i < 7; i++) {
		uint32_t *fields[] = {&like.process, &like.device, &like.stream, &like.kind,
				      &like.kernel,  &like.stack,  &like.graph};

		*fields[i] += 10;
		assert_int_equal(aif_groups_find_or_add(&g, &like, &id), 0);
		assert_int_equal(id, i + 1);
		*fields[i] -= 10;
	}
	assert_int_equal(g.len, 8);
	aif_groups_finish(&g);
}

static void insides_that_were_appended_twice_become_one(void **state)
{
	struct aif_insides s = {0};

	(void)state;
	assert_int_equal(aif_insides_append(&s, &(struct aif_inside){1, 5, 0, false, false, 2}), 0);
	assert_int_equal(aif_insides_add(&s, &(struct aif_inside){0, 9, 0, false, false, 1}), 0);
	assert_int_equal(aif_insides_add(&s, &(struct aif_inside){0, 9, 0, true, false, 1}), 0);
	assert_int_equal(s.len, 2);
	assert_int_equal(aif_insides_append(&s, &(struct aif_inside){1, 5, 0, false, true, 3}), 0);
	assert_int_equal(aif_insides_append(&s, &(struct aif_inside){1, 4, 1, false, false, 9}), 0);
	aif_insides_sort(&s);
	assert_int_equal(s.len, 3);
	assert_int_equal(s.at[0].group, 0);
	assert_true(s.at[0].shared && !s.at[0].mixed && s.at[0].samples == 2);
	assert_int_equal(s.at[1].frame, 4);
	assert_int_equal(s.at[2].frame, 5);
	assert_true(!s.at[2].shared && s.at[2].mixed && s.at[2].samples == 5);
	aif_insides_finish(&s);
}

static void what_runs_ends_in_order(void **state)
{
	enum { RUNS = 500 };
	struct aif_run runs[RUNS];
	struct aif_active a = {0};
	uint64_t last = 0;

	(void)state;
	for (uint32_t i = 0; i < RUNS; i++) {
		runs[i] = (struct aif_run){.end = aif_mix64(i) % 1000};
		assert_int_equal(aif_active_push(&a, &(struct aif_active_run){.run = &runs[i],
									      .is_kernel = i % 3}),
				 0);
	}
	assert_int_equal(a.kernels, RUNS - (RUNS + 2) / 3);
	while (a.len) {
		struct aif_active_run x = aif_active_pop(&a);

		assert_true(x.run->end >= last);
		last = x.run->end;
	}
	assert_int_equal(a.kernels, 0);
	aif_active_finish(&a);
}

static const struct aif_selection everything;

/* Losses explain open launches first; what of the unreported and unread ones is left over is counted as such. */
static void each_launch_is_counted_once(void **state)
{
	struct aif_profile p = {0};
	struct aif_loss losses[] = {
		{.reason = AIF_REASON_NO_TIMES, .detail = AIF_NONE},
		{.reason = AIF_REASON_NO_SLOT, .detail = AIF_NONE, .count = 4},
		{.reason = AIF_REASON_SAMPLE_LOST, .detail = AIF_NONE, .count = 2},
	};
	static const struct {
		uint64_t without_times, unfinished, unread, unreported;
	} cases[] = {{0, 5, 2, 3}, {1, 5, 2, 2}, {4, 5, 1, 0}, {7, 3, 0, 0}, {99, 0, 0, 0}};

	(void)state;
	p.losses = losses;
	p.losses_len = AIF_ARRAY_LEN(losses);
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_stages s = {
			.scope = {.p = &p, .sel = &everything},
			.loaded = {.outside = 1, .samples_count = 10},
			.classified = {.launches = 30, .joined = 20, .unreported = 3, .unread = 2},
			.samples = {.attributed = 5, .unmatched = 2, .cut = 3},
		};
		struct aif_conservation c;

		losses[0].count = cases[i].without_times;
		c = aif_count(&s);
		assert_int_equal(c.launches, 30 + 1 + 4);
		assert_int_equal(c.lost, 4 + AIF_MIN(cases[i].without_times, 10u));
		assert_int_equal(c.unreported, cases[i].unreported);
		assert_int_equal(c.unread, cases[i].unread);
		assert_int_equal(c.unfinished, cases[i].unfinished);
		assert_int_equal(c.samples, 10 - 3 + 2);
		assert_true(aif_conservation_check(&c, NULL));
	}
}

static void a_part_counts_the_launches_that_ran_in_it(void **state)
{
	struct aif_profile p = {0};
	struct aif_loss lost = {.reason = AIF_REASON_NO_SLOT, .detail = AIF_NONE, .count = 4};
	struct aif_selection part = {.from_ns = 1};
	struct aif_stages s = {
		.scope = {.p = &p, .sel = &part, .from = 1, .to = 5},
		.loaded = {.outside = 1},
		.classified = {.launches = 30, .joined = 20, .unreported = 3, .unread = 2},
	};
	struct aif_conservation c;

	(void)state;
	p.losses = &lost;
	p.losses_len = 1;
	c = aif_count(&s);
	assert_int_equal(c.launches, 20);
	assert_int_equal(c.elapsed_ns, 4);
	assert_int_equal(c.lost + c.outside + c.unread + c.unreported + c.unfinished, 0);
	assert_true(aif_conservation_check(&c, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_is_found_again_by_all_of_what_it_has_in_common),
		cmocka_unit_test(insides_that_were_appended_twice_become_one),
		cmocka_unit_test(what_runs_ends_in_order),
		cmocka_unit_test(each_launch_is_counted_once),
		cmocka_unit_test(a_part_counts_the_launches_that_ran_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
