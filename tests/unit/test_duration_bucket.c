/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration_bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_bucket_is_within_its_error(void **state)
{
	(void)state;
	for (uint64_t ns = 0; ns < 200000; ns++) {
		uint64_t middle = aif_duration_of(aif_duration_bucket(ns));
		uint64_t off = middle > ns ? middle - ns : ns - middle;

		assert_true(off * 64 <= ns);
	}
	for (unsigned bit = 0; bit < 64; bit++)
		for (int more = -1; more <= 1; more++) {
			uint64_t ns = (UINT64_C(1) << bit) + (uint64_t)more;
			uint64_t middle = aif_duration_of(aif_duration_bucket(ns));

			assert_true((middle > ns ? middle - ns : ns - middle) <= ns / 64);
			assert_true(aif_duration_bucket(ns) < AIF_DURATION_BUCKETS);
		}
}

static void longer_durations_are_in_no_lower_bucket(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint64_t ns = 1; ns < UINT64_MAX / 3; ns += ns / 100 + 1) {
		assert_true(aif_duration_bucket(ns) >= aif_duration_bucket(last));
		last = ns;
	}
	for (uint32_t bucket = 1; bucket < AIF_DURATION_BUCKETS; bucket++) {
		assert_true(aif_duration_of(bucket) > aif_duration_of(bucket - 1));
		assert_int_equal(aif_duration_bucket(aif_duration_of(bucket)), bucket);
	}
	/* A file may hold anything. */
	assert_int_equal(aif_duration_of(UINT32_MAX), aif_duration_of(AIF_DURATION_BUCKETS - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_is_within_its_error),
		cmocka_unit_test(longer_durations_are_in_no_lower_bucket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
