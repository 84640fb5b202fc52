/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A ring may hold rows of all kinds, so it is drained only when each kind can have a batch. */
static void each_kind_of_row_has_room(void **state)
{
	struct aif_batches b;

	(void)state;
	assert_int_equal(aif_batches_init(&b), 0);
	assert_true(aif_batches_room(&b));
	for (unsigned i = 0; i < AIF_BATCH_MAX; i++) {
		assert_int_equal(aif_batches_room(&b), i + AIF_BATCH_KINDS <= AIF_BATCH_MAX);
		assert_non_null(aif_batches_row(&b, AIF_BATCH_LAUNCH));
		aif_batches_flush(&b);
	}
	assert_null(aif_batches_row(&b, AIF_BATCH_LAUNCH));
	for (unsigned i = 0; i < AIF_BATCH_KINDS; i++) {
		assert_false(aif_batches_room(&b));
		aif_batches_give(&b, aif_batches_take(&b));
	}
	assert_true(aif_batches_room(&b));
	for (unsigned kind = 0; kind < AIF_BATCH_KINDS; kind++)
		assert_non_null(aif_batches_row(&b, (enum aif_batch_kind)kind));
	aif_batches_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_row_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
