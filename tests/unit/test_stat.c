/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/result.h"
#include "stat/model_event.h"
#include "stat/sysfs_event.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(value, wanted, by) assert_true(fabs((value) - (wanted)) <= (by))

static void set(struct aif_stat_run *r, enum aif_stat_event e, double value)
{
	r->values[e] = (struct aif_stat_value){
		.is_known = true, .value = value, .enabled_ns = 1000, .running_ns = 1000};
}

/* Three runs as a machine with counters has them: 1, 2 and 4 instructions a cycle. */
static void runs_make(struct aif_stat_run runs[3])
{
	memset(runs, 0, 3 * sizeof(*runs));
	for (int i = 0; i < 3; i++) {
		set(&runs[i], AIF_STAT_TASK_CLOCK, 2e9);
		set(&runs[i], AIF_STAT_CYCLES, 1000);
		set(&runs[i], AIF_STAT_INSTRUCTIONS, 1000 << i);
		set(&runs[i], AIF_STAT_BRANCHES, 100);
		set(&runs[i], AIF_STAT_BRANCH_MISSES, 7);
		set(&runs[i], AIF_STAT_DTLB_LOADS, 1000);
		set(&runs[i], AIF_STAT_DTLB_LOAD_MISSES, 4);
		set(&runs[i], AIF_STAT_DTLB_STORES, 500);
		set(&runs[i], AIF_STAT_DTLB_STORE_MISSES, 2);
		set(&runs[i], AIF_STAT_MINOR_FAULTS, 8);
		set(&runs[i], AIF_STAT_CACHE_MISSES, 5);
		runs[i].values[AIF_STAT_CACHE_REFERENCES].error = ENOENT;
		runs[i].usage[AIF_STAT_ELAPSED] = 1;
	}
	runs[1].values[AIF_STAT_BRANCHES].running_ns = 250;
}

static void topdown_is_of_the_four_of_level_1(void **state)
{
	struct aif_stat_run run = {0};
	struct aif_stat_result r = {
		.runs = &run, .len = 1, .events = aif_stat_events_of(AIF_STAT_SET_TOPDOWN)};

	(void)state;
	set(&run, AIF_STAT_SLOTS, 1000);
	set(&run, AIF_STAT_TD_RETIRING, 200);
	set(&run, AIF_STAT_TD_BAD_SPEC, 100);
	set(&run, AIF_STAT_TD_FE_BOUND, 100);
	set(&run, AIF_STAT_TD_BE_BOUND, 400);
	set(&run, AIF_STAT_TD_MEM_BOUND, 300);
	set(&run, AIF_STAT_TD_HEAVY_OPS, 201);
	assert_int_equal(aif_stat_result_make(&r), 0);
	assert_near(r.derived[AIF_STAT_RETIRING].median, 0.25, 1e-12);
	assert_near(r.derived[AIF_STAT_BACKEND_BOUND].median, 0.5, 1e-12);
	assert_near(r.derived[AIF_STAT_MEMORY_BOUND].median, 0.375, 1e-12);
	assert_near(r.derived[AIF_STAT_CORE_BOUND].median, 0.125, 1e-12);
	assert_near(r.derived[AIF_STAT_LIGHT_OPERATIONS].median, 0, 0);
	assert_int_equal(r.derived[AIF_STAT_FETCH_LATENCY].n, 0);
	assert_int_equal(r.derived[AIF_STAT_FETCH_BANDWIDTH].n, 0);
	assert_int_equal(r.derived[AIF_STAT_MACHINE_CLEARS].n, 0);
}

static void numbers_of_sysfs_are_parsed(void **state)
{
	static const char *const wrong[] = {"",
					    "\n",
					    "umask=0x80",
					    "event=",
					    "event=0x100",
					    "event=0x00,umask=0x80,cmask=1",
					    "event=0x3c;",
					    "event"};
	uint64_t config = 1;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(wrong); i++)
		assert_false(aif_stat_sysfs_parse(wrong[i], &config));
	assert_int_equal(config, 1);
	assert_true(aif_stat_sysfs_parse("event=0x00,umask=0x80\n", &config));
	assert_int_equal(config, 0x8000);
	assert_true(aif_stat_sysfs_parse("event=0x3c", &config));
	assert_int_equal(config, 0x3c);
}

static void page_walks_have_the_numbers_of_the_model(void **state)
{
	static const char cpu[] =
		"processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: CPU\n";
	static const struct {
		const char *vendor;
		int family, model;
		uint64_t config; /* 0: not known */
	} cases[] = {{"GenuineIntel", 6, 0x8f, 0x0e12}, {"GenuineIntel", 6, 0x6a, 0x0e08},
		     {"GenuineIntel", 6, 0x55, 0x0e08}, {"GenuineIntel", 6, 0x97, 0},
		     {"GenuineIntel", 15, 0x55, 0},     {"AuthenticAMD", 6, 0x8f, 0},
		     {"GenuineIntelX", 6, 0x8f, 0}};
	uint64_t config;
	char text[256];

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		config = 0;
		snprintf(text, sizeof(text), cpu, cases[i].vendor, cases[i].family, cases[i].model);
		assert_int_equal(
			aif_stat_model_event_of(text, "dtlb_load_misses.walk_completed", &config),
			cases[i].config != 0);
		assert_int_equal(config, cases[i].config);
	}
	snprintf(text, sizeof(text), cpu, "GenuineIntel", 6, 0x8f);
	assert_false(aif_stat_model_event_of(text, "slots", &config));
	assert_false(aif_stat_model_event_of("", "itlb_misses.stlb_hit", &config));
	/* A file that is cut off has no key whose value is. */
	assert_false(aif_stat_model_event_of("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel na",
					     "itlb_misses.stlb_hit", &config));
}

static void page_walks_are_summed_where_all_are_known(void **state)
{
	struct aif_stat_run run = {0};
	struct aif_stat_result r = {
		.runs = &run, .len = 1, .events = aif_stat_events_of(AIF_STAT_SET_TLB)};

	(void)state;
	set(&run, AIF_STAT_INSTRUCTIONS, 4000);
	set(&run, AIF_STAT_WALKS_LOAD, 5);
	set(&run, AIF_STAT_WALKS_STORE, 2);
	set(&run, AIF_STAT_WALKS_CODE, 1);
	set(&run, AIF_STAT_STLB_LOAD, 7);
	assert_int_equal(aif_stat_result_make(&r), 0);
	assert_near(r.derived[AIF_STAT_PAGE_WALKS].median, 8, 0);
	assert_near(r.derived[AIF_STAT_WALKS_PER_KINST].median, 2, 1e-12);
	assert_int_equal(r.derived[AIF_STAT_STLB_HITS].n, 0);
	assert_int_equal(r.derived[AIF_STAT_STLB_PER_KINST].n, 0);
}

static void ratios_are_taken_within_runs(void **state)
{
	struct aif_stat_run runs[3];
	struct aif_stat_result r = {
		.runs = runs, .len = 3, .events = aif_stat_events_of(AIF_STAT_SET_ALL)};

	(void)state;
	runs_make(runs);
	assert_int_equal(aif_stat_result_make(&r), 0);
	assert_near(r.derived[AIF_STAT_IPC].median, 2, 1e-12);
	assert_near(r.derived[AIF_STAT_IPC].min, 1, 1e-12);
	assert_near(r.derived[AIF_STAT_IPC].max, 4, 1e-12);
	assert_near(r.derived[AIF_STAT_BRANCH_MISS_RATE].median, 0.07, 1e-12);
	assert_near(r.derived[AIF_STAT_DTLB_MISS_RATE].median, 6.0 / 1500, 1e-12);
	assert_near(r.derived[AIF_STAT_MINOR_PER_KINST].median, 4, 1e-12);
	assert_near(r.cpus.median, 2, 1e-12);
	assert_near(r.running[AIF_STAT_BRANCHES], 0.25, 1e-12);
	assert_near(r.running[AIF_STAT_CYCLES], 1, 1e-12);
}

static void what_was_not_counted_is_not_0(void **state)
{
	struct aif_stat_run runs[3];
	struct aif_stat_result r = {
		.runs = runs, .len = 3, .events = aif_stat_events_of(AIF_STAT_SET_ALL)};
	struct aif_buf out = {0};

	(void)state;
	runs_make(runs);
	assert_int_equal(aif_stat_result_make(&r), 0);
	assert_int_equal(r.derived[AIF_STAT_CACHE_MISS_RATE].n, 0);
	assert_int_equal(r.error[AIF_STAT_CACHE_REFERENCES], ENOENT);
	aif_stat_json(&r, "", &out);
	assert_null(strstr(aif_buf_str(&out), "cache_miss_rate"));
	assert_non_null(strstr(aif_buf_str(&out), "\"event\": \"cache-references\", \"errno\": 2"));
	aif_buf_clear(&out);
	aif_stat_csv(&r, ",", &out);
	assert_non_null(strstr(aif_buf_str(&out), "<not supported>,,cache-references,"));
	assert_non_null(strstr(aif_buf_str(&out),
			       "2000.00,msec,task-clock,0.00%,1000,100.00,2.000,CPUs utilized\n"));
	assert_non_null(strstr(aif_buf_str(&out), "\n100,,branches,0.00%,1000,25.00,,\n"));
	aif_buf_clear(&out);
	aif_stat_text(&r, &out);
	assert_non_null(strstr(aif_buf_str(&out), "not counted:"));
	assert_non_null(strstr(aif_buf_str(&out), "2.000 insn per cycle"));
	assert_non_null(strstr(aif_buf_str(&out), "7.000% of all branches"));
	assert_non_null(strstr(aif_buf_str(&out), "(25.00%)"));
	aif_buf_finish(&out);
}

static void events_have_perfs_names(void **state)
{
	struct aif_err err = {0};
	aif_stat_events e = 0;

	(void)state;
	assert_int_equal(aif_stat_events_parse("cycles,tlb", &e, &err), 0);
	assert_int_equal(e,
			 (UINT64_C(1) << AIF_STAT_CYCLES) | aif_stat_events_of(AIF_STAT_SET_TLB));
	assert_int_equal(aif_stat_events_parse("cycles,cycle", &e, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'cycle'"));
	assert_int_equal(aif_stat_events_parse(",", &e, &err), -EINVAL);
}

static void spread_has_the_median(void **state)
{
	static const double values[] = {5, NAN, 1, 3, 3, 9};
	struct aif_spread s;

	(void)state;
	aif_spread_measure(values, AIF_ARRAY_LEN(values), &s);
	assert_int_equal(s.n, 5);
	assert_near(s.median, 3, 0);
	assert_near(s.min, 1, 0);
	assert_near(s.max, 9, 0);
	aif_spread_measure(values + 2, 2, &s);
	assert_near(s.median, 2, 0);
	aif_spread_measure(values + 1, 1, &s);
	assert_int_equal(s.n, 0);
	assert_true(isnan(s.median));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_walks_have_the_numbers_of_the_model),
		cmocka_unit_test(page_walks_are_summed_where_all_are_known),
		cmocka_unit_test(ratios_are_taken_within_runs),
		cmocka_unit_test(topdown_is_of_the_four_of_level_1),
		cmocka_unit_test(numbers_of_sysfs_are_parsed),
		cmocka_unit_test(what_was_not_counted_is_not_0),
		cmocka_unit_test(events_have_perfs_names),
		cmocka_unit_test(spread_has_the_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
