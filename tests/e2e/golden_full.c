/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording with some of everything: a training step on an NVIDIA GPU in one process, another process on an Intel GPU and a
 * CPU device, and a third without a device; stacks of Python and C++, operators, ranges, steps, graphs, counters, CPU samples,
 * instruction samples with stall reasons, a pause, losses, and names that need care.
 */
#include "golden_full.h"

#define CALLS_PLAIN "calls(float*, float const*, int)"
#define LONG_NAME                                                                                \
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, " \
	"std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
/* Control bytes, a byte that is no UTF-8, and what separates fields in other formats. */
#define ODD_NAME "odd\x01\x1b[31m;\"<&>\xff\tkernel"

/* ---- the machine --------------------------------------------------------------------------------- */

static void meta(struct golden *g)
{
	static const char *const rows[][2] = {
		{"command", "python3 train.py --name \"gr\xc3\xb6\xc3\x9f"
			    "e <1>\""},
		{"host", "node-7"},
		{"start_realtime_ns", "1700000000000000000"},
		{"recorder_version", "0.0.0"},
		{"exit_status", "0"},
		{"device_rate", "997"},
		{"cpu_rate", "99"},
		{"sampling", "perf_event"},
		{"cost.agent_ns", "1200000"},
		{"cost.capture_median_ns", "512"},
		{"cost.sampling_ns", "3000000"},
		{"cost.callbacks_ns", "5000000"},
		{"cost.device_bytes", "67108864"},
		{"cost.recorder_cpu_ns", "30000000"},
		{"cost.helper_cpu_ns", "2000000"},
		{"overhead.asked_ppm", "20000"},
		{"overhead.cost_ppm", "4000"},
		{"cupti.use", "blocks"},
		{"cupti.version", "130000"},
		{"cupti.id", "c0ffee"},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		golden_meta(g, rows[i][0], rows[i][1]);
}

static void process(struct golden *g, uint32_t pid, const char *exe, const char *command,
		    uint32_t flags, uint64_t cpu_ns)
{
	FIXTURE_ADD(&g->p, processes, .pid = pid, .ppid = pid == 4711 ? 1 : 4711,
		    .exe = golden_str(g, exe), .cmdline = golden_str(g, command),
		    .host = golden_str(g, "node-7"), .start_ns = GOLDEN_START + pid % 10 * MS,
		    .end_ns = pid == 4711 ? 0 : GOLDEN_START + END_NS - MS, .flags = flags,
		    .exit_status = pid == 4711 ? -1 : 0, .cpu_ns = cpu_ns);
}

static void machine(struct golden *g)
{
	const uint32_t both = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME;

	process(g, 4711, "/usr/bin/python3.11", "python3 train.py --rank 0", both, 1900 * MS);
	process(g, 4712, "/usr/bin/python3.11", "python3 train.py --rank 1", both, 800 * MS);
	process(g, 4720, "/opt/loader", "/opt/loader \x1b[1m--shard 3", AIF_PROCESS_AGENT,
		700 * MS);
	FIXTURE_ADD(&g->p, threads, .process = 0, .tid = 4711, .name = golden_str(g, "python3"));
	FIXTURE_ADD(&g->p, threads, .process = 0, .tid = 4730,
		    .name = golden_str(g, "pt_autograd_0"));
	FIXTURE_ADD(&g->p, threads, .process = 1, .tid = 4712, .name = AIF_NONE);
	FIXTURE_ADD(&g->p, threads, .process = 2, .tid = 4720, .name = golden_str(g, "load;er\n1"));
	FIXTURE_ADD(&g->p, devices, .name = golden_str(g, "NVIDIA H100 80GB HBM3"),
		    .vendor = golden_str(g, "NVIDIA"), .driver = golden_str(g, "13000"),
		    .runtime = golden_str(g, "cuda"), .kind = AIF_DEVICE_GPU, .units = 132,
		    .clock = AIF_CLOCK_REALTIME, .arch = 90, .unit_threads = 2048,
		    .unit_blocks = 32, .unit_registers = 65536, .unit_shared = 233472,
		    .block_shared = 1024, .pci = 0x2a00);
	FIXTURE_ADD(&g->p, devices, .name = golden_str(g, "Intel Data Center GPU Max 1100"),
		    .vendor = golden_str(g, "Intel"), .driver = golden_str(g, "1.3.27642"),
		    .runtime = golden_str(g, "level_zero"), .kind = AIF_DEVICE_GPU, .units = 448,
		    .clock = AIF_CLOCK_DEVICE + INTEL, .pci = 0x4d00);
	FIXTURE_ADD(&g->p, devices, .name = golden_str(g, "cpu-haswell \"AMD EPYC\""),
		    .vendor = AIF_NONE, .driver = golden_str(g, "3.1"),
		    .runtime = golden_str(g, "opencl"), .kind = AIF_DEVICE_CPU, .units = 8,
		    .clock = AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(&g->p, streams, .process = 0, .device = NVIDIA, .ordinal = 7);
	FIXTURE_ADD(&g->p, streams, .process = 0, .device = NVIDIA, .ordinal = 13);
	FIXTURE_ADD(&g->p, streams, .process = 1, .device = INTEL, .ordinal = 0, .out_of_order = 1);
	FIXTURE_ADD(&g->p, streams, .process = 1, .device = CPU, .ordinal = 1);
	FIXTURE_ADD(&g->p, clock_pairs, .clock = AIF_CLOCK_REALTIME, .process = AIF_NONE,
		    .before = GOLDEN_START, .after = GOLDEN_START, .value = GOLDEN_DATE);
	for (uint64_t at = 0; at <= END_NS; at += END_NS)
		FIXTURE_ADD(&g->p, clock_pairs, .clock = AIF_CLOCK_DEVICE + INTEL, .process = 1,
			    .before = GOLDEN_START + at, .after = GOLDEN_START + at,
			    .value = golden_stamp(g, INTEL, at));
}

/* ---- device code --------------------------------------------------------------------------------- */

static void read_cubin(struct full *f)
{
	struct golden *g = f->g;
	char path[4096];
	size_t n;
	FILE *from;

	snprintf(path, sizeof(path), "%s/kernels_sm90a.cubin", g->cubins);
	from = fopen(path, "rb");
	if (!from) {
		perror(path);
		exit(1);
	}
	do {
		void *to = aif_buf_reserve(&f->cubin_bytes, 65536);

		n = to ? fread(to, 1, 65536, from) : 0;
		f->cubin_bytes.len += n;
	} while (n);
	fclose(from);
	golden_must(g, aif_cubin_init(&f->cubin, f->cubin_bytes.data, f->cubin_bytes.len));
	golden_must(g, aif_cubin_lines_new(&f->cubin, &f->lines));
}

static void add_code(struct golden *g, uint32_t module, const char *name, const char *arch,
		     const void *bytes, size_t n)
{
	uint8_t *copy = malloc(n);

	if (!copy)
		abort();
	memcpy(copy, bytes, n);
	FIXTURE_ADD(&g->p, codes, .module = module, .name = golden_str(g, name),
		    .arch = golden_str(g, arch), .address = 0, .size = n, .bytes = copy);
}

static uint32_t device_module(struct golden *g, uint32_t kind, const char *path, uint32_t kernel,
			      uint32_t program)
{
	uint32_t id = golden_module(g, kind, path, NULL);

	g->p.modules[id].kernel = kernel;
	g->p.modules[id].program = program;
	return id;
}

static uint32_t cubin_kernel(struct full *f, const char *mangled, const char *plain,
			     uint32_t *ret_module)
{
	const struct aif_device_function *at = aif_device_elf_by_name(&f->cubin.elf, mangled);
	uint32_t kernel = golden_kernel(f->g, plain, strlen(plain), AIF_NONE);
	const uint8_t *bytes;
	size_t n;

	if (!at)
		abort();
	bytes = aif_device_elf_code(&f->cubin.elf, at, &n);
	*ret_module =
		device_module(f->g, AIF_MODULE_DEVICE, "cubin 0011223344556677", kernel, AIF_NONE);
	add_code(f->g, *ret_module, plain, "sm_90", bytes, n);
	return kernel;
}

/* Instructions of Intel's Xe-HPC: a message, what waits for its scoreboard, arithmetic, a barrier, the end. */
static const uint8_t xe_code[] = {
	0x31, 0x24, 0x15, 0x00, 0x00, 0x00, 0x14, 0x20, 0x24, 0x1c, 0x00, 0xfb, 0x00, 0x00,
	0x00, 0x00, 0x38, 0x84, 0x14, 0x00, 0xa0, 0x0a, 0x05, 0x24, 0x04, 0x20, 0x10, 0x40,
	0x00, 0x00, 0x00, 0x00, 0x40, 0x19, 0x14, 0x00, 0x60, 0x06, 0x05, 0x0b, 0x04, 0x0a,
	0x00, 0x01, 0x04, 0x01, 0x10, 0x00, 0x01, 0x1a, 0x8c, 0x24, 0x00, 0x00, 0x00, 0x00,
	0x41, 0x23, 0x87, 0xe0, 0x20, 0x05, 0xa2, 0x00, 0x31, 0x19, 0x0c, 0x80, 0x04, 0x00,
	0x00, 0x00, 0x0c, 0x7f, 0x20, 0x30, 0x00, 0x00, 0x00, 0x00,
};

static void kernels(struct full *f)
{
	struct golden *g = f->g;
	static const char gemm[] = "gr\xc3\xb6\xc3\x9f"
				   "e_gemm";

	read_cubin(f);
	FIXTURE_ADD(&g->p, programs, .process = 1,
		    .source =
			    golden_str(g, "__kernel void saxpy(__global float *y,\n"
					  "                    __global const float *x, float a)\n"
					  "{\n"
					  "\tsize_t i = get_global_id(0);\n"
					  "\ty[i] = a * x[i] + y[i]; /* \xc3\xa4 */\n"
					  "}\n"),
		    .options = golden_str(g, "-cl-fast-relaxed-math"),
		    .source_name = golden_str(g, "/tmp/tempfile-1.cl"));
	f->shared = cubin_kernel(f, SHARED, SHARED_PLAIN, &f->shared_module);
	f->calls = cubin_kernel(f, CALLS, CALLS_PLAIN, &f->calls_module);
	f->add = golden_kernel(g, LONG_NAME, strlen(LONG_NAME), AIF_NONE);
	f->nccl = golden_kernel(g, NCCL, strlen(NCCL), AIF_NONE);
	f->gemm = golden_kernel(g, gemm, strlen(gemm), AIF_NONE);
	f->odd = golden_kernel(g, ODD_NAME, strlen(ODD_NAME), AIF_NONE);
	f->saxpy = golden_kernel(g, "saxpy", 5, 0);
	f->gemm_module =
		device_module(g, AIF_MODULE_DEVICE, "zebin 0123456789abcdef", f->gemm, AIF_NONE);
	add_code(g, f->gemm_module, gemm, "xe_hpc", xe_code, sizeof(xe_code));
	f->saxpy_module = device_module(g, AIF_MODULE_DEVICE_ELF, "/cache/saxpy.so", f->saxpy, 0);
	FIXTURE_ADD(&g->p, shapes, .grid = {65536, 1, 1}, .block = {128, 1, 1});
	FIXTURE_ADD(&g->p, shapes, .grid = {1024, 512, 0}, .block = {16, 16, 0});
}

/* ---- host stacks --------------------------------------------------------------------------------- */

static void modules(struct full *f)
{
	struct golden *g = f->g;

	f->python = golden_module(g, AIF_MODULE_ELF, "/usr/bin/python3.11", "0a0b");
	f->libc = golden_module(g, AIF_MODULE_ELF, "/lib/x86_64-linux-gnu/libc.so.6", "0c0d");
	f->torch = golden_module(g, AIF_MODULE_ELF, "/venv/torch/lib/libtorch_cuda.so", "0e0f");
	f->cudart = golden_module(g, AIF_MODULE_ELF, "/usr/lib/libcudart.so.13", "1011");
	f->driver = golden_module(g, AIF_MODULE_ELF, "/usr/lib/libcuda.so.1", NULL);
	f->train = golden_module(g, AIF_MODULE_SOURCE, "/home/u/train.py", NULL);
	f->model = golden_module(g, AIF_MODULE_SOURCE,
				 "/home/u/m\xc3\xb6"
				 "del.py",
				 NULL);
	f->os = golden_module(g, AIF_MODULE_OS, AIF_OS_KERNEL, NULL);
	golden_module(g, AIF_MODULE_VDSO, "[vdso]", NULL);
}

static uint32_t native(struct full *f, uint32_t module, const char *name)
{
	return golden_frame(f->g, AIF_FRAME_NATIVE, module, name, NULL, 0);
}

static uint32_t begin_stack(struct full *f)
{
	uint32_t start = native(f, f->python, "_start"),
		 libc = native(f, f->libc, "__libc_start_main_impl"),
		 main_ = golden_frame(f->g, AIF_FRAME_NATIVE, f->python, "main",
				      "/src/Programs/python.c", 15),
		 eval = native(f, f->python, "_PyEval_EvalFrameDefault"),
		 top = golden_frame(f->g, AIF_FRAME_PYTHON, f->train, "<module>",
				    "/home/u/train.py", 91),
		 step = golden_frame(f->g, AIF_FRAME_PYTHON, f->train, "train_step",
				     "/home/u/train.py", 42);

	return GOLDEN_STACK(f->g, AIF_NONE, start, libc, main_, eval, top, step);
}

static void stacks_of_main(struct full *f, uint32_t base)
{
	struct golden *g = f->g;
	uint32_t forward = golden_frame(g, AIF_FRAME_PYTHON, f->model, "Block.forward",
					"/home/u/m\xc3\xb6"
					"del.py",
					17),
		 reduce = golden_frame(g, AIF_FRAME_PYTHON, f->train, "all_reduce",
				       "/home/u/train.py", 55),
		 mm = native(f, f->torch,
			     "at::_ops::addmm::call(at::Tensor const&, at::Tensor const&)"),
		 add = native(f, f->torch, "at::_ops::add_Tensor::call(at::Tensor const&)"), kernel,
		 unnamed,
		 variable =
			 native(f, f->torch,
				"torch::autograd::VariableType::(anonymous namespace)::addmm(int)");

	kernel = golden_frame(
		g, AIF_FRAME_NATIVE, f->torch,
		"void at::native::gpu_kernel_impl<at::native::AddFunctor<float> >(at::TensorIteratorBase&)",
		"/pytorch/aten/src/ATen/native/cuda/CUDALoops.cuh", 284);
	golden_inlined(g, 1, "launch_vectorized_kernel",
		       "/pytorch/aten/src/ATen/native/cuda/CUDALoops.cuh", 105);
	f->launch_call = native(f, f->cudart, "cudaLaunchKernel");
	unnamed = native(f, f->driver, NULL);
	forward = GOLDEN_STACK(g, base, forward);
	f->forward = GOLDEN_STACK(g, forward, mm, variable, f->launch_call, unnamed);
	f->forward_add = GOLDEN_STACK(g, forward, add, kernel, f->launch_call, unnamed);
	f->graph = GOLDEN_STACK(g, base, native(f, f->cudart, "cudaGraphLaunch"));
	f->copy = GOLDEN_STACK(g, base, native(f, f->cudart, "cudaMemcpyAsync"));
	f->comm = GOLDEN_STACK(g, base, reduce,
			       native(f, f->torch, "c10d::ProcessGroupNCCL::allreduce"),
			       f->launch_call);
	f->sync_call = native(f, f->cudart, "cudaStreamSynchronize");
	f->waiting = GOLDEN_STACK(g, base, f->sync_call);
	f->on_cpu = GOLDEN_STACK(g, base, native(f, f->libc, "__memmove_avx_unaligned_erms"));
	f->in_os = GOLDEN_STACK(g, f->on_cpu,
				golden_frame(g, AIF_FRAME_OS, f->os, "asm_exc_page_fault", NULL, 0),
				golden_frame(g, AIF_FRAME_OS, f->os, "clear_page_erms", NULL, 0));
	f->off_cpu = GOLDEN_STACK(g, base, native(f, f->libc, "read"),
				  golden_frame(g, AIF_FRAME_OS, f->os, "schedule", NULL, 0),
				  golden_named(g, AIF_FRAME_MARK, AIF_OFF_CPU_BLOCKED));
}

static void stacks(struct full *f)
{
	struct golden *g = f->g;
	uint32_t base = begin_stack(f), engine, evaluate, node, app;

	stacks_of_main(f, base);
	engine = native(f, f->torch, "torch::autograd::Engine::thread_init(int)");
	evaluate = native(f, f->torch,
			  "torch::autograd::Engine::evaluate_function(torch::autograd::Node*)");
	node = native(
		f, f->torch,
		"torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)");
	f->backward = GOLDEN_STACK(g, AIF_NONE, engine, evaluate, node,
				   native(f, f->torch, "at::_ops::mm::call(at::Tensor const&)"),
				   f->launch_call);
	app = GOLDEN_STACK(
		g, base,
		native(f, f->torch, "xe::gemm<float, 128, 64>(sycl::queue&, float const*)"));
	f->other = GOLDEN_STACK(g, app, native(f, f->driver, "zeCommandListAppendLaunchKernel"));
	f->other_odd =
		golden_stack(g, app, (uint32_t[]){native(f, f->driver, "odd\n;\x1b[0m\xfe caller")},
			     1, AIF_STACK_TRUNCATED);
	f->cpu_launch = GOLDEN_STACK(g, AIF_NONE, golden_named(g, AIF_FRAME_MARK, "[truncated]"),
				     native(f, f->driver, "clEnqueueNDRangeKernel"));
	f->loader = golden_stack(
		g, AIF_NONE,
		(uint32_t[]){native(f, f->libc, "start_thread"), native(f, f->libc, "inflate")}, 2,
		AIF_STACK_FRAME_POINTERS);
}

/* ---- what ran ------------------------------------------------------------------------------------ */

static void nvidia_step(struct full *f, uint64_t at, uint32_t step)
{
	struct golden *g = f->g;
	struct golden_launch l = {.thread = MAIN, .stream = COMPUTE, .shape = AIF_NONE};

	l.kind = AIF_LAUNCH_WRITE, l.kernel = AIF_NONE, l.stack = f->copy, l.bytes = 1 << 20;
	l.at = at + 2 * MS, l.start = at + 2100 * US, l.end = at + 3 * MS;
	golden_launch(g, l);
	l.kind = AIF_LAUNCH_KERNEL, l.kernel = f->shared, l.stack = f->forward, l.bytes = 0;
	l.shape = 0, l.registers = 40, l.shared_bytes = 1024;
	for (uint32_t i = 0; i < 2; i++) {
		l.at = at + (4 + 10 * i) * MS, l.start = l.at + 60 * US;
		l.end = l.start + (30 + 2 * step) * MS / (1 + 3 * i);
		if (i)
			l.start += 25 * MS, l.end += 25 * MS;
		golden_launch(g, l);
	}
	l.kernel = f->add, l.stack = f->forward_add, l.registers = 16, l.shared_bytes = 0;
	l.at = at + 30 * MS, l.start = at + 60 * MS, l.end = at + 75 * MS;
	golden_launch(g, l);
	l.thread = AUTOGRAD, l.kernel = f->calls, l.stack = f->backward, l.registers = 72;
	l.at = at + 210 * MS, l.start = at + 212 * MS, l.end = at + (260 + 10 * step) * MS;
	golden_launch(g, l);
	l.thread = MAIN, l.stream = COMMUNICATION, l.kernel = f->nccl, l.stack = f->comm;
	l.shape = 1, l.registers = 0;
	l.at = at + 220 * MS, l.start = at + 240 * MS, l.end = at + 330 * MS;
	golden_launch(g, l);
	l.stream = COMPUTE, l.kind = AIF_LAUNCH_READ, l.kernel = AIF_NONE, l.stack = f->copy;
	l.shape = AIF_NONE, l.bytes = 4096;
	l.at = at + 340 * MS, l.start = at + 340020 * US, l.end = at + 340050 * US;
	golden_launch(g, l);
	l.kind = AIF_LAUNCH_KERNEL, l.kernel = f->add, l.stack = f->graph, l.shape = 0, l.bytes = 0;
	l.graph = 5, l.nodes = 3;
	l.at = at + 350 * MS, l.start = at + 351 * MS, l.end = at + 363 * MS;
	if (step >= 2)
		golden_launch(g, l);
}

static void other_step(struct full *f, uint64_t at, uint32_t step)
{
	struct golden *g = f->g;
	struct golden_launch l = {.thread = OTHER, .stream = XE_QUEUE, .shape = 1};

	l.kind = AIF_LAUNCH_KERNEL, l.kernel = f->gemm, l.stack = f->other;
	l.at = at + 5 * MS, l.start = at + 6 * MS, l.end = at + 166 * MS;
	golden_launch(g, l);
	l.kernel = f->odd, l.stack = f->other_odd;
	l.at = at + 20 * MS, l.start = at + 100 * MS, l.end = at + (190 + step) * MS;
	golden_launch(g, l);
	l.kind = AIF_LAUNCH_FILL, l.kernel = AIF_NONE, l.stack = f->other, l.shape = AIF_NONE;
	l.bytes = 12345;
	l.at = at + 200 * MS, l.start = at + 201 * MS, l.end = at + 202 * MS;
	golden_launch(g, l);
	l.stream = CPU_QUEUE, l.kind = AIF_LAUNCH_KERNEL, l.kernel = f->saxpy,
	l.stack = f->cpu_launch;
	l.shape = 0, l.bytes = 0;
	l.at = at + 210 * MS, l.start = at + 210500 * US, l.end = at + 260 * MS;
	if (step % 2)
		golden_launch(g, l);
}

/* Two launches that had not ended, and an execution whose launch was lost. */
static void odd_ends(struct full *f)
{
	struct golden *g = f->g;
	struct aif_exec_row lone = {.launch = 99,
				    .start = golden_stamp(g, NVIDIA, 2010 * MS),
				    .end = golden_stamp(g, NVIDIA, 2013 * MS),
				    .clock = AIF_CLOCK_REALTIME,
				    .kind = AIF_LAUNCH_KERNEL,
				    .kernel = f->calls,
				    .device = NVIDIA,
				    .stream = COMPUTE};

	GOLDEN_ROW(g, execs, &lone);
	for (uint32_t i = 0; i < 2; i++)
		golden_launch(g, (struct golden_launch){.at = (2390 + i) * MS,
							.thread = MAIN,
							.kind = AIF_LAUNCH_KERNEL,
							.kernel = f->shared,
							.stack = f->forward,
							.shape = 0});
}

/* ---- a pause, and losses --------------------------------------------------------------------------- */

static void pause_row(struct full *f)
{
	struct aif_window_row row = {.start = GOLDEN_START + 2100 * MS,
				     .end = GOLDEN_START + 2250 * MS,
				     .window = 90,
				     .device = AIF_NONE,
				     .process = 1,
				     .thread = AIF_NONE};

	GOLDEN_ROW(f->g, windows, &row);
}

static void losses(struct golden *g)
{
	FIXTURE_ADD(&g->p, losses, .reason = AIF_REASON_RING_FULL, .process = 1, .thread = AIF_NONE,
		    .detail = AIF_NONE, .count = 17);
	FIXTURE_ADD(&g->p, losses, .reason = AIF_REASON_STACK_TRUNCATED, .process = AIF_NONE,
		    .thread = AIF_NONE, .detail = AIF_NONE, .count = 1);
	FIXTURE_ADD(&g->p, losses, .reason = AIF_REASON_CODE_NO_LINES, .process = AIF_NONE,
		    .thread = AIF_NONE, .detail = golden_str(g, "zebin 0123456789abcdef"),
		    .count = 1);
	FIXTURE_ADD(&g->p, losses, .reason = AIF_REASON_PYTHON_ORDER, .process = 0,
		    .thread = AUTOGRAD, .detail = golden_str(g, "a\x1b[31m\xff detail\n"),
		    .count = 1234567);
	FIXTURE_ADD(&g->p, losses, .reason = 9999, .process = AIF_NONE, .thread = AIF_NONE,
		    .detail = AIF_NONE, .count = 2);
}

void golden_full(struct golden *g)
{
	struct full f = {.g = g};

	g->p.end_ns = GOLDEN_START + END_NS;
	meta(g);
	machine(g);
	modules(&f);
	kernels(&f);
	stacks(&f);
	for (uint32_t step = 0; step < STEPS; step++) {
		nvidia_step(&f, step * STEP_NS, step);
		other_step(&f, step * STEP_NS, step);
		full_ops(&f, step * STEP_NS, step);
		if (step % 2)
			golden_write_rows(g);
	}
	odd_ends(&f);
	full_samples(&f);
	full_cpu(&f);
	full_counters(&f);
	full_memory(&f);
	full_step_sums(&f);
	pause_row(&f);
	losses(g);
	aif_cubin_lines_free(f.lines);
	aif_cubin_finish(&f.cubin);
	aif_buf_finish(&f.cubin_bytes);
}

/* Reads a file of the directory of cubins. */
static void read_listing(struct golden *g, const char *name, struct aif_buf *ret)
{
	char path[4096], line[512];
	FILE *from;

	snprintf(path, sizeof(path), "%s/%s", g->cubins, name);
	from = fopen(path, "r");
	if (!from) {
		perror(path);
		exit(1);
	}
	while (fgets(line, sizeof(line), from))
		aif_buf_puts(ret, line);
	fclose(from);
}

void golden_full_listings(struct golden *g, const struct aif_profile *read)
{
	for (size_t i = 0; i < read->codes_len; i++) {
		const struct aif_code *c = &read->codes[i];
		bool is_xe = !strcmp(aif_profile_str(read, c->arch), "xe_hpc");
		struct aif_buf text = {0};
		char key[64];

		snprintf(key, sizeof(key), "%s.%" PRIx64 ".%016" PRIx64,
			 is_xe ? "iga.xe_hpc" : "nvdisasm.90", c->size,
			 aif_hash_bytes(c->bytes, c->size));
		if (!strcmp(aif_profile_str(read, c->name), SHARED_PLAIN))
			read_listing(g, "shared_sum_sm90a.nvdisasm", &text);
		golden_must(g, aif_profile_cache_put(read, key,
						     text.len ? (const void *)text.data : "",
						     text.len));
		aif_buf_finish(&text);
	}
}
