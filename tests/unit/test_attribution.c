/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_recording.h"
#include "profile/attribution_cache.h"
#include "profile/attribution_internal.h"

#include <errno.h>

/*
 * Hand-made recordings, written and read through the real file. One process, one CPU device, two
 * queues, two kernels `f` and `g`, each in a module of its own; frames: 0 main, 1 site A, 2 site B, 3 in
 * f's code, 4 another there, 5 in g's, 6 in libm. Stacks: 1 main;A, 2 main;B. Time begins at 1000.
 */
#define T0 1000

static void begin(struct recording *w, uint32_t clock)
{
	recording_begin(w, T0);
	recording_device(w, AIF_DEVICE_CPU, clock);
	FIXTURE_ADD(&w->p, kernels, .name = str(w, "f"), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	FIXTURE_ADD(&w->p, kernels, .name = str(w, "g"), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	for (uint32_t m = 0; m < 4; m++) {
		static const char *const paths[] = {"/app", "/f.so", "/g.so", "/libm.so"};

		FIXTURE_ADD(&w->p, modules, .kind = AIF_MODULE_ELF, .path = str(w, paths[m]),
			    .build_id = AIF_NONE,
			    .kernel = m == 1   ? 0
				      : m == 2 ? 1
					       : AIF_NONE,
			    .program = AIF_NONE);
	}
	for (uint32_t f = 0; f < 7; f++) {
		static const uint32_t modules[] = {0, 0, 0, 1, 1, 2, 3};

		FIXTURE_ADD(&w->p, frames,
			    .kind = f == 3 || f == 4 || f == 5 ? AIF_FRAME_DEVICE
							       : AIF_FRAME_NATIVE,
			    .module = modules[f], .address = 16 * f);
	}
	FIXTURE_ADD(&w->p, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1);
	FIXTURE_ADD(&w->p, stacks, .parent = 0, .frame = 1, .depth = 2);
	FIXTURE_ADD(&w->p, stacks, .parent = 0, .frame = 2, .depth = 2);
}

static uint32_t device_of(const struct recording *w, uint32_t stream)
{
	return stream < w->p.streams_len ? w->p.streams[stream].device : 0;
}

/* A launch at `at` and, unless end is 0, its execution; times are ns since the start. */
static void launch(struct recording *w, uint64_t id, uint64_t at, uint32_t stack, uint32_t kernel,
		   uint32_t stream, uint64_t start, uint64_t end)
{
	struct aif_launch_row l = {.launch = id,
				   .time = T0 + at,
				   .thread = 0,
				   .kind = AIF_LAUNCH_KERNEL,
				   .kernel = kernel,
				   .device = device_of(w, stream),
				   .stream = stream,
				   .stack = stack,
				   .shape = AIF_NONE};
	struct aif_exec_row e = {.launch = id,
				 .start = T0 + start,
				 .end = T0 + end,
				 .clock = w->p.devices[0].clock,
				 .process = 0,
				 .kind = AIF_LAUNCH_KERNEL,
				 .kernel = kernel,
				 .device = device_of(w, stream),
				 .stream = stream};

	assert_int_equal(aif_writer_launches(w->writer, &l, 1, NULL), 0);
	if (end)
		assert_int_equal(aif_writer_execs(w->writer, &e, 1, NULL), 0);
}

static void sample(struct recording *w, uint64_t at, uint32_t frame)
{
	struct aif_sample_row s = {.time = T0 + at,
				   .count = 1,
				   .thread = 0,
				   .process = 0,
				   .device = 0,
				   .frame = frame,
				   .reason = AIF_NONE,
				   .window = 0};

	assert_int_equal(aif_writer_samples(w->writer, &s, 1, NULL), 0);
}

static void end(struct recording *w, uint64_t length, const struct aif_attribution_opts *opts)
{
	recording_open(w, T0 + length);
	recording_attribute(w, opts);
}

static void over(struct recording *w)
{
	recording_adds_up(w);
	recording_finish(w);
}

/* The row of a stack, kernel and frame; NULL if none. */
static const struct aif_attribution_row *row(const struct recording *w, uint32_t stack,
					     uint32_t kernel, uint32_t frame)
{
	for (size_t i = 0; i < w->a.rows_len; i++)
		if (w->a.rows[i].stack == stack && w->a.rows[i].kernel == kernel &&
		    w->a.rows[i].frame == frame)
			return &w->a.rows[i];
	return NULL;
}

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
	assert_int_equal(w.a.conservation.startup_ns, 100);
	assert_int_equal(w.a.conservation.tail_ns, 500);
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

/* One stack replays two graphs, and launches the same kernel by itself. */
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
					.startup_ns = 1,
					.busy_ns = 15,
					.idle_ns = 1,
					.uncollected_ns = 1,
					.tail_ns = 2,
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
					.untold = 7,
					.outside = 6,
					.lost = 1};
	uint64_t *each[] = {&good.startup_ns,
			    &good.tail_ns,
			    &good.idle_ns,
			    &good.uncollected_ns,
			    &good.samples_in_flight,
			    &good.untold,
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

/* What runs across the edges of a pause is busy there all the same. */
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
	assert_int_equal(w.a.conservation.startup_ns, 100);
	assert_int_equal(w.a.conservation.tail_ns, 100);
	over(&w);
}

/* A program loads for half of its life, works, and ends slowly. That is no idle device; what is between two of its
 * works is. Each device has times of its own, and what was asked for counts alone. */
static void busy_and_idle_are_of_the_time_of_work(void **state)
{
	static const struct {
		struct aif_attribution_opts which;
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
		end(&w, 1000, &cases[i].which);
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
	struct aif_attribution_opts only = {.processes = first};

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
	assert_int_equal(w.a.conservation.untold, 0);
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
	assert_int_equal(w.a.conservation.untold, 1);
	assert_int_equal(w.a.conservation.unfinished, 3);
	over(&w);
}

/* By _exit(), a signal: what it had launched last has nobody to tell of it. */
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
	assert_int_equal(w.a.conservation.untold, 0);
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
	assert_int_equal(w.a.conservation.untold, 0);
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
	assert_int_equal(w.a.conservation.untold + w.a.conservation.unfinished, 0);
	over(&w);
}

/* Nor is what the writer had no room for, of which a loss says what it was. */
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

/* What --keep dropped is neither busy nor idle: nobody knows. */
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
	assert_int_equal(w.a.conservation.startup_ns, 200);
	assert_int_equal(w.a.conservation.tail_ns, 100);
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

static void a_span_of_time_clips(void **state)
{
	struct aif_attribution_opts opts = {.from_ns = 150, .to_ns = 250};
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
	assert_int_equal(aif_attribution_round(parts, 3, 100, whole), 0);
	assert_int_equal(whole[0] + whole[1] + whole[2], 100);
	assert_true(whole[0] - 33 <= 1 && whole[2] - 33 <= 1);
	assert_int_equal(aif_attribution_round(parts, 3, 98, whole), 0);
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
		cmocka_unit_test(a_span_of_time_clips),
		cmocka_unit_test(rounding_keeps_the_sum),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(the_cache_is_used_but_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
