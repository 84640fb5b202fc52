/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks and modes of the CUDA adapter against a CUPTI that is strict, on a clock of our own. */
#include "agent/cuda/cuda.h"

#include "agent/cuda/activity.h"
#include "agent/cuda/duty.h"
#include "agent/cuda/errors.h"
#include "agent/cuda/launch.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/sampling.h"
#include "agent/emit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

static struct {
	struct aif_cuda cuda;
	struct aif_thread thread;
	uint64_t now;
	bool no_ring;
	bool is_shut;
	bool records, sampled, refuse_sampling, refuse_records;
	bool refuse_beside; /* samples, where there are records */
	bool in_call;       /* a call lasts */
	bool works;         /* the device, always */
	unsigned idle_asked;
	bool busy, waits; /* somebody is always inside the driver; it was tried in vain lately */
	uint64_t captured, left_out;           /* what was launched */
	uint64_t told_captured, told_left_out; /* what the blocks say */
	uint64_t last_end, last_left_out;
	uint64_t sampled_ns, records_ns;
	unsigned refused, switched, tried;
	unsigned nodes,
		node_ns; /* of a launch, which is a replay: how many, and what the record of one costs */
	uint64_t nodes_ns;
} it;

/* Time goes on when somebody sleeps, and in the script. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	(void)id;
	*ret = (struct timespec){.tv_sec = (time_t)(it.now / AIF_NS_PER_S),
				 .tv_nsec = (long)(it.now % AIF_NS_PER_S)};
	return 0;
}

int nanosleep(const struct timespec *t, struct timespec *rest)
{
	(void)rest;
	it.now += (uint64_t)t->tv_nsec;
	return 0;
}

struct aif_thread *aif_thread_enter_slow(void)
{
	return it.no_ring ? NULL : &it.thread;
}

bool aif_emit_block(struct aif_thread *t, const struct aif_emit_block *b)
{
	(void)t;
	assert_true(b->process);
	assert_true(b->end > b->start && b->start >= it.last_end);
	assert_true(b->launches > 0 && b->launches <= b->end - b->start);
	/* An on-block ends where something else begins. */
	assert_true(!b->on || it.last_left_out <= b->start);
	it.last_end = b->end;
	*(b->on ? &it.told_captured : &it.told_left_out) += b->launches;
	return true;
}

void aif_cuda_report_error(enum aif_reason reason, const char *what, int error)
{
	assert_int_equal(reason, AIF_REASON_CUDA_REFUSED);
	assert_non_null(what);
	assert_int_not_equal(error, 0);
	it.refused++;
}

int aif_cuda_callbacks_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	assert_false(on);
	return 0;
}

int aif_cuda_activity_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	if (on && (it.sampled || it.refuse_records))
		return AIF_CUPTI_NOT_COMPATIBLE;
	/* Off only with nobody in a call, and nothing sampled. */
	assert_true(on || (it.is_shut && !it.sampled));
	it.records = on;
	return 0;
}

bool aif_cuda_sampling_wanted(const struct aif_cuda *cuda)
{
	(void)cuda;
	return !it.refuse_sampling;
}

bool aif_cuda_is_sampling(const struct aif_cuda *cuda)
{
	(void)cuda;
	return it.sampled;
}

bool aif_cuda_sampling_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	if (it.busy) {
		it.now += AIF_NS_PER_S / 4;
		it.tried++;
		return false;
	}
	it.switched += it.sampled != on;
	it.now += 40000000;
	it.sampled = on && !it.refuse_sampling && !(it.refuse_beside && it.records);
	return true;
}

void aif_cuda_sampling_tick(struct aif_cuda *cuda)
{
	(void)cuda;
}

bool aif_cuda_quiesce_shut_briefly(struct aif_cuda *cuda)
{
	(void)cuda;
	it.is_shut = !it.in_call;
	return it.is_shut;
}

bool aif_cuda_quiesce_is_idle(struct aif_cuda *cuda, uint64_t within_ns)
{
	(void)cuda;
	assert_true(it.is_shut && within_ns <= 10000000);
	it.idle_asked++;
	it.now += it.works ? within_ns : 0;
	return !it.works;
}

static int cupti_now(uint64_t *ret)
{
	*ret = it.now + 777;
	return 0;
}

void aif_cuda_quiesce_open(struct aif_cuda *cuda)
{
	(void)cuda;
	it.is_shut = false;
}

void aif_cuda_sleep(long ns)
{
	const struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

bool aif_cuda_quiesce_may_try(const struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	return !it.waits;
}

/* Counts a launch as agent/cuda/launch.c does. */
static void launch(uint64_t ns)
{
	struct aif_cuda_duty *b = &it.cuda.duty;

	if (atomic_load(&b->capture)) {
		assert_true(it.records);
		it.captured++;
		atomic_fetch_add(&b->captured, 1);
		it.now += 2000;
	} else {
		it.left_out++;
		it.last_left_out = it.now;
		atomic_fetch_add(&b->left_out, 1);
	}
	if (it.records) {
		atomic_fetch_add(&b->nodes, it.nodes);
		it.nodes_ns += (uint64_t)it.nodes * it.node_ns;
		it.now += (uint64_t)it.nodes * it.node_ns;
	}
	it.sampled_ns += it.sampled ? ns : 0;
	it.records_ns += it.records ? ns : 0;
	it.now += ns;
}

static void start(uint32_t asked_ppm)
{
	it.cuda.on = true;
	aif_budget_init(&aif_agent.budget, asked_ppm, 5000, 7, it.now);
	aif_cuda_duty_begin(&it.cuda, it.now);
}

/* Launches for so long, one each `ns`; the helper comes when it said, and a little late. */
static void run_for(double seconds, uint64_t ns)
{
	uint64_t end = it.now + (uint64_t)(seconds * 1e9), next = it.now;

	while (it.now < end) {
		launch(ns);
		if (it.now > next + 70000)
			next = AIF_MIN(aif_cuda_duty_poll(&it.cuda, it.now),
				       it.now + AIF_NS_PER_S / 4);
	}
}

static void stop(void)
{
	it.cuda.on = false;
	aif_cuda_duty_end(&it.cuda, it.now);
	assert_false(it.records || it.sampled);
	assert_false(atomic_load(&it.cuda.duty.capture));
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	it.cuda.use = AIF_CUPTI_USE_BLOCKS;
	it.cuda.api.cuptiGetTimestamp = cupti_now;
	memset(&aif_agent, 0, sizeof(aif_agent));
	it.now = UINT64_C(1000000000000);
	pthread_mutex_init(&it.cuda.switching, NULL);
	aif_self = NULL;
	return 0;
}

/* Dear: records and samples take turns, and each launch is told once, as what it was. */
static void blocks_tell_what_was_captured_and_what_was_not(void **state)
{
	(void)state;
	start(20000);
	assert_true(it.records && it.sampled);
	run_for(150, 13000);
	stop();
	assert_true(it.captured > 10000 && it.left_out > it.captured);
	assert_int_equal(it.told_left_out, it.left_out);
	/* While everything was on, nothing needed to be told. */
	assert_true(it.told_captured <= it.captured);
	assert_true(it.told_captured > it.captured * 3 / 4);
	assert_int_equal(it.refused, 0);
	/* Sampled at first, and then 4 s of each minute. */
	assert_true(it.sampled_ns > 8 * AIF_NS_PER_S && it.sampled_ns < 20 * AIF_NS_PER_S);
	assert_true(it.switched >= 6 && it.switched <= 10);
}

/* Threads that decided before a switch and count after it: each launch is still told, as what it was. */
static void late_threads_are_told(void **state)
{
	(void)state;
	start(20000);
	for (int i = 0; i < 300 || !it.cuda.duty.on; i++) {
		run_for(0.05, 13000);
		it.left_out += 3;
		atomic_fetch_add(&it.cuda.duty.left_out, 3);
	}
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Cheap: both stay on, all is captured, nothing is switched. */
static void few_launches_have_everything(void **state)
{
	(void)state;
	start(20000);
	run_for(60, 2000000);
	assert_true(it.records && it.sampled);
	assert_int_equal(it.left_out, 0);
	assert_int_equal(it.switched, 1);
	/* The cost of what is on throughout is spent, too: (400 + 700) ns each 2 ms. */
	assert_true(aif_agent.budget.spent > 0.00050 && aif_agent.budget.spent < 0.00060);
	stop();
}

/* Launches made in a pause are not told; the measured costs outlive the pause. */
static void what_was_launched_in_a_pause_is_not_told(void **state)
{
	uint64_t left_out;

	(void)state;
	start(20000);
	run_for(20, 13000);
	stop();
	left_out = it.left_out;
	assert_int_equal(it.told_left_out, left_out);
	for (int i = 0; i < 100000; i++)
		launch(13000);
	it.left_out = left_out;
	it.cuda.on = true;
	aif_cuda_duty_begin(&it.cuda, it.now);
	/* Launches were dear before the pause: records are on alone again. */
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	run_for(20, 13000);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Replays of graphs of 1,000 nodes, each waited for: their records are on only as long as the budget allows. */
static void nodes_of_graphs_are_within_the_budget(void **state)
{
	const double seconds = 120;

	(void)state;
	it.nodes = 1000;
	it.node_ns = 500;
	start(20000);
	run_for(seconds, 2850000);
	/* The first second is before anything is known. */
	assert_true((double)it.nodes_ns < (0.02 * seconds + 0.4) * 1e9);
	assert_true((double)it.nodes_ns > 0.01 * seconds * 1e9);
	assert_true(it.left_out > 4 * it.captured);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Records of nodes whose cost is hidden behind the device's work are seen to cost nothing, and stay on. */
static void nodes_that_cost_nothing_are_recorded(void **state)
{
	(void)state;
	it.nodes = 1000;
	it.node_ns = 0;
	start(20000);
	run_for(120, 2850000);
	assert_true(it.captured > 2 * it.left_out);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Records go off with the device idle where graphs are replayed, and at the fifth try in any case. */
static void records_of_graphs_go_off_when_the_device_is_idle(void **state)
{
	struct aif_cuda *cuda = &it.cuda;

	(void)state;
	aif_cuda_records_want(cuda, true);
	aif_cuda_records_want(cuda, false);
	assert_false(it.records || it.idle_asked);
	it.nodes = 3;
	aif_cuda_records_want(cuda, true);
	launch(1000);
	aif_cuda_records_want(cuda, false);
	assert_false(it.records);
	assert_int_equal(it.idle_asked, 1);
	it.works = true;
	aif_cuda_records_want(cuda, true);
	aif_cuda_records_want(cuda, false);
	for (int i = 2; i <= 5; i++) {
		assert_true(it.records);
		assert_false(it.is_shut);
		assert_int_equal(it.idle_asked, i);
		it.now += 100000000;
		assert_int_equal(aif_cuda_records_settle(cuda, it.now), i == 5);
	}
	assert_false(it.records);
}

/* Nodes that seem to have run all the while between two times with records have the end of a later replay. */
static void executions_do_not_span_a_time_without_records(void **state)
{
	struct aif_cuda *cuda = &it.cuda;
	uint64_t off, on;

	(void)state;
	it.nodes = 1;
	for (int i = 0; i < 20; i++) {
		aif_cuda_records_want(cuda, true);
		on = it.now + 777;
		launch(50000000);
		assert_false(aif_cuda_records_span_gap(cuda, on, it.now + 777));
		aif_cuda_records_want(cuda, false);
		off = it.now + 777;
		it.now += 30000000;
		/* Later ends come with later records only. */
		assert_false(aif_cuda_records_span_gap(cuda, off - 1, it.now + 777));
		aif_cuda_records_want(cuda, true);
		assert_true(aif_cuda_records_span_gap(cuda, off - 1, it.now + 777));
		assert_true(aif_cuda_records_span_gap(cuda, off - 1, it.now + 100000));
		assert_false(aif_cuda_records_span_gap(cuda, off + 1, it.now + 100000));
		assert_false(aif_cuda_records_span_gap(cuda, it.now + 777, it.now + 900000000));
		it.now += 5000000;
	}
}

/* Another process has the counters: no second of stacks is given up for them. */
static void refused_sampling_takes_no_time(void **state)
{
	(void)state;
	start(20000);
	run_for(5, 13000);
	it.refuse_sampling = true;
	it.sampled = false;
	run_for(70, 13000);
	it.switched = 0;
	it.sampled_ns = 0;
	run_for(130, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	assert_int_equal(it.switched, 0);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

static void refused_records_are_told(void **state)
{
	(void)state;
	it.refuse_sampling = it.refuse_records = true;
	start(0);
	assert_int_equal(it.refused, 1);
	it.refuse_records = false;
	stop();
}

/* Blocks that cannot be told: what was left out in them is lost, and no more than that. */
static void blocks_without_a_ring_are_counted(void **state)
{
	(void)state;
	start(20000);
	it.no_ring = true;
	run_for(20, 13000);
	it.no_ring = false;
	run_for(20, 13000);
	it.no_ring = true;
	stop();
	assert_true(it.told_left_out > 0 && it.told_left_out < it.left_out);
	assert_int_equal(it.told_left_out + atomic_load(&aif_agent.session.no_slot), it.left_out);
}

/* Callbacks for each launch; records and samples for those that were made while they were on throughout. */
static void what_launches_cost_anyway_is_told(void **state)
{
	uint64_t launches, ns;

	(void)state;
	start(20000);
	run_for(150, 13000);
	stop();
	launches = it.captured + it.left_out;
	ns = atomic_load(&aif_agent.session.spent_ns);
	assert_true(ns > launches * 400 && ns < launches * 450);
	setup(NULL);
	start(0); /* everything, throughout */
	run_for(3, 13000);
	stop();
	assert_int_equal(atomic_load(&aif_agent.session.spent_ns), it.captured * 1100);
}

/* A CUPTI that does not sample beside records: in turn. */
static void records_and_samples_in_turn(void **state)
{
	(void)state;
	it.cuda.sampling.apart = true;
	start(20000);
	assert_true(it.records && !it.sampled);
	run_for(150, 2000000);
	stop();
	assert_true(it.sampled_ns > 7 * AIF_NS_PER_S && it.sampled_ns < 13 * AIF_NS_PER_S);
	assert_int_equal(it.refused, 0);
	assert_int_equal(it.told_left_out, it.left_out);
	/* CUPTI turns out not to sample beside records only when it is tried. */
	setup(NULL);
	it.refuse_beside = true;
	start(20000);
	assert_true(it.records && !it.sampled);
	it.cuda.sampling.apart = true;
	run_for(20, 2000000);
	assert_true(it.sampled_ns > 3 * AIF_NS_PER_S && it.sampled_ns < 9 * AIF_NS_PER_S);
	stop();
	assert_int_equal(it.refused, 0);
}

/* Returns the time at which sampling comes on again after its first time, s of the clock. */
static double samples_at(double begins, double until)
{
	setup(NULL);
	it.now = (uint64_t)(begins * 1e9);
	start(20000);
	run_for(10, 13000); /* the first, soon */
	while (it.sampled)
		run_for(0.001, 13000);
	while (!it.sampled && (double)it.now / 1e9 < until)
		run_for(0.001, 13000);
	return (double)it.now / 1e9;
}

static double ends_at(void)
{
	while (it.sampled)
		run_for(0.001, 13000);
	return (double)it.now / 1e9;
}

/* Ranks wait for each other: they are slow at the same time. Begin: within a block; end: at once. */
static void processes_sample_together(void **state)
{
	double first, second, end;

	(void)state;
	first = samples_at(1000.2, 1200);
	end = ends_at();
	stop();
	second = samples_at(1002.9, 1200);
	assert_true(first >= 1080 && first < 1081 && second >= 1080 && second < 1081);
	assert_true(end > 1084 && end < 1084.2 && ends_at() - end < 0.1 && ends_at() - end > -0.1);
	stop();
}

/* Without a limit nothing is ever left out, or told. */
static void all_launches(void **state)
{
	(void)state;
	start(0);
	run_for(30, 13000);
	stop();
	assert_int_equal(it.left_out, 0);
	assert_int_equal(it.told_captured + it.told_left_out, 0);
}

/* A mode that cannot be left goes on as it is: all of it is recorded, and switching is tried again unless it failed a
 * moment ago. */
static void what_cannot_be_switched_stays(void **state)
{
	(void)state;
	start(20000);
	it.busy = true;
	run_for(5, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_TOGETHER);
	assert_true(it.records && it.sampled && it.tried > 0);
	it.waits = true;
	it.tried = 0;
	run_for(5, 13000);
	assert_int_equal(it.tried, 0);
	it.busy = it.waits = false;
	run_for(2, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	assert_false(it.sampled);
	/* Samples that cannot be ended: until they can be nothing is captured. */
	while (!it.sampled)
		run_for(0.1, 13000);
	it.busy = true;
	run_for(10, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_SAMPLES);
	it.busy = false;
	run_for(10, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	/* Samples that cannot be ended stay at the end, too. */
	while (!it.sampled)
		run_for(0.1, 13000);
	it.busy = true;
	it.cuda.on = false;
	aif_cuda_duty_end(&it.cuda, it.now);
	assert_int_equal(it.told_left_out, it.left_out);
	it.cuda.on = true;
	aif_cuda_duty_begin(&it.cuda, it.now);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_SAMPLES);
	it.busy = false;
	run_for(20, 13000);
	assert_int_equal(it.refused, 0);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Somebody switches for ever: an exit goes on. */
static void an_exit_waits_for_nobody(void **state)
{
	uint64_t before;

	(void)state;
	start(20000);
	pthread_mutex_lock(&it.cuda.switching);
	before = it.now;
	aif_cuda_duty_at_exit(&it.cuda);
	assert_true(it.now - before < AIF_NS_PER_S);
	pthread_mutex_unlock(&it.cuda.switching);
	aif_cuda_duty_at_exit(&it.cuda);
	/* libcupti may have ended: records are left alone. */
	assert_true(it.records);
	assert_false(it.cuda.on || it.sampled);
}

/* Records go off when the call is over, and nothing is captured from the block's end on. */
static void records_stay_while_a_call_lasts(void **state)
{
	uint64_t end;

	(void)state;
	it.refuse_sampling = true;
	start(20000);
	while (atomic_load(&it.cuda.duty.capture))
		run_for(0.01, 13000);
	assert_false(it.records);
	while (!atomic_load(&it.cuda.duty.capture))
		run_for(0.001, 13000);
	it.in_call = true;
	while (atomic_load(&it.cuda.duty.capture))
		run_for(0.001, 13000);
	end = it.now;
	run_for(0.02, 13000);
	assert_true(it.records);
	it.in_call = false;
	while (it.records && it.now < end + AIF_NS_PER_S)
		run_for(0.001, 13000);
	assert_false(it.records);
	assert_true(it.now < end + AIF_NS_PER_S / 5);
	stop();
}

/* CUPTI that may not be asked to switch has records and samples on throughout, whatever that costs. */
static void throughout_nothing_is_switched(void **state)
{
	unsigned off = 0;

	(void)state;
	it.cuda.use = AIF_CUPTI_USE_THROUGHOUT;
	start(20000);
	for (int i = 0; i < 2000; i++) {
		run_for(0.01, 13000);
		assert_true(it.records && it.sampled);
		off += !atomic_load(&it.cuda.duty.capture);
	}
	assert_true(off > 1000); /* the stacks are */
	assert_int_equal(it.switched, 1);
	it.cuda.on = false;
	aif_cuda_duty_end(&it.cuda, it.now);
	/* A pause ends samples; records would have to be first again. */
	assert_true(it.records && !it.sampled);
	aif_cuda_duty_begin(&it.cuda, it.now);
	assert_true(it.records && it.sampled);
}

static void launches_alone_need_no_records(void **state)
{
	(void)state;
	unsigned on = 0, off = 0;

	it.cuda.use = AIF_CUPTI_USE_LAUNCHES;
	it.refuse_sampling = true;
	start(20000);
	for (int i = 0; i < 1000; i++) {
		uint64_t from = it.now;

		while (it.now < from + 10000000) {
			bool captures = atomic_load(&it.cuda.duty.capture);

			atomic_fetch_add(captures ? &it.cuda.duty.captured : &it.cuda.duty.left_out,
					 1);
			it.now += captures ? 15000 : 13000;
			(void)aif_cuda_duty_poll(&it.cuda, it.now);
		}
		assert_false(it.records || it.sampled);
		*(atomic_load(&it.cuda.duty.capture) ? &on : &off) += 1;
	}
	assert_true(on && off); /* stacks are taken in blocks all the same */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocks_tell_what_was_captured_and_what_was_not, setup),
		cmocka_unit_test_setup(late_threads_are_told, setup),
		cmocka_unit_test_setup(few_launches_have_everything, setup),
		cmocka_unit_test_setup(what_was_launched_in_a_pause_is_not_told, setup),
		cmocka_unit_test_setup(nodes_of_graphs_are_within_the_budget, setup),
		cmocka_unit_test_setup(nodes_that_cost_nothing_are_recorded, setup),
		cmocka_unit_test_setup(records_of_graphs_go_off_when_the_device_is_idle, setup),
		cmocka_unit_test_setup(executions_do_not_span_a_time_without_records, setup),
		cmocka_unit_test_setup(refused_sampling_takes_no_time, setup),
		cmocka_unit_test_setup(refused_records_are_told, setup),
		cmocka_unit_test_setup(records_stay_while_a_call_lasts, setup),
		cmocka_unit_test_setup(throughout_nothing_is_switched, setup),
		cmocka_unit_test_setup(launches_alone_need_no_records, setup),
		cmocka_unit_test_setup(blocks_without_a_ring_are_counted, setup),
		cmocka_unit_test_setup(what_launches_cost_anyway_is_told, setup),
		cmocka_unit_test_setup(records_and_samples_in_turn, setup),
		cmocka_unit_test_setup(processes_sample_together, setup),
		cmocka_unit_test_setup(all_launches, setup),
		cmocka_unit_test_setup(what_cannot_be_switched_stays, setup),
		cmocka_unit_test_setup(an_exit_waits_for_nobody, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
