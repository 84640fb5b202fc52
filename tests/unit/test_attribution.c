/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how device time and samples are attributed to stacks. Pauses and losses: test_attribution_gaps.c. */
#include "fixture_attribution.h"

#include "analysis/attribution/cache.h"
#include "analysis/attribution/round.h"

#include <errno.h>

static void widths_are_times_and_insides_are_samples(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 100, 200);
	launch(&w, 2, 20, 2, 0, 0, 200, 500);
	sample(&w, 150, 3);
	sample(&w, 250, 3);
	sample(&w, 300, 4);
	sample(&w, 350, 4);
	sample(&w, 450, 6); /* libm, called by the kernel */
	sample(&w, 900, 3); /* in f's code while nothing runs */
	sample(&w, 950, 6); /* elsewhere, while nothing runs */
	end(&w, 1000, NULL);
	assert_int_equal(row(&w, 1, 0, 3)->wall_ns, 100);
	assert_int_equal(row(&w, 1, 0, 3)->launches, 1);
	assert_int_equal(row(&w, 2, 0, 3)->wall_ns, 75);
	assert_int_equal(row(&w, 2, 0, 4)->wall_ns, 150);
	assert_int_equal(row(&w, 2, 0, 6)->wall_ns, 75);
	assert_int_equal(row(&w, 2, 0, 4)->grade, AIF_GRADE_EXACT);
	assert_int_equal(w.a.conservation.busy_ns, 400);
	assert_int_equal(w.a.conservation.idle_ns, 0);
	assert_int_equal(w.a.conservation.before_ns, 100);
	assert_int_equal(w.a.conservation.after_ns, 500);
	assert_int_equal(w.a.conservation.sampled_attributed, 5);
	assert_int_equal(w.a.conservation.sampled_unmatched, 1);
	assert_int_equal(w.a.conservation.samples_outside, 1);
	over(&w);
}

static void overlapping_queues_share_the_wall(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 0, 1, 0, 0, 100, 300); /* f: 100 alone, 100 shared */
	launch(&w, 2, 0, 2, 1, 1, 200, 500); /* g: 100 shared, 200 alone */
	sample(&w, 250, 3);                  /* both run; the code says f */
	sample(&w, 260, 5);                  /* and here g */
	sample(&w, 270, 6);                  /* libm: either */
	end(&w, 600, NULL);
	assert_int_equal(w.a.conservation.busy_ns, 400);
	assert_int_equal(w.a.conservation.durations_ns, 500);
	assert_int_equal(w.a.conservation.overlap_ns, 100);
	assert_int_equal(w.a.conservation.sampled_attributed, 3);
	assert_int_equal(row(&w, 1, 0, 3)->wall_ns + row(&w, 1, 0, 6)->wall_ns, 150);
	assert_int_equal(row(&w, 2, 1, 5)->wall_ns + row(&w, 2, 1, 6)->wall_ns, 250);
	assert_int_equal(row(&w, 1, 0, 3)->time_ns + row(&w, 1, 0, 6)->time_ns, 200);
	assert_int_equal(row(&w, 1, 0, 3)->grade, AIF_GRADE_EXACT);
	assert_int_equal(row(&w, 1, 0, 6)->grade, AIF_GRADE_APPORTIONED);
	assert_null(row(&w, 2, 1, 3)); /* never to another kernel that runs */
	over(&w);
}

static void the_same_kernel_twice_shares_its_samples(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 0, 1, 0, 0, 100, 200);
	launch(&w, 2, 0, 2, 0, 1, 100, 200);
	sample(&w, 150, 3);
	sample(&w, 160, 3);
	end(&w, 300, NULL);
	assert_int_equal(row(&w, 1, 0, 3)->samples, 1);
	assert_int_equal(row(&w, 2, 0, 3)->samples, 1);
	assert_int_equal(row(&w, 1, 0, 3)->grade, AIF_GRADE_APPORTIONED);
	over(&w);
}

/* Stack 1 replays two graphs, and launches the same kernel by itself. */
static void graphs_are_told_apart(void **state)
{
	struct aif_exec_row e = {.launch = 1,
				 .start = T0 + 100,
				 .end = T0 + 110,
				 .kind = AIF_LAUNCH_KERNEL,
				 .graph = 7};
	uint64_t wall[3] = {0}, launches[3] = {0};
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 0, 1, AIF_NONE, 0, 0, 0); /* two nodes of graph 7 */
	assert_int_equal(aif_writer_execs(w.writer, &e, 1, NULL), 0);
	e.start += 10;
	e.end += 10;
	e.node = 1;
	assert_int_equal(aif_writer_execs(w.writer, &e, 1, NULL), 0);
	launch(&w, 2, 1, 1, AIF_NONE, 0, 0, 0); /* one of graph 8 */
	e.launch = 2;
	e.graph = 8;
	e.start += 10;
	e.end += 50;
	assert_int_equal(aif_writer_execs(w.writer, &e, 1, NULL), 0);
	launch(&w, 3, 2, 1, 0, 0, 200, 300);
	end(&w, 400, NULL);
	assert_int_equal(w.a.rows_len, 3);
	for (size_t i = 0; i < 3; i++) {
		uint32_t at = w.a.rows[i].graph ? w.a.rows[i].graph - 6 : 0;

		assert_in_range(at, 0, 2);
		wall[at] = w.a.rows[i].wall_ns;
		launches[at] = w.a.rows[i].launches;
		assert_int_equal(w.a.rows[i].stack, 1);
	}
	assert_int_equal(wall[0], 100);
	assert_int_equal(wall[1], 20);
	assert_int_equal(wall[2], 50);
	assert_int_equal(launches[1], 2);
	assert_int_equal(w.a.conservation.joined, 3);
	over(&w);
}

/* A sample that many share is given to them to the last part: thousands of these are no whole one less. */
static void shared_samples_are_given_away_whole(void **state)
{
	enum { SHARERS = 1000, SAMPLES = 4000 };
	struct recording w;
	uint64_t sum = 0;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < SHARERS; i++)
		launch(&w, i, 0, 1 + i % 2, 0, i % 2, 10, 10000);
	for (uint64_t i = 0; i < SAMPLES; i++)
		sample(&w, 20 + i, 3);
	end(&w, 10000, NULL);
	for (size_t i = 0; i < w.a.rows_len; i++)
		sum += w.a.rows[i].samples;
	assert_int_equal(w.a.conservation.sampled_attributed, SAMPLES);
	assert_int_equal(sum, SAMPLES);
	over(&w);
}

static void a_kernel_without_samples_keeps_its_width(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 0, 1, 1, 0, 100, 103);
	launch(&w, 2, 0, 1, 0, 0, 0, 0); /* never ended */
	end(&w, 300, NULL);
	assert_int_equal(w.a.rows_len, 1);
	assert_int_equal(row(&w, 1, 1, AIF_NONE)->wall_ns, 3);
	assert_int_equal(w.a.conservation.unfinished, 1);
	assert_int_equal(w.a.conservation.joined, 1);
	over(&w);
}

/* An execution cannot start before its call: if it seems to, the profile says that it is broken. */
static void a_wrong_clock_is_caught(void **state)
{
	struct recording w;
	struct aif_buf text = {0};

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 150, 1, 0, 0, 100, 200);
	end(&w, 300, NULL);
	assert_int_equal(w.a.conservation.started_before_launch, 1);
	assert_false(aif_conservation_check(&w.a.conservation, &text));
	assert_non_null(strstr(aif_buf_str(&text), "clock"));
	aif_buf_finish(&text);
	recording_finish(&w);
}

/* Each of the equalities, when one side is off by one. */
static void the_conservation_report_catches_what_is_missing(void **state)
{
	struct aif_conservation good = {.elapsed_ns = 10,
					.devices = 2,
					.before_ns = 1,
					.busy_ns = 15,
					.idle_ns = 1,
					.uncollected_ns = 1,
					.after_ns = 2,
					.busy_kernel_ns = 12,
					.busy_copy_ns = 3,
					.durations_ns = 17,
					.overlap_ns = 2,
					.samples = 15,
					.sampled_attributed = 4,
					.sampled_unmatched = 3,
					.samples_dropped = 2,
					.samples_outside = 1,
					.samples_in_flight = 5,
					.launches = 23,
					.joined = 3,
					.unfinished = 2,
					.unread = 4,
					.unreported = 7,
					.outside = 6,
					.lost = 1};
	uint64_t *each[] = {&good.before_ns,
			    &good.after_ns,
			    &good.idle_ns,
			    &good.uncollected_ns,
			    &good.samples_in_flight,
			    &good.unreported,
			    &good.busy_kernel_ns,
			    &good.durations_ns,
			    &good.overlap_ns,
			    &good.samples,
			    &good.sampled_unmatched,
			    &good.samples_dropped,
			    &good.launches,
			    &good.unfinished,
			    &good.unread,
			    &good.lost,
			    &good.started_before_launch,
			    &good.outside,
			    &good.damaged};

	(void)state;
	assert_true(aif_conservation_check(&good, NULL));
	for (size_t i = 0; i < AIF_ARRAY_LEN(each); i++) {
		++*each[i];
		assert_false(aif_conservation_check(&good, NULL));
		--*each[i];
	}
}

static void a_span_of_time_clips(void **state)
{
	struct aif_selection opts = {.from_ns = 150, .to_ns = 250};
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 100, 200);
	launch(&w, 2, 20, 2, 0, 0, 200, 500);
	sample(&w, 140, 3);
	sample(&w, 160, 3);
	end(&w, 1000, &opts);
	assert_int_equal(row(&w, 1, 0, 3)->wall_ns, 50);
	assert_int_equal(row(&w, 1, 0, 3)->samples, 1);
	assert_int_equal(row(&w, 2, 0, AIF_NONE)->wall_ns, 50);
	assert_int_equal(w.a.conservation.elapsed_ns, 100);
	over(&w);
}

static void rounding_keeps_the_sum(void **state)
{
	const aif_fraction third = ((aif_fraction)100 << AIF_FRACTION_BITS) / 3;
	const aif_fraction parts[] = {third, third, third};
	uint64_t whole[3];

	(void)state;
	assert_int_equal(aif_round(parts, 3, 100, whole), 0);
	assert_int_equal(whole[0] + whole[1] + whole[2], 100);
	assert_true(whole[0] - 33 <= 1 && whole[2] - 33 <= 1);
	assert_int_equal(aif_round(parts, 3, 98, whole), 0);
	assert_int_equal(whole[0] + whole[1] + whole[2], 98);
}

/* No device does this, but a file may say so: it must not take 100,000 squared steps. A sample belongs to
 * nothing where more than 1,024 run, which is all but the edges. */
static void everything_at_once(void **state)
{
	enum { MANY = 100000 };
	struct aif_launch_row *l = calloc(MANY, sizeof(*l));
	struct aif_exec_row *e = calloc(MANY, sizeof(*e));
	struct recording w;

	(void)state;
	assert_true(l && e);
	begin(&w, AIF_CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < MANY; i++) {
		l[i] = (struct aif_launch_row){.launch = i,
					       .time = T0,
					       .kind = AIF_LAUNCH_KERNEL,
					       .stack = 1,
					       .shape = AIF_NONE};
		e[i] = (struct aif_exec_row){.launch = i,
					     .start = T0 + 1 + i,
					     .end = T0 + MANY + 1 + i,
					     .clock = AIF_CLOCK_MONOTONIC,
					     .kind = AIF_LAUNCH_KERNEL};
	}
	assert_int_equal(aif_writer_launches(w.writer, l, MANY, NULL), 0);
	assert_int_equal(aif_writer_execs(w.writer, e, MANY, NULL), 0);
	for (uint64_t at = 1; at < 2 * MANY; at += 20)
		sample(&w, at, 3);
	end(&w, 3 * MANY, NULL);
	assert_int_equal(w.a.conservation.busy_ns, 2 * MANY - 1);
	assert_int_equal(w.a.conservation.durations_ns, (uint64_t)MANY * MANY);
	assert_int_equal(w.a.conservation.sampled_attributed + w.a.conservation.sampled_unmatched,
			 2 * MANY / 20);
	assert_in_range(w.a.conservation.sampled_attributed, 2 * 1024 / 20 - 2, 2 * 1024 / 20 + 2);
	over(&w);
	free(l);
	free(e);
}

static bool same_rows(const struct aif_attribution *a, const struct aif_attribution *b)
{
	return a->rows_len == b->rows_len &&
	       memcmp(a->rows, b->rows, a->rows_len * sizeof(*a->rows)) == 0 &&
	       memcmp(&a->conservation, &b->conservation, sizeof(a->conservation)) == 0;
}

/* The second view takes what the first computed; a cache that was tampered with is computed anew. */
static void the_cache_is_used_but_not_believed(void **state)
{
	struct aif_attribution again;
	struct aif_buf kept = {0};
	char name[32];
	struct recording w;
	struct aif_err err = {0};

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 100, 200);
	launch(&w, 2, 20, 2, 0, 0, 200, 500);
	for (uint64_t at = 101; at < 500; at += 7)
		sample(&w, at, at % 2 ? 3 : 4);
	recording_open(&w, T0 + 1000);
	assert_int_equal(aif_attribution_cache_get(&w.read, &again), -ENOENT);
	assert_int_equal(aif_attribution_compute(&w.read, NULL, &w.a, &err), 0);

	assert_int_equal(aif_attribution_cache_get(&w.read, &again), 0);
	assert_true(same_rows(&w.a, &again));
	aif_attribution_finish(&again);

	snprintf(name, sizeof(name), "attribution.%d", AIF_ATTRIBUTION_VERSION);
	assert_int_equal(aif_profile_cache_get(&w.read, name, &kept), 0);
	for (size_t i = 0; i < 8 * kept.len; i++) {
		kept.data[i / 8] ^= 1 << i % 8;
		assert_int_equal(aif_profile_cache_put(&w.read, name, kept.data, kept.len), 0);
		assert_int_equal(aif_attribution_compute(&w.read, NULL, &again, &err), 0);
		assert_true(same_rows(&w.a, &again));
		aif_attribution_finish(&again);
		kept.data[i / 8] ^= 1 << i % 8;
	}
	/* Cut short, a computation takes its place. */
	for (size_t n = 0; n < kept.len; n++) {
		assert_int_equal(aif_profile_cache_put(&w.read, name, kept.data, n), 0);
		assert_int_equal(aif_attribution_cache_get(&w.read, &again), -EBADMSG);
	}
	assert_int_equal(aif_attribution_compute(&w.read, NULL, &again, &err), 0);
	assert_true(same_rows(&w.a, &again));
	aif_attribution_finish(&again);
	assert_int_equal(aif_attribution_cache_get(&w.read, &again), 0);
	aif_attribution_finish(&again);

	aif_buf_finish(&kept);
	over(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths_are_times_and_insides_are_samples),
		cmocka_unit_test(overlapping_queues_share_the_wall),
		cmocka_unit_test(the_same_kernel_twice_shares_its_samples),
		cmocka_unit_test(graphs_are_told_apart),
		cmocka_unit_test(shared_samples_are_given_away_whole),
		cmocka_unit_test(a_kernel_without_samples_keeps_its_width),
		cmocka_unit_test(a_wrong_clock_is_caught),
		cmocka_unit_test(the_conservation_report_catches_what_is_missing),
		cmocka_unit_test(a_span_of_time_clips),
		cmocka_unit_test(rounding_keeps_the_sum),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(the_cache_is_used_but_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
