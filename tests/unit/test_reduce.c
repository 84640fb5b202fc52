/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles without the launches of most of their steps: which steps are kept, and what stands for the rest. */
#include "fixture_ops.h"
#include "fixture_step_sums.h"

#include "analysis/facts.h"
#include "analysis/ranks/waits.h"
#include "analysis/weights.h"
#include "merge/kept_steps.h"
#include "merge/reduce.h"

#include <inttypes.h>

#define STEP_NS UINT64_C(1000000)
enum { STEPS = 200, LAUNCHES = 40, EVERY = 10, SLOW = 57 };

static void add_step(struct ops_fixture *f, uint32_t thread, unsigned step, uint64_t from,
		     uint64_t to)
{
	char name[32];

	snprintf(name, sizeof(name), "step#%u", step);
	ops_add(f, thread, from, to, AIF_OP_STEP, name);
	for (unsigned i = 0; i < LAUNCHES; i++) {
		uint64_t at = from + (to - from) * i / LAUNCHES;

		ops_exec(f, thread, at + 1, thread == 2 ? 2 : 0, at + 10, at + 1010,
			 i % 4 ? "gemm" : "softmax");
	}
	ops_add(f, thread, from + 5, from + 15, AIF_OP_OPERATOR, "aten::mm");
	ops_add(f, thread, from + 5, to - 5, AIF_OP_RANGE, "forward");
}

/* Two processes of STEPS steps, of which one takes three times as long; before them, and behind, launches outside of steps. */
static void begin(struct ops_fixture *f)
{
	static const uint32_t threads[] = {0, 2};

	ops_begin(f, "NVIDIA", "cuda");
	for (unsigned t = 0; t < 2; t++) {
		uint64_t at = 10 * STEP_NS;

		for (unsigned i = 0; i < 5; i++)
			ops_exec(f, threads[t], i * STEP_NS + 1, t * 2, i * STEP_NS + 10,
				 i * STEP_NS + 1010, "init");
		for (unsigned s = 0; s < STEPS; s++) {
			uint64_t to = at + STEP_NS * (s == SLOW ? 3 : 1);

			add_step(f, threads[t], s, at, to);
			at = to;
		}
		ops_exec(f, threads[t], at + 1000, t * 2, at + 2000, at + 3000, "save");
	}
	ops_read(f);
}

static void steps_are_kept_alike_in_all_processes(void **state)
{
	struct aif_kept_steps k;
	struct ops_fixture f;
	unsigned kept = 0;

	(void)state;
	begin(&f);
	assert_int_equal(aif_kept_steps_find(&f.p, EVERY, NULL, &k), 0);
	assert_int_equal(k.with_steps, 2);
	assert_int_equal(k.steps, 2 * STEPS);
	assert_int_equal(k.slow, 2);
	assert_int_equal(k.first, 2 * AIF_KEPT_FIRST);
	for (unsigned s = 0; s < STEPS; s++) {
		uint64_t at = OPS_START + (10 + s + (s > SLOW ? 2 : 0)) * STEP_NS + 5000;
		const struct aif_kept_block *a = aif_kept_steps_at(&k, 0, at),
					    *b = aif_kept_steps_at(&k, 1, at);

		assert_true(a->is_on == b->is_on && a->from == b->from && a->to == b->to);
		assert_int_equal(a->is_on && a->is_certain, s == SLOW || s < AIF_KEPT_FIRST);
		kept += a->is_on;
	}
	assert_int_equal(2 * kept, k.by_lot + k.first + k.slow);
	/* One run of ten, the first steps, and the slow one where that is not in a run. */
	assert_in_range(kept, STEPS / EVERY, STEPS / EVERY + AIF_KEPT_FIRST + 1);
	/* Launches before the steps, and behind, are kept. */
	assert_true(aif_kept_steps_at(&k, 0, OPS_START + 5)->is_certain);
	assert_true(aif_kept_steps_at(&k, 0, UINT64_MAX - 1)->is_certain);
	assert_null(aif_kept_steps_at(&k, AIF_NONE, OPS_START));
	aif_kept_steps_finish(&k);
	ops_end(&f);
}

static void steps_between_slow_ones_have_some_by_lot(void **state)
{
	struct aif_kept_steps k;
	struct ops_fixture f;
	uint64_t at = 0;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	for (unsigned s = 0; s < 60; s++) {
		uint64_t to = at + STEP_NS * (s % 20 == 10 ? 4 : 1);

		add_step(&f, 0, s, at, to);
		at = to;
	}
	ops_read(&f);
	/* Runs are so few that the lot of a million falls on none, but perhaps one. */
	assert_int_equal(aif_kept_steps_find(&f.p, 1000000, NULL, &k), 0);
	assert_int_equal(k.slow, 3);
	assert_in_range(k.by_lot, 4, 4 * AIF_KEPT_RUN);
	for (size_t i = 1; i + 1 < k.processes[0].len; i++) {
		const struct aif_kept_block *b = &k.processes[0].blocks[i];

		assert_int_equal(b->from, b[-1].to);
		assert_false(!b->is_on && b[-1].is_certain && b[1].is_certain && b[-1].is_on &&
			     b[1].is_on);
	}
	aif_kept_steps_finish(&k);
	ops_end(&f);
}

struct counts {
	const struct aif_profile *p;
	uint64_t rows, forward, operators;
};

static int count_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct counts *c = arg;

	(void)rows;
	c->rows += n;
	return 0;
}

static int count_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct counts *c = arg;

	for (size_t i = 0; i < n; i++) {
		c->forward += rows[i].kind == AIF_OP_RANGE;
		c->operators += rows[i].kind == AIF_OP_OPERATOR;
	}
	return 0;
}

static void sums_of_places_are_of_all_executions_of_all_steps(void **state)
{
	const struct aif_reduce_opts o = {.every = EVERY};
	struct aif_reduce_sum sum;
	struct sums s = {0};
	struct aif_profile p;
	struct ops_fixture f;
	struct aif_err err = {0};
	char path[80];

	(void)state;
	begin(&f);
	snprintf(path, sizeof(path), "%s-reduced", f.path);
	assert_ok(aif_reduce_file(f.path, path, &o, &sum, &err), &err);
	assert_true(sum.left_out > 0);
	assert_ok(aif_profile_open(path, &p, &err), &err);
	assert_int_equal(aif_profile_step_sums(&p, take_sums, &s, NULL), 0);
	assert_int_equal(s.executions, 2 * STEPS * LAUNCHES);
	assert_int_equal(s.ns, 2 * STEPS * LAUNCHES * 1000);
	/* Two kernels of two processes. */
	assert_int_equal(s.steps, 4 * STEPS);
	assert_in_range(s.rows, 4, 20);
	/* A step's idle time is all of it but the launches'; that of the first begins earlier, that of the last ends earlier. */
	assert_in_range(s.idle_ns, 2 * ((STEPS + 1) * STEP_NS - STEPS * LAUNCHES * 1000) - STEP_NS,
			2 * ((STEPS + 8) * STEP_NS - STEPS * LAUNCHES * 1000));
	aif_profile_finish(&p);
	unlink(path);
	ops_end(&f);
}

static void what_is_kept_stands_for_the_rest(void **state)
{
	const struct aif_reduce_opts o = {.every = EVERY};
	struct aif_reduce_sum sum;
	struct counts c = {0};
	struct aif_weights *w;
	struct aif_profile p;
	struct ops_fixture f;
	struct aif_err err = {0};
	char path[80];
	double all = 0;
	const struct aif_weights_cycle *cycles;
	size_t len;

	(void)state;
	begin(&f);
	snprintf(path, sizeof(path), "%s-reduced", f.path);
	assert_ok(aif_reduce_file(f.path, path, &o, &sum, &err), &err);
	assert_int_equal(sum.launches, 2 * (STEPS * LAUNCHES + 6));
	assert_int_equal(sum.steps, 2 * STEPS);
	assert_true(sum.reduced_bytes && sum.reduced_bytes < sum.bytes);
	assert_ok(aif_profile_open(path, &p, &err), &err);
	assert_int_equal(aif_profile_launches(&p, count_launches, &c, NULL), 0);
	assert_int_equal(c.rows, sum.launches - sum.left_out);
	assert_int_equal(c.rows, (sum.by_lot + sum.first + sum.slow) * LAUNCHES + 12);
	assert_int_equal(aif_profile_ops(&p, count_ops, &c, NULL), 0);
	assert_int_equal(c.forward, 2 * STEPS);
	assert_int_equal(c.operators, sum.by_lot + sum.first + sum.slow);
	/* All launches but those that stand for themselves. */
	assert_int_equal(aif_weights_new(&p, &w), 0);
	assert_int_equal(aif_weights_uncaptured(w), sum.left_out);
	cycles = aif_weights_cycles(w, &len);
	for (size_t i = 0; i < len; i++)
		all += cycles[i].launches;
	assert_int_equal((uint64_t)(all + 0.5), (2 * STEPS - sum.first - sum.slow) * LAUNCHES);
	aif_weights_free(w);
	aif_profile_finish(&p);
	/* Not twice. */
	assert_true(aif_reduce_file(path, f.path, &o, &sum, &err) < 0);
	assert_non_null(strstr(err.text, "launches were left out of it already"));
	unlink(path);
	ops_end(&f);
}

enum { SLOW_EACH = 100, BESIDE = 40 };

/* Adds steps to thread 0, of which each `slow_each`th takes four times as long. It launches a graph in one step of `each`: another kernel
 * in the first steps, and in slow ones, than in the others. Thread 1 launches `beside` kernels in each step. */
static void add_steps_of_few(struct ops_fixture *f, unsigned n, unsigned slow_each, unsigned each,
			     unsigned beside)
{
	uint64_t at = 10 * STEP_NS;

	for (unsigned i = 0; i < 100; i++)
		ops_exec(f, 0, i * 1000 + 1, 0, i * 1000 + 10, i * 1000 + 110, "init");
	for (unsigned s = 0; s < n; s++) {
		bool is_slow = s % slow_each == slow_each - 1;
		uint64_t to = at + STEP_NS * (is_slow ? 4 : 1);
		char name[32];

		snprintf(name, sizeof(name), "step#%u", s);
		ops_add(f, 0, at, to, AIF_OP_STEP, name);
		if (s % each == 0) {
			ops_add(f, 0, at + 5, at + 15, AIF_OP_OPERATOR, "aten::mm");
			ops_exec(f, 0, at + 10, 0, at + 20, at + 5020,
				 is_slow ? "slow" : (s < AIF_KEPT_FIRST ? "first" : "usual"));
		}
		for (unsigned i = 0; i < beside; i++)
			ops_exec(f, 1, at + 100 + i * 10, 1, at + 6000 + i * 1000,
				 at + 6500 + i * 1000,
				 is_slow ? "big" : (i % 4 ? "gemm" : "softmax"));
		at = to;
	}
}

struct weighted {
	const struct aif_profile *p;
	const struct aif_weights *weights;
	const char *kernel;
	double launches;
};

static int weigh(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct weighted *w = arg;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(aif_profile_str(w->p, w->p->kernels[rows[i].kernel].name), w->kernel))
			w->launches += aif_weights_factor(
				w->weights,
				aif_weights_cycle_at(w->weights, rows[i].thread, rows[i].time));
	return 0;
}

static void assert_launches(const struct aif_profile *p, const struct aif_weights *weights,
			    const char *kernel, double want)
{
	struct weighted w = {.p = p, .weights = weights, .kernel = kernel};

	assert_int_equal(aif_profile_launches(p, weigh, &w, NULL), 0);
	if (w.launches < want - 0.5 || w.launches > want + 0.5)
		fail_msg("%s: %.1f launches, not %.0f", kernel, w.launches, want);
}

/* Reduces steps of few launches, of one of `each` in thread 0, and tests that all totals are those of the whole. */
static void reduce_few(unsigned each, struct aif_reduce_sum *ret)
{
	enum { N = 400 };
	const struct aif_reduce_opts o = {.every = 16};
	unsigned first = each > 1 ? 1 : AIF_KEPT_FIRST, slow = each > 1 ? 0 : N / SLOW_EACH;
	struct aif_weights *w;
	struct aif_profile p;
	struct ops_fixture f;
	struct counts c = {0};
	struct aif_err err = {0};
	char path[80];

	ops_begin(&f, "NVIDIA", "cuda");
	add_steps_of_few(&f, N, SLOW_EACH, each, BESIDE);
	ops_read(&f);
	snprintf(path, sizeof(path), "%s-reduced", f.path);
	assert_ok(aif_reduce_file(f.path, path, &o, ret, &err), &err);
	assert_int_equal(ret->slow, N / SLOW_EACH);
	assert_ok(aif_profile_open(path, &p, &err), &err);
	assert_int_equal(aif_weights_new(&p, &w), 0);
	assert_launches(&p, w, "init", 100);
	assert_launches(&p, w, "first", first);
	assert_launches(&p, w, "slow", slow);
	assert_launches(&p, w, "usual", N / each - first - slow);
	assert_launches(&p, w, "big", N / SLOW_EACH * BESIDE);
	assert_launches(&p, w, "gemm", (N - N / SLOW_EACH) * BESIDE * 3 / 4);
	assert_launches(&p, w, "softmax", (N - N / SLOW_EACH) * BESIDE / 4);
	/* Launches that are kept have their operators. */
	assert_int_equal(aif_profile_launches(&p, count_launches, &c, NULL), 0);
	assert_int_equal(aif_profile_ops(&p, count_ops, &c, NULL), 0);
	assert_int_equal(c.rows,
			 100 + c.operators + (ret->by_lot + ret->first + ret->slow) * BESIDE);
	aif_weights_free(w);
	aif_profile_finish(&p);
	unlink(path);
	ops_end(&f);
}

static void more_steps_are_kept_of_threads_with_few_launches_in_each(void **state)
{
	struct aif_reduce_sum sum;

	(void)state;
	reduce_few(1, &sum);
	assert_int_equal(sum.whole, 0);
	/* Four stretches, each with 32 steps or more. */
	assert_in_range(sum.by_lot, 4 * 32, 4 * 48);
	assert_int_equal(sum.left_out,
			 (sum.steps - sum.by_lot - sum.first - sum.slow) * (1 + BESIDE));
}

static void threads_that_seldom_launch_are_kept_whole(void **state)
{
	struct aif_reduce_sum sum;

	(void)state;
	reduce_few(10, &sum);
	assert_in_range(sum.by_lot, 4 * AIF_KEPT_RUN, 4 * 16);
	assert_in_range(sum.whole, 20, 39);
	assert_int_equal(sum.left_out, (sum.steps - sum.by_lot - sum.first - sum.slow) * BESIDE);
}

static void profiles_of_which_nothing_can_be_left_out_are_refused(void **state)
{
	const struct aif_reduce_opts o = {.every = 16};
	struct aif_reduce_sum sum;
	struct ops_fixture f;
	struct aif_err err = {0};
	char path[80];

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	add_steps_of_few(&f, 300, 30, 1, 0);
	ops_read(&f);
	snprintf(path, sizeof(path), "%s-reduced", f.path);
	assert_true(aif_reduce_file(f.path, path, &o, &sum, &err) < 0);
	assert_non_null(strstr(err.text, "has too few launches"));
	assert_non_null(strstr(err.text, "give a smaller --every"));
	assert_int_equal(access(path, F_OK), -1);
	ops_end(&f);
}

/* Adds ranks whose steps end with an all-reduce, to which rank 3 comes late, and the others in turn. Returns how long they wait. */
static double add_ranks(struct ops_fixture *f, uint32_t ranks, unsigned n)
{
	const uint64_t late = 300000;
	double waits = 0;

	for (uint32_t i = 2; i < ranks; i++) {
		FIXTURE_ADD(&f->made, processes, .pid = 100 + i, .exe = AIF_NONE,
			    .cmdline = AIF_NONE, .host = AIF_NONE, .start_ns = OPS_START);
		FIXTURE_ADD(&f->made, threads, .process = i, .tid = 200 + i, .name = AIF_NONE);
		FIXTURE_ADD(&f->made, streams, .process = i, .device = 0, .ordinal = 7);
	}
	for (uint32_t i = 0; i < ranks; i++) {
		uint32_t thread = i ? i + 1 : 0, stream = thread;

		f->made.processes[i].rank = i + 1;
		for (unsigned s = 0; s < n; s++) {
			uint64_t at = (s + 1) * STEP_NS, ready = at + 400000;
			char name[32];

			ready += i == 3 ? late : (i + s) % ranks * 10;
			waits += (double)(i == 3 ? 0 : late - (i + s) % ranks * 10);
			snprintf(name, sizeof(name), "step#%u", s);
			ops_add(f, thread, at, at + STEP_NS, AIF_OP_STEP, name);
			for (unsigned k = 0; k < 4; k++)
				ops_exec(f, thread, at + 10 + k, stream,
					 at + 1000 + k * (ready - at - 1000) / 4,
					 at + (k + 1) * (ready - at - 1000) / 4, "gemm");
			ops_exec(f, thread, at + 20, stream, ready, at + 900000,
				 "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
		}
	}
	return waits;
}

static double waits_of(const struct aif_profile *p, double *ret_error)
{
	const struct aif_rank_waits *w;
	double ns;

	assert_int_equal(aif_rank_waits_get(p, NULL, &w), 0);
	assert_int_equal(w->ranks.why, AIF_RANKS_COMPARED);
	ns = (double)w->wait_ns;
	*ret_error = (double)w->error_ns;
	aif_facts_put(w);
	return ns;
}

static void waits_of_many_ranks_stand_for_the_rest(void **state)
{
	enum { RANKS = 100, RANK_STEPS = 60 };
	const struct aif_reduce_opts o = {.every = 2};
	struct aif_reduce_sum sum;
	struct ops_fixture f;
	struct aif_profile p;
	struct aif_err err = {0};
	char path[80];
	double truth, got, error;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	truth = add_ranks(&f, RANKS, RANK_STEPS);
	ops_read(&f);
	assert_true(waits_of(&f.p, &error) == truth && error == 0);
	snprintf(path, sizeof(path), "%s-reduced", f.path);
	assert_ok(aif_reduce_file(f.path, path, &o, &sum, &err), &err);
	assert_true(sum.left_out > sum.launches / 4);
	assert_ok(aif_profile_open(path, &p, &err), &err);
	got = waits_of(&p, &error);
	/* The rank that comes late does so by the same in all steps. */
	if (error > 0.005 * truth)
		fail_msg("%.0f ns of waiting, ± %.0f", got, error);
	if (got < 0.99 * truth || got > 1.01 * truth)
		fail_msg("%.0f ns of waiting, not %.0f", got, truth);
	aif_profile_finish(&p);
	unlink(path);
	ops_end(&f);
}

static void profiles_without_steps_are_refused(void **state)
{
	const struct aif_reduce_opts o = {.every = EVERY};
	struct aif_reduce_sum sum;
	struct ops_fixture f;
	struct aif_err err = {0};
	char path[80];

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	ops_exec(&f, 0, 1000, 0, 2000, 3000, "gemm");
	ops_read(&f);
	snprintf(path, sizeof(path), "%s-reduced", f.path);
	assert_true(aif_reduce_file(f.path, path, &o, &sum, &err) < 0);
	assert_non_null(strstr(err.text, "no step is marked"));
	assert_int_equal(access(path, F_OK), -1);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_kept_alike_in_all_processes),
		cmocka_unit_test(steps_between_slow_ones_have_some_by_lot),
		cmocka_unit_test(sums_of_places_are_of_all_executions_of_all_steps),
		cmocka_unit_test(what_is_kept_stands_for_the_rest),
		cmocka_unit_test(more_steps_are_kept_of_threads_with_few_launches_in_each),
		cmocka_unit_test(threads_that_seldom_launch_are_kept_whole),
		cmocka_unit_test(profiles_of_which_nothing_can_be_left_out_are_refused),
		cmocka_unit_test(waits_of_many_ranks_stand_for_the_rest),
		cmocka_unit_test(profiles_without_steps_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
