/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how far the host is ahead of a device: work that is launched and not finished, at each launch call. */
#include "analysis/queue/queue.h"

#include "analysis/time.h"
#include "base/hash.h"
#include "fixture_ops.h"
#include "rounds.h"

enum { US = 1000 };

struct made {
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u;
	struct aif_queue q;
};

static void make(struct ops_fixture *f, struct made *m)
{
	ops_read(f);
	assert_int_equal(aif_exec_timeline_get(&f->p, NULL, &m->t), 0);
	assert_int_equal(aif_utilization_get(&f->p, m->t, &m->u), 0);
	assert_int_equal(aif_queue_make(&f->p, m->t, m->u, &m->q), 0);
	assert_int_equal(m->q.devices_len, m->u->len);
}

static void end(struct ops_fixture *f, struct made *m)
{
	aif_queue_finish(&m->q);
	aif_facts_put(m->u);
	aif_facts_put(m->t);
	ops_end(f);
}

static struct aif_queue_sum sum(const struct made *m, int64_t from, int64_t to, bool by_start,
				uint64_t step_ns)
{
	struct aif_queue_span span = {.device = AIF_QUEUE_ALL,
				      .from = from,
				      .to = to,
				      .by_start = by_start,
				      .step_ns = step_ns};
	struct aif_queue_sum ret;

	assert_int_equal(aif_queue_sum(&m->q, m->t->weights, &span, &ret), 0);
	return ret;
}

static struct aif_queue_sum sum_all(const struct made *m)
{
	return sum(m, 0, AIF_TIME_MAX, false, 0);
}

static void wait_for_it(struct ops_fixture *f, uint64_t from, uint64_t to)
{
	ops_add_row(f, (struct aif_op_row){.start = from,
					   .end = to,
					   .clock = AIF_CLOCK_MONOTONIC,
					   .thread = 0,
					   .name = ops_string(f, "cudaDeviceSynchronize"),
					   .kind = AIF_OP_RUNTIME,
					   .shapes = AIF_NONE,
					   .stack = AIF_NONE,
					   .sequence = -1});
}

/* Three launches at once, each of 100 us; a wait; then one that finds the device idle. */
static void queue_three(struct ops_fixture *f)
{
	ops_begin(f, NULL, "cuda");
	for (uint64_t i = 0; i < 3; i++)
		ops_exec(f, 0, i * 10 * US, 0, 20 * US + i * 100 * US, 120 * US + i * 100 * US,
			 "k");
	wait_for_it(f, 40 * US, 330 * US);
	ops_exec(f, 0, 340 * US, 0, 345 * US, 400 * US, "k");
}

static void launches_before_it_are_counted(void **state)
{
	struct aif_queue_sum s;
	struct ops_fixture f;
	struct made m;

	(void)state;
	queue_three(&f);
	make(&f, &m);
	assert_int_equal(m.q.len, 4);
	for (size_t i = 0; i < 4; i++) {
		static const uint64_t delays[] = {20 * US, 110 * US, 200 * US, 5 * US};

		assert_true(m.q.launches[i].is_known);
		assert_int_equal(m.q.launches[i].ahead, i % 3);
		assert_int_equal(m.q.launches[i].ahead_ns, i % 3 * 100 * US);
		assert_int_equal(aif_queue_delay(&m.q, &m.q.launches[i]), delays[i]);
		assert_int_equal(m.q.launches[i].is_after_wait, i == 3);
	}
	s = sum_all(&m);
	assert_int_equal(s.launches, 4);
	assert_int_equal(s.known, 4);
	assert_int_equal(s.idle_ppm, 500000);
	assert_int_equal(s.after_wait_ppm, 250000);
	assert_int_equal(s.idle_error_ppm, 0);
	assert_int_equal(s.ahead_median, 0);
	assert_int_equal(s.ahead_p95, 2);
	assert_int_equal(s.ahead_most, 2);
	assert_int_equal(s.ahead_p95_ns, 200 * US);
	assert_int_equal(s.delay_median_ns, 20 * US);
	assert_int_equal(s.delay_p95_ns, 200 * US);
	assert_int_equal(s.waits, 1);
	assert_int_equal(s.emptied, 1);
	end(&f, &m);
}

static void a_span_has_what_was_called_or_started_in_it(void **state)
{
	struct ops_fixture f;
	struct aif_queue_sum s;
	struct made m;

	(void)state;
	queue_three(&f);
	make(&f, &m);
	s = sum(&m, 5 * US, 300 * US, false, 150 * US);
	assert_int_equal(s.launches, 2);
	assert_int_equal(s.ahead_median, 1);
	assert_int_equal(s.step_ahead_ppm, 500000);
	assert_int_equal(s.waits, 0);
	s = sum(&m, 20 * US, 121 * US, true, 0);
	assert_int_equal(s.launches, 2);
	assert_int_equal(s.step_ahead_ppm, 0);
	s = sum(&m, 121 * US, 340 * US, true, 0);
	assert_int_equal(s.launches, 1);
	assert_int_equal(s.ahead_median, 2);
	assert_int_equal(s.waits, 1);
	s = sum(&m, 500 * US, 600 * US, false, 0);
	assert_int_equal(s.launches, 0);
	assert_int_equal(s.delay_p95_ns, 0);
	end(&f, &m);
}

/* A wait for one stream, while another works; one while nothing is queued; one during which another thread launches. */
static void a_wait_empties_what_it_waits_for(void **state)
{
	struct aif_queue_sum s;
	struct ops_fixture f;
	struct made m;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_exec(&f, 0, 10 * US, 0, 20 * US, 50 * US, "k");
	ops_exec(&f, 0, 11 * US, 1, 21 * US, 500 * US, "k");
	wait_for_it(&f, 15 * US, 60 * US);
	wait_for_it(&f, 600 * US, 650 * US);
	wait_for_it(&f, 700 * US, 760 * US);
	ops_exec(&f, 1, 710 * US, 0, 720 * US, 750 * US, "k");
	make(&f, &m);
	s = sum_all(&m);
	assert_int_equal(s.waits, 2);
	assert_int_equal(s.emptied, 1);
	assert_false(m.q.has_calls);
	end(&f, &m);
}

/* ---- any launches --------------------------------------------------------------------------------- */

enum { EXECS = 40, LENGTH = 400 };

static uint64_t next(uint64_t *r, uint64_t n)
{
	*r = aif_mix64(*r + UINT64_C(0x9e3779b97f4a7c15));
	return *r % n;
}

struct work {
	uint64_t call, start, end;
	bool is_lost;
};

/* The work that a moment belongs to: the first by start that runs then. */
static int owner(const struct work *w, uint64_t at)
{
	int best = -1;

	for (int i = 0; i < EXECS; i++)
		if (w[i].start <= at && at < w[i].end && (best < 0 || w[i].start < w[best].start))
			best = i;
	return best;
}

/* True if it is queued at that moment. Work without a launch counts from its start on. */
static bool is_before(const struct work *w, uint64_t at)
{
	return w->call < at || (w->is_lost && w->call == at);
}

static void depth_is_what_each_moment_has(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < rounds(200); seed++) {
		struct work w[EXECS];
		struct ops_fixture f;
		uint64_t r = seed, row = 0;
		struct made m;

		ops_begin(&f, NULL, "cuda");
		for (int i = 0; i < EXECS; i++) {
			/* Calls differ, so that their order is known. */
			w[i].call = next(&r, 10) * EXECS + (uint64_t)i;
			w[i].start = w[i].call + 1 + next(&r, 60);
			w[i].end = w[i].start + 1 + next(&r, 20);
			w[i].is_lost = next(&r, 10) == 0;
			if (w[i].is_lost)
				w[i].call = w[i].start;
			ops_exec(&f, w[i].is_lost ? AIF_NONE : (uint32_t)next(&r, 2), w[i].call,
				 (uint32_t)next(&r, 2), w[i].start, w[i].end, "k");
		}
		make(&f, &m);
		for (uint64_t at = 0; at < LENGTH; at++)
			for (int i = 0; i < EXECS; i++) {
				const struct aif_queue_launch *l = &m.q.launches[row];
				uint64_t ahead = 0, ns = 0;

				if (w[i].call != at || w[i].is_lost)
					continue;
				for (int k = 0; k < EXECS; k++)
					ahead += k != i && is_before(&w[k], at) && w[k].end > at;
				for (uint64_t t = at; t < LENGTH + 100; t++) {
					int of = owner(w, t);

					ns += of >= 0 && of != i && is_before(&w[of], at);
				}
				assert_int_equal(aif_queue_at(&m.q, l), at);
				assert_int_equal(aif_queue_delay(&m.q, l), w[i].start - at);
				if (l->ahead != ahead || l->ahead_ns != ns)
					fail_msg(
						"seed %u at %u: %u launches, %u ns; expected %u, %u",
						(unsigned)seed, (unsigned)at, (unsigned)l->ahead,
						(unsigned)l->ahead_ns, (unsigned)ahead,
						(unsigned)ns);
				row++;
			}
		assert_int_equal(row, m.q.len);
		assert_int_equal(m.q.unjoined, EXECS - row);
		end(&f, &m);
	}
}

/* ---- what is not known ------------------------------------------------------------------------------ */

static void add_block(struct ops_fixture *f, uint64_t from, uint64_t to, bool is_on)
{
	struct aif_window_row block = {.start = OPS_START + from,
				       .end = OPS_START + to,
				       .device = AIF_NONE,
				       .process = 0,
				       .held = is_on,
				       .launches = 40,
				       .thread = 0,
				       .p_ppm = 200000};
	struct aif_err err = {0};

	assert_ok(aif_writer_windows(f->w, &block, 1, &err), &err);
}

/* Launches of a block without capture may be queued until something newer has started. */
static void what_was_not_captured_may_be_queued(void **state)
{
	struct aif_queue_sum s;
	struct ops_fixture f;
	struct made m;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t b = 0; b < 4; b++) {
		add_block(&f, b * 1000 * US, (b + 1) * 1000 * US, b % 2 == 0);
		for (uint64_t i = 0; i < 40 && b % 2 == 0; i++) {
			uint64_t at = b * 1000 * US + i * 20 * US;

			/* The second block's work starts 205 us late. */
			ops_exec(&f, 0, at, 0, at + (b ? 205 : 5) * US, at + (b ? 220 : 20) * US,
				 "k");
		}
	}
	make(&f, &m);
	s = sum(&m, 0, 1000 * US, false, 0);
	assert_int_equal(s.known, 40);
	assert_int_equal(s.idle_ppm, 1000000);
	s = sum(&m, 2000 * US, 3000 * US, false, 0);
	assert_int_equal(s.launches, 40);
	assert_int_equal(s.known, 29); /* from 205 us on */
	assert_int_equal(s.idle_ppm, 0);
	assert_int_equal(s.ahead_median, 10);
	s = sum_all(&m);
	assert_int_equal(s.known, 69);
	assert_true(s.idle_ppm > 500000 && s.idle_ppm < 700000);
	assert_true(s.idle_error_ppm > 0 && s.idle_error_ppm <= 1000000);
	end(&f, &m);
}

/* A part of the recording has cycles of its own, with other numbers than the whole has. */
static void weights_of_a_part_are_found_by_time(void **state)
{
	struct aif_selection sel = {.from_ns = 36000 * US, .to_ns = 40000 * US};
	struct aif_queue_span span = {
		.device = AIF_QUEUE_ALL, .from = 36000 * US, .to = 40000 * US};
	struct aif_weights *weights;
	struct aif_queue_sum s;
	struct ops_fixture f;
	struct made m;
	size_t len;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t b = 0; b < 40; b++) {
		add_block(&f, b * 1000 * US, (b + 1) * 1000 * US, b % 2 == 0);
		for (uint64_t i = 0; i < 40 && b % 2 == 0; i++) {
			uint64_t at = b * 1000 * US + i * 20 * US,
				 late = i > b / 2 ? 25 * US : 5 * US;

			ops_exec(&f, 0, at, 0, at + late, at + late + 15 * US, "k");
		}
	}
	make(&f, &m);
	assert_int_equal(
		aif_weights_new_selected(&f.p, &sel,
					 (struct aif_weights_span){f.p.start_ns + sel.from_ns,
								   f.p.start_ns + sel.to_ns, 0},
					 &weights),
		0);
	aif_weights_cycles(weights, &len);
	assert_true(len > 0 && len < 4);
	assert_int_equal(aif_queue_sum(&m.q, weights, &span, &s), 0);
	assert_int_equal(s.launches, 80);
	assert_true(s.idle_error_ppm > 0 && s.idle_error_ppm < 100000);
	aif_weights_free(weights);
	end(&f, &m);
}

static void no_launch_is_no_queue(void **state)
{
	struct ops_fixture f;
	struct made m;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	make(&f, &m);
	assert_int_equal(sum_all(&m).launches, 0);
	end(&f, &m);
}

static void hostile_times_are_bounded(void **state)
{
	struct ops_fixture f;
	struct made m;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < 100; i++) {
		ops_exec(&f, 0, (uint64_t)0 - i, 0, INT64_MAX - i, INT64_MAX, "k");
		ops_exec(&f, 0, INT64_MAX, 0, (uint64_t)0 - i, 0, "k");
		wait_for_it(&f, 0 - i, INT64_MAX);
	}
	make(&f, &m);
	assert_int_equal(sum(&m, INT64_MIN, INT64_MAX, false, 0).launches, m.q.len);
	(void)sum(&m, INT64_MIN, INT64_MAX, true, 1);
	end(&f, &m);
}

static void the_table_has_a_row_for_each_step(void **state)
{
	struct aif_report_opts o = {.table = &aif_report_table_queue, .format = AIF_TABLE_CSV};
	struct ops_fixture f;
	char *text;

	(void)state;
	queue_three(&f);
	ops_add(&f, 0, 0, 335 * US, AIF_OP_STEP, "ProfilerStep#1");
	ops_add(&f, 0, 335 * US, 450 * US, AIF_OP_STEP, "ProfilerStep#2");
	ops_read(&f);
	text = ops_report(&f, o);
	assert_non_null(strstr(text, "\n0,335000,3,3,0.333333,0.000000,0.000000,0.000000,100000,"
				     "200000,1,2,2,110000,200000,1,1,100,device,step"));
	assert_non_null(strstr(text, "\n335000,115000,1,1,1.000000,0.000000,1.000000,0.000000,0,0,"
				     "0,0,0,5000,5000,0,0,100,device,step"));
	free(text);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_before_it_are_counted),
		cmocka_unit_test(a_span_has_what_was_called_or_started_in_it),
		cmocka_unit_test(a_wait_empties_what_it_waits_for),
		cmocka_unit_test(depth_is_what_each_moment_has),
		cmocka_unit_test(what_was_not_captured_may_be_queued),
		cmocka_unit_test(weights_of_a_part_are_found_by_time),
		cmocka_unit_test(no_launch_is_no_queue),
		cmocka_unit_test(hostile_times_are_bounded),
		cmocka_unit_test(the_table_has_a_row_for_each_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
