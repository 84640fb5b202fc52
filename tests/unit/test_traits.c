/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the meta of an imported profile says what its rows do not know, and its losses what it lacks. */
#include "fixture_recording.h"

#include "base/reasons.h"
#include "names/names.h"
#include "report/info.h"
#include "report/summary/parts.h"
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

/* Opens a profile of a process without CPU samples that used `unsampled_ns`, and of two ranks that used 1 s each. */
static void open_with_unsampled(struct recording *w, uint64_t unsampled_ns, bool starts_ranks)
{
	uint32_t first;

	recording_begin(w, 1000);
	first = (uint32_t)w->p.processes_len;
	for (uint32_t i = 0; i < 3; i++)
		FIXTURE_ADD(&w->p, processes, .pid = 500 + i, .ppid = starts_ranks && i ? 500 : 1,
			    .exe = str(w, "x"), .cmdline = str(w, "x"), .host = AIF_NONE, .rank = i,
			    .cpu_ns = i ? 1000000000 : unsampled_ns);
	FIXTURE_ADD(&w->p, losses, .reason = AIF_REASON_CPU_SIGNAL_TAKEN, .process = first,
		    .thread = AIF_NONE, .detail = AIF_NONE, .count = 1);
	recording_open(w, 2000);
}

static void expect_minor(uint64_t unsampled_ns, bool starts_ranks, bool is_minor)
{
	struct aif_buf trouble = {0}, info = {0}, lacks = {0};
	struct aif_attribution a;
	struct aif_err err = {0};
	struct recording w;

	open_with_unsampled(&w, unsampled_ns, starts_ranks);
	aif_summary_trouble(&w.read, false, "x", &trouble);
	if (has(&trouble, "SIGURG") == is_minor ||
	    aif_lacks_say(&w.read.traits, AIF_LACK_CPU, &lacks) == is_minor)
		fail_msg("%llu: %s, %s", (unsigned long long)unsampled_ns, aif_buf_str(&trouble),
			 aif_buf_str(&lacks));
	assert_int_equal(aif_attribution_compute(&w.read, NULL, &a, &err), 0);
	aif_info_write(&w.read, &a, "x", &info);
	assert_true(has(&info, "CPU_SIGNAL_TAKEN"));
	aif_attribution_finish(&a);
	aif_buf_finish(&trouble);
	aif_buf_finish(&info);
	aif_buf_finish(&lacks);
	recording_finish(&w);
}

static void a_process_that_used_hardly_any_cpu_makes_no_samples_incomplete(void **state)
{
	(void)state;
	expect_minor(90000000, false, true);
	expect_minor(110000000, false, false);
	expect_minor(0, false, false); /* not known */
}

static void what_starts_ranks_may_use_more_cpu_without_samples(void **state)
{
	(void)state;
	expect_minor(110000000, true, true);
	expect_minor(600000000, true, false);
	expect_minor(0, true, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opened_profile_has_the_traits_of_its_meta),
		cmocka_unit_test(no_loss_is_passed_over),
		cmocka_unit_test(a_process_that_used_hardly_any_cpu_makes_no_samples_incomplete),
		cmocka_unit_test(what_starts_ranks_may_use_more_cpu_without_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
