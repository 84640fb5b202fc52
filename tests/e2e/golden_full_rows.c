/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the full profile that are no launches: samples, CPU samples, counters, operators. */
#include "golden_full.h"

#include "base/demangle.h"

static uint32_t device_frame(struct full *f, uint32_t module, uint64_t address)
{
	FIXTURE_ADD(&f->g->p, frames, .kind = AIF_FRAME_DEVICE, .module = module,
		    .address = address);
	return (uint32_t)f->g->p.frames_len - 1;
}

/* A function's name as the recorder writes it. */
static uint32_t plain_name(struct golden *g, const char *mangled)
{
	struct aif_buf plain = {0};
	uint32_t id;

	if (mangled)
		aif_demangle(mangled, &plain);
	id = golden_str(g, plain.len ? aif_buf_str(&plain) : mangled);
	aif_buf_finish(&plain);
	return id;
}

/* An instruction of the cubin, with the lines and inlined functions that its line table has. */
static uint32_t cubin_frame(struct full *f, uint32_t module, const char *mangled, uint64_t pc)
{
	const struct aif_device_function *at = aif_device_elf_by_name(&f->cubin.elf, mangled);
	struct aif_device_level levels[AIF_DEVICE_MAX_LEVELS];
	uint32_t id = device_frame(f, module, pc);
	int n = aif_cubin_lines_resolve(f->lines, at->symbol, pc, levels, AIF_DEVICE_MAX_LEVELS);

	for (int i = 0; i < n; i++)
		FIXTURE_ADD(&f->g->p, frame_names, .frame = id, .inline_depth = (uint32_t)i,
			    .name = plain_name(f->g, levels[i].name),
			    .file = golden_str(f->g, levels[i].file), .line = levels[i].line);
	return id;
}

/* ---- instruction samples ------------------------------------------------------------------------------------- */

static void sample(struct full *f, uint32_t window, uint32_t device, uint32_t frame,
		   const char *reason, uint64_t count)
{
	struct golden *g = f->g;
	struct aif_sample_row row = {.time = GOLDEN_START + window / 4 * 1000 * MS,
				     .count = count,
				     .thread = AIF_NONE,
				     .process = device == NVIDIA ? 0 : 1,
				     .device = device,
				     .frame = frame,
				     .reason = golden_str(g, reason),
				     .window = window};

	GOLDEN_ROW(g, samples, &row);
}

static void window(struct full *f, uint32_t number, uint32_t device, uint32_t held, uint64_t lost)
{
	uint64_t from = number / 4 * 1000 * MS;
	struct aif_window_row row = {.start = GOLDEN_START + from,
				     .end = GOLDEN_START + AIF_MIN(from + 1000 * MS, END_NS),
				     .window = number,
				     .device = device,
				     .process = device == NVIDIA ? 0 : 1,
				     .held = held,
				     .period_ns = 1003009,
				     .lost = lost,
				     .thread = AIF_NONE,
				     .p_ppm = 1000000};

	GOLDEN_ROW(f->g, windows, &row);
}

static void nvidia_samples(struct full *f)
{
	uint32_t load = cubin_frame(f, f->shared_module, SHARED, 0x140),
		 barrier = cubin_frame(f, f->shared_module, SHARED, 0xf0),
		 sum = cubin_frame(f, f->shared_module, SHARED, 0x160),
		 first = cubin_frame(f, f->shared_module, SHARED, 0x10),
		 call = cubin_frame(f, f->calls_module, CALLS, 0x50),
		 later = cubin_frame(f, f->calls_module, CALLS, 0x70);

	for (uint32_t second = 0; second < 3; second++) {
		uint32_t w = 4 * second;

		window(f, w, NVIDIA, AIF_HELD, second);
		sample(f, w, NVIDIA, load, "long_scoreboard_not_issued", 300 - 40 * second);
		sample(f, w, NVIDIA, load, "long_scoreboard", 100);
		sample(f, w, NVIDIA, load, "selected", 20 + second);
		sample(f, w, NVIDIA, barrier, "barrier_not_issued", 200);
		sample(f, w, NVIDIA, sum, "short_scoreboard", 80);
		sample(f, w, NVIDIA, first, "selected", 1);
		sample(f, w, NVIDIA, call, "branch_resolving_not_issued", 50);
		sample(f, w, NVIDIA, later, "math_pipe_throttle", 33);
		sample(f, w, NVIDIA, AIF_NONE, NULL, 7); /* of other programs */
	}
}

static void other_samples(struct full *f)
{
	uint32_t send = device_frame(f, f->gemm_module, 0),
		 math = device_frame(f, f->gemm_module, 16),
		 end = device_frame(f, f->gemm_module, 64), line;
	struct aif_sample_row row = {.count = 1,
				     .thread = OTHER,
				     .process = 1,
				     .device = CPU,
				     .reason = AIF_NONE,
				     .window = 2};

	for (uint32_t w = 1; w <= 5; w += 4) {
		window(f, w, INTEL, w == 1 ? AIF_HELD : AIF_HELD_AMBIGUOUS, 0);
		sample(f, w, INTEL, math, "sbid", 640);
		sample(f, w, INTEL, send, "send", 90);
		sample(f, w, INTEL, send, "active", 30);
		sample(f, w, INTEL, end, "sync", 11);
	}
	window(f, 2, CPU, AIF_HELD, 0);
	line = device_frame(f, f->saxpy_module, 0x1139);
	FIXTURE_ADD(&f->g->p, frame_names, .frame = line, .name = golden_str(f->g, "saxpy"),
		    .file = golden_str(f->g, "/tmp/tempfile-1.cl"), .line = 5);
	row.frame = line;
	for (uint64_t i = 0; i < 8; i++) {
		row.time = GOLDEN_START + (712 + 5 * i) * MS;
		GOLDEN_ROW(f->g, samples, &row);
	}
}

void full_samples(struct full *f)
{
	nvidia_samples(f);
	other_samples(f);
}

static void cpu_row(struct full *f, uint64_t at, uint32_t thread, uint32_t stack, uint64_t weight,
		    uint64_t waiting)
{
	struct aif_cpu_row row = {.time = GOLDEN_START + at,
				  .weight = weight,
				  .waiting = waiting,
				  .thread = thread,
				  .stack = stack};

	GOLDEN_ROW(f->g, cpu, &row);
}

/* A thread is off its CPU until another of the process, in a system call, wakes it. */
static void wait_row(struct full *f, uint64_t at, uint64_t ns)
{
	struct aif_cpu_row row = {.time = GOLDEN_START + at,
				  .waiting = ns,
				  .thread = MAIN,
				  .stack = f->off_cpu,
				  .is_whole = 1,
				  .waker_thread = AUTOGRAD + 1,
				  .waker = f->in_os + 1};

	GOLDEN_ROW(f->g, cpu, &row);
}

void full_cpu(struct full *f)
{
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * STEP_NS;

		cpu_row(f, at + 1 * MS, MAIN, f->on_cpu, 10101010, 0);
		cpu_row(f, at + 12 * MS, MAIN, f->in_os, 10101010, 0);
		cpu_row(f, at + 31 * MS, MAIN, f->forward, 10101010, 0);
		cpu_row(f, at + 211 * MS, AUTOGRAD, f->backward, 10101010, 0);
		cpu_row(f, at + 341 * MS, MAIN, f->waiting, 0, 8 * MS);
		wait_row(f, at + 400 * MS, 20 * MS);
		cpu_row(f, at + 50 * MS, OTHER, f->other, 10101010, 0);
		cpu_row(f, at + 60 * MS, LOADER, f->loader, 20202020, 0);
	}
}

void full_counters(struct full *f)
{
	struct golden *g = f->g;
	uint32_t busy = golden_str(g, "GpuBusy"), bytes = golden_str(g, "L3 bytes"),
		 clock = golden_str(g, "frequency"), percent = golden_str(g, "%"),
		 unit = golden_str(g, "bytes"), mhz = golden_str(g, "MHz");

	for (uint64_t i = 0; i < 8; i++) {
		struct aif_counter_row rows[] = {
			{.time = GOLDEN_START + (100 + i * 250) * MS,
			 .value = 50.5 + (double)(i * 7 % 5) * 8,
			 .device = INTEL,
			 .name = busy,
			 .unit = percent,
			 .process = AIF_NONE},
			{.time = GOLDEN_START + (100 + i * 250) * MS,
			 .value = 123456789.0 * (double)(i + 1),
			 .device = INTEL,
			 .name = bytes,
			 .unit = unit,
			 .process = 1},
			{.time = GOLDEN_START + (110 + i * 250) * MS,
			 .value = i % 2 ? 1980 : 1755,
			 .device = NVIDIA,
			 .name = clock,
			 .unit = mhz,
			 .process = AIF_NONE},
			{.time = GOLDEN_START + (120 + i * 250) * MS,
			 .value = 0.1 * (double)i,
			 .device = NVIDIA,
			 .name = busy,
			 .unit = AIF_NONE,
			 .process = AIF_NONE},
		};

		for (size_t k = 0; k < AIF_ARRAY_LEN(rows); k++)
			GOLDEN_ROW(g, counters, &rows[k]);
	}
}

/* Weights from before, activations that each step releases in another thread, what grows, and a buffer of the host. */
void full_memory(struct full *f)
{
	struct golden *g = f->g;
	uint64_t held = 3 << 20, grown = 0;

	for (uint64_t step = 0; step < STEPS; step++) {
		const struct {
			uint64_t at, block, bytes;
			uint32_t thread, stack, device, kind;
		} rows[] = {
			{5, 1, 1 << 20, MAIN, f->forward, NVIDIA, AIF_MEMORY_ALLOCATE},
			{30, 2, 512 << 10, MAIN, f->on_cpu, NVIDIA, AIF_MEMORY_ALLOCATE},
			{208, 3, 256 << 10, AUTOGRAD, f->backward, NVIDIA, AIF_MEMORY_ALLOCATE},
			{210, 1, 1 << 20, AUTOGRAD, f->backward, NVIDIA, AIF_MEMORY_RELEASE},
			{212, 100 + step, 64 << 10, AUTOGRAD, f->backward, NVIDIA,
			 AIF_MEMORY_ALLOCATE},
			{300, 2, 512 << 10, MAIN, f->on_cpu, NVIDIA, AIF_MEMORY_RELEASE},
			{301, 3, 256 << 10, MAIN, f->on_cpu, NVIDIA, AIF_MEMORY_RELEASE},
			{40, 4, 4096, OTHER, f->other, AIF_NONE, AIF_MEMORY_ALLOCATE},
			{60, 4, 4096, OTHER, f->other, AIF_NONE, AIF_MEMORY_RELEASE},
		};

		for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
			bool is_release = rows[i].kind == AIF_MEMORY_RELEASE;
			struct aif_memory_row row = {.time = GOLDEN_START + step * STEP_NS +
							     rows[i].at * MS,
						     .block = rows[i].block,
						     .bytes = rows[i].bytes,
						     .allocated = AIF_MEMORY_UNKNOWN,
						     .reserved = AIF_MEMORY_UNKNOWN,
						     .thread = rows[i].thread,
						     .stack = rows[i].stack,
						     .device = rows[i].device,
						     .kind = rows[i].kind};

			if (row.device == NVIDIA) {
				held += is_release ? -row.bytes : row.bytes;
				grown = AIF_MAX(grown, held);
				row.allocated = held;
				row.reserved = grown + (1 << 20);
			}
			GOLDEN_ROW(g, memory, &row);
		}
	}
}

/* Sums as a reduced profile has them: a kernel takes longer from the third step on, another one shorter in the second, and what is idle
 * before a launch is as long in all. */
void full_step_sums(struct full *f)
{
	struct golden *g = f->g;
	const struct {
		uint32_t sum, stack, kernel, first, steps;
		uint64_t ns, deviation;
	} rows[] = {
		{AIF_STEP_SUM_WORK, f->forward, f->gemm, 1, 2, 80 * MS, MS},
		{AIF_STEP_SUM_WORK, f->forward, f->gemm, 3, 2, 130 * MS, MS},
		{AIF_STEP_SUM_WORK, f->comm, f->nccl, 1, 3, 45 * MS, 0},
		{AIF_STEP_SUM_WORK, f->comm, f->nccl, 2, 1, 3 * MS, 0},
		{AIF_STEP_SUM_IDLE, f->forward, AIF_NONE, 1, 4, 200 * MS, 2 * MS},
		{AIF_STEP_SUM_COMPUTE, AIF_NONE, AIF_NONE, 1, 4, 240 * MS, 10 * MS},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		/* The row around another one's step ends behind it. */
		uint64_t last = i == 2 ? 4 : rows[i].first - 1 + rows[i].steps;
		struct aif_step_sum_row row = {.start =
						       GOLDEN_START + (rows[i].first - 1) * STEP_NS,
					       .end = GOLDEN_START + last * STEP_NS,
					       .ns = rows[i].ns,
					       .deviation = rows[i].deviation,
					       .executions = rows[i].steps,
					       .first = rows[i].first,
					       .steps = rows[i].steps,
					       .thread = MAIN,
					       .sum = rows[i].sum,
					       .device = NVIDIA,
					       .stack = rows[i].stack,
					       .kind = AIF_LAUNCH_KERNEL,
					       .kernel = rows[i].kernel};

		GOLDEN_ROW(g, step_sums, &row);
	}
}

/* ---- what the program told ----------------------------------------------------- */

static void op(struct full *f, uint32_t thread, uint32_t kind, const char *name, uint64_t from,
	       uint64_t to, const char *shapes, int64_t sequence)
{
	struct golden *g = f->g;
	struct aif_op_row row = {.start = GOLDEN_START + from,
				 .end = GOLDEN_START + to,
				 .clock = AIF_CLOCK_MONOTONIC,
				 .thread = thread,
				 .name = golden_str(g, name),
				 .kind = kind,
				 .shapes = golden_str(g, shapes),
				 .stack = kind == AIF_OP_RANGE ? f->on_cpu : AIF_NONE,
				 .id = from / MS + 1,
				 .sequence = sequence};

	GOLDEN_ROW(g, ops, &row);
}

void full_ops(struct full *f, uint64_t at, uint32_t step)
{
	char name[32];

	snprintf(name, sizeof(name), "ProfilerStep#%u", step);
	op(f, MAIN, AIF_OP_STEP, name, at + 1 * MS, at + 380 * MS, NULL, -1);
	op(f, MAIN, AIF_OP_RANGE, "forward \xc3\xa4\xc3\xb6;", at + 1500 * US, at + 200 * MS, NULL,
	   -1);
	op(f, MAIN, AIF_OP_OPERATOR, "aten::linear", at + 3500 * US, at + 24 * MS,
	   "[[32, 64], [64, 8]]", -1);
	op(f, MAIN, AIF_OP_OPERATOR, "aten::addmm", at + 3600 * US, at + 23 * MS,
	   step % 2 ? "[[32, 64], [64, 8]]" : "[[16, 64], [64, 8]]", step);
	for (uint32_t i = 0; i < 2; i++)
		op(f, MAIN, AIF_OP_RUNTIME, "cudaLaunchKernel", at + (4 + 10 * i) * MS,
		   at + (4 + 10 * i) * MS + 30 * US, NULL, -1);
	op(f, MAIN, AIF_OP_OPERATOR, "aten::add", at + 29 * MS, at + 31 * MS, NULL, -1);
	op(f, AUTOGRAD, AIF_OP_OPERATOR, "autograd::engine::evaluate_function: AddmmBackward0",
	   at + 205 * MS, at + 216 * MS, NULL, -1);
	op(f, AUTOGRAD, AIF_OP_OPERATOR, "AddmmBackward0", at + 206 * MS, at + 215 * MS, NULL,
	   step);
	op(f, AUTOGRAD, AIF_OP_OPERATOR, "aten::mm", at + 207 * MS, at + 214 * MS, NULL, -1);
	op(f, OTHER, AIF_OP_RANGE, "odd\x1b[31m\nrange", at + 4 * MS, at + 205 * MS, NULL, -1);
	op(f, MAIN, AIF_OP_RUNTIME, "cudaStreamSynchronize", at + 340100 * US, at + 349 * MS, NULL,
	   -1);
}
