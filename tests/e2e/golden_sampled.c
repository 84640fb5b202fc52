/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording under the overhead budget: blocks in which all launches were captured take turns with blocks in which they were
 * only counted, so that what was captured has weights and sums have errors. No instruction samples, no operators: PyTorch's
 * are read from its C++ functions.
 */
#include "golden_profiles.h"

enum { BLOCKS = 3, CAPTURED = 33, LEFT_OUT = 51 };
#define ON_NS  (20 * MS)
#define OFF_NS (30 * MS)

struct sampled {
	struct golden *g;
	uint32_t relu, gemm, reduce, stacks[3], copy_stack, shape;
};

static void processes(struct golden *g)
{
	static const char *const meta[][2] = {
		{"command", "python3 serve.py"},
		{"host", "node-8"},
		{"start_realtime_ns", "1700000000000000000"},
		{"exit_status", "143"},
		{"device_rate", "0"},
		{"cpu_rate", "0"},
		{"sampling", "none"},
		{"overhead.asked_ppm", "10000"},
		{"overhead.cost_ppm", "31000"},
		{"cost.agent_ns", "2500000"},
		{"cost.capture_median_ns", "640"},
		{"cost.recorder_cpu_ns", "8000000"},
		{"cupti.use", "blocks"},
		{"cupti.version", "26"},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(meta); i++)
		golden_meta(g, meta[i][0], meta[i][1]);
	FIXTURE_ADD(&g->p, processes, .pid = 900, .ppid = 1,
		    .exe = golden_str(g, "/usr/bin/python3"),
		    .cmdline = golden_str(g, "python3 serve.py"), .host = golden_str(g, "node-8"),
		    .start_ns = GOLDEN_START, .flags = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME,
		    .exit_status = 143);
	FIXTURE_ADD(&g->p, threads, .process = 0, .tid = 900, .name = golden_str(g, "python3"));
	FIXTURE_ADD(&g->p, devices, .name = golden_str(g, "NVIDIA L4"),
		    .vendor = golden_str(g, "NVIDIA"), .driver = golden_str(g, "12040"),
		    .runtime = golden_str(g, "cuda"), .kind = AIF_DEVICE_GPU, .units = 58,
		    .clock = AIF_CLOCK_MONOTONIC, .arch = 89);
	FIXTURE_ADD(&g->p, streams, .process = 0, .device = 0, .ordinal = 7);
}

static void stacks(struct sampled *s)
{
	struct golden *g = s->g;
	uint32_t python = golden_module(g, AIF_MODULE_SOURCE, "/srv/serve.py", NULL),
		 torch = golden_module(g, AIF_MODULE_ELF, "/venv/torch/lib/libtorch_cuda.so",
				       "aa01"),
		 cudart = golden_module(g, AIF_MODULE_ELF, "/usr/lib/libcudart.so.12", "aa02");
	uint32_t top = golden_frame(g, AIF_FRAME_PYTHON, python, "<module>", "/srv/serve.py", 80),
		 answer = golden_frame(g, AIF_FRAME_PYTHON, python, "Server.answer",
				       "/srv/serve.py", 31),
		 launch = golden_frame(g, AIF_FRAME_NATIVE, cudart, "cudaLaunchKernel", NULL, 0),
		 base = GOLDEN_STACK(g, AIF_NONE, top, answer);
	static const char *const calls[] = {
		"at::_ops::relu::call(at::Tensor const&)",
		"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)",
		"at::_ops::sum::call(at::Tensor const&, std::optional<c10::ScalarType>)",
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(calls); i++)
		s->stacks[i] = GOLDEN_STACK(
			g, base, golden_frame(g, AIF_FRAME_NATIVE, torch, calls[i], NULL, 0),
			launch);
	s->copy_stack = GOLDEN_STACK(
		g, base, golden_frame(g, AIF_FRAME_NATIVE, cudart, "cudaMemcpyAsync", NULL, 0));
}

static void kernels(struct sampled *s)
{
	static const char relu[] =
		"void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar>(int)",
			  gemm[] = "ampere_sgemm_128x64_tn", reduce[] = "reduce_kernel";

	s->relu = golden_kernel(s->g, relu, strlen(relu), AIF_NONE);
	s->gemm = golden_kernel(s->g, gemm, strlen(gemm), AIF_NONE);
	s->reduce = golden_kernel(s->g, reduce, strlen(reduce), AIF_NONE);
	FIXTURE_ADD(&s->g->p, shapes, .grid = {8192, 1, 1}, .block = {128, 1, 1});
}

/* Launch i of an on-block: what it launches changes from block to block, so that sums have a variance. */
static void launch(struct sampled *s, uint64_t begin, uint32_t block, uint32_t i)
{
	uint64_t at = begin + 200 * US + i * 560 * US;
	uint32_t which = (i * 7 + block * block) % 10;

	if (which == 9)
		golden_launch(s->g, (struct golden_launch){.at = at,
							   .start = at + 20 * US,
							   .end = at + 60 * US,
							   .kind = AIF_LAUNCH_READ,
							   .kernel = AIF_NONE,
							   .stack = s->copy_stack,
							   .shape = AIF_NONE,
							   .bytes = 65536});
	else
		golden_launch(s->g, (struct golden_launch){.at = at,
							   .start = at + 10 * US,
							   .end = at + (which < 5 ? 50 : 400) * US +
								  block * US,
							   .kind = AIF_LAUNCH_KERNEL,
							   .kernel = which < 5   ? s->relu
								     : which < 8 ? s->gemm
										 : s->reduce,
							   .stack = s->stacks[which < 5   ? 0
									      : which < 8 ? 1
											  : 2],
							   .shape = 0,
							   .registers = which < 5 ? 16 : 128});
}

static void block_row(struct golden *g, uint32_t number, bool on, uint64_t from, uint64_t to,
		      uint64_t launches)
{
	struct aif_window_row row = {.start = GOLDEN_START + from,
				     .end = GOLDEN_START + to,
				     .window = number,
				     .device = AIF_NONE,
				     .process = 0,
				     .held = on ? AIF_HELD : AIF_NOT_HELD,
				     .launches = launches,
				     .thread = 0,
				     .p_ppm = 400000};

	GOLDEN_ROW(g, windows, &row);
}

void golden_sampled(struct golden *g)
{
	struct sampled s = {.g = g};
	uint64_t at = 5 * MS;

	g->p.end_ns = GOLDEN_START + 10 * MS + BLOCKS * (ON_NS + OFF_NS);
	processes(g);
	stacks(&s);
	kernels(&s);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		for (uint32_t i = 0; i < CAPTURED; i++)
			launch(&s, at, b, i);
		block_row(g, 2 * b, true, at, at + ON_NS, CAPTURED);
		block_row(g, 2 * b + 1, false, at + ON_NS, at + ON_NS + OFF_NS, LEFT_OUT + 3 * b);
		at += ON_NS + OFF_NS;
	}
}
