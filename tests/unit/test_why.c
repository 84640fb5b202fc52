/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the words of `why`: what bounds a program, by its time and by how its launches find the device. */
#include "flame/build.h"
#include "report/report_table.h"
#include "report/why/owners.h"
#include "report/why/why.h"

#include "fixture_ops.h"

enum { US = 1000, ROUNDS = 20 };

/* Launches a kernel of `ns`, which starts at `start`. */
static void kernel(struct ops_fixture *f, uint64_t at, uint64_t start, uint64_t ns)
{
	ops_exec(f, 0, at, 0, start, start + ns, "k");
}

static void wait_for_it(struct ops_fixture *f, uint64_t from, uint64_t to)
{
	ops_add(f, 0, from, to, AIF_OP_RUNTIME, "cudaDeviceSynchronize");
}

static void measure(struct ops_fixture *f, struct aif_why *w)
{
	struct aif_err err = {0};
	uint64_t sum = 0;

	ops_read(f);
	assert_ok(aif_why_measure(AIF_NAMES_OF(&f->p), NULL, w, &err), &err);
	for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
		sum += w->of_group[g];
	assert_int_equal(sum, w->time_ns);
}

static void assert_bound(const struct aif_why *w, enum aif_why_group group,
			 enum aif_why_queue queue, const char *verdict)
{
	enum aif_why_group order[AIF_WHY_GROUPS];

	assert_true(aif_why_order(w->of_group, order) > 0);
	assert_int_equal(order[0], group);
	assert_true(aif_share_ppm(w->of_group[group], w->time_ns) >= AIF_WHY_BOUND_PPM);
	assert_int_equal(aif_why_queue_of(w), queue);
	assert_string_equal(aif_why_verdict(w, group).key, verdict);
}

static void assert_advice(struct ops_fixture *f, const struct aif_why *w, enum aif_why_group group,
			  const char *part)
{
	const char *advice = aif_why_advice(&f->p, w, group);

	if (!strstr(advice, part))
		fail_msg("'%s' is not in '%s'", part, advice);
}

static void assert_says(struct ops_fixture *f, const struct aif_why *w, const char *part)
{
	struct aif_buf out = {0};

	aif_why_say(AIF_NAMES_OF(&f->p), w, "a.data", 0, &out);
	if (!strstr(aif_buf_str(&out), part))
		fail_msg("'%s' is not in:\n%s", part, aif_buf_str(&out));
	aif_buf_finish(&out);
}

static void end(struct ops_fixture *f, struct aif_why *w)
{
	aif_why_finish(w);
	ops_end(f);
}

/* Each launch comes when the device has been idle for a while, and nothing waits. */
static void a_host_that_is_behind_is_launch_bound(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < ROUNDS; i++)
		kernel(&f, i * 100 * US, i * 100 * US + 5 * US, 20 * US);
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_BEHIND, "launch-bound");
	assert_advice(&f, &w, AIF_WHY_HOST, "CUDA graphs");
	assert_says(&f, &w, "bound by the host, launch-bound: for ");
	assert_says(&f, &w, "queue    the host is behind: median 0 launches ahead");
	end(&f, &w);
}

/* The host computes for 4 ms, then launches twenty that the device is quick with. */
static void a_host_that_computes_is_not_launch_bound(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < ROUNDS; i++)
		for (uint64_t k = 0; k < 20; k++) {
			uint64_t at = (i * 5000 + 4000 + k * 40) * US;

			kernel(&f, at, at + 5 * US, 20 * US);
		}
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_BEHIND, "");
	assert_says(&f, &w, "bound by the host: for ");
	end(&f, &w);
}

static void a_host_that_is_ahead_is_device_bound(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < ROUNDS; i++)
		kernel(&f, i * 10 * US, 5 * US + i * 100 * US, 100 * US);
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_COMPUTE, AIF_WHY_QUEUE_AHEAD, "device-bound");
	assert_advice(&f, &w, AIF_WHY_COMPUTE, "make kernels faster");
	assert_says(&f, &w, "bound by the device, the host being ahead: for ");
	assert_says(&f, &w, "queue    the host is ahead: ");
	end(&f, &w);
}

/* A launch, a wait for it, then the host computes for as long. */
static void a_wait_behind_each_launch_is_lock_step(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t at = i * 100 * US;

		kernel(&f, at, at + 5 * US, 30 * US);
		wait_for_it(&f, at + 6 * US, at + 36 * US);
	}
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_LOCK_STEP, "lock-step");
	assert_advice(&f, &w, AIF_WHY_HOST, "between a wait and the next launch");
	assert_advice(&f, &w, AIF_WHY_SYNC, "each wait leaves nothing queued");
	assert_says(&f, &w, "19 of 19 waits for it emptied the queue");
	end(&f, &w);
}

/* A wait behind a hundred launches is not what keeps the device idle between these. */
static void a_rare_wait_is_no_lock_step(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t at = i * 100 * US;

		kernel(&f, at, at + 5 * US, 30 * US);
		if (i % 100 == 99)
			wait_for_it(&f, at + 6 * US, at + 36 * US);
	}
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_BEHIND, "launch-bound");
	end(&f, &w);
}

/* Twenty launches at once, then the host does something else: graphs would not help. */
static void a_host_that_is_idle_between_bursts_is_not_launch_bound(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < ROUNDS; i++)
		for (uint64_t k = 0; k < 20; k++)
			kernel(&f, i * 1000 * US + k * US, i * 1000 * US + (5 + 10 * k) * US,
			       10 * US);
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_AHEAD, "");
	assert_advice(&f, &w, AIF_WHY_HOST, "launching is not what takes long");
	end(&f, &w);
}

/* Every other launch finds the device idle: no word, and the advice that is right for any queue. */
static void what_is_neither_has_no_word(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < ROUNDS; i++) {
		kernel(&f, i * 100 * US, i * 100 * US + 5 * US, 10 * US);
		kernel(&f, i * 100 * US + 2 * US, i * 100 * US + 15 * US, 10 * US);
		kernel(&f, i * 100 * US + 3 * US, i * 100 * US + 25 * US, 10 * US);
	}
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_MIXED, "");
	assert_advice(&f, &w, AIF_WHY_HOST, "CUDA graphs");
	end(&f, &w);
}

/* A step of 100 ms, in whose last 2 ms the device works: it compiled before. */
static void a_step_before_its_device_work_is_said_first(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 100000 * US, AIF_OP_STEP, "ProfilerStep#1");
	for (uint64_t i = 0; i < ROUNDS; i++)
		kernel(&f, (98000 + i * 100) * US, (98000 + i * 100) * US + 5 * US, 20 * US);
	measure(&f, &w);
	assert_says(
		&f, &w,
		"\nbound by what comes before its first device work or behind the last: 98.1 % of "
		"it; between these by the host, launch-bound: for ");
	assert_says(&f, &w,
		    "\ntry      see what the program does before and behind its device work: "
		    "record CPU samples (no --cpu-rate 0)\n");
	w.has_cpu = true;
	assert_says(&f, &w,
		    "\ntry      see what the program does before and behind its device work: "
		    "aiflame flame --of cpu\n");
	end(&f, &w);
}

/* The table, the picture and the page have the owner of late starts that why has. */
static void assert_all_blame_the_machine(struct ops_fixture *f)
{
	static const struct aif_selection all;
	char *text = ops_report(f, (struct aif_report_opts){.table = &aif_report_table_idle,
							    .format = AIF_TABLE_CSV,
							    .detail = AIF_NAME_NORMAL,
							    .sel = &all});
	const struct aif_idle_part *part;
	struct aif_strset owners = {0};
	struct aif_tree tree;
	struct aif_err err = {0};
	uint32_t *of = NULL;

	assert_non_null(strstr(text, "late start,100,\"" AIF_IDLE_MACHINE "\""));
	free(text);
	assert_int_equal(aif_idle_part_get(&f->p, &all, &part), 0);
	assert_ok(aif_flame_build_idle(AIF_NAMES_OF(&f->p), &part->blame,
				       &(struct aif_flame_opts){.detail = AIF_NAME_NORMAL}, &tree,
				       &err),
		  &err);
	of = calloc(part->blame.len, sizeof(*of));
	assert_non_null(of);
	assert_int_equal(aif_why_owners_of(AIF_NAMES_OF(&f->p), &part->blame, &owners, of), 0);
	for (size_t i = 0; i < part->blame.len; i++)
		assert_int_equal(part->blame.rows[i].cause == AIF_IDLE_CAUSE_LATE,
				 !strcmp(aif_strset_get(&owners, of[i], NULL), AIF_IDLE_MACHINE));
	/* Below the root. */
	text = NULL;
	for (uint32_t i = 1; i < tree.len; i++)
		if (!tree.nodes[i].parent &&
		    tree.nodes[i].total == part->blame.of_cause[AIF_IDLE_CAUSE_LATE])
			text = strdup(aif_strset_get(&tree.names, tree.nodes[i].name, NULL) + 1);
	assert_non_null(text);
	assert_string_equal(text, "[" AIF_IDLE_MACHINE "]");
	free(text);
	free(of);
	aif_strset_finish(&owners);
	aif_tree_finish(&tree);
	aif_facts_put(part);
}

static bool has_bounds(const struct aif_why *w)
{
	for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
		if (w->bound_of_group[g] != 0)
			return true;
	return false;
}

/* Measures a program on a device of its own, one of whose threads waited so long for a CPU before the last of its launches. */
static bool has_bounds_after_waiting(uint64_t waiting)
{
	struct ops_fixture f;
	struct aif_cpu_row row = {.time = OPS_START + 1000 * US, .waiting = waiting};
	struct aif_cpu_row ran = {.time = OPS_START + 1100 * US, .weight = 2000 * US};
	struct aif_err err = {0};
	struct aif_why w;
	bool ret;

	ops_begin(&f, NULL, "cuda");
	FIXTURE_ADD(&f.made, frames, .kind = AIF_FRAME_MARK, .module = AIF_NONE,
		    .address = ops_string(&f, AIF_OFF_CPU_SEEN_RUNNABLE));
	FIXTURE_ADD(&f.made, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1,
		    .flags = AIF_STACK_FRAME_POINTERS);
	for (uint64_t i = 0; i < ROUNDS; i++)
		kernel(&f, (1000 + i * 400) * US, (1000 + i * 400) * US + 150 * US, 20 * US);
	ran.stack = AIF_NONE;
	assert_ok(aif_writer_cpu(f.w, &row, 1, &err), &err);
	assert_ok(aif_writer_cpu(f.w, &ran, 1, &err), &err);
	measure(&f, &w);
	ret = has_bounds(&w);
	end(&f, &w);
	return ret;
}

static void a_busy_machine_has_no_bounds_and_a_quiet_one_has(void **state)
{
	(void)state;
	assert_false(has_bounds_after_waiting(500 * US));
	assert_true(has_bounds_after_waiting(20 * US));
}

/* Waits of a thread for a CPU count in the time of which the shares are; a device made of the CPU starts late for want of one. */
static void a_busy_machine_is_said_with_its_own_advice(void **state)
{
	struct ops_fixture f;
	struct aif_cpu_row row = {.waiting = 500 * US};
	struct aif_err err = {0};
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "opencl");
	f.made.devices[0].kind = AIF_DEVICE_CPU;
	FIXTURE_ADD(&f.made, frames, .kind = AIF_FRAME_MARK, .module = AIF_NONE,
		    .address = ops_string(&f, AIF_OFF_CPU_SEEN_RUNNABLE));
	FIXTURE_ADD(&f.made, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1,
		    .flags = AIF_STACK_FRAME_POINTERS);
	for (uint64_t i = 0; i < ROUNDS; i++)
		kernel(&f, (1000 + i * 400) * US, (1000 + i * 400) * US + 150 * US, 20 * US);
	/* Before the first device work, and in it. */
	for (uint64_t at = 100; at <= 1100; at += 1000) {
		row.time = OPS_START + at * US;
		assert_ok(aif_writer_cpu(f.w, &row, 1, &err), &err);
	}
	measure(&f, &w);
	assert_int_equal(w.run_delay.waited_ns, 500 * US);
	assert_says(
		&f, &w,
		"\nmachine  busy: 1 thread waited 500 us for a CPU, 100.0 % of the time that it "
		"could have run; such waits are others in each run, so no \"at most\" is said\n");
	assert_advice(&f, &w, AIF_WHY_LATE, "let it have CPUs: ");
	assert_says(&f, &w, "  the machine, of whose CPUs the device is made: late starts\n");
	assert_false(has_bounds(&w));
	assert_all_blame_the_machine(&f);
	w.is_crowded = false;
	assert_advice(&f, &w, AIF_WHY_LATE, "other streams");
	end(&f, &w);
}

static void few_launches_are_no_evidence(void **state)
{
	struct ops_fixture f;
	struct aif_why w;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < 9; i++)
		kernel(&f, i * 100 * US, i * 100 * US + 5 * US, 20 * US);
	measure(&f, &w);
	assert_bound(&w, AIF_WHY_HOST, AIF_WHY_QUEUE_UNKNOWN, "");
	assert_says(&f, &w, "bound by the host: for ");
	end(&f, &w);
}

/* An estimate is apart from a bound by twice its error, or it is not said. */
static void an_estimate_near_a_bound_is_no_word(void **state)
{
	struct aif_why w = {.ahead = {.known = 100, .idle_ppm = 550000}};

	(void)state;
	assert_int_equal(aif_why_queue_of(&w), AIF_WHY_QUEUE_BEHIND);
	w.ahead.idle_error_ppm = 30000;
	assert_int_equal(aif_why_queue_of(&w), AIF_WHY_QUEUE_MIXED);
	w.ahead = (struct aif_queue_sum){.known = 100, .idle_ppm = 90000};
	assert_int_equal(aif_why_queue_of(&w), AIF_WHY_QUEUE_AHEAD);
	w.ahead.idle_error_ppm = 6000;
	assert_int_equal(aif_why_queue_of(&w), AIF_WHY_QUEUE_MIXED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_is_behind_is_launch_bound),
		cmocka_unit_test(a_host_that_computes_is_not_launch_bound),
		cmocka_unit_test(a_host_that_is_ahead_is_device_bound),
		cmocka_unit_test(a_wait_behind_each_launch_is_lock_step),
		cmocka_unit_test(a_rare_wait_is_no_lock_step),
		cmocka_unit_test(a_host_that_is_idle_between_bursts_is_not_launch_bound),
		cmocka_unit_test(what_is_neither_has_no_word),
		cmocka_unit_test(a_step_before_its_device_work_is_said_first),
		cmocka_unit_test(a_busy_machine_is_said_with_its_own_advice),
		cmocka_unit_test(a_busy_machine_has_no_bounds_and_a_quiet_one_has),
		cmocka_unit_test(few_launches_are_no_evidence),
		cmocka_unit_test(an_estimate_near_a_bound_is_no_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
