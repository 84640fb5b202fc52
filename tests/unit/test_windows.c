/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_recording.h"

#include "analysis/attribution/cache.h"
#include "rounds.h"

#include <math.h>
#include <stdlib.h>

/*
 * Samples that a device has counted by window. Recordings are written and read through the real file: one
 * process, a GPU, two queues, kernels f, g and `never` (0, 1, 2), each a module with PLACES frames; stacks 0, 1
 * and 2. Time begins at 1000.
 */
#define T0     1000
#define PLACES 24
#define MS     UINT64_C(1000000)
#define SEEDS  20
enum { F, G, NEVER, LONE, KERNELS }; /* the last is a function that is no kernel */

struct world {
	struct recording r;
	uint64_t launches, state;
	uint32_t windows, why;
	uint64_t counted;
};

static double uniform(struct world *w)
{
	w->state = aif_mix64(w->state + 1);
	return ((double)(w->state >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

/* Adds stacks until there are n. */
static void stacks_to(struct world *w, uint32_t n)
{
	for (uint32_t i = (uint32_t)w->r.p.stacks_len; i < n; i++)
		FIXTURE_ADD(&w->r.p, stacks, .parent = AIF_NONE, .frame = i % PLACES, .depth = 1);
}

static void begin(struct world *w)
{
	static const char *const names[] = {"f", "g", "never", "lone"};

	memset(w, 0, sizeof(*w));
	recording_begin(&w->r, T0);
	recording_device(&w->r, AIF_DEVICE_GPU, AIF_CLOCK_MONOTONIC);
	for (uint32_t k = 0; k < KERNELS; k++) {
		if (k != LONE)
			FIXTURE_ADD(&w->r.p, kernels, .name = str(&w->r, names[k]),
				    .short_name = AIF_NONE, .program = AIF_NONE);
		FIXTURE_ADD(&w->r.p, modules, .kind = AIF_MODULE_DEVICE,
			    .path = str(&w->r, "cubin"), .build_id = str(&w->r, names[k]),
			    .kernel = k == LONE ? AIF_NONE : k, .program = AIF_NONE);
		for (uint32_t i = 0; i < PLACES; i++)
			FIXTURE_ADD(&w->r.p, frames, .kind = AIF_FRAME_DEVICE, .module = k,
				    .address = 16 * i);
	}
	stacks_to(w, 3);
	w->why = str(&w->r, "wait");
}

static void run(struct world *w, uint32_t kernel, uint32_t stack, uint32_t stream, uint64_t start,
		uint64_t end)
{
	struct aif_launch_row l = {.launch = w->launches,
				   .time = T0 + start,
				   .kind = AIF_LAUNCH_KERNEL,
				   .kernel = kernel,
				   .stream = stream,
				   .stack = stack,
				   .shape = AIF_NONE};
	struct aif_exec_row e = {.launch = w->launches++,
				 .start = T0 + start,
				 .end = T0 + end,
				 .clock = AIF_CLOCK_MONOTONIC,
				 .kind = AIF_LAUNCH_KERNEL,
				 .kernel = kernel,
				 .stream = stream};

	assert_int_equal(aif_writer_launches(w->r.writer, &l, 1, NULL), 0);
	assert_int_equal(aif_writer_execs(w->r.writer, &e, 1, NULL), 0);
}

static uint32_t window(struct world *w, uint64_t start, uint64_t end)
{
	struct aif_window_row row = {.start = T0 + start,
				     .end = T0 + end,
				     .window = w->windows,
				     .held = 1,
				     .thread = AIF_NONE,
				     .p_ppm = 1000000};

	assert_int_equal(aif_writer_windows(w->r.writer, &row, 1, NULL), 0);
	return w->windows++;
}

static void counted(struct world *w, uint32_t window, uint64_t at, uint32_t frame, uint64_t count)
{
	struct aif_sample_row s = {.time = T0 + at,
				   .count = count,
				   .thread = AIF_NONE,
				   .frame = frame,
				   .reason = frame == AIF_NONE ? AIF_NONE : w->why,
				   .window = window};

	if (!count)
		return;
	w->counted += count;
	assert_int_equal(aif_writer_samples(w->r.writer, &s, 1, NULL), 0);
}

static uint32_t place(uint32_t kernel, uint32_t i)
{
	return kernel * PLACES + i;
}

/* Everything adds up, whatever a test looks for. */
static void end(struct world *w, uint64_t length)
{
	uint64_t samples = 0;

	recording_open(&w->r, T0 + length);
	recording_attribute(&w->r, NULL);
	recording_adds_up(&w->r);
	for (size_t i = 0; i < w->r.a.rows_len; i++)
		samples += w->r.a.rows[i].samples;
	assert_int_equal(samples, w->r.a.conservation.sampled_attributed);
	assert_int_equal(w->r.a.conservation.samples, w->counted);
}

static void over(struct world *w)
{
	recording_finish(&w->r);
}

static uint64_t samples_of(const struct world *w, uint32_t kernel, uint32_t stack, uint32_t frame)
{
	for (size_t i = 0; i < w->r.a.rows_len; i++)
		if (w->r.a.rows[i].stack == stack && w->r.a.rows[i].kernel == kernel &&
		    w->r.a.rows[i].frame == frame)
			return w->r.a.rows[i].samples;
	return 0;
}

static int grade_of(const struct world *w, uint32_t kernel, uint32_t stack, uint32_t frame)
{
	for (size_t i = 0; i < w->r.a.rows_len; i++)
		if (w->r.a.rows[i].stack == stack && w->r.a.rows[i].kernel == kernel &&
		    w->r.a.rows[i].frame == frame)
			return (int)w->r.a.rows[i].grade;
	return -1;
}

static uint64_t width_of(const struct world *w, uint32_t kernel, uint32_t stack)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < w->r.a.rows_len; i++)
		if (w->r.a.rows[i].stack == stack && w->r.a.rows[i].kernel == kernel)
			ns += w->r.a.rows[i].time_ns;
	return ns;
}

static void a_window_is_shared_by_time(void **state)
{
	struct world w;
	uint32_t a, b;

	(void)state;
	begin(&w);
	a = window(&w, 0, 100 * MS);
	b = window(&w, 100 * MS, 200 * MS);
	run(&w, F, 0, 0, 0, 30 * MS);
	run(&w, F, 1, 0, 30 * MS, 40 * MS);
	run(&w, F, 0, 0, 90 * MS, 110 * MS); /* half in either */
	run(&w, G, 2, 1, 0, 200 * MS);
	counted(&w, a, 0, place(F, 1), 100); /* 40 : 10 */
	counted(&w, b, 100 * MS, place(F, 1), 9);
	counted(&w, a, 0, place(G, 3), 50);
	counted(&w, b, 100 * MS, place(G, 3), 50);
	end(&w, 250 * MS);
	assert_int_equal(samples_of(&w, F, 0, place(F, 1)), 80 + 9);
	assert_int_equal(samples_of(&w, F, 1, place(F, 1)), 20);
	assert_int_equal(samples_of(&w, G, 2, place(G, 3)), 100);
	assert_int_equal(grade_of(&w, G, 2, place(G, 3)), AIF_GRADE_EXACT);
	assert_int_equal(grade_of(&w, F, 1, place(F, 1)), AIF_GRADE_MIXED);
	assert_int_equal(width_of(&w, F, 0), 50 * MS); /* of durations, whatever was sampled */
	assert_int_equal(width_of(&w, F, 1), 10 * MS);
	assert_int_equal(w.r.a.conservation.sampled_attributed, 209);
	over(&w);
}

/* Two queues of one stack: nothing has to be told apart. */
static void queues_of_a_stack_are_one(void **state)
{
	struct world w;
	uint32_t a;
	uint64_t samples = 0;

	(void)state;
	begin(&w);
	a = window(&w, 0, 100 * MS);
	run(&w, F, 0, 0, 0, 40 * MS);
	run(&w, F, 0, 1, 0, 10 * MS);
	counted(&w, a, 0, place(F, 1), 100);
	end(&w, 250 * MS);
	for (size_t i = 0; i < w.r.a.rows_len; i++) {
		samples += w.r.a.rows[i].samples;
		assert_int_equal(w.r.a.rows[i].samples, w.r.a.rows[i].stream ? 20 : 80);
		assert_int_equal(w.r.a.rows[i].grade, AIF_GRADE_EXACT);
	}
	assert_int_equal(samples, 100);
	over(&w);
}

/* Samples and executions are not always recorded at the same time. */
static void windows_without_executions_go_by_the_whole(void **state)
{
	struct world w;
	uint32_t a;

	(void)state;
	begin(&w);
	run(&w, F, 0, 0, 0, 60 * MS);
	run(&w, F, 1, 0, 60 * MS, 80 * MS);
	run(&w, G, 1, 0, 110 * MS, 120 * MS); /* another's is no help */
	a = window(&w, 100 * MS, 200 * MS);
	counted(&w, a, 100 * MS, place(F, 0), 10);
	counted(&w, a, 100 * MS, place(F, 1), 1);
	counted(&w, 77, 100 * MS, place(F, 2), 4); /* of a window that was lost */
	end(&w, 250 * MS);
	assert_int_equal(samples_of(&w, F, 0, place(F, 2)), 3);
	assert_int_equal(samples_of(&w, F, 1, place(F, 2)), 1);
	assert_int_equal(samples_of(&w, F, 0, place(F, 0)) + samples_of(&w, F, 1, place(F, 0)), 10);
	assert_int_equal(samples_of(&w, F, 0, place(F, 1)) + samples_of(&w, F, 1, place(F, 1)), 1);
	assert_int_equal(samples_of(&w, G, 1, place(F, 0)), 0);
	assert_int_equal(w.r.a.conservation.sampled_attributed, 15);
	over(&w);
}

/* A driver that gives no times leaves only launches to count. */
static void without_times_launches_count(void **state)
{
	struct world w;
	uint32_t a;

	(void)state;
	for (int told = 0; told < 2; told++) {
		begin(&w);
		a = window(&w, 0, 100 * MS);
		for (unsigned i = 0; i < 4; i++) {
			struct aif_launch_row l = {.launch = w.launches++,
						   .time = T0 + i * MS,
						   .kind = AIF_LAUNCH_KERNEL,
						   .kernel = F,
						   .stack = i == 3,
						   .shape = AIF_NONE};

			assert_int_equal(aif_writer_launches(w.r.writer, &l, 1, NULL), 0);
		}
		/* Kernel G has times, so its launches are not counted instead. */
		run(&w, G, 2, 1, 0, 50 * MS);
		counted(&w, a, 0, place(F, 1), 400);
		counted(&w, a, 0, place(G, 1), 10);
		if (told)
			FIXTURE_ADD(&w.r.p, losses, .reason = AIF_REASON_NO_TIMES, .count = 4,
				    .detail = AIF_NONE, .thread = AIF_NONE);
		end(&w, 200 * MS);
		assert_int_equal(samples_of(&w, G, 2, place(G, 1)), 10);
		assert_int_equal(grade_of(&w, G, 2, place(G, 1)), AIF_GRADE_EXACT);
		if (!told) {
			/* The times may come yet. */
			assert_int_equal(w.r.a.conservation.sampled_attributed, 10);
		} else {
			assert_int_equal(samples_of(&w, F, 0, place(F, 1)), 300);
			assert_int_equal(samples_of(&w, F, 1, place(F, 1)), 100);
			assert_int_equal(grade_of(&w, F, 1, place(F, 1)), AIF_GRADE_SAMPLED);
			assert_int_equal(width_of(&w, F, 0), 0);
		}
		over(&w);
	}
}

/* The same window once more, for samples that may be another process's. */
static void ambiguous_samples_are_mixed(void **state)
{
	struct aif_window_row twin = {.start = T0,
				      .end = T0 + 100 * MS,
				      .window = 77,
				      .held = AIF_HELD_AMBIGUOUS,
				      .thread = AIF_NONE,
				      .p_ppm = 1000000};
	struct world w;

	(void)state;
	begin(&w);
	window(&w, 0, 100 * MS);
	assert_int_equal(aif_writer_windows(w.r.writer, &twin, 1, NULL), 0);
	window(&w, 100 * MS, 200 * MS);
	run(&w, F, 0, 0, 0, 50 * MS);
	run(&w, F, 1, 0, 100 * MS, 150 * MS);
	counted(&w, 0, 0, place(F, 1), 10);
	counted(&w, 77, 0, place(F, 2), 20);
	counted(&w, 1, 100 * MS, place(F, 3), 30);
	end(&w, 200 * MS);
	/* Both kinds know that only one stack ran then. */
	assert_int_equal(samples_of(&w, F, 0, place(F, 1)), 10);
	assert_int_equal(samples_of(&w, F, 0, place(F, 2)), 20);
	assert_int_equal(samples_of(&w, F, 1, place(F, 3)), 30);
	assert_int_equal(grade_of(&w, F, 0, place(F, 1)), AIF_GRADE_EXACT);
	assert_int_equal(grade_of(&w, F, 0, place(F, 2)), AIF_GRADE_MIXED);
	assert_int_equal(grade_of(&w, F, 1, place(F, 3)), AIF_GRADE_EXACT);
	over(&w);
}

static void what_no_launch_explains_is_not_attributed(void **state)
{
	struct aif_attribution again;
	struct world w;
	uint32_t a;

	(void)state;
	begin(&w);
	a = window(&w, 0, 100 * MS);
	run(&w, F, 0, 0, 0, 30 * MS);
	counted(&w, a, 0, place(F, 0), 5);
	counted(&w, a, 0, place(NEVER, 0), 7);
	counted(&w, a, 0, place(LONE, 0), 11);
	counted(&w, a, 0, AIF_NONE, 13); /* of other programs */
	end(&w, 250 * MS);
	assert_int_equal(w.r.a.conservation.sampled_attributed, 5);
	assert_int_equal(w.r.a.conservation.sampled_unmatched, 18);
	assert_int_equal(w.r.a.conservation.samples_outside, 13);
	/* Unmatched samples are rows of their own, which have samples only. */
	assert_int_equal(w.r.a.unmatched_len, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct aif_attribution_row *row = &w.r.a.unmatched[i];

		assert_int_equal(row->samples, row->frame == place(NEVER, 0) ? 7 : 11);
		assert_int_equal(row->grade, AIF_GRADE_UNMATCHED);
		assert_int_equal(row->process, 0);
		assert_int_equal(row->stack, AIF_NONE);
		assert_int_equal(row->wall_ns + row->time_ns + row->launches, 0);
	}
	/* Kept with the others. */
	assert_int_equal(aif_attribution_cache_get(&w.r.read, &again), 0);
	assert_int_equal(again.unmatched_len, 2);
	assert_memory_equal(again.unmatched, w.r.a.unmatched, 2 * sizeof(*again.unmatched));
	aif_attribution_finish(&again);
	assert_int_equal(w.r.a.rows_len, 1);
	assert_int_equal(aif_attribution_take_unmatched(&w.r.a), 0);
	assert_int_equal(w.r.a.rows_len, 3);
	assert_int_equal(w.r.a.rows[2].samples, w.r.a.unmatched[1].samples);
	over(&w);
}

/* f from two stacks, of which the second's executions take a tenth; 100 windows, a million samples a second, and a mix
 * that differs by `spread`. The error is half of the sum of what each place's share is off. */
static void simulate(struct world *w, uint64_t seed, double spread, double error[2], int grade[2])
{
	double truth[2][PLACES], sum[2] = {0};

	begin(w);
	w->state = aif_mix64(seed);
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t k = 0; k < PLACES; k++)
			sum[c] += truth[c][k] = pow(uniform(w), 3);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t at = i * 100 * MS;
		double p = 0.5 + spread * (2 * uniform(w) - 1), a = 10 * p, b = 1 - p;
		uint64_t border = at + (uint64_t)(90e6 * a / (a + b));
		uint32_t id = window(w, at, at + 100 * MS);

		run(w, F, 0, 0, at, border);
		run(w, F, 1, 0, border, at + 90 * MS);
		for (uint32_t k = 0; k < PLACES; k++) {
			double mean = 90000 / (a + b) *
				      (a * truth[0][k] / sum[0] + b * truth[1][k] / sum[1]),
			       x = 0;

			for (int j = 0; j < 12; j++) /* nearly normal, as large counts are */
				x += uniform(w) - 0.5;
			counted(w, id, at, place(F, k),
				(uint64_t)AIF_MAX(0.0, mean + sqrt(mean) * x + 0.5));
		}
	}
	end(w, 10000 * MS);
	for (uint32_t c = 0; c < 2; c++) {
		double all = 0, off = 0;

		for (uint32_t k = 0; k < PLACES; k++)
			all += (double)samples_of(w, F, c, place(F, k));
		for (uint32_t k = 0; k < PLACES; k++)
			off += fabs((double)samples_of(w, F, c, place(F, k)) / all -
				    truth[c][k] / sum[c]);
		error[c] = off / 2;
		grade[c] = grade_of(w, F, c, place(F, 0));
	}
}

static void stacks_whose_mix_differs_are_told_apart(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= rounds(SEEDS); seed++) {
		struct world w;
		double error[2];
		int grade[2];

		simulate(&w, seed, 0.45, error, grade);
		assert_true(error[0] <= 0.02);
		assert_true(error[1] <= 0.05);
		assert_int_equal(grade[0], AIF_GRADE_APPORTIONED);
		assert_int_equal(grade[1], AIF_GRADE_APPORTIONED);
		assert_int_equal(w.r.a.conservation.sampled_attributed, w.counted);
		over(&w);
		simulate(&w, seed, 0, error, grade);
		assert_true(error[1] > 0.1);
		assert_int_equal(grade[0], AIF_GRADE_MIXED);
		assert_int_equal(grade[1], AIF_GRADE_MIXED);
		assert_int_equal(w.r.a.conservation.sampled_attributed, w.counted);
		over(&w);
	}
}

/* Rates that were unmixed where executions are known help where none are. */
static void what_was_found_is_used_where_nothing_runs(void **state)
{
	struct world w;
	uint32_t id;

	(void)state;
	begin(&w);
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t at = i * 100 * MS;

		id = window(&w, at, at + 100 * MS);
		run(&w, F, 0, 0, at, at + (i % 9 + 1) * 10 * MS);
		run(&w, F, 1, 0, at + (i % 9 + 1) * 10 * MS, at + 100 * MS);
		counted(&w, id, at, place(F, 0), (i % 9 + 1) * 1000);
		counted(&w, id, at, place(F, 1), 10000 - (i % 9 + 1) * 1000);
	}
	id = window(&w, 5000 * MS, 5100 * MS);
	counted(&w, id, 5000 * MS, place(F, 0), 100000);
	end(&w, 6000 * MS);
	/* Only stack 0 is ever at place 0. */
	assert_true(samples_of(&w, F, 1, place(F, 0)) < 1000);
	assert_true(samples_of(&w, F, 0, place(F, 1)) < 1000);
	over(&w);
}

/* A kernel that many stacks share is not robbed of its samples where those round to nothing. */
static void what_a_place_has_stays_there(void **state)
{
	enum { STACKS = 100 };
	uint64_t of[2][PLACES] = {{0}}, most = 0, by_stack[STACKS] = {0};
	struct world w;
	uint32_t a;

	(void)state;
	begin(&w);
	stacks_to(&w, STACKS);
	a = window(&w, 0, 100 * MS);
	for (uint32_t i = 0; i < STACKS; i++)
		run(&w, F, i, 0, i * MS, (i + 1) * MS);
	run(&w, G, 0, 1, 0, 50 * MS);
	run(&w, G, 1, 1, 50 * MS, 100 * MS);
	for (uint32_t i = 0; i < PLACES; i++) {
		counted(&w, a, 0, place(F, i), 1);
		counted(&w, a, 0, place(G, i), 1);
	}
	end(&w, 100 * MS);
	for (size_t i = 0; i < w.r.a.rows_len; i++) {
		const struct aif_attribution_row *r = &w.r.a.rows[i];

		of[r->kernel][r->frame % PLACES] += r->samples;
		by_stack[r->stack] += r->kernel == F ? r->samples : 0;
	}
	for (uint32_t i = 0; i < PLACES; i++) {
		assert_int_equal(of[F][i], 1);
		assert_int_equal(of[G][i], 1);
	}
	for (uint32_t i = 0; i < STACKS; i++)
		most = AIF_MAX(most, by_stack[i]);
	assert_in_range(most, 1, 4); /* 24 among 100 */
	over(&w);
}

/* A span of time that a window reaches out of has its part of the samples, of what ran in it. */
static void a_part_of_a_window_has_its_part(void **state)
{
	static const struct aif_selection parts[] = {{.to_ns = 40 * MS},
						     {.from_ns = 40 * MS, .to_ns = 90 * MS}};
	static const uint64_t expected[] = {400, 500};
	struct aif_attribution all;
	struct world w;
	uint32_t a;

	(void)state;
	begin(&w);
	a = window(&w, 0, 100 * MS);
	run(&w, F, 0, 0, 0, 40 * MS);
	run(&w, F, 1, 0, 40 * MS, 100 * MS);
	run(&w, G, 2, 0, 95 * MS, 100 * MS);
	counted(&w, a, 0, place(F, 1), 1000);
	counted(&w, a, 0, place(G, 1), 50);
	end(&w, 200 * MS);
	all = w.r.a;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(aif_attribution_compute(&w.r.read, &parts[i], &w.r.a, NULL), 0);
		assert_true(aif_conservation_check(&w.r.a.conservation, NULL));
		assert_int_equal(samples_of(&w, F, i, place(F, 1)), expected[i]);
		assert_int_equal(w.r.a.conservation.samples, expected[i]);
		assert_int_equal(w.r.a.conservation.sampled_attributed, expected[i]);
		aif_attribution_finish(&w.r.a);
	}
	w.r.a = all;
	over(&w);
}

/* Windows of a file may lie on one another, be empty, or never end; executions lie across all of them. */
static void odd_windows_do_no_harm(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	for (uint64_t i = 0; i < 300; i++) {
		uint32_t id = window(&w, i % 7 * MS, i % 3 ? i * MS : 0);

		run(&w, F, i % 3, i % 2, i * MS, 400 * MS);
		counted(&w, id, i % 7 * MS, place(F, i % PLACES), i);
	}
	counted(&w, window(&w, 5 * MS, UINT64_MAX - T0), 5 * MS, place(F, 0), 3);
	end(&w, 400 * MS);
	assert_int_equal(w.r.a.conservation.sampled_attributed, w.counted);
	over(&w);
}

/* A hostile file can have many windows that take no time, and executions across all of them. */
static void windows_without_time_cost_none(void **state)
{
	enum { MANY = 200000 };
	struct aif_window_row *windows = calloc(MANY, sizeof(*windows));
	struct aif_exec_row *execs = calloc(MANY, sizeof(*execs));
	struct world w;

	(void)state;
	assert_true(windows && execs);
	begin(&w);
	for (uint32_t i = 0; i < MANY; i++) {
		windows[i] = (struct aif_window_row){.start = T0 + i * MS,
						     .end = T0 + i * MS,
						     .window = i,
						     .held = 1,
						     .thread = AIF_NONE,
						     .p_ppm = 1000000};
		execs[i] = (struct aif_exec_row){.start = T0,
						 .end = T0 + MANY * MS,
						 .clock = AIF_CLOCK_MONOTONIC,
						 .kind = AIF_LAUNCH_KERNEL,
						 .kernel = F};
	}
	run(&w, F, 0, 0, 0, MANY * MS);
	assert_int_equal(aif_writer_windows(w.r.writer, windows, MANY, NULL), 0);
	assert_int_equal(aif_writer_execs(w.r.writer, execs, MANY, NULL), 0);
	counted(&w, MANY - 1, (MANY - 1) * MS, place(F, 0), 10);
	end(&w, MANY * MS);
	assert_int_equal(samples_of(&w, F, 0, place(F, 0)), 10);
	free(windows);
	free(execs);
	over(&w);
}

/* More parts of executions in windows than are held: windows are put together. */
static void too_many_parts_are_put_together(void **state)
{
	enum { STACKS = 300, WINDOWS = 20000 };
	struct world w;
	uint32_t last = 0;

	(void)state;
	begin(&w);
	stacks_to(&w, STACKS);
	for (uint32_t i = 0; i < STACKS; i++)
		run(&w, F, i, 0, i ? 0 : WINDOWS / 2 * MS, WINDOWS * MS);
	for (uint32_t i = 0; i < WINDOWS; i++)
		last = window(&w, i * MS, (i + 1) * MS);
	counted(&w, 0, 0, place(F, 0), 10 * (STACKS - 1));
	counted(&w, last, (WINDOWS - 1) * MS, place(F, 1), 10 * STACKS);
	end(&w, WINDOWS * MS);
	assert_int_equal(samples_of(&w, F, 0, place(F, 0)), 0);
	assert_int_equal(samples_of(&w, F, 1, place(F, 0)), 10);
	assert_int_equal(samples_of(&w, F, 0, place(F, 1)), 10);
	over(&w);
}

/* A large kernel from many stacks has more of them times places than samples: its rows are no more than these. */
static void many_stacks_have_whole_samples(void **state)
{
	enum { STACKS = 1000, REASONS = 50, EACH = 3, ALL = PLACES * REASONS * EACH };
	uint64_t first = 0, rows = 0;
	struct world w;
	uint32_t at;

	(void)state;
	begin(&w);
	stacks_to(&w, STACKS);
	/* The first half has twice the time. */
	for (uint32_t i = 0; i < STACKS; i++)
		run(&w, F, i, 0, i * 2 * MS, (i * 2 + 1 + (i < STACKS / 2)) * MS);
	at = window(&w, 0, 2 * STACKS * MS);
	for (uint32_t k = 0; k < REASONS; k++) {
		char why[16];

		snprintf(why, sizeof(why), "why %u", k);
		w.why = str(&w.r, why);
		for (uint32_t i = 0; i < PLACES; i++)
			counted(&w, at, MS, place(F, i), EACH);
	}
	end(&w, 2 * STACKS * MS);
	for (size_t i = 0; i < w.r.a.rows_len; i++)
		if (w.r.a.rows[i].samples) {
			rows++;
			first += w.r.a.rows[i].stack < STACKS / 2 ? w.r.a.rows[i].samples : 0;
		}
	assert_in_range(rows, ALL / 2, ALL);
	assert_int_equal(w.r.a.conservation.sampled_attributed, ALL);
	assert_in_range(first, ALL * 2 / 3 - 60, ALL * 2 / 3 + 60);
	over(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_shared_by_time),
		cmocka_unit_test(queues_of_a_stack_are_one),
		cmocka_unit_test(windows_without_executions_go_by_the_whole),
		cmocka_unit_test(without_times_launches_count),
		cmocka_unit_test(ambiguous_samples_are_mixed),
		cmocka_unit_test(what_no_launch_explains_is_not_attributed),
		cmocka_unit_test(stacks_whose_mix_differs_are_told_apart),
		cmocka_unit_test(what_was_found_is_used_where_nothing_runs),
		cmocka_unit_test(what_a_place_has_stays_there),
		cmocka_unit_test(a_part_of_a_window_has_its_part),
		cmocka_unit_test(odd_windows_do_no_harm),
		cmocka_unit_test(windows_without_time_cost_none),
		cmocka_unit_test(too_many_parts_are_put_together),
		cmocka_unit_test(many_stacks_have_whole_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
