/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates what the overhead budget left out from what it captured: simulated programs in blocks of the real
 * controller, written to a file and attributed. */
#include "agent/budget.h"
#include "base/map.h"
#include "fixture_recording.h"
#include "query/query.h"
#include "analysis/weights.h"

#include <math.h>

enum { STACKS = 5, SEEDS = 20, LAUNCHES = 60000, INTERVAL_NS = 100000, LONG_NS = 20000000 };

struct totals {
	double ns[STACKS], error[STACKS], truth[STACKS];
	uint64_t launches, captured, first, last; /* of work */
	struct aif_conservation c, part;          /* part: of PART_FROM to PART_TO */
	double part_truth;
};
/* Neither begins nor ends with a block. */
#define PART_FROM UINT64_C(1700000000)
#define PART_TO   UINT64_C(4300000000)

/* The stack of launch i. */
typedef uint32_t program(uint64_t i, uint64_t random);

static uint32_t mixed(uint64_t i, uint64_t random)
{
	(void)i;
	return random % 100 < 50   ? 0
	       : random % 100 < 75 ? 1
	       : random % 100 < 90 ? 2
	       : random % 100 < 99 ? 3
				   : 4;
}

/* Returns a stack by the place in a period that is as long as the mean cycle. */
static uint32_t in_step(uint64_t i, uint64_t random)
{
	(void)random;
	return (uint32_t)(i * INTERVAL_NS % AIF_BUDGET_CYCLE_NS * STACKS / AIF_BUDGET_CYCLE_NS);
}

/* Returns, once in 2000 launches, a stack that takes longer than most on-blocks last, and for which
 * the program waits. */
static uint32_t rare(uint64_t i, uint64_t random)
{
	return random % 2000 == 0 ? 4 : (uint32_t)(i % 4);
}

/* Half of the time one thing, then another, at another rate of launches: a change of phase. */
static uint32_t two_phases(uint64_t i, uint64_t random)
{
	return i < LAUNCHES / 2 ? (uint32_t)(random % 2) : 2 + (uint32_t)(random % 3);
}

static void tables(struct aif_profile *p)
{
	uint32_t name = aif_strset_puts(&p->strings, "x");

	FIXTURE_ADD(p, processes, .pid = 1, .exe = name, .cmdline = name, .host = name);
	FIXTURE_ADD(p, threads, .process = 0, .tid = 1, .name = name);
	FIXTURE_ADD(p, devices, .name = name, .vendor = name, .driver = name,
		    .runtime = aif_strset_puts(&p->strings, "cuda"), .kind = AIF_DEVICE_GPU,
		    .clock = AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(p, streams, .process = 0, .device = 0);
	FIXTURE_ADD(p, kernels, .name = name, .short_name = AIF_NONE, .program = AIF_NONE);
	FIXTURE_ADD(p, modules, .kind = AIF_MODULE_ELF, .path = name, .build_id = AIF_NONE,
		    .kernel = AIF_NONE, .program = AIF_NONE);
	for (uint32_t s = 0; s < STACKS; s++) {
		FIXTURE_ADD(p, frames, .kind = AIF_FRAME_NATIVE, .module = 0, .address = 16 * s);
		FIXTURE_ADD(p, stacks, .parent = AIF_NONE, .frame = s, .depth = 1);
	}
}

static void block_ended(struct aif_writer *w, struct aif_budget *b, uint32_t block, uint32_t next,
			uint32_t duty_ppm, uint64_t start, uint64_t end, uint64_t launches)
{
	struct aif_window_row row = {.start = start,
				     .end = end,
				     .window = block,
				     .device = AIF_NONE,
				     .process = 0,
				     .held = aif_budget_is_on(block),
				     .launches = launches,
				     .thread = 0,
				     .p_ppm = duty_ppm};

	aif_budget_add(b, block, launches);
	if (!aif_budget_is_on(block) || !aif_budget_is_on(next))
		assert_int_equal(aif_writer_windows(w, &row, 1, NULL), 0);
}

/* A launch costs 8 % of its interval while capture is on: with 2 % allowed, about 27 % are. */
static struct totals record(program *which, uint64_t seed)
{
	static struct aif_launch_row launches[LAUNCHES];
	static struct aif_exec_row execs[LAUNCHES];
	struct recording rec;
	struct aif_budget b;
	struct totals t = {0};
	struct aif_attribution part;
	uint64_t now = 1, begin = now, in_block = 0, n = 0;
	uint32_t block = 1, duty = 1000000;

	recording_begin(&rec, 1);
	tables(&rec.p);
	aif_budget_init(&b, 20000, 30000, seed, now);
	for (uint64_t i = 0; i < LAUNCHES; i++) {
		uint64_t random = aif_mix64(i + 1), dur = 20000 + random / 7 % 20000;
		uint32_t stack = which(i, random / 3), is = aif_budget_block(&b, now);

		dur += which == rare && stack == 4 ? LONG_NS : 5000 * stack;
		if (is != block) {
			block_ended(rec.writer, &b, block, is, duty, begin, now, in_block);
			duty = aif_budget_duty(&b, is);
			block = is;
			begin = now;
			in_block = 0;
		}
		in_block++;
		t.truth[stack] += (double)dur;
		t.first = i ? t.first : now + 1000 - 1;
		t.last = now + 1000 + dur - 1;
		t.part_truth += fmax(0, (double)AIF_MIN(t.last, PART_TO) -
						(double)AIF_MAX(now + 1000 - 1, PART_FROM));
		if (aif_budget_is_on(is)) {
			launches[n] = (struct aif_launch_row){
				.launch = i, .time = now, .stack = stack, .shape = AIF_NONE};
			execs[n] = (struct aif_exec_row){.launch = i,
							 .start = now + 1000,
							 .end = now + 1000 + dur,
							 .clock = AIF_CLOCK_MONOTONIC};
			n++;
			now += INTERVAL_NS * 8 / 100;
		}
		now += which == rare && stack == 4 ? LONG_NS : INTERVAL_NS;
	}
	block_ended(rec.writer, &b, block, 0, duty, begin, now, in_block);
	assert_int_equal(aif_writer_launches(rec.writer, launches, n, NULL), 0);
	assert_int_equal(aif_writer_execs(rec.writer, execs, n, NULL), 0);
	recording_open(&rec, now);
	recording_attribute(&rec, NULL);
	recording_adds_up(&rec);
	for (size_t i = 0; i < rec.a.rows_len; i++) {
		const struct aif_attribution_row *row = &rec.a.rows[i];

		t.ns[row->stack] += (double)row->time_ns;
		t.error[row->stack] += (double)row->error_ns;
		t.launches += row->launches;
	}
	assert_int_equal(rec.a.devices_len, 1);
	assert_int_equal(rec.a.devices[0].error_ns, rec.a.conservation.error_ns);
	assert_int_equal(aif_attribution_compute(
				 &rec.read,
				 &(struct aif_selection){.from_ns = PART_FROM, .to_ns = PART_TO},
				 &part, NULL),
			 0);
	t.part = part.conservation;
	aif_attribution_finish(&part);
	t.captured = n;
	t.c = rec.a.conservation;
	recording_finish(&rec);
	return t;
}

/* Executions do not overlap. Where work begins and ends is known to a block. */
static double busy_is_off(const struct totals *t)
{
	double truth = 0;

	for (int s = 0; s < STACKS; s++)
		truth += t->truth[s];
	assert_int_equal(t->c.first_start_ns, t->first);
	assert_true(t->c.last_end_ns + 1 >= t->last && t->c.last_end_ns < t->last + 200000);
	assert_int_equal(t->c.before_ns, t->first);
	return (double)t->c.busy_ns - truth;
}

/* Error of a total over SEEDS recordings, and the standard error that it states. */
struct off {
	const char *what;
	double sum, squares, errors;
};

static void off_add(struct off *o, double ns, double error)
{
	o->sum += ns;
	o->squares += ns * ns;
	o->errors += error * error;
}

static void off_check(const struct off *o, const char *title)
{
	if (fabs(o->sum) > 2 * sqrt(o->errors))
		fail_msg("%s: %s is off by %.0f ns, standard error %.0f", title, o->what,
			 o->sum / SEEDS, sqrt(o->errors) / SEEDS);
	if (sqrt(o->errors) < sqrt(o->squares) / 2 || sqrt(o->errors) > sqrt(o->squares) * 3)
		fail_msg("%s: %s's spread %.0f ns, told %.0f", title, o->what,
			 sqrt(o->squares / SEEDS), sqrt(o->errors / SEEDS));
}

/* The mean over SEEDS recordings is the truth within 2 of its standard errors, which are 1/4.5 of those that one
 * recording tells. (Over 300 seeds, each with launches of its own, no stack is off by more than 1.9, and of the
 * program with long ones by 2.2; the standard errors told are 0.9 to 1.1 times those seen. The long ones' total is
 * off by 5 %, where its standard error is 2.5 %. With 20 seeds chance alone goes beyond 2 in one set in three.) */
static void agrees(program *which, const char *what)
{
	double sum[STACKS] = {0}, squares[STACKS] = {0}, errors[STACKS] = {0};
	struct off busy = {.what = "busy"}, part = {.what = "busy of a part"};
	struct totals t;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		t = record(which, seed);
		/* A sixth to a half of the launches, and the others are known to be missing. Fewer where long
		 * ones keep the controller from knowing what capture costs. */
		assert_true(t.captured > LAUNCHES / (which == rare ? 8 : 6) &&
			    t.captured < LAUNCHES / 2);
		assert_int_equal(t.c.uncaptured, LAUNCHES - t.captured);
		assert_true(fabs((double)t.launches / LAUNCHES - 1) < 0.01);
		for (int s = 0; s < STACKS; s++) {
			double off = t.ns[s] - t.truth[s];

			sum[s] += off;
			squares[s] += off * off;
			errors[s] += t.error[s] * t.error[s];
		}
		off_add(&busy, busy_is_off(&t), (double)t.c.error_ns);
		off_add(&part, (double)t.part.busy_ns - t.part_truth, (double)t.part.error_ns);
	}
	off_check(&busy, what);
	off_check(&part, what);
	for (int s = 0; s < STACKS; s++) {
		double error = sqrt(errors[s]) / SEEDS, spread = sqrt(squares[s] / SEEDS),
		       defined_gen = sqrt(errors[s] / SEEDS);

		if (fabs(sum[s] / SEEDS) > 2 * error)
			fail_msg("%s, stack %d: off by %.0f of %.0f ns, standard error %.0f", what,
				 s, sum[s] / SEEDS, t.truth[s], error);
		/* The standard errors that are told are those that are seen. */
		if (defined_gen < spread / 2 || defined_gen > spread * 3)
			fail_msg("%s, stack %d: spread %.0f ns, told %.0f", what, s, spread,
				 defined_gen);
	}
}

static void totals_are_unbiased(void **state)
{
	(void)state;
	agrees(mixed, "a mix");
}

static void also_when_the_loop_has_the_cycles_period(void **state)
{
	(void)state;
	agrees(in_step, "in step");
}

static void also_across_phases(void **state)
{
	(void)state;
	agrees(two_phases, "two phases");
}

static void also_of_long_launches_that_are_rare(void **state)
{
	(void)state;
	agrees(rare, "rare and long");
}

/* A short program: all, and then nothing, was captured. What was must stand for what was not. */
static void one_block_may_have_to_stand_for_all(void **state)
{
	struct recording rec;
	struct aif_budget b;
	struct aif_weights *weights;
	const struct aif_weights_cycle *c;

	(void)state;
	recording_begin(&rec, 1);
	tables(&rec.p);
	aif_budget_init(&b, 20000, 30000, 1, 1);
	block_ended(rec.writer, &b, 1, 2, 1000000, 1000, 2000, 100);
	block_ended(rec.writer, &b, 2, 0, 20000, 2000, 9000, 700);
	recording_open(&rec, 10000);
	assert_int_equal(aif_weights_new(&rec.read, &weights), 0);
	c = aif_weights_at(weights, 0, 1500);
	assert_non_null(c);
	assert_int_equal(c->weight, 8 * AIF_WEIGHT_ONE);
	assert_null(aif_weights_at(weights, 0, 5000));
	assert_true(aif_weights_off(weights, 0, 5000));
	assert_false(aif_weights_off(weights, 0, 1500));
	assert_int_equal(aif_weights_uncaptured(weights), 700);
	aif_weights_free(weights);
	recording_finish(&rec);
}

/* A runtime that counts its process's launches itself: its blocks stand for those of each thread. */
static void a_process_may_be_counted_as_one(void **state)
{
	static const struct aif_window_row rows[] = {
		{.start = 1000,
		 .end = 2000,
		 .device = AIF_NONE,
		 .held = 1,
		 .launches = 100,
		 .thread = AIF_NONE,
		 .p_ppm = 500000},
		{.start = 2000,
		 .end = 9000,
		 .device = AIF_NONE,
		 .launches = 700,
		 .thread = AIF_NONE,
		 .p_ppm = 500000},
		/* Not a block: a gap (gaps.h), and a device's window. */
		{.start = 3000, .end = 4000, .device = AIF_NONE, .thread = AIF_NONE},
		{.start = 3000,
		 .end = 4000,
		 .device = 0,
		 .held = 1,
		 .thread = AIF_NONE,
		 .p_ppm = 1000000},
	};
	const struct aif_weights_cycle *c;
	struct recording rec;
	struct aif_weights *weights;

	(void)state;
	recording_begin(&rec, 1);
	tables(&rec.p);
	assert_int_equal(aif_writer_windows(rec.writer, rows, AIF_ARRAY_LEN(rows), NULL), 0);
	recording_open(&rec, 10000);
	assert_int_equal(aif_weights_new(&rec.read, &weights), 0);
	c = aif_weights_at(weights, 0, 1500);
	assert_non_null(c);
	assert_int_equal(c->weight, 8 * AIF_WEIGHT_ONE);
	assert_null(aif_weights_at(weights, 0, 3500));
	assert_null(aif_weights_at(weights, 7, 1500)); /* no such thread */
	assert_true(aif_weights_off(weights, 0, 3500));
	assert_int_equal(aif_weights_uncaptured(weights), 700);
	aif_weights_free(weights);
	recording_finish(&rec);
}

/* Blocks, launches and executions of one thread and stream, attributed and, as SQL, summed up. */
struct small {
	const struct aif_window_row *blocks;
	size_t blocks_len;
	const struct aif_exec_row
		*execs; /* launched at their start, from the stack of their launch's number */
	size_t execs_len;
	uint64_t end;
	bool out_of_order;
};

static void compute(const struct small *small, struct aif_attribution *ret, double *ret_sql)
{
	struct recording rec;
	struct aif_launch_row launches[400];
	struct aif_query *q;
	struct aif_err err = {0};
	sqlite3_stmt *stmt;

	recording_begin(&rec, 1);
	tables(&rec.p);
	rec.p.streams[0].out_of_order = small->out_of_order;
	assert_true(small->execs_len <= AIF_ARRAY_LEN(launches));
	for (size_t i = 0; i < small->execs_len; i++)
		launches[i] = (struct aif_launch_row){.launch = small->execs[i].launch,
						      .time = small->execs[i].start,
						      .stack = small->execs[i].launch % STACKS,
						      .shape = AIF_NONE};
	assert_int_equal(aif_writer_windows(rec.writer, small->blocks, small->blocks_len, NULL), 0);
	assert_int_equal(aif_writer_launches(rec.writer, launches, small->execs_len, NULL), 0);
	assert_int_equal(aif_writer_execs(rec.writer, small->execs, small->execs_len, NULL), 0);
	recording_open(&rec, small->end);
	recording_attribute(&rec, NULL);
	recording_adds_up(&rec);
	assert_ok(aif_query_new(AIF_NAMES_OF(&rec.read), &q, &err), &err);
	assert_int_equal(sqlite3_prepare_v2(aif_query_db(q),
					    "select sum(dur_ns * weight) from executions", -1,
					    &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	*ret_sql = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	aif_query_free(q);
	*ret = rec.a;
	rec.a = (struct aif_attribution){0};
	recording_finish(&rec);
}

#define BLOCK(from, to, on, p, n)                                                     \
	{                                                                             \
		.start = from, .end = to, .device = AIF_NONE, .held = on, .p_ppm = p, \
		.launches = n                                                         \
	}

static uint64_t launches_of(const struct aif_attribution *a, uint32_t stack, uint64_t *ret_all)
{
	uint64_t n = 0;

	*ret_all = 0;
	for (size_t i = 0; i < a->rows_len; i++) {
		*ret_all += a->rows[i].launches;
		n += a->rows[i].stack == stack ? a->rows[i].launches : 0;
	}
	return n;
}

/* The recorder tells only the last block, 10 launches here, of all that was captured before anything was left out. They
 * are not more like the rest than the 290 before them. */
static void certain_blocks_stand_in_with_all_that_they_had(void **state)
{
	static const struct aif_window_row blocks[] = {BLOCK(300001, 310001, 1, 1000000, 10),
						       BLOCK(310001, 10000001, 0, 20000, 2700)};
	struct aif_exec_row execs[310];
	struct aif_attribution a;
	uint64_t all;
	double sql;

	(void)state;
	for (size_t i = 0; i < 310; i++)
		execs[i] = (struct aif_exec_row){.launch = 5 * i + (i == 305),
						 .start = 1 + 1000 * i,
						 .end = 1 + 1000 * i + (i == 305 ? 900 : 10),
						 .clock = AIF_CLOCK_MONOTONIC};
	compute(&(struct small){blocks, 2, execs, 310, 10000001, false}, &a, &sql);
	assert_int_equal(launches_of(&a, 1, &all), 10); /* 1 of 310 */
	assert_in_range(all, 3009, 3011);
	assert_true(fabs(sql - (double)a.conservation.durations_ns) < 400);
	aif_attribution_finish(&a);
}

/* Four launches, as one of them filled the block, are not what thousands were like. */
static void few_launches_do_not_stand_for_many(void **state)
{
	static const struct aif_window_row blocks[] = {
		BLOCK(1, 310001, 1, 1000000, 310), BLOCK(310001, 3310001, 0, 20000, 2700),
		BLOCK(3310001, 3510001, 1, 20000, 4), BLOCK(3510001, 3560001, 0, 20000, 46),
		BLOCK(3560001, 3570001, 1, 1000000, 10)};
	struct aif_attribution a;
	uint64_t all;
	double sql;

	(void)state;
	/* Also where nothing was certain afterwards: the recording ends. */
	for (size_t last = 0; last < 2; last++) {
		struct aif_exec_row execs[324];
		size_t n = last ? 314 : 324;

		for (size_t i = 0; i < n; i++) {
			uint64_t start = i < 310   ? 1 + 1000 * i
					 : i < 314 ? 3310001 + 1000 * (i - 310)
						   : 3560001 + 1000 * (i - 314);

			execs[i] = (struct aif_exec_row){.launch = 5 * i + (i == 313),
							 .start = start,
							 .end = start + (i == 313 ? 190000 : 10),
							 .clock = AIF_CLOCK_MONOTONIC};
		}
		compute(&(struct small){blocks, 5 - last, execs, n, 3570001, false}, &a, &sql);
		assert_in_range(launches_of(&a, 1, &all), 9, 10); /* of 314 that stand for 3060 */
		assert_in_range(all, n + 2745, n + 2747);
		aif_attribution_finish(&a);
	}
}

/* A queue in order has no room for 100 launches of 5 us in 100 us; one out of order has. */
static void an_estimate_fits_in_its_queue(void **state)
{
	static const struct aif_window_row blocks[] = {BLOCK(1, 10001, 1, 100000, 10),
						       BLOCK(10001, 100001, 0, 100000, 990)};
	static const struct aif_exec_row exec = {
		.launch = 1, .start = 2, .end = 5002, .clock = AIF_CLOCK_MONOTONIC};
	struct aif_attribution a;
	double sql;

	(void)state;
	compute(&(struct small){blocks, 2, &exec, 1, 100001, false}, &a, &sql);
	assert_int_equal(a.rows_len, 1);
	assert_int_equal(a.rows[0].time_ns, 99999); /* since the device's first work */
	assert_int_equal(a.rows[0].wall_ns, 99999);
	assert_int_equal(a.conservation.overlap_ns, 0);
	assert_true(a.rows[0].error_ns <= 95000 && a.rows[0].error_ns > 90000);
	aif_attribution_finish(&a);
	compute(&(struct small){blocks, 2, &exec, 1, 100001, true}, &a, &sql);
	assert_int_equal(a.rows[0].time_ns, 500000);
	assert_int_equal(a.conservation.overlap_ns, 400001);
	assert_true(fabs(sql - 500000) < 1);
	aif_attribution_finish(&a);
}

/* A stack met only before the first off-block was captured whole: it is exact, beside what is estimated. Where a single
 * cycle stands for all that was left out, it may have been launched there, too. */
static void captured_whole(const struct aif_window_row *blocks, size_t blocks_len, size_t execs_len,
			   bool is_exact)
{
	struct aif_exec_row execs[90];
	struct aif_attribution a;
	double sql;

	assert_true(execs_len <= AIF_ARRAY_LEN(execs));
	for (size_t i = 0; i < execs_len; i++) {
		uint64_t start = i < 10   ? 1 + 1000 * i
				 : i < 50 ? 50001 + 200 * (i - 10)
					  : 80001 + 200 * (i - 50);

		execs[i] = (struct aif_exec_row){.launch = 5 * i + (i == 0),
						 .start = start,
						 .end = start + (i ? 100 : 500) + (i < 50 ? 0 : 20),
						 .clock = AIF_CLOCK_MONOTONIC};
	}
	compute(&(struct small){blocks, blocks_len, execs, execs_len, 100001, false}, &a, &sql);
	assert_int_equal(a.rows_len, 2);
	for (size_t i = 0; i < 2; i++) {
		bool is_before = a.rows[i].stack == 1;

		assert_int_equal(a.rows[i].grade, is_before ? AIF_GRADE_EXACT : AIF_GRADE_SAMPLED);
		assert_int_equal(a.rows[i].error_ns > 0, !is_before || !is_exact);
		if (is_before)
			assert_int_equal(a.rows[i].time_ns, 500);
	}
	assert_true(a.conservation.error_ns > 0);
	aif_attribution_finish(&a);
}

static void what_was_captured_whole_is_exact(void **state)
{
	static const struct aif_window_row blocks[] = {
		BLOCK(1, 10001, 1, 1000000, 10),    BLOCK(10001, 50001, 0, 200000, 40),
		BLOCK(50001, 60001, 1, 200000, 40), BLOCK(60001, 80001, 0, 200000, 40),
		BLOCK(80001, 90001, 1, 200000, 40), BLOCK(90001, 100001, 0, 200000, 40)};

	(void)state;
	captured_whole(blocks, 6, 90, true);
}

static void a_single_cycle_does_not_make_the_rest_exact(void **state)
{
	static const struct aif_window_row blocks[] = {
		BLOCK(1, 10001, 1, 1000000, 10), BLOCK(10001, 50001, 0, 200000, 40),
		BLOCK(50001, 60001, 1, 200000, 40), BLOCK(60001, 100001, 0, 200000, 40)};

	(void)state;
	captured_whole(blocks, 4, 50, false);
}

/* The last block goes on after its launches, which took as long as those before: 40 us of 100. */
static void ends_after_40_us(const struct aif_window_row *blocks, size_t blocks_len)
{
	struct aif_exec_row execs[90];
	struct aif_attribution a;
	double sql;

	for (size_t i = 0; i < AIF_ARRAY_LEN(execs); i++) {
		uint64_t start = i < 10   ? 1 + 1000 * i
				 : i < 50 ? 50001 + 250 * (i - 10)
					  : 100001 + 250 * (i - 50);

		execs[i] = (struct aif_exec_row){.launch = 5 * i,
						 .start = start,
						 .end = start + 100,
						 .clock = AIF_CLOCK_MONOTONIC};
	}
	compute(&(struct small){blocks, blocks_len, execs, 90, 300001, false}, &a, &sql);
	assert_int_equal(a.conservation.last_end_ns, 150000);
	assert_int_equal(a.conservation.after_ns, 150000);
	assert_int_equal(a.conservation.busy_ns + a.conservation.idle_ns, 150000);
	assert_int_equal(a.devices[0].idle_error_ns, a.devices[0].error_ns);
	aif_attribution_finish(&a);
}

#define BEFORE_THE_LAST                                                                  \
	BLOCK(1, 10001, 1, 1000000, 10), BLOCK(10001, 50001, 0, 200000, 40),             \
		BLOCK(50001, 60001, 1, 200000, 40), BLOCK(60001, 100001, 0, 200000, 40), \
		BLOCK(100001, 110001, 1, 200000, 40), BLOCK(110001, 210001, 0, 200000, 40)

static void the_last_block_ends_with_its_launches(void **state)
{
	static const struct aif_window_row blocks[] = {BEFORE_THE_LAST};

	(void)state;
	ends_after_40_us(blocks, AIF_ARRAY_LEN(blocks));
}

/* The device was sampled in the last block, and not to its end: another time to sample had come to its own. */
static void the_last_block_goes_on_when_sampling_has_ended(void **state)
{
	static const struct aif_window_row blocks[] = {
		BEFORE_THE_LAST,
		{.start = 110001, .end = 130001, .held = 1, .p_ppm = 1000000, .thread = AIF_NONE}};

	(void)state;
	ends_after_40_us(blocks, AIF_ARRAY_LEN(blocks));
}

/* Two threads launched, of which the other one has ended before the last block: this one launches no faster for that. */
static void the_last_block_may_be_of_one_thread(void **state)
{
	struct aif_window_row blocks[] = {BEFORE_THE_LAST, BLOCK(10001, 50001, 0, 200000, 40),
					  BLOCK(60001, 100001, 0, 200000, 40)};

	(void)state;
	for (size_t i = 6; i < AIF_ARRAY_LEN(blocks); i++)
		blocks[i].thread = AIF_NONE; /* those without a row of their own */
	ends_after_40_us(blocks, AIF_ARRAY_LEN(blocks));
}

/* Between captured blocks the device works on: where capture ended it is not the end, and a span without any is
 * not one without work. */
static void time_without_capture_is_not_idle(void **state)
{
	static const struct aif_window_row blocks[] = {
		BLOCK(1, 10001, 1, 1000000, 10), BLOCK(10001, 50001, 0, 200000, 40),
		BLOCK(50001, 60001, 1, 200000, 40), BLOCK(60001, 90001, 0, 200000, 60)};
	static const bool none[1] = {false}, all[1] = {true};
	static const struct {
		struct aif_selection which;
		uint64_t left_out, first, last;
		size_t rows;
	} cases[] = {
		{{0}, 100, 100, 90000, 1},
		{{.from_ns = 70000, .to_ns = 80000}, 20, 70000, 80000, 0},
		{{.from_ns = 40000, .to_ns = 80000}, 50, 40000, 80000, 1},
		{{.from_ns = 52000, .to_ns = 55000}, 0, 52000, 52100, 1},
		{{.from_ns = 95000}, 0, 0, 0, 0},
		{{.processes = all, .threads = all}, 100, 100, 90000, 1},
		{{.processes = none}, 0, 0, 0, 0},
		{{.threads = none}, 0, 0, 0, 0},
		{{.devices = none}, 0, 0, 0, 0}, /* not known of devices */
	};
	static const struct aif_launch_row launches[] = {
		{.launch = 1, .time = 101, .stack = 1, .shape = AIF_NONE},
		{.launch = 2, .time = 52001, .stack = 1, .shape = AIF_NONE}};
	static const struct aif_exec_row execs[] = {
		{.launch = 1, .start = 101, .end = 201, .clock = AIF_CLOCK_MONOTONIC},
		{.launch = 2, .start = 52001, .end = 52101, .clock = AIF_CLOCK_MONOTONIC}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const struct aif_conservation *c;
		struct recording rec;

		recording_begin(&rec, 1);
		tables(&rec.p);
		assert_int_equal(
			aif_writer_windows(rec.writer, blocks, AIF_ARRAY_LEN(blocks), NULL), 0);
		assert_int_equal(aif_writer_launches(rec.writer, launches, 2, NULL), 0);
		assert_int_equal(aif_writer_execs(rec.writer, execs, 2, NULL), 0);
		recording_open(&rec, 100001);
		recording_attribute(&rec, &cases[i].which);
		recording_adds_up(&rec);
		c = &rec.a.conservation;
		assert_int_equal(rec.a.rows_len, cases[i].rows);
		assert_int_equal(c->left_out, cases[i].left_out);
		assert_int_equal(c->first_start_ns, cases[i].first);
		assert_int_equal(c->last_end_ns, cases[i].last);
		recording_finish(&rec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_may_be_counted_as_one),
		cmocka_unit_test(totals_are_unbiased),
		cmocka_unit_test(also_when_the_loop_has_the_cycles_period),
		cmocka_unit_test(also_across_phases),
		cmocka_unit_test(also_of_long_launches_that_are_rare),
		cmocka_unit_test(certain_blocks_stand_in_with_all_that_they_had),
		cmocka_unit_test(few_launches_do_not_stand_for_many),
		cmocka_unit_test(an_estimate_fits_in_its_queue),
		cmocka_unit_test(time_without_capture_is_not_idle),
		cmocka_unit_test(the_last_block_ends_with_its_launches),
		cmocka_unit_test(the_last_block_may_be_of_one_thread),
		cmocka_unit_test(the_last_block_goes_on_when_sampling_has_ended),
		cmocka_unit_test(what_was_captured_whole_is_exact),
		cmocka_unit_test(a_single_cycle_does_not_make_the_rest_exact),
		cmocka_unit_test(one_block_may_have_to_stand_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
