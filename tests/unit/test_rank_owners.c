/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/owners.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEGMENTS 5000
#define OWNERS   7

static void add(void *arg, uint32_t owner, double ns)
{
	assert_true(owner < OWNERS);
	((double *)arg)[owner] += ns;
}

/* Sums of segments are what the segments are, whatever part of them a span has. */
static void sums_of_spans(void **state)
{
	static struct aif_rank_segment at[SEGMENTS];
	struct aif_rank_mix mix = {.first = 0, .end = 2};
	struct aif_rank_part parts[] = {{1, 0.25}, {6, 0.75}};
	struct aif_rank_did did = {.device = {.at = at, .len = SEGMENTS}};
	struct aif_rank_owners o = {
		.owners_len = OWNERS, .mixes = &mix, .parts = parts, .ranks = &did, .ranks_len = 1};
	int64_t time = 1000;

	(void)state;
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		at[i] = (struct aif_rank_segment){time, time + 10 + i % 13,
						  i % 5 ? i % OWNERS : AIF_RANK_MIX | 0};
		time = at[i].to + (i % 3 ? 0 : 4);
	}
	for (int64_t from = 0; from < time; from += 9973)
		for (int64_t to = from; to < time + 5000; to += 7919) {
			double each[OWNERS] = {0}, summed[OWNERS] = {0};

			did.device.sums = NULL;
			aif_rank_owners_in(&o, 0, from, to, add, each);
			assert_int_equal(aif_rank_segments_sum(&o, &did.device), 0);
			assert_non_null(did.device.sums);
			aif_rank_owners_in(&o, 0, from, to, add, summed);
			free(did.device.sums);
			for (int k = 0; k < OWNERS; k++)
				assert_true(fabs(each[k] - summed[k]) < 0.5);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_spans)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
