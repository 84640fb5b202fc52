/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the meta of an imported profile says what its rows do not know, and its losses what it lacks. */
#include "fixture_recording.h"

#include "base/reasons.h"
#include "names/names.h"
#include "report/info.h"
#include "report/summary/summary.h"

#include <limits.h>
#include <string.h>

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

static const struct {
	enum aif_reason number;
	bool is_loss;
} reasons[] = {
#define LOSS                                           true
#define DEGRADED                                       false
#define AIF_REASON(number, name, class, sentence, fix) {number, class},
#include "base/reasons.def"
#undef AIF_REASON
};

static bool has(struct aif_buf *text, const char *word)
{
	return strstr(aif_buf_str(text), word) != NULL;
}

/* Each reason, alone in a profile: info names it, the report's summary says it, and what it leaves incomplete is known. */
static void no_loss_is_passed_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(reasons); i++) {
		const struct aif_reason_info *info = aif_reason_info((int)reasons[i].number);
		struct aif_buf told = {0}, sentence = {0}, report = {0}, lacks = {0};
		struct aif_attribution a;
		struct aif_names names;
		struct aif_err err = {0};
		struct recording w;

		recording_begin(&w, 1000);
		FIXTURE_ADD(&w.p, losses, .reason = reasons[i].number, .process = AIF_NONE,
			    .thread = AIF_NONE, .detail = AIF_NONE, .count = 7);
		recording_open(&w, 2000);
		if (aif_attribution_compute(&w.read, NULL, &a, &err) < 0 ||
		    aif_names_make(&names, &w.read) < 0)
			fail_msg("%s", err.text);
		aif_info_write(&w.read, &a, "x", &told);
		aif_summary_write(&names, &a, "x", &report);
		aif_reason_say(info, 7, &sentence);
		if (!has(&told, info->name) || !has(&told, aif_buf_str(&sentence)) ||
		    has(&told, "  none"))
			fail_msg("info passes over %s: %s", info->name, aif_buf_str(&told));
		if (!has(&report, aif_buf_str(&sentence)))
			fail_msg("report passes over %s: %s", info->name, aif_buf_str(&report));
		if (reasons[i].is_loss && !aif_lack_after(reasons[i].number))
			fail_msg("lacks.def has no row of %s", info->name);
		if (w.read.traits.lacks != aif_lack_after(reasons[i].number))
			fail_msg("%s: %x", info->name, w.read.traits.lacks);
		if (aif_lacks_say(&w.read.traits, UINT_MAX, &lacks) &&
		    !has(&told, aif_buf_str(&lacks)))
			fail_msg("info does not say that %s leaves %s", info->name,
				 aif_buf_str(&lacks));
		aif_names_finish(&names);
		aif_attribution_finish(&a);
		recording_finish(&w);
		aif_buf_finish(&told);
		aif_buf_finish(&sentence);
		aif_buf_finish(&report);
		aif_buf_finish(&lacks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opened_profile_has_the_traits_of_its_meta),
		cmocka_unit_test(no_loss_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
