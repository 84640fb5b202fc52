/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fair_shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { OWN = 0, GREEDY = 1000, LATE = 1001, MOST = 64 };

static unsigned take_all(struct aif_fair_shares *s, uid_t user)
{
	unsigned n = 0;

	while (aif_fair_shares_take(s, user))
		n++;
	return n;
}

static void one_user_gets_half_of_the_places(void **state)
{
	struct aif_fair_shares s;

	(void)state;
	aif_fair_shares_init(&s, MOST, OWN);
	assert_int_equal(take_all(&s, GREEDY), MOST / 2);
	assert_int_equal(aif_fair_shares_taken(&s), MOST / 2);
	assert_false(aif_fair_shares_has(&s, GREEDY));
	aif_fair_shares_finish(&s);
}

static void who_comes_behind_greedy_users_finds_a_place(void **state)
{
	struct aif_fair_shares s;
	unsigned before = MOST;

	(void)state;
	aif_fair_shares_init(&s, MOST, OWN);
	for (uid_t user = GREEDY; user < GREEDY + 5; user++) {
		unsigned n = take_all(&s, user);

		assert_true(n && n < before);
		before = n;
	}
	assert_true(aif_fair_shares_has(&s, GREEDY + 5));
	aif_fair_shares_finish(&s);
}

static void a_place_that_is_given_back_is_another_users(void **state)
{
	struct aif_fair_shares s;

	(void)state;
	aif_fair_shares_init(&s, 2, OWN);
	assert_true(aif_fair_shares_take(&s, GREEDY));
	assert_true(aif_fair_shares_take(&s, LATE));
	assert_false(aif_fair_shares_take(&s, LATE));
	aif_fair_shares_give(&s, GREEDY);
	aif_fair_shares_give(&s, GREEDY); /* who has none */
	assert_int_equal(aif_fair_shares_taken(&s), 1);
	assert_true(aif_fair_shares_take(&s, GREEDY));
	aif_fair_shares_finish(&s);
}

static void ones_own_processes_may_have_all_places(void **state)
{
	struct aif_fair_shares s;

	(void)state;
	aif_fair_shares_init(&s, MOST, OWN);
	assert_int_equal(take_all(&s, OWN), MOST);
	assert_false(aif_fair_shares_has(&s, LATE));
	aif_fair_shares_finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_gets_half_of_the_places),
		cmocka_unit_test(who_comes_behind_greedy_users_finds_a_place),
		cmocka_unit_test(a_place_that_is_given_back_is_another_users),
		cmocka_unit_test(ones_own_processes_may_have_all_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
