/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that take longer than others, as record --snapshot-slow finds them; quantiles in bounded memory. */
#include "fixture_profile.h"

#include "analysis/loop/slow_steps.h"
#include "base/clock.h"
#include "base/sketch.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define START UINT64_C(7000000000)
#define MS    UINT64_C(1000000)

struct fixture {
	struct aif_profile p;
	struct aif_slow_steps s;
	uint64_t now, number;
};

/* Two processes with a thread each. */
static void begin(struct fixture *f, enum aif_slow_by by)
{
	*f = (struct fixture){.p = {.start_ns = START}, .now = START};
	f->s = (struct aif_slow_steps){.limit = {.by = by, .factor = 3, .ns = 50 * MS}};
	f->s.p = &f->p;
	for (uint32_t i = 0; i < 2; i++) {
		FIXTURE_ADD(&f->p, processes, .pid = 100 + i, .exe = AIF_NONE, .cmdline = AIF_NONE,
			    .host = AIF_NONE);
		FIXTURE_ADD(&f->p, threads, .process = i, .tid = 100 + i, .name = AIF_NONE);
	}
}

static void finish(struct fixture *f)
{
	aif_slow_steps_finish(&f->s);
	aif_profile_finish(&f->p);
}

static void add(struct fixture *f, uint32_t thread, enum aif_op_kind kind, const char *name,
		uint64_t ns)
{
	struct aif_op_row row = {.start = f->now,
				 .end = f->now + ns,
				 .clock = AIF_CLOCK_MONOTONIC,
				 .thread = thread,
				 .kind = kind,
				 .name = aif_strset_puts(&f->p.strings, name)};

	f->now += ns;
	assert_int_equal(aif_slow_steps_take(&f->s, &row, 1), 0);
}

static void step(struct fixture *f, uint64_t ns)
{
	char name[32];

	snprintf(name, sizeof(name), "step#%" PRIu64, f->number++);
	add(f, 0, AIF_OP_STEP, name, ns);
}

static void steps(struct fixture *f, unsigned n, uint64_t ns)
{
	while (n--)
		step(f, ns);
}

static void near(uint64_t got, uint64_t wanted)
{
	assert_in_range(got, wanted - wanted / 50, wanted + wanted / 50);
}

static void a_step_slower_than_p99_is_found(void **state)
{
	struct fixture f;
	uint64_t from;

	(void)state;
	begin(&f, AIF_SLOW_P99);
	steps(&f, 200, 10 * MS);
	from = f.now;
	assert_false(f.s.has_found);
	step(&f, 80 * MS);
	steps(&f, 10, 10 * MS);
	assert_true(f.s.has_found);
	assert_string_equal(aif_profile_str(&f.p, f.s.found.name), "step#200");
	assert_int_equal(f.s.found.number, 200);
	assert_int_equal(f.s.found.before, 200);
	assert_int_equal(f.s.found.process, 0);
	assert_int_equal(f.s.found.from_ns, from - START);
	assert_int_equal(f.s.found.to_ns, from + 80 * MS - START);
	near(f.s.found.usual_ns, 10 * MS);
	near(f.s.found.p99_ns, 10 * MS);
	assert_int_equal(f.s.slow, 1);
	assert_int_equal(f.s.steps, 211);
	assert_int_equal(f.s.left_out, 0);
	finish(&f);
}

static void the_first_steps_are_not_slow(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_P99);
	steps(&f, AIF_SLOW_P99_AFTER - 1, 10 * MS);
	step(&f, 500 * MS);
	assert_int_equal(f.s.slow, 0);
	step(&f, 600 * MS);
	assert_int_equal(f.s.slow, 1);
	finish(&f);
}

static void a_step_close_to_the_others_is_not_slow(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_P99);
	for (unsigned i = 0; i < 300; i++)
		step(&f, 10 * MS + i % 7 * MS / 10);
	step(&f, 14 * MS);
	assert_int_equal(f.s.slow, 0);
	step(&f, 16 * MS);
	assert_int_equal(f.s.slow, 1);
	finish(&f);
}

static void a_length_that_one_step_of_fifty_has_is_not_slow(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_P99);
	for (unsigned i = 0; i < 500; i++)
		step(&f, i % 50 == 7 ? 100 * MS : 10 * MS);
	assert_int_equal(f.s.slow, 0);
	step(&f, 120 * MS);
	assert_int_equal(f.s.slow, 1);
	finish(&f);
}

static void what_is_usual_follows_the_program(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_P99);
	steps(&f, 5000, 10 * MS);
	steps(&f, 12000, 40 * MS);
	assert_true(f.s.slow > 0 && f.s.slow < 200);
	f.s.has_found = false;
	f.s.snapshots = 0;
	step(&f, 55 * MS);
	assert_false(f.s.has_found);
	step(&f, 90 * MS);
	assert_true(f.s.has_found);
	near(f.s.found.usual_ns, 40 * MS);
	finish(&f);
}

static void limits_by_factor_and_time(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_FACTOR);
	steps(&f, AIF_SLOW_FACTOR_AFTER, 10 * MS);
	step(&f, 29 * MS);
	assert_int_equal(f.s.slow, 0);
	step(&f, 32 * MS);
	assert_int_equal(f.s.slow, 1);
	finish(&f);
	begin(&f, AIF_SLOW_TIME);
	step(&f, 50 * MS);
	assert_int_equal(f.s.slow, 0);
	step(&f, 51 * MS);
	assert_int_equal(f.s.slow, 1);
	assert_int_equal(f.s.found.number, 1);
	finish(&f);
}

static void snapshots_are_bounded(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_TIME);
	step(&f, 60 * MS);
	assert_true(f.s.has_found);
	step(&f, 60 * MS); /* as long as the first has no profile */
	assert_int_equal(f.s.left_out, 1);
	aif_slow_steps_next(&f.s);
	step(&f, 60 * MS); /* too soon */
	assert_int_equal(f.s.left_out, 2);
	assert_false(f.s.has_found);
	while (f.s.snapshots < AIF_SLOW_SNAPSHOTS) {
		f.now += AIF_SLOW_APART_NS;
		step(&f, 60 * MS);
		assert_true(f.s.has_found);
		aif_slow_steps_next(&f.s);
	}
	f.now += AIF_SLOW_APART_NS;
	step(&f, 60 * MS);
	assert_false(f.s.has_found);
	assert_int_equal(f.s.left_out, 3);
	assert_int_equal(f.s.slow, AIF_SLOW_SNAPSHOTS + 3);
	finish(&f);
}

static void kinds_are_judged_apart(void **state)
{
	struct fixture f;
	char name[32];

	(void)state;
	begin(&f, AIF_SLOW_FACTOR);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "train step %u", i);
		add(&f, 0, AIF_OP_RANGE, name, 10 * MS);
		add(&f, 1, AIF_OP_RANGE, name, 100 * MS);
		add(&f, 0, AIF_OP_RANGE, "decode step", 1000 * MS);
		add(&f, 0, AIF_OP_RANGE, "forward", (i + 1) * 1000 * MS);
	}
	assert_int_equal(f.s.steps, 300);
	assert_int_equal(f.s.slow, 0);
	add(&f, 0, AIF_OP_RANGE, "train step 100", 100 * MS);
	assert_true(f.s.has_found);
	assert_int_equal(f.s.found.process, 0);
	assert_int_equal(f.s.found.number, 100);
	/* Ranges are no steps of a program that marks steps. */
	step(&f, 10 * MS);
	add(&f, 1, AIF_OP_RANGE, "train step 101", 900 * MS);
	assert_int_equal(f.s.slow, 1);
	finish(&f);
}

static bool is_forward(void *arg, const char *name)
{
	++*(unsigned *)arg;
	return !strncmp(name, "forward", 7);
}

static void ranges_that_are_asked_for(void **state)
{
	unsigned asked = 0;
	struct fixture f;

	(void)state;
	begin(&f, AIF_SLOW_FACTOR);
	f.s.is_asked = is_forward;
	f.s.arg = &asked;
	for (unsigned i = 0; i < 50; i++) {
		add(&f, 0, AIF_OP_RANGE, "forward", 10 * MS);
		add(&f, 0, AIF_OP_RANGE, "train step", (i + 1) * 100 * MS);
		step(&f, (i + 1) * 100 * MS);
		add(&f, 0, AIF_OP_OPERATOR, "forward", (i + 1) * 100 * MS);
		add(&f, 0, AIF_OP_RANGE, "forward", 0); /* a mark */
	}
	assert_int_equal(f.s.steps, 50);
	assert_int_equal(f.s.slow, 0);
	/* Once for each name, but for those with numbers. */
	assert_int_equal(asked, 52);
	add(&f, 0, AIF_OP_RANGE, "forward", 40 * MS);
	assert_true(f.s.has_found);
	assert_int_equal(f.s.found.number, 50);
	finish(&f);
}

static void kinds_are_bounded(void **state)
{
	struct fixture f;
	char name[32];

	(void)state;
	begin(&f, AIF_SLOW_TIME);
	f.s.limit.ns = UINT64_MAX;
	f.s.is_asked = is_forward;
	f.s.arg = &(unsigned){0};
	for (unsigned i = 0; i < AIF_SLOW_KINDS + 3; i++) {
		snprintf(name, sizeof(name), "forward %u of all", i);
		add(&f, 0, AIF_OP_RANGE, name, 10 * MS);
	}
	assert_int_equal(f.s.steps, AIF_SLOW_KINDS);
	assert_int_equal(f.s.others, 3);
	finish(&f);
}

static void sketches_have_quantiles(void **state)
{
	static struct aif_sketch s;
	uint64_t most;

	(void)state;
	assert_int_equal(aif_sketch_quantile(&s, 0.5, &most), 0);
	assert_int_equal(most, 0);
	for (uint64_t i = 1; i <= 1000; i++)
		aif_sketch_add(&s, i * 1000);
	near(aif_sketch_quantile(&s, 0.5, NULL), 500000);
	near(aif_sketch_quantile(&s, 0.99, &most), 990000);
	assert_in_range(most, 990000, 1010000);
	near(aif_sketch_quantile(&s, 1, NULL), 1000000);
	memset(&s, 0, sizeof(s));
	/* Each length is of the size that it was counted as. */
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int more = -1; more <= 1; more++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)more, middle;

			memset(&s, 0, sizeof(s));
			aif_sketch_add(&s, value);
			middle = aif_sketch_quantile(&s, 0.5, &most);
			assert_true(value <= most && value + 1 >= middle - (most - middle));
			assert_true(most - middle <= middle / 60);
		}
	}
	memset(&s, 0, sizeof(s));
	aif_sketch_add(&s, UINT64_MAX);
	aif_sketch_quantile(&s, 0.5, &most);
	assert_true(most == UINT64_MAX);
	/* Old ones fade. */
	memset(&s, 0, sizeof(s));
	for (unsigned i = 0; i < 4 * AIF_SKETCH_FULL; i++)
		aif_sketch_add(&s, i < 2 * AIF_SKETCH_FULL ? 10 : 20);
	assert_true(s.len <= AIF_SKETCH_FULL);
	assert_int_equal(aif_sketch_quantile(&s, 0.5, NULL), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_slower_than_p99_is_found),
		cmocka_unit_test(the_first_steps_are_not_slow),
		cmocka_unit_test(a_step_close_to_the_others_is_not_slow),
		cmocka_unit_test(a_length_that_one_step_of_fifty_has_is_not_slow),
		cmocka_unit_test(what_is_usual_follows_the_program),
		cmocka_unit_test(limits_by_factor_and_time),
		cmocka_unit_test(snapshots_are_bounded),
		cmocka_unit_test(kinds_are_judged_apart),
		cmocka_unit_test(ranges_that_are_asked_for),
		cmocka_unit_test(kinds_are_bounded),
		cmocka_unit_test(sketches_have_quantiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
