/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_of_steps(void **state)
{
	static const char *const names[] = {
		"step",
		"Step 17",
		"step_3",
		"iteration 3",
		"iter=12",
		"batch[5]",
		"train_step 4",
		"TRAIN STEP",
		"megatron:iteration 100",
		"global-batch #7",
		"decode step 5",
		"step(12)",
		"ns:train step",
	};
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (!aif_step_names_match(names[i]))
			fail_msg("%s is a step", names[i]);
}

static void names_of_others(void **state)
{
	static const char *const names[] = {
		"",          "17",          "optimizer step", "optimizer.step 3", "steps",
		"stepped 3", "step 3 of 5", "forward",        "batch norm 3",     "BatchNorm",
		"iterator",  "train",       "step 3a",        "train_epoch",      "learning step 2",
		"step\xff",
	};
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (aif_step_names_match(names[i]))
			fail_msg("%s is no step", names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_steps),
		cmocka_unit_test(names_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
