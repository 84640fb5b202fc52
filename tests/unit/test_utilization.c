/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the tables of analyses of traces: time by what it was for, idle time by cause, steps,
 * queues. */
#include "analysis/utilization.h"
#include "fixture_ops.h"

#include "base/map.h"
#include "rounds.h"

#include <errno.h>

static struct aif_report_opts csv(const struct aif_report_table *table)
{
	return (struct aif_report_opts){.table = table, .format = AIF_TABLE_CSV};
}

/*
 * us       0    10   20   30   40   50   60   70   80   90  100  200
 * stream 0 [gemm.....]    [gemm]    [gemm]                       [gemm 100-110]
 * stream 1      [nccl..........]              [copy]
 *               10            35             60  70
 */
static void a_device(struct ops_fixture *f)
{
	enum { US = 1000 };

	ops_begin(f, NULL, "cuda");
	ops_add(f, 0, 0, 58 * US, AIF_OP_STEP, "ProfilerStep#0");
	ops_add(f, 0, 58 * US, 120 * US, AIF_OP_STEP, "ProfilerStep#1");
	ops_add(f, 0, 2 * US, 50 * US, AIF_OP_RANGE, "forward");
	ops_add(f, 0, 60 * US, 61 * US, AIF_OP_RANGE, "forward");
	ops_add(f, 0, 90 * US, 98 * US, AIF_OP_OPERATOR, "aten::mm");
	ops_add(f, 0, 92 * US, 97 * US, AIF_OP_RUNTIME, "cudaLaunchKernel");
	ops_exec(f, 0, 1 * US, 0, 2 * US, 20 * US, "gemm");
	ops_exec(f, 0, 3 * US, 1, 10 * US, 35 * US, "ncclDevKernel_AllReduce");
	ops_exec(f, 0, 4 * US, 0, 25 * US, 30 * US, "gemm");
	ops_exec(f, 0, 5 * US, 0, 40 * US, 45 * US, "gemm");
	ops_exec(f, 0, 6 * US, 1, 60 * US, 70 * US, NULL);
	ops_exec(f, 0, 92 * US, 0, 100 * US, 110 * US, "gemm");
	ops_exec(f, 2, 1 * US, 2, 5 * US, 6 * US, "other"); /* another process */
	ops_read(f);
}

static void time_is_broken_down(void **state)
{
	struct ops_fixture f;

	(void)state;
	a_device(&f);
	/* Busy 2-35, 40-45, 60-70, 100-110; compute 2-20, 25-30, 40-45, 100-110. Idle: 5 and 15 us launched
	 * before, 30 us launched in it. */
	assert_report(
		&f, csv(&aif_report_table_breakdown),
		"span,busy_share,compute_share,compute,communication_alone,memory_alone,idle,"
		"not_collected,error,idle_error,compute_error,communication_error,memory_error,host_wait,"
		"kernel_wait,other_wait,unknown_wait,communication,overlap_share,process,device\n"
		"108000,0.537037,0.351851,38000,10000,10000,50000,0,0,0,0,0,0,30000,20000,0,0,25000,0.600000,100,"
		"device\n"
		"1000,1.000000,1.000000,1000,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.000000,101,device\n");
	ops_end(&f);
}

static void communication_is_hidden_or_not(void **state)
{
	struct aif_report_opts o = csv(&aif_report_table_comm);
	struct ops_fixture f;
	char *text;

	(void)state;
	a_device(&f);
	assert_report(
		&f, o,
		"time,error,calls,average,wait,transfer,bytes,bus_bytes_per_second,alone,overlap_share,"
		"process,device,kernel\n"
		"25000,0,1,25000,0,0,0,0,10000,0.600000,100,device,ncclDevKernel_AllReduce\n");
	o.format = AIF_TABLE_PLAIN;
	text = ops_report(&f, o);
	assert_non_null(strstr(
		text,
		"\nprocess 100 on device: 25.0 us with communication, of which 60.0 % hidden behind computation\n"));
	free(text);
	ops_end(&f);
}

static void idle_intervals_have_causes(void **state)
{
	struct ops_fixture f;

	(void)state;
	a_device(&f);
	assert_report(&f, csv(&aif_report_table_gaps),
		      "start,idle,cause,process,device,operator,before,after\n"
		      "70000,30000,host wait,100,device,aten::mm,Memcpy HtoD,gemm\n"
		      "45000,15000,kernel wait,100,device,forward,gemm,Memcpy HtoD\n"
		      "35000,5000,kernel wait,100,device,forward,ncclDevKernel_AllReduce,gemm\n");
	ops_end(&f);
}

static void steps_have_their_parts(void **state)
{
	struct ops_fixture f;

	(void)state;
	a_device(&f);
	assert_report(
		&f, csv(&aif_report_table_steps),
		"start,time,busy_share,compute,communication_alone,memory_alone,idle,not_collected,"
		"device_total,other_threads,launches,process,device,number,step\n"
		"0,58000,0.655172,28000,10000,0,20000,0,63000,0,5,100,device,1,ProfilerStep#0\n"
		"58000,62000,0.322580,10000,0,10000,42000,0,10000,0,1,100,device,2,ProfilerStep#1\n");
	assert_report(
		&f, csv(&aif_report_table_ranges),
		"elapsed,calls,elapsed_average,elapsed_min,elapsed_max,device_total,device_average,error,"
		"other_threads,process,range\n"
		"49000,2,24500,1000,48000,45000,22500,0,0,100,forward\n");
	ops_end(&f);
}

/* Thread 1 is autograd's: what it launches is of the step and range that thread 0 is in at that time. Process 1 has a
 * step at the same time, which is another's. */
static void other_threads_are_of_the_step_that_runs(void **state)
{
	enum { US = 1000 };
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 50 * US, AIF_OP_STEP, "ProfilerStep#0");
	ops_add(&f, 0, 5 * US, 40 * US, AIF_OP_RANGE, "train");
	ops_add(&f, 0, 20 * US, 40 * US, AIF_OP_RANGE, "backward");
	ops_add(&f, 0, 60 * US, 90 * US, AIF_OP_STEP, "ProfilerStep#1");
	ops_add(&f, 1, 22 * US, 26 * US, AIF_OP_OPERATOR, "MmBackward0");
	ops_add(&f, 1, 30 * US, 34 * US, AIF_OP_RANGE, "hook");
	ops_add(&f, 2, 0, 100 * US, AIF_OP_STEP, "ProfilerStep#0");
	ops_exec(&f, 0, 6 * US, 0, 10 * US, 20 * US, "gemm");
	ops_exec(&f, 1, 23 * US, 0, 30 * US, 32 * US, "gemm"); /* of backward */
	ops_exec(&f, 1, 31 * US, 0, 40 * US, 43 * US, "gemm"); /* has a range, and no step */
	ops_exec(&f, 1, 45 * US, 0, 50 * US, 55 * US, "gemm"); /* a step, and no range */
	ops_exec(&f, 1, 55 * US, 0, 60 * US, 67 * US, "gemm"); /* neither */
	ops_exec(&f, 1, 60 * US, 0, 70 * US, 81 * US, "gemm"); /* begins with the next */
	ops_exec(&f, 2, 99 * US, 2, 99 * US, 100 * US, "gemm");
	ops_read(&f);
	assert_report(
		&f, csv(&aif_report_table_steps),
		"start,time,busy_share,compute,communication_alone,memory_alone,idle,not_collected,"
		"device_total,other_threads,launches,process,device,number,step\n"
		"0,50000,0.300000,15000,0,0,35000,0,20000,10000,4,100,device,1,ProfilerStep#0\n"
		"60000,30000,0.600000,18000,0,0,12000,0,11000,11000,1,100,device,2,ProfilerStep#1\n"
		"0,100000,0.010000,1000,0,0,99000,0,1000,0,1,101,device,,ProfilerStep#0\n");
	assert_report(
		&f, csv(&aif_report_table_ranges),
		"elapsed,calls,elapsed_average,elapsed_min,elapsed_max,device_total,device_average,error,"
		"other_threads,process,range\n"
		"35000,1,35000,35000,35000,12000,12000,0,2000,100,train\n"
		"20000,1,20000,20000,20000,2000,2000,0,2000,100,backward\n"
		"4000,1,4000,4000,4000,3000,3000,0,0,100,hook\n");
	ops_end(&f);
}

/* Two threads are in steps: whose a third one's launch is, is not known. */
static void of_two_threads_steps_it_is_neither(void **state)
{
	enum { US = 1000 };
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 50 * US, AIF_OP_RANGE, "a");
	ops_add(&f, 1, 20 * US, 90 * US, AIF_OP_RANGE, "b");
	ops_exec(&f, 1, 10 * US, 0, 10 * US, 12 * US, "gemm"); /* thread 0 alone */
	ops_exec(&f, 1, 95 * US, 0, 95 * US, 99 * US, "gemm");
	ops_exec(&f, 0, 70 * US, 0, 70 * US, 75 * US, "gemm"); /* thread 1 alone */
	ops_read(&f);
	assert_report(
		&f, csv(&aif_report_table_ranges),
		"elapsed,calls,elapsed_average,elapsed_min,elapsed_max,device_total,device_average,error,"
		"other_threads,process,range\n"
		"70000,1,70000,70000,70000,5000,5000,0,5000,100,b\n"
		"50000,1,50000,50000,50000,2000,2000,0,2000,100,a\n");
	ops_end(&f);
}

/* The cause of an execution's wait is unknown if its launch is. */
static void causes_may_not_be_known(void **state)
{
	enum { US = 1000 };
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_exec(&f, AIF_NONE, 0, 0, 10 * US, 20 * US, "gemm");
	ops_exec(&f, AIF_NONE, 0, 0, 25 * US, 30 * US, "gemm");
	ops_exec(&f, 0, 28 * US, 0, 40 * US, 41 * US, "gemm");
	ops_read(&f);
	assert_report(&f, csv(&aif_report_table_gaps),
		      "start,idle,cause,process,device,operator,before,after\n"
		      "30000,10000,kernel wait,100,device,,gemm,gemm\n"
		      "20000,5000,not known,100,device,,gemm,gemm\n");
	assert_report(
		&f, csv(&aif_report_table_breakdown),
		"span,busy_share,compute_share,compute,communication_alone,memory_alone,idle,"
		"not_collected,error,idle_error,compute_error,communication_error,memory_error,host_wait,"
		"kernel_wait,other_wait,unknown_wait,communication,overlap_share,process,device\n"
		"31000,0.516129,0.516129,16000,0,0,15000,0,0,0,0,0,0,0,10000,0,5000,0,0.000000,100,device\n");
	ops_end(&f);
}

/* Stream 0: called at 1, 4, 5, 92 us, begun at 2, 25, 40, 100. */
static void streams_have_queues(void **state)
{
	struct ops_fixture f;

	(void)state;
	a_device(&f);
	assert_report(
		&f, csv(&aif_report_table_streams),
		"executions,busy,error,host_wait,kernel_wait,other_wait,unknown_wait,launches,short,slow_calls,late,"
		"delay_average,delay_max,queue_average,queue_max,full,process,stream,device\n"
		"4,38000,0,55000,15000,0,0,4,0,0,0,15000,35000,1,2,0,100,7,device\n"
		"2,35000,0,0,25000,0,0,2,0,0,0,30500,54000,1,2,0,100,20,device\n"
		"1,1000,0,0,0,0,0,1,0,0,0,4000,4000,1,1,0,101,7,device\n");
	ops_end(&f);
}

/* A call of 60 us is slow, its execution of 5 us short, and 200 us after it late; launched long before, but started
 * so long after the one before that it must have waited for something else. 1,100 wait behind it. */
static void limits_are_those_of_hta(void **state)
{
	enum { US = 1000, FULL = 1100 };
	struct ops_fixture f;
	char *text;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 10 * US, 70 * US, AIF_OP_RUNTIME, "cudaLaunchKernel");
	ops_exec(&f, 0, 5 * US, 0, 6 * US, 20 * US, "first");
	ops_exec(&f, 0, 10 * US, 0, 270 * US, 275 * US, "late");
	for (uint64_t i = 0; i < FULL; i++)
		ops_exec(&f, 0, 80 * US + i, 0, 300 * US + i * 2, 300 * US + i * 2 + 1, "queued");
	ops_read(&f);
	/* Waits: 250 us other; 25 us and 1,099 of 1 ns kernel. Delays: 1, 200, and 220 us and i ns. Full from where
	 * 1,023 wait behind the late one to where 77 of them have begun, 81,022 to 300,152 ns. */
	text = ops_report(&f, csv(&aif_report_table_streams));
	assert_non_null(
		strstr(text, "\n1102,20100,0,0,26099,250000,0,1102,1,1,1101,220331,221099,817,1101,"
			     "219130,100,7,device\n"));
	free(text);
	ops_end(&f);
}

static void kernels_have_classes(void **state)
{
	static const struct {
		const char *name;
		enum aif_work_class of;
	} cases[] = {
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		 AIF_WORK_COMMUNICATION},
		{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", AIF_WORK_COMMUNICATION},
		{"void ncclKernel_Generic", AIF_WORK_COMMUNICATION},
		{"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>", AIF_WORK_COMMUNICATION},
		{"aiuRdmaBarrier1", AIF_WORK_COMMUNICATION},
		{"SenRdmaSend_3", AIF_WORK_COMMUNICATION},
		{"Memcpy HtoD (Pinned -> Device)", AIF_WORK_MEMORY},
		{"Memset (Device)", AIF_WORK_MEMORY},
		{"add_1 DmaI", AIF_WORK_MEMORY},
		{"ampere_sgemm_128x64_tn", AIF_WORK_COMPUTE},
		{"void at::native::reduce_kernel<512, 1>", AIF_WORK_COMPUTE},
		{"memcpyless", AIF_WORK_COMPUTE},
		{"", AIF_WORK_COMPUTE},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		if (aif_work_class_of(cases[i].name) != cases[i].of)
			fail_msg("%s is %d", cases[i].name, (int)aif_work_class_of(cases[i].name));
}

/* ---- nanosecond by nanosecond ---------------------------------------------------------------- */

enum { LENGTH = 400, EXECS = 30, FROM = 50, TO = 330 };

static uint64_t next(uint64_t *r, uint64_t n)
{
	*r = aif_mix64(*r + UINT64_C(0x9e3779b97f4a7c15));
	return *r % n;
}

static void collect_nothing(struct ops_fixture *f, uint64_t from, uint64_t to)
{
	struct aif_window_row gap = {.start = OPS_START + from,
				     .end = OPS_START + to,
				     .device = AIF_NONE,
				     .process = 0,
				     .held = 0,
				     .thread = AIF_NONE};
	struct aif_err err = {0};

	assert_ok(aif_writer_windows(f->w, &gap, 1, &err), &err);
}

static void parts_are_what_each_moment_is(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < rounds(200); seed++) {
		static const char *const names[] = {"gemm", "ncclKernel", NULL};
		uint8_t is[LENGTH] = {0}, off[LENGTH] = {0}; /* is: bits of classes */
		struct aif_utilization_parts want = {0}, got;
		const struct aif_exec_timeline *timed;
		const struct aif_utilization *w = aif_facts_none();
		struct ops_fixture f;
		uint64_t r = seed, gap = next(&r, LENGTH - 60);

		ops_begin(&f, NULL, "cuda");
		for (int i = 0; i < EXECS; i++) {
			uint64_t start = next(&r, LENGTH - 20), end = start + next(&r, 20);
			unsigned of = (unsigned)next(&r, 3);

			ops_exec(&f, 0, start, (uint32_t)next(&r, 2), start, end, names[of]);
			for (uint64_t t = start; t < end; t++)
				is[t] |= (uint8_t)(1u << of);
		}
		collect_nothing(&f, gap, gap + 50);
		memset(off + gap, 1, 50);
		ops_read(&f);
		assert_int_equal(aif_exec_timeline_get(&f.p, NULL, &timed), 0);
		assert_int_equal(aif_utilization_get(&f.p, timed, &w), 0);
		assert_int_equal(w->len, 1);
		for (uint64_t t = FROM; t < TO; t++) {
			want.compute += is[t] & 1;
			want.communication_alone += (is[t] & 3) == 2;
			want.memory_alone += is[t] == 4;
			want.not_collected += !is[t] && off[t];
			want.idle += !is[t] && !off[t];
		}
		got = aif_utilization_parts(&w->devices[0], FROM, TO);
		if (memcmp(&got, &want, sizeof(got)) != 0)
			fail_msg("seed %u: compute %u, expected %u; idle %u, expected %u",
				 (unsigned)seed, (unsigned)got.compute, (unsigned)want.compute,
				 (unsigned)got.idle, (unsigned)want.idle);
		aif_facts_put(w);
		aif_facts_put(timed);
		ops_end(&f);
	}
}

/* ---- launches that were left out --------------------------------------------------------------- */

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

/* 40 us of which every other 10 are captured. A launch each 250 ns, which runs for 100 ns in the first captured block
 * and for 120 in the second; each fourth communicates. */
static void half_of_the_launches(struct ops_fixture *f)
{
	enum { US = 1000, EACH = 40 };

	ops_begin(f, NULL, "cuda");
	ops_add(f, 0, 0, 40 * US, AIF_OP_STEP, "ProfilerStep#0");
	ops_add(f, 0, 0, 39 * US, AIF_OP_RANGE, "train");
	for (uint64_t b = 0; b < 4; b++) {
		add_block(f, b * 10 * US, (b + 1) * 10 * US, b % 2 == 0);
		for (uint64_t i = 0; i < EACH && b % 2 == 0; i++) {
			uint64_t at = b * 10 * US + i * 250;

			ops_exec(f, 0, at, 0, at + 10, at + 110 + 10 * b,
				 i % 4 == 3 ? "ncclDevKernel_AllReduce" : "gemm");
		}
	}
	ops_read(f);
}

static void what_was_captured_stands_for_the_whole(void **state)
{
	struct aif_report_opts o = csv(&aif_report_table_comm);
	struct ops_fixture f;
	char *text;

	(void)state;
	half_of_the_launches(&f);
	/* 8,800 ns were seen, of which 2,200 of communication: twice that, from the first start to the end of the block
	 * behind the last. Standard errors: sqrt(2 * squared difference of the two blocks). */
	assert_report(
		&f, csv(&aif_report_table_breakdown),
		"span,busy_share,compute_share,compute,communication_alone,memory_alone,idle,"
		"not_collected,error,idle_error,compute_error,communication_error,"
		"memory_error,host_wait,kernel_wait,other_wait,unknown_wait,communication,"
		"overlap_share,process,device\n"
		"39990,0.440110,0.330082,13200,4400,0,22390,0,1132,1132,849,283,0,22390,0,0,0,"
		"4400,0.000000,100,device\n");
	assert_report(&f, csv(&aif_report_table_streams),
		      "executions,busy,error,host_wait,kernel_wait,other_wait,unknown_wait,"
		      "launches,short,slow_calls,late,delay_average,delay_max,queue_average,"
		      "queue_max,full,process,stream,device\n"
		      "160,17600,1132,22390,0,0,0,160,0,0,0,10,10,0,1,0,100,7,device\n");
	assert_report(
		&f, o,
		"time,error,calls,average,wait,transfer,bytes,bus_bytes_per_second,alone,overlap_share,"
		"process,device,kernel\n"
		"4400,283,40,110,0,0,0,0,4400,0.000000,100,device,ncclDevKernel_AllReduce\n");
	assert_report(
		&f, csv(&aif_report_table_ranges),
		"elapsed,calls,elapsed_average,elapsed_min,elapsed_max,device_total,device_average,error,"
		"other_threads,process,range\n"
		"39000,1,39000,39000,39000,17600,17600,1132,0,100,train\n");
	text = ops_report(&f, csv(&aif_report_table_ops));
	assert_non_null(strstr(text, "\ngemm,100,kernel,0.000000,0,0.000000,0,0,13200,0.750000,"
				     "13200,110,849,120\n"));
	assert_non_null(strstr(text, ",17600,17600,1132,1\n"));
	free(text);
	o.format = AIF_TABLE_PLAIN;
	text = ops_report(&f, o);
	assert_non_null(strstr(text, ": 4.4 us with communication"));
	free(text);
	ops_end(&f);
}

/* A step or a gap has what was seen of it, and says of how much. The gap in which launches were left out is none. */
static void single_moments_stand_for_themselves(void **state)
{
	static const struct aif_report_table *const tables[] = {
		&aif_report_table_gaps, &aif_report_table_steps, &aif_report_table_streams};
	static const char part[] = "of what was captured, 50.0 % of the launches";
	struct ops_fixture f;
	size_t lines = 0;
	char *text;

	(void)state;
	half_of_the_launches(&f);
	assert_report(
		&f, csv(&aif_report_table_steps),
		"start,time,busy_share,compute,communication_alone,memory_alone,idle,not_collected,"
		"device_total,other_threads,launches,process,device,number,step\n"
		"0,40000,0.440000,6600,2200,0,11200,20000,8800,0,80,100,device,1,ProfilerStep#0\n");
	text = ops_report(&f, csv(&aif_report_table_gaps));
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 1 + 39 + 39);
	free(text);
	for (size_t i = 0; i < AIF_ARRAY_LEN(tables); i++) {
		struct aif_report_opts o = {.table = tables[i], .format = AIF_TABLE_PLAIN};

		text = ops_report(&f, o);
		assert_int_equal(strncmp(text, part, strlen(part)), 0);
		free(text);
	}
	ops_end(&f);
}

/* ---- rows that contradict everything --------------------------------------------------------- */

static uint64_t odd(uint64_t *r)
{
	static const uint64_t values[] = {
		0,          1,         UINT32_MAX,   INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1,
		UINT64_MAX, OPS_START, OPS_START + 1};

	return next(r, 2) ? values[next(r, AIF_ARRAY_LEN(values))] : OPS_START + next(r, 1000);
}

static void odd_rows_do_no_harm(void **state)
{
	enum { ROWS = 200 };

	(void)state;
	for (uint64_t seed = 0; seed < rounds(40); seed++) {
		struct aif_err err = {0};
		struct ops_fixture f;
		uint64_t r = seed;

		ops_begin(&f, NULL, "cuda");
		ops_kernel(&f, "ncclKernel");
		for (int i = 0; i < ROWS; i++) {
			struct aif_op_row o = {.start = odd(&r),
					       .end = odd(&r),
					       .clock = (uint32_t)next(&r, 3) * 8,
					       .thread = (uint32_t)next(&r, 5),
					       .name = (uint32_t)next(&r, 4),
					       .kind = (uint32_t)next(&r, 8),
					       .shapes = (uint32_t)odd(&r),
					       .stack = (uint32_t)odd(&r)};
			struct aif_launch_row l = {.launch = next(&r, 50),
						   .time = odd(&r),
						   .thread = (uint32_t)next(&r, 5),
						   .stack = AIF_NONE};
			struct aif_exec_row x = {.launch = next(&r, 60),
						 .start = odd(&r),
						 .end = odd(&r),
						 .clock = (uint32_t)next(&r, 3) * 8,
						 .process = (uint32_t)next(&r, 3),
						 .kind = (uint32_t)next(&r, 3),
						 .kernel = (uint32_t)next(&r, 2),
						 .device = (uint32_t)next(&r, 2),
						 .stream = (uint32_t)next(&r, 4)};

			struct aif_counter_row v = {.time = odd(&r),
						    .value = next(&r, 4) ? 1.7e308 : -1.7e308,
						    .device = (uint32_t)next(&r, 2),
						    .name = (uint32_t)next(&r, 3),
						    .unit = AIF_NONE,
						    .process = (uint32_t)odd(&r)};

			assert_ok(aif_writer_counters(f.w, &v, 1, &err), &err);
			assert_ok(aif_writer_ops(f.w, &o, 1, &err), &err);
			assert_ok(aif_writer_launches(f.w, &l, 1, &err), &err);
			assert_ok(aif_writer_execs(f.w, &x, 1, &err), &err);
		}
		ops_read(&f);
		for (size_t i = 0; aif_report_tables[i]; i++)
			for (int format = AIF_TABLE_PLAIN; format <= AIF_TABLE_JSON; format++) {
				struct aif_report_opts o = {.table = aif_report_tables[i],
							    .format = (enum aif_table_format)format,
							    .by = (enum aif_report_by)(seed % 3)};
				struct aif_buf out = {0};
				int e;

				/* Memory has no shapes. */
				if (aif_report_needs_attribution(o.table) ||
				    (o.table == &aif_report_table_memory &&
				     o.by == AIF_REPORT_BY_SHAPE))
					continue;
				e = aif_report_write(AIF_NAMES_OF(&f.p), NULL, &o, &out, &err);

				/* In no format is it a failure that there is nothing. */
				if (e != 0)
					fail_msg("seed %u, table %zu: %d: %s", (unsigned)seed, i, e,
						 err.text);
				assert_int_not_equal(out.len, 0);
				aif_buf_finish(&out);
			}
		ops_end(&f);
	}
}

static void spans_have_lengths(void **state)
{
	enum { SPANS = 3 * AIF_SPANS_BLOCK + 1 };
	struct aif_spans s = {0};
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(aif_spans_total(&s), 0);
	/* The k-th is k + 1 long; half of them are added in two parts that touch. */
	for (int64_t k = 0; k < SPANS; k++) {
		assert_int_equal(aif_spans_add(&s, 1000 * k, 1000 * k + k / 2 + 1), 0);
		assert_int_equal(aif_spans_add(&s, 1000 * k + k / 2 + 1, 1000 * k + k + 1), 0);
	}
	assert_int_equal(s.len, SPANS);
	for (int64_t k = 0; k <= SPANS; k++) {
		assert_int_equal(aif_spans_total_of(&s, (size_t)k), sum);
		assert_int_equal(aif_spans_covered(&s, -1, 1000 * k), sum);
		assert_int_equal(aif_spans_covered(&s, 0, 1000 * k + 1), sum + (k < SPANS));
		sum += (uint64_t)k + 1;
	}
	assert_int_equal(aif_spans_total(&s), sum - (SPANS + 1));
	aif_spans_finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_have_lengths),
		cmocka_unit_test(time_is_broken_down),
		cmocka_unit_test(communication_is_hidden_or_not),
		cmocka_unit_test(idle_intervals_have_causes),
		cmocka_unit_test(steps_have_their_parts),
		cmocka_unit_test(other_threads_are_of_the_step_that_runs),
		cmocka_unit_test(of_two_threads_steps_it_is_neither),
		cmocka_unit_test(causes_may_not_be_known),
		cmocka_unit_test(streams_have_queues),
		cmocka_unit_test(limits_are_those_of_hta),
		cmocka_unit_test(kernels_have_classes),
		cmocka_unit_test(what_was_captured_stands_for_the_whole),
		cmocka_unit_test(single_moments_stand_for_themselves),
		cmocka_unit_test(parts_are_what_each_moment_is),
		cmocka_unit_test(odd_rows_do_no_harm),
	};

	return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
