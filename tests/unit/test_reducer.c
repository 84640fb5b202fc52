/* SPDX-License-Identifier: Apache-2.0 */
/* record --reduce: steps that are left out of a file while it is written. */
#include "fixture_ops.h"
#include "fixture_step_sums.h"

#include "analysis/kept_lot.h"
#include "analysis/weights.h"
#include "record/reduce/reducer.h"

#include <sys/wait.h>

#define STEP_NS UINT64_C(1000000000)
enum { STEPS = 400, LAUNCHES = 40, EVERY = 8, SLOW = 157, SPARSE_EACH = 10, LATE = 30 };

/* A recording of two processes. Thread 0 marks steps and launches LAUNCHES times in each; thread 1, of the same process, launches in each
 * SPARSE_EACH; thread 2, of the other one, marks none. Of the executions of a step the last comes LATE steps later. */
struct recording {
	struct ops_fixture f;
	struct aif_reducer *r;
	struct aif_reducer_sum sum;
	uint64_t at, launched[3];
	struct aif_exec_row late[STEPS];
	unsigned late_len, late_done;
};

static void launch(struct recording *x, uint32_t thread, uint64_t at, const char *kernel,
		   bool is_late)
{
	struct ops_fixture *f = &x->f;
	struct aif_err err = {0};
	struct aif_exec_row row;

	/* Numbers of a slot each, as the agent's threads have. */
	f->launches = ((uint64_t)(thread + 1) << 40) + x->launched[thread]++;
	if (!is_late) {
		ops_exec(f, thread, at, thread, at + 10, at + 1010, kernel);
		return;
	}
	row = (struct aif_exec_row){.launch = f->launches + 1,
				    .start = OPS_START + at + 10,
				    .end = OPS_START + at + 1010,
				    .clock = AIF_CLOCK_MONOTONIC,
				    .kind = AIF_LAUNCH_KERNEL,
				    .kernel = ops_kernel(f, kernel)};
	x->late[x->late_len++] = row;
	assert_ok(aif_writer_launches(f->w,
				      &(struct aif_launch_row){.launch = row.launch,
							       .time = OPS_START + at,
							       .thread = thread,
							       .kind = AIF_LAUNCH_KERNEL,
							       .kernel = row.kernel,
							       .stack = AIF_NONE,
							       .shape = AIF_NONE},
				      1, &err),
		  &err);
}

/* Adds a step, its row as the recorder has it: when it has ended. */
static void add_step(struct recording *x, unsigned step, uint64_t ns, const char *name,
		     uint32_t kind)
{
	struct aif_op_row row = {.start = x->at,
				 .end = x->at + ns,
				 .thread = 0,
				 .kind = kind,
				 .shapes = AIF_NONE,
				 .types = AIF_NONE,
				 .stack = AIF_NONE,
				 .sequence = -1};
	struct aif_op_row seen;
	struct aif_err err = {0};
	char text[32];

	for (unsigned i = 0; i < LAUNCHES; i++)
		launch(x, 0, x->at + 1000 + i * (ns / (LAUNCHES + 1)), i % 4 ? "gemm" : "softmax",
		       i + 1 == LAUNCHES);
	ops_add(&x->f, 0, x->at + 2000, x->at + 3000, AIF_OP_OPERATOR, "aten::mm");
	if (step % SPARSE_EACH == 0)
		launch(x, 1, x->at + 5000, "sparse", false);
	launch(x, 2, x->at + 6000, "other", false);
	if (step >= LATE) {
		assert_ok(aif_writer_execs(x->f.w, &x->late[x->late_done++], 1, &err), &err);
	}
	snprintf(text, sizeof(text), "%s#%u", name, step);
	row.name = ops_string(&x->f, text);
	ops_add_row(&x->f, row);
	seen = row;
	seen.start += OPS_START;
	seen.end += OPS_START;
	assert_int_equal(aif_reducer_see(x->r, &seen, 1), 0);
	x->at += ns;
	assert_ok(aif_writer_tables(x->f.w, &x->f.made, &err), &err);
	assert_ok(aif_reducer_round(x->r, x->f.w, &x->f.made, OPS_START + x->at, false, &err),
		  &err);
	assert_ok(aif_writer_commit(x->f.w, &err), &err);
}

static void begin(struct recording *x)
{
	*x = (struct recording){.at = STEP_NS};
	ops_begin(&x->f, "NVIDIA", "cuda");
	x->r = aif_reducer_new(EVERY);
	assert_non_null(x->r);
	for (unsigned i = 0; i < 5; i++)
		launch(x, 0, i * 1000 + 1, "init", false);
}

static void end(struct recording *x)
{
	struct aif_err err = {0};

	while (x->late_done < x->late_len)
		assert_ok(aif_writer_execs(x->f.w, &x->late[x->late_done++], 1, &err), &err);
	launch(x, 0, x->at + 1000, "save", false);
	x->f.made.end_ns = OPS_START + x->at + STEP_NS;
	assert_ok(aif_writer_tables(x->f.w, &x->f.made, &err), &err);
	assert_ok(aif_reducer_round(x->r, x->f.w, &x->f.made, x->f.made.end_ns, true, &err), &err);
	assert_ok(aif_writer_compact(x->f.w, &err), &err);
	x->sum = *aif_reducer_sum(x->r);
	aif_reducer_free(x->r);
	ops_read(&x->f);
}

struct kept {
	const struct aif_profile *p;
	const struct aif_weights *weights;
	const char *kernel; /* whose launches are counted, as often as they count */
	double weighted;
	uint64_t launches, execs, operators, steps;
	unsigned of_step[STEPS + 2];
};

static int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct kept *k = arg;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = rows[i].time - OPS_START, step = at / STEP_NS - 1;

		k->launches++;
		/* The slow step takes three times as long. */
		step = step > SLOW ? (step < SLOW + 3 ? SLOW : step - 2) : step;
		if (rows[i].thread == 0 && at >= STEP_NS && step < STEPS)
			k->of_step[step]++;
		if (!strcmp(aif_profile_str(k->p, k->p->kernels[rows[i].kernel].name), k->kernel))
			k->weighted += aif_weights_factor(
				k->weights,
				aif_weights_cycle_at(k->weights, rows[i].thread, rows[i].time));
	}
	return 0;
}

static int take_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct kept *k = arg;

	(void)rows;
	k->execs += n;
	return 0;
}

static int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct kept *k = arg;

	for (size_t i = 0; i < n; i++) {
		k->operators += rows[i].kind == AIF_OP_OPERATOR;
		k->steps += rows[i].kind == AIF_OP_STEP || rows[i].kind == AIF_OP_RANGE;
	}
	return 0;
}

static struct kept look(struct recording *x, const struct aif_weights *w, const char *kernel)
{
	struct kept k = {.p = &x->f.p, .weights = w, .kernel = kernel};

	assert_int_equal(aif_profile_launches(&x->f.p, take_launches, &k, NULL), 0);
	assert_int_equal(aif_profile_execs(&x->f.p, take_execs, &k, NULL), 0);
	assert_int_equal(aif_profile_ops(&x->f.p, take_ops, &k, NULL), 0);
	return k;
}

static void assert_stands_for(struct recording *x, const struct aif_weights *w, const char *kernel,
			      double want)
{
	struct kept k = look(x, w, kernel);

	if (k.weighted < want - 0.5 || k.weighted > want + 0.5)
		fail_msg("%s: %.1f launches, not %.0f", kernel, k.weighted, want);
}

static void judge(struct recording *x, const char *name, uint32_t kind)
{
	const uint64_t sparse = STEPS / SPARSE_EACH, all = STEPS * (LAUNCHES + 1) + sparse + 5 + 1;
	struct aif_weights *w;
	struct sums sums = {0};
	struct kept k;

	begin(x);
	for (unsigned s = 0; s < STEPS; s++)
		add_step(x, s, STEP_NS * (s == SLOW ? 3 : 1), name, kind);
	end(x);
	assert_int_equal(x->sum.steps, STEPS);
	assert_int_equal(x->sum.first, AIF_KEPT_FIRST);
	assert_int_equal(x->sum.slow, 1);
	assert_int_equal(aif_weights_new(&x->f.p, &w), 0);
	assert_int_equal(aif_weights_uncaptured(w), x->sum.left_out);
	k = look(x, w, "");
	assert_int_equal(k.launches + x->sum.left_out, all);
	assert_int_equal(k.execs, k.launches);
	assert_int_equal(k.steps, STEPS);
	assert_int_equal(k.operators, x->sum.by_lot + x->sum.first + x->sum.slow);
	assert_int_equal(x->sum.left_out, (STEPS - k.operators) * LAUNCHES);
	for (unsigned s = 0; s < STEPS; s++) {
		assert_true(!k.of_step[s] || k.of_step[s] == LAUNCHES);
		if (s < AIF_KEPT_FIRST || s == SLOW || aif_kept_is_drawn(s, EVERY))
			assert_int_equal(k.of_step[s], LAUNCHES);
	}
	/* Counts the lot of eight, and what both stretches begin with. */
	assert_in_range(x->sum.by_lot, STEPS / EVERY / 2, STEPS / EVERY + 3 * AIF_KEPT_RUN);
	assert_int_equal(aif_profile_step_sums(&x->f.p, take_sums, &sums, NULL), 0);
	assert_false(x->sum.lacks_step_sums);
	/* Leaves out the last of each step at most, which comes more than a round behind its launch. */
	assert_in_range(sums.executions, STEPS * (LAUNCHES - 1) + sparse,
			STEPS * LAUNCHES + sparse);
	assert_int_equal(sums.ns, sums.executions * 1000);
	assert_true(sums.steps % STEPS == 0);
	assert_stands_for(x, w, "softmax", STEPS * LAUNCHES / 4);
	assert_stands_for(x, w, "gemm", STEPS * LAUNCHES * 3 / 4);
	assert_stands_for(x, w, "sparse", (double)sparse);
	assert_stands_for(x, w, "other", STEPS);
	assert_stands_for(x, w, "init", 5);
	assert_stands_for(x, w, "save", 1);
	aif_weights_free(w);
	ops_end(&x->f);
}

static void steps_are_left_out_and_what_is_kept_stands_for_them(void **state)
{
	struct recording x;

	(void)state;
	judge(&x, "step", AIF_OP_STEP);
}

static void ranges_named_like_steps_are_steps_where_none_is_marked(void **state)
{
	struct recording x;

	(void)state;
	judge(&x, "train_step", AIF_OP_RANGE);
}

/* Stamps of a device's own clock are no times yet when steps are summed up. */
static void sums_of_steps_that_are_missing_are_told(void **state)
{
	struct recording x;

	(void)state;
	begin(&x);
	for (unsigned s = 0; s < STEPS; s++)
		add_step(&x, s, STEP_NS, "step", AIF_OP_STEP);
	assert_in_range(x.late_done, 0, x.late_len - 1);
	x.late[x.late_len - 1].clock = AIF_CLOCK_DEVICE;
	end(&x);
	assert_true(x.sum.left_out > 0 && x.sum.lacks_step_sums);
	ops_end(&x.f);
}

static void a_recording_without_steps_stays_whole(void **state)
{
	struct recording x;
	struct kept k;

	(void)state;
	begin(&x);
	for (unsigned s = 0; s < 60; s++)
		add_step(&x, s, STEP_NS, "forward", AIF_OP_RANGE);
	end(&x);
	k = look(&x, NULL, "");
	assert_int_equal(x.sum.left_out, 0);
	assert_int_equal(k.launches, 60 * (LAUNCHES + 1) + 6 + 6);
	assert_int_equal(k.execs, k.launches);
	ops_end(&x.f);
}

/* Keeps as many steps of a thread that launches once in each as make its launches enough. */
static void a_thread_with_few_launches_in_each_step_has_enough_of_them(void **state)
{
	struct recording x;
	struct aif_weights *w;
	struct aif_err err = {0};
	struct aif_op_row row;
	char text[32];

	(void)state;
	begin(&x);
	for (unsigned s = 0; s < 200; s++) {
		launch(&x, 0, x.at + 1000, "graph", false);
		snprintf(text, sizeof(text), "step#%u", s);
		row = (struct aif_op_row){.start = OPS_START + x.at,
					  .end = OPS_START + x.at + STEP_NS,
					  .kind = AIF_OP_STEP,
					  .name = ops_string(&x.f, text)};
		assert_int_equal(aif_reducer_see(x.r, &row, 1), 0);
		x.at += STEP_NS;
		assert_ok(aif_writer_tables(x.f.w, &x.f.made, &err), &err);
		assert_ok(aif_reducer_round(x.r, x.f.w, &x.f.made, OPS_START + x.at, false, &err),
			  &err);
	}
	end(&x);
	assert_in_range(x.sum.by_lot, 32, 32 + (200 - 32) / EVERY + 2 * AIF_KEPT_RUN);
	assert_true(x.sum.left_out > 100);
	assert_int_equal(aif_weights_new(&x.f.p, &w), 0);
	assert_stands_for(&x, w, "graph", 200);
	aif_weights_free(w);
	ops_end(&x.f);
}

/* A pause of minutes, with launches and no steps, is kept. */
static void a_pause_between_steps_is_kept(void **state)
{
	struct recording x;
	struct aif_weights *w;
	struct aif_err err = {0};

	(void)state;
	begin(&x);
	for (unsigned s = 0; s < 100; s++)
		add_step(&x, s, STEP_NS, "step", AIF_OP_STEP);
	for (unsigned i = 0; i < 600; i++) {
		launch(&x, 0, x.at + 1000, "evaluate", false);
		x.at += STEP_NS;
		assert_ok(aif_writer_tables(x.f.w, &x.f.made, &err), &err);
		assert_ok(aif_reducer_round(x.r, x.f.w, &x.f.made, OPS_START + x.at, false, &err),
			  &err);
	}
	for (unsigned s = 100; s < 200; s++)
		add_step(&x, s, STEP_NS, "step", AIF_OP_STEP);
	end(&x);
	assert_true(x.sum.left_out > 100 * LAUNCHES);
	assert_int_equal(aif_weights_new(&x.f.p, &w), 0);
	assert_stands_for(&x, w, "evaluate", 600);
	assert_stands_for(&x, w, "softmax", 200 * LAUNCHES / 4);
	aif_weights_free(w);
	ops_end(&x.f);
}

/* A recorder that is killed leaves what it had committed: whole steps behind those that were left out, and all of them counted. */
static void a_recording_that_is_cut_short_adds_up(void **state)
{
	struct recording x;
	struct aif_weights *w;
	struct aif_err err = {0};
	struct kept k;
	int status;
	pid_t child;

	(void)state;
	begin(&x);
	/* Has the child make a file of its own: SQLite's must not be used across a fork. */
	assert_ok(aif_writer_finish(x.f.w, OPS_START, &err), &err);
	unlink(x.f.path);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		aif_profile_finish(&x.f.made);
		aif_reducer_free(x.r);
		begin(&x);
		for (unsigned s = 0; s < 200; s++)
			add_step(&x, s, STEP_NS * (s == SLOW ? 3 : 1), "step", AIF_OP_STEP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	aif_profile_finish(&x.f.made);
	aif_reducer_free(x.r);
	snprintf(x.f.path, sizeof(x.f.path), "%s/aiflame-ops-%d", temp_dir(), (int)child);
	assert_ok(aif_profile_open(x.f.path, &x.f.p, &err), &err);
	assert_int_equal(aif_weights_new(&x.f.p, &w), 0);
	k = look(&x, w, "");
	assert_true(aif_weights_uncaptured(w) > 100 * LAUNCHES);
	assert_int_equal(k.launches + aif_weights_uncaptured(w),
			 200 * (LAUNCHES + 1) + 200 / SPARSE_EACH + 5);
	assert_int_equal(k.of_step[199], LAUNCHES);
	aif_weights_free(w);
	ops_end(&x.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_left_out_and_what_is_kept_stands_for_them),
		cmocka_unit_test(ranges_named_like_steps_are_steps_where_none_is_marked),
		cmocka_unit_test(sums_of_steps_that_are_missing_are_told),
		cmocka_unit_test(a_recording_without_steps_stays_whole),
		cmocka_unit_test(a_thread_with_few_launches_in_each_step_has_enough_of_them),
		cmocka_unit_test(a_pause_between_steps_is_kept),
		cmocka_unit_test(a_recording_that_is_cut_short_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
