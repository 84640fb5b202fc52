/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the meta of an imported profile says what its rows do not know. */
#include "fixture_recording.h"

static const struct {
	const char *key, *value, *more_key, *more_value;
	struct aif_traits wanted;
} cases[] = {
	{"hostname", "h", NULL, NULL, {0}},
	{"imported", "Chrome trace", NULL, NULL, {.is_imported = true}},
	{"imported.rows", "lengths", NULL, NULL, {.is_lengths = true, .samples_unknown = true}},
	{"imported.rows", "samples", NULL, NULL, {.is_lengths = true, .times_unknown = true}},
	{"imported.rows", "samples", "imported.count_ns", "1000", {.is_lengths = true}},
	{"imported.rows", "events", "imported.count_ns", "1000", {0}},
	{"cpu_sampling", "cpu", NULL, NULL, {.cpu_weights = AIF_CPU_WEIGHTS_TIME}},
	{"cpu_sampling", "wall", NULL, NULL, {.cpu_weights = AIF_CPU_WEIGHTS_WALL}},
	{"cpu_sampling", "spans", NULL, NULL, {.cpu_weights = AIF_CPU_WEIGHTS_SPANS}},
	{"cpu_sampling", "counts", NULL, NULL, {.cpu_weights = AIF_CPU_WEIGHTS_COUNTS}},
};

static void an_opened_profile_has_the_traits_of_its_meta(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const struct aif_traits *wanted = &cases[i].wanted, *t;
		struct recording w;

		recording_begin(&w, 1000);
		FIXTURE_ADD(&w.p, meta, str(&w, cases[i].key), str(&w, cases[i].value));
		if (cases[i].more_key)
			FIXTURE_ADD(&w.p, meta, str(&w, cases[i].more_key),
				    str(&w, cases[i].more_value));
		recording_open(&w, 2000);
		t = &w.read.traits;
		if (t->is_imported != wanted->is_imported || t->is_lengths != wanted->is_lengths ||
		    t->samples_unknown != wanted->samples_unknown ||
		    t->times_unknown != wanted->times_unknown ||
		    t->cpu_weights != wanted->cpu_weights)
			fail_msg("%s %s", cases[i].key, cases[i].value);
		recording_finish(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opened_profile_has_the_traits_of_its_meta),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
