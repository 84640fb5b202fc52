/* SPDX-License-Identifier: Apache-2.0 */
/* Tests attribution where something is missing: idle time, pauses, launches in flight, losses, dropped rows. */
#include "fixture_attribution.h"

/* A time in which nothing was collected in a process. */
static void gap(struct recording *w, uint32_t process, uint64_t from, uint64_t to)
{
	struct aif_window_row r = {.start = T0 + from,
				   .end = T0 + to,
				   .device = AIF_NONE,
				   .process = process,
				   .thread = AIF_NONE};

	assert_int_equal(aif_writer_windows(w->writer, &r, 1, NULL), 0);
}

/* An execution that runs across the edges of a pause is busy there all the same. */
static void a_pause_is_not_idle(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(&w.p, processes, .pid = 2, .exe = 0, .cmdline = 0, .host = 0);
	launch(&w, 1, 10, 1, 0, 0, 100, 250);  /* into it */
	launch(&w, 2, 180, 1, 0, 0, 300, 320); /* in it */
	launch(&w, 3, 190, 1, 0, 1, 580, 650); /* out of it */
	launch(&w, 4, 700, 2, 0, 0, 700, 800);
	gap(&w, 0, 350, 500); /* as the recorder writes it: a row a second, in any order */
	gap(&w, 0, 200, 350);
	gap(&w, 0, 500, 600);
	gap(&w, 0, 900, 5000); /* to beyond the end */
	gap(&w, 1, 0, 1000);   /* a process that does not use the device */
	end(&w, 1000, NULL);
	assert_int_equal(w.a.conservation.busy_ns, 150 + 20 + 70 + 100);
	assert_int_equal(w.a.conservation.uncollected_ns, 50 + 260 + 100);
	assert_int_equal(w.a.conservation.idle_ns, 50);
	assert_int_equal(w.a.conservation.before_ns, 100);
	assert_int_equal(w.a.conservation.after_ns, 100);
	over(&w);
}

/* A program loads for half of its life, works, and ends slowly. That is no idle device; what is between two of its
 * works is. Each device has times of its own, and what was asked for counts alone. */
static void busy_and_idle_are_of_the_time_of_work(void **state)
{
	static const struct {
		struct aif_selection sel;
		/* device, first, last, start-up, tail, busy, idle, not collected, kernels */
		struct aif_device_time times[2];
	} cases[] = {
		{{0},
		 {{0, 500, 700, 500, 300, 150, 50, 0, 150, 0, 0, 0},
		  {1, 100, 900, 100, 100, 20, 780, 0, 20, 0, 0, 0}}},
		{{.from_ns = 550, .to_ns = 895},
		 {{0, 550, 700, 0, 195, 100, 50, 0, 100, 0, 0, 0},
		  {1, 890, 895, 340, 0, 5, 0, 0, 5, 0, 0, 0}}},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct recording w;

		begin(&w, AIF_CLOCK_MONOTONIC);
		FIXTURE_ADD(&w.p, devices, .kind = AIF_DEVICE_GPU, .clock = AIF_CLOCK_MONOTONIC);
		FIXTURE_ADD(&w.p, streams, .process = 0, .device = 1);
		launch(&w, 1, 10, 1, 0, 0, 500, 600);
		launch(&w, 2, 20, 1, 0, 0, 650, 700);
		launch(&w, 3, 90, 1, 0, 2, 100, 110);
		launch(&w, 4, 880, 1, 0, 2, 890, 900);
		end(&w, 1000, &cases[i].sel);
		assert_int_equal(w.a.devices_len, 2);
		assert_memory_equal(w.a.devices, cases[i].times, sizeof(cases[i].times));
		assert_int_equal(w.a.conservation.idle_ns,
				 cases[i].times[0].idle_ns + cases[i].times[1].idle_ns);
		over(&w);
	}
}

/* Queues that are still busy with what was launched in the pause are not idle when it is over. */
static void the_backlog_of_a_pause_is_not_idle(void **state)
{
	const uint64_t ms = 1000000;
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(&w.p, streams, .process = 0, .device = 0, .ordinal = 2);
	gap(&w, 0, 0, 100 * ms);
	launch(&w, 1, 120 * ms, 1, 0, 1, 120 * ms + 50000, 130 * ms); /* an empty queue */
	launch(&w, 2, 150 * ms, 1, 0, 0, 200 * ms, 210 * ms);         /* waits for its turn */
	launch(&w, 3, 160 * ms, 1, 0, 0, 210 * ms, 250 * ms);
	launch(&w, 4, 300 * ms, 1, 0, 0, 350 * ms, 400 * ms); /* not the queue's first */
	gap(&w, 0, 500 * ms, 600 * ms);
	launch(&w, 5, 700 * ms, 1, 0, 2, 700 * ms + 9, 710 * ms);
	end(&w, 1000 * ms, NULL);
	assert_int_equal(w.a.conservation.busy_ns, 10 * ms - 50000 + 100 * ms + 10 * ms - 9);
	assert_int_equal(w.a.conservation.uncollected_ns, 200 * ms + 100 * ms - (10 * ms - 50000));
	over(&w);
}

/* Another process on the device, which executed nothing while it was looked at, may have worked. */
static void a_pause_of_any_user_counts(void **state)
{
	const bool first[] = {true, false};
	struct aif_selection only = {.processes = first};

	(void)state;
	for (int filtered = 0; filtered < 2; filtered++) {
		struct recording w;

		begin(&w, AIF_CLOCK_MONOTONIC);
		FIXTURE_ADD(&w.p, processes, .pid = 2, .exe = 0, .cmdline = 0, .host = 0);
		FIXTURE_ADD(&w.p, streams, .process = 1, .device = 0);
		launch(&w, 1, 10, 1, 0, 0, 100, 200);
		gap(&w, 1, 150, 400);
		gap(&w, 0, 300, 500);
		end(&w, 1000, filtered ? &only : NULL);
		assert_int_equal(w.a.conservation.busy_ns, 100);
		assert_int_equal(w.a.conservation.uncollected_ns, filtered ? 200 : 300);
		over(&w);
	}
}

/* Collected from 200 to 600, and from 700 on. */
static void what_is_in_flight_at_an_edge_is_no_error(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	gap(&w, 0, 0, 200);
	gap(&w, 0, 600, 700);
	sample(&w, 100, 3); /* nothing was collected */
	sample(&w, 250, 3); /* f, launched before */
	sample(&w, 260, 6); /* and what it calls */
	launch(&w, 1, 210, 1, 0, 0, 300, 400);
	sample(&w, 350, 3);
	sample(&w, 360, 5);                /* g, launched before */
	sample(&w, 450, 3);                /* f's last known execution is over: whose is this? */
	launch(&w, 2, 500, 2, 1, 0, 0, 0); /* has not ended at the pause */
	sample(&w, 550, 5);
	sample(&w, 560, 6);
	sample(&w, 650, 5);
	sample(&w, 720, 5); /* nor when it is over */
	launch(&w, 3, 750, 1, 0, 0, 760, 800);
	sample(&w, 900, 3);
	end(&w, 1000, NULL);
	assert_int_equal(w.a.conservation.sampled_attributed, 1);
	assert_int_equal(w.a.conservation.samples_off, 2);
	assert_int_equal(w.a.conservation.samples_in_flight, 6);
	assert_int_equal(w.a.conservation.sampled_unmatched, 2);
	assert_int_equal(w.a.conservation.samples_outside, 0);
	assert_int_equal(w.a.conservation.unfinished, 1);
	assert_int_equal(w.a.conservation.unreported, 0);
	over(&w);
}

/* An in-order queue does not leave one out: something is wrong with that one. */
static void what_was_overtaken_is_not_in_flight(void **state)
{
	const uint64_t s = AIF_NS_PER_S;
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	w.p.streams[1].out_of_order = 1;
	launch(&w, 1, 10, 1, 0, 0, 0, 0); /* overtaken */
	launch(&w, 2, 20, 1, 0, 1, 0, 0); /* its queue has no order */
	launch(&w, 3, 30, 1, 0, 1, 200, 300);
	launch(&w, 4, s, 1, 0, 0, s + 1, s + 2);
	launch(&w, 5, 2 * s - 10, 1, 0, 0, 0, 0); /* so close to the pause it may be told late */
	launch(&w, 6, 2 * s - 5, 1, 0, 0, 2 * s - 4, 2 * s - 1);
	gap(&w, 0, 2 * s, 3 * s);
	launch(&w, 7, 4 * s, 1, 0, 0, 4 * s + 1, 4 * s + 2);
	launch(&w, 8, 9 * s, 1, 0, 0, 0, 0); /* in flight at the end */
	end(&w, 9 * s + 100, NULL);
	assert_int_equal(w.a.conservation.joined, 4);
	assert_int_equal(w.a.conservation.unreported, 1);
	assert_int_equal(w.a.conservation.unfinished, 3);
	over(&w);
}

/* A process may end by _exit() or a signal: nobody is left to tell of its last launches. */
static void a_process_ends_before_its_times_are_read(void **state)
{
	const uint64_t s = AIF_NS_PER_S;
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 20, 30);
	launch(&w, 2, s, 1, 0, 0, 0, 0); /* in flight at the pause, though the process ends later */
	gap(&w, 0, 2 * s, 3 * s);
	launch(&w, 3, 4 * s, 1, 0, 0, 0, 0);
	launch(&w, 4, 4 * s + 10, 1, 0, 0, 0, 0);
	w.p.processes[0].end_ns = T0 + 5 * s;
	end(&w, 9 * s, NULL);
	assert_int_equal(w.a.conservation.joined, 1);
	assert_int_equal(w.a.conservation.unfinished, 1);
	assert_int_equal(w.a.conservation.unread, 2);
	assert_int_equal(w.a.conservation.unreported, 0);
	assert_true(aif_conservation_check(&w.a.conservation, NULL));
	over(&w);
}

/* A damaged file may say that a launch was made before there was a recording: it overtakes nobody. */
static void a_launch_before_the_start_overtakes_nobody(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, (uint64_t)-5, 1, 0, 0, 100, 200);
	launch(&w, 2, 300, 1, 0, 0, 0, 0);
	end(&w, AIF_NS_PER_S, NULL);
	assert_int_equal(w.a.conservation.unreported, 0);
	assert_int_equal(w.a.conservation.unfinished, 1);
	over(&w);
}

/* A loss that was counted is one of those. */
static void what_was_lost_is_not_counted_again(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 0, 0);
	launch(&w, 2, 20, 1, 0, 0, 100, 200);
	FIXTURE_ADD(&w.p, losses, .reason = AIF_REASON_FAILED_COMMAND, .process = 0,
		    .thread = AIF_NONE, .detail = AIF_NONE, .count = 1);
	end(&w, AIF_NS_PER_S, NULL);
	assert_int_equal(w.a.conservation.lost, 1);
	assert_int_equal(w.a.conservation.unreported + w.a.conservation.unfinished, 0);
	over(&w);
}

/* A row that the writer had no room for is lost, too; the loss says what it was. */
static void what_was_not_written_is_lost(void **state)
{
	static const char *const what[] = {"launches", "executions", "samples", "windows"};
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 0, 0);
	launch(&w, 2, 20, 1, 0, 0, 100, 200);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(what); i++)
		FIXTURE_ADD(&w.p, losses, .reason = AIF_REASON_WRITER_BEHIND, .process = 0,
			    .thread = AIF_NONE, .detail = str(&w, what[i]),
			    .count = i == 1 ? 1 : 3);
	end(&w, AIF_NS_PER_S, NULL);
	assert_int_equal(w.a.conservation.launches, 5);
	assert_int_equal(w.a.conservation.lost, 4);
	assert_int_equal(w.a.conservation.unfinished, 0);
	assert_int_equal(w.a.conservation.samples_dropped, 3);
	over(&w);
}

/* Time that --keep dropped is neither busy nor idle: nobody knows. */
static void time_that_was_dropped_is_not_idle(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_MONOTONIC);
	launch(&w, 1, 10, 1, 0, 0, 100, 200);
	launch(&w, 2, 190, 1, 0, 0, 200, 500);
	launch(&w, 3, 600, 2, 0, 0, 700, 900);
	assert_int_equal(aif_writer_trim(w.writer, 0, 400, T0 + 950, NULL), 0);
	end(&w, 1000, NULL);
	assert_int_equal(w.read.kept_ns, T0 + 500);
	assert_int_equal(w.a.conservation.launches, 1);
	assert_int_equal(w.a.conservation.elapsed_ns, 500);
	assert_int_equal(w.a.conservation.busy_ns, 200);
	assert_int_equal(w.a.conservation.before_ns, 200);
	assert_int_equal(w.a.conservation.after_ns, 100);
	over(&w);
}

/* Executions with times of a device's clock: they had happened when they were written. */
static void what_is_kept_begins_behind_dropped_executions(void **state)
{
	struct recording w;

	(void)state;
	begin(&w, AIF_CLOCK_DEVICE);
	for (uint64_t at = 0; at <= 1000; at += 500)
		FIXTURE_ADD(&w.p, clock_pairs, .clock = AIF_CLOCK_DEVICE, .process = 0,
			    .before = T0 + at, .after = T0 + at, .value = T0 + at);
	launch(&w, 1, 10, 1, 0, 0, 100, 440);
	assert_int_equal(aif_writer_trim(w.writer, 0, 400, T0 + 450, NULL), 0);
	launch(&w, 2, 600, 2, 0, 0, 700, 900);
	assert_int_equal(aif_writer_trim(w.writer, 0, 400, T0 + 950, NULL), 0);
	end(&w, 1000, NULL);
	assert_int_equal(w.read.kept_ns, T0 + 450);
	assert_int_equal(w.a.conservation.elapsed_ns, 550);
	assert_int_equal(w.a.conservation.busy_ns, 200);
	over(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_is_not_idle),
		cmocka_unit_test(busy_and_idle_are_of_the_time_of_work),
		cmocka_unit_test(the_backlog_of_a_pause_is_not_idle),
		cmocka_unit_test(a_pause_of_any_user_counts),
		cmocka_unit_test(what_is_in_flight_at_an_edge_is_no_error),
		cmocka_unit_test(what_was_overtaken_is_not_in_flight),
		cmocka_unit_test(a_process_ends_before_its_times_are_read),
		cmocka_unit_test(a_launch_before_the_start_overtakes_nobody),
		cmocka_unit_test(what_was_lost_is_not_counted_again),
		cmocka_unit_test(what_was_not_written_is_lost),
		cmocka_unit_test(time_that_was_dropped_is_not_idle),
		cmocka_unit_test(what_is_kept_begins_behind_dropped_executions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
