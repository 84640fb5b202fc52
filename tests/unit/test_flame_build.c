/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_flame.h"

static void details_fold_from_full_to_brief(void **state)
{
	struct world w;
	struct aif_flame_opts o = normal;

	(void)state;
	world_init(&w);
	row(&w, host_stack(&w), kernel(&w, "gemm"), 100);
	check(&w, &o, "main;app::run;step_[i];clEnqueueNDRangeKernel;gemm_[g] 100\n");
	o.detail = AIF_NAME_BRIEF;
	check(&w, &o, "main;app::run;clEnqueueNDRangeKernel;gemm_[g] 100\n");
	o.detail = AIF_NAME_FULL;
	check(&w, &o,
	      "_start;__libc_start_main_impl;[libc.so.6+0x1020];main;app::run(std::vector<int> "
	      "const&);step(int)_[i];clEnqueueNDRangeKernel;POclEnqueueNDRangeKernel;gemm_[g] 100\n");
	o.detail = AIF_NAME_NORMAL;
	o.lines = true;
	check(&w, &o,
	      "main (main.c:12);app::run (run.cc:40);step_[i];clEnqueueNDRangeKernel;gemm_[g] "
	      "100\n");
	world_finish(&w);
}

/* Functions without a name of their own have the line they begin on in the one they get. */
static void test_a_line_is_said_once(void **state)
{
	struct aif_flame_opts o = normal;
	struct world w;
	uint32_t s;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "f.<locals>.<lambda>:12", "/u/a.py", 12));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "f.<locals>.<genexpr>:12", "/u/a.py", 13));
	row(&w, s, kernel(&w, "k"), 100);
	check(&w, &o,
	      "f.<locals>.<lambda>:12 (a.py)_[p];f.<locals>.<genexpr>:12 (a.py)_[p];k_[g] 100\n");
	o.lines = true;
	check(&w, &o,
	      "f.<locals>.<lambda> (a.py:12)_[p];f.<locals>.<genexpr>:12 (a.py:13)_[p];k_[g] "
	      "100\n");
	world_finish(&w);
}

static void operators_stand_between_caller_and_kernel(void **state)
{
	struct world w;
	uint32_t s;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "_run_code", "<frozen runpy>", 88));
	s = push(&w, s, frame(&w, AIF_FRAME_PYTHON, w.script, "<module>", "/home/u/train.py", 3));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "_PyEval_EvalFrameDefault", NULL, 0));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "Module._call_impl", "/t/nn/module.py", 1));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "Net.forward", "/home/u/train.py", 9));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_NATIVE, w.torch,
		       "torch::autograd::THPVariable_mm(_object*, _object*, _object*)", NULL, 0));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_NATIVE, w.torch,
		       "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", NULL, 0));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_NATIVE, w.torch,
		       "at::_ops::mm::redispatch(c10::DispatchKeySet, at::Tensor const&)", NULL,
		       0));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_NATIVE, w.torch,
		       "at::native::mm_out(at::Tensor const&, at::Tensor&)", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_OS, AIF_NONE, "do_syscall_64", NULL, 0));
	row(&w, s, kernel(&w, "k"), 5);
	check(&w, &normal,
	      "<module> (train.py)_[p];Net.forward (train.py)_[p];aten::mm;at::native::mm_out;"
	      "do_syscall_64_[k];k_[g] 5\n");
	check(&w, &(struct aif_flame_opts){.detail = AIF_NAME_BRIEF},
	      "<module> (train.py)_[p];Net.forward (train.py)_[p];aten::mm;"
	      "do_syscall_64_[k];k_[g] 5\n");
	world_finish(&w);
}

/* Brief shows of a library only what was called, of the program everything. */
static void brief_shows_only_what_was_called_of_a_library(void **state)
{
	struct world w;
	uint32_t s, plugin;

	(void)state;
	world_init(&w);
	plugin = module(&w, AIF_MODULE_ELF, "/opt/app/plugin.so");
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "step", NULL, 0));
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = {"open", "parse", "emit"};

		s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, plugin, names[i], NULL, 0));
	}
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "callback", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, plugin, "emit_more", NULL, 0));
	row(&w, s, kernel(&w, "k"), 5);
	check(&w, &normal, "main;step;open;parse;emit;callback;emit_more;k_[g] 5\n");
	check(&w, &(struct aif_flame_opts){.detail = AIF_NAME_BRIEF},
	      "main;step;open;callback;emit_more;k_[g] 5\n");
	world_finish(&w);
}

/* Names that were kept as the linker has them. */
static void names_of_the_linker_are_demangled(void **state)
{
	struct world w;
	uint32_t s;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "_ZN4absl3runEv", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "_ZN2at4_ops2mm4callEi", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "_Zwhat", NULL, 0));
	row(&w, s, kernel(&w, "k"), 5);
	check(&w, &normal, "absl::run;aten::mm;_Zwhat;k_[g] 5\n");
	world_finish(&w);
}

/* Brief shows a template without arguments, unless they are what tells two kernels apart. */
static void brief_kernels_keep_arguments_that_tell_them_apart(void **state)
{
	static const char *const names[] = {
		"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x128>(Params)",
		"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128>(Params)",
		"void at::native::vectorized_elementwise_kernel<4, add<float> >(int)",
		"void at::native::vectorized_elementwise_kernel<4, add<float> >(int)",
		"plain",
		"void cutlass::Kernel<cutlass_80_alone>(Params)",
	};
	struct world w;

	(void)state;
	world_init(&w);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(names); i++)
		row(&w, AIF_NONE, kernel(&w, names[i]), 1 + i);
	check(&w, &(struct aif_flame_opts){.detail = AIF_NAME_BRIEF},
	      "[no stack];at::native::vectorized_elementwise_kernel<...>_[g] 7\n"
	      "[no stack];cutlass_80_alone_[g] 6\n"
	      "[no stack];cutlass_80_tensorop_f16_s16816gemm_f16_128x128_[g] 2\n"
	      "[no stack];cutlass_80_tensorop_f16_s16816gemm_f16_256x128_[g] 1\n"
	      "[no stack];plain_[g] 5\n");
	world_finish(&w);
}

static unsigned type_of_main(const char *file, const char *callee)
{
	struct world w;
	struct aif_tree t;
	struct aif_err err;
	unsigned type;
	uint32_t s;

	world_init(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", file, 1));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, callee, NULL, 0));
	row(&w, s, kernel(&w, "k"), 1);
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &normal, &t, &err), 0);
	type = aif_tree_type_of(&t, t.nodes[t.nodes[0].first].name);
	aif_tree_finish(&t);
	world_finish(&w);
	return type;
}

static void test_main_has_its_language(void **state)
{
	(void)state;
	assert_int_equal(type_of_main("/src/main.c", "f"), AIF_TREE_C);
	assert_int_equal(type_of_main("/src/main.cpp", "f"), AIF_TREE_CXX);
	assert_int_equal(type_of_main(NULL, "f"), AIF_TREE_C);
	assert_int_equal(type_of_main(NULL, "app::f(int)"), AIF_TREE_CXX);
}

/* ---- inside the kernel --------------------------------------------------------------------------- */

static void inside(struct world *w, uint32_t stack, uint32_t k, uint64_t address, uint64_t ns,
		   uint64_t samples)
{
	struct aif_attribution_row *r;
	uint32_t f = UINT32_MAX;

	for (uint32_t i = 0; i < w->p.frames_len; i++)
		if (w->p.frames[i].kind == AIF_FRAME_DEVICE && w->p.frames[i].address == address)
			f = i;
	assert_int_not_equal(f, UINT32_MAX);
	r = row(w, stack, k, ns);
	r->frame = f;
	r->samples = samples;
	r->launches = 0;
}

/* nop; nop; add eax, ebx; ret at 0x2000; the last two have lines. */
static void device_code(struct world *w)
{
	static const uint8_t code[] = {0x90, 0x90, 0x01, 0xd8, 0xc3};
	static const uint64_t at[] = {0x2000, 0x2001, 0x2002, 0x2004, 0x9000};
	uint8_t *bytes = malloc(sizeof(code));

	memcpy(bytes, code, sizeof(code));
	ADD(&w->p, codes, .module = w->device, .name = str(w, "gemm"), .arch = str(w, "x86_64"),
	    .address = 0x2000, .size = sizeof(code), .bytes = bytes);
	for (size_t i = 0; i < AIF_ARRAY_LEN(at); i++) {
		uint32_t f = ADD(&w->p, frames, .kind = AIF_FRAME_DEVICE, .module = w->device,
				 .address = at[i]);

		if (i == 2 || i == 3)
			ADD(&w->p, frame_names, .frame = f, .name = str(w, "gemm"),
			    .file = str(w, "/tmp/gemm.cl"), .line = (uint32_t)(10 + i));
	}
}

static void lines_and_instructions_stand_inside_kernels(void **state)
{
	struct world w;
	struct aif_flame_opts o = normal;
	uint32_t s, k;

	(void)state;
	world_init(&w);
	device_code(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	k = kernel(&w, "gemm");
	row(&w, s, k, 7); /* the part without samples */
	inside(&w, s, k, 0x2000, 10, 1);
	inside(&w, s, k, 0x2001, 20, 2);
	inside(&w, s, k, 0x2002, 40, 4);
	inside(&w, s, k, 0x2004, 80, 8);
	inside(&w, s, k, 0x9000, 100, 16);
	w.a.rows[3].reason = str(&w, "barrier");
	check(&w, &o,
	      "main;gemm_[g] 7\n"
	      "main;gemm_[g];[gemm.so+0x9000]_[g] 100\n"
	      "main;gemm_[g];gemm.cl:12_[g];add +0x2_[g] 40\n"
	      "main;gemm_[g];gemm.cl:13_[g];ret +0x4_[g] 80\n"
	      "main;gemm_[g];nop +0x0_[g] 10\n"
	      "main;gemm_[g];nop +0x1_[g] 20\n");
	o.leaf = AIF_LEAF_STALL;
	o.by = AIF_BY_SAMPLES;
	check(&w, &o,
	      "main;gemm_[g];[gemm.so+0x9000]_[g] 16\n"
	      "main;gemm_[g];gemm.cl:12_[g];add +0x2_[g];barrier_[g] 4\n"
	      "main;gemm_[g];gemm.cl:13_[g];ret +0x4_[g] 8\n"
	      "main;gemm_[g];nop +0x0_[g] 1\n"
	      "main;gemm_[g];nop +0x1_[g] 2\n");
	o.leaf = AIF_LEAF_LINE;
	check(&w, &o,
	      "main;gemm_[g] 19\n"
	      "main;gemm_[g];gemm.cl:12_[g] 4\n"
	      "main;gemm_[g];gemm.cl:13_[g] 8\n");
	o.leaf = AIF_LEAF_KERNEL;
	o.by = AIF_BY_TIME;
	check(&w, &o, "main;gemm_[g] 514\n");
	o.leaf = AIF_LEAF_INSTRUCTION;
	o.by = AIF_BY_LAUNCHES;
	w.a.rows[1].launches = 2; /* whichever row carries them */
	check(&w, &o, "main;gemm_[g] 3\n");
	world_finish(&w);
}

static void test_code_without_bytes(void **state)
{
	struct world w;
	uint32_t s, k;

	(void)state;
	world_init(&w);
	device_code(&w);
	free((void *)(uintptr_t)w.p.codes[0].bytes);
	w.p.codes[0].bytes = NULL;
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	k = kernel(&w, "gemm");
	inside(&w, s, k, 0x2001, 20, 2);
	check(&w, &normal, "main;gemm_[g];+0x1_[g] 20\n");
	w.p.codes[0].arch = str(&w, "gfx90a"); /* no one here decodes it */
	check(&w, &normal, "main;gemm_[g];+0x1_[g] 20\n");
	world_finish(&w);
}

static void test_tooltips_sum_up(void **state)
{
	struct world w;
	struct aif_tree t;
	struct aif_err err;
	struct aif_attribution_row *r;
	uint32_t s, k;

	(void)state;
	world_init(&w);
	device_code(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	k = kernel(&w, "gemm");
	row(&w, s, k, 7);
	inside(&w, s, k, 0x2000, 10, 3);
	inside(&w, s, k, 0x2001, 10, 4);
	w.a.rows[2].grade = AIF_GRADE_APPORTIONED;
	r = row(&w, s, AIF_NONE, 5);
	r->kind = AIF_LAUNCH_READ;
	r->bytes = 4096;
	r->launches = 2;
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &normal, &t, &err), 0);
	assert_int_equal(t.nodes[0].total, 32);
	assert_int_equal(t.details[0].time_ns, 64);
	assert_int_equal(t.details[0].samples, 7);
	assert_int_equal(t.details[0].launches, 3);
	assert_int_equal(t.details[0].bytes, 4096);
	assert_int_equal(t.details[0].grades, 1 << AIF_GRADE_EXACT | 1 << AIF_GRADE_APPORTIONED);
	aif_tree_finish(&t);
	check(&w, &(struct aif_flame_opts){.leaf = AIF_LEAF_KERNEL},
	      "main;Memcpy DtoH_[g] 5\nmain;gemm_[g] 27\n");
	world_finish(&w);
}

/* ---- what is not exact --------------------------------------------------------------------------- */

static void ranges_of_the_program_become_frames(void **state)
{
	struct world w;
	uint32_t s, cut, k, mark;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	cut = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "f", NULL, 0));
	w.p.stacks[cut].flags = AIF_STACK_TRUNCATED;
	k = kernel(&w, "k");
	row(&w, s, k, 1);
	row(&w, cut, k, 2);
	row(&w, AIF_NONE, k, 4);
	row(&w, s, AIF_NONE, 8);
	mark = ADD(&w.p, frames, .kind = AIF_FRAME_MARK, .module = AIF_NONE,
		   .address = str(&w, "[lost]"));
	row(&w, push(&w, s, mark), k, 16);
	/* the start is no part of a picture of guesses either */
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "_start", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "g", NULL, 0));
	w.p.stacks[s].flags = AIF_STACK_GUESSED;
	row(&w, s, k, 32);
	check(&w, &normal,
	      "[guessed];g;k_[g] 32\n"
	      "[no stack];k_[g] 4\n"
	      "[truncated];main;f;k_[g] 2\n"
	      "main;[lost];k_[g] 16\n"
	      "main;[unknown kernel]_[g] 8\n"
	      "main;k_[g] 1\n");
	world_finish(&w);
}

/* Kernels of replayed graphs stand on the replay and on the graph, which can be asked for. */
static void kernels_of_graphs_stand_on_replay_and_graph(void **state)
{
	struct world w;
	struct aif_flame_opts focused = normal;
	struct aif_attribution_row *made;
	uint32_t s, k;

	(void)state;
	world_init(&w);
	ADD(&w.p, devices, .name = str(&w, "GPU"), .runtime = str(&w, "cuda"));
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "replay", NULL, 0));
	k = kernel(&w, "k");
	row(&w, s, k, 1);
	row(&w, s, k, 2)->graph = 3;
	row(&w, s, kernel(&w, "l"), 4)->graph = 3;
	row(&w, s, k, 8)->graph = 12;
	row(&w, AIF_NONE, k, 16)->graph = 3;
	/* The stack that made a node stands on its graph, without frames that the replay's has too, at whatever line. */
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "capture", NULL, 0));
	made = row(&w, 1, k, 32);
	made->graph = 3;
	made->capture = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "layer", NULL, 0));
	check(&w, &normal,
	      "[no stack];[cuda graph 3];k_[g] 16\n"
	      "main;replay;[cuda graph 12];k_[g] 8\n"
	      "main;replay;[cuda graph 3];capture;layer;k_[g] 32\n"
	      "main;replay;[cuda graph 3];k_[g] 2\n"
	      "main;replay;[cuda graph 3];l_[g] 4\n"
	      "main;replay;k_[g] 1\n");
	focused.focus = "graph 12";
	check(&w, &focused, "main;replay;[cuda graph 12];k_[g] 8\n");
	world_finish(&w);
}

/* ---- filters ------------------------------------------------------------------------------------- */

static void filters_choose_kernels_and_frames(void **state)
{
	static const struct {
		const char *focus, *ignore, *kernel;
		uint64_t total; /* 0: nothing is left */
	} cases[] = {
		{NULL, NULL, NULL, 7},
		{"^a$", NULL, NULL, 3},
		{"^b$", NULL, NULL, 4},
		{NULL, "^a$", NULL, 4},
		{"a", "k2", NULL, 1},
		{"^main$", NULL, "k1", 1},
		{NULL, NULL, "k[12]", 7},
		{"int", NULL, NULL, 4}, /* the name in full */
		{"_start", NULL, NULL, 7},
		{"nobody", NULL, NULL, 0},
		{NULL, "main", NULL, 0},
		{NULL, NULL, "^k$", 0},
		{"read", NULL, NULL, 0},
		{NULL, NULL, "[kernel]", 0}, /* that mark, not a letter of it */
		{"[main]", NULL, NULL, 7},   /* no mark */
	};
	struct world w;
	uint32_t s, a, b, k1, k2;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "_start", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	a = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "a", NULL, 0));
	b = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "b(int)", NULL, 0));
	k1 = kernel(&w, "k1");
	k2 = kernel(&w, "k2");
	row(&w, a, k1, 1);
	row(&w, a, k2, 2);
	row(&w, b, k2, 4);
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_flame_opts o = normal;
		struct aif_tree t;
		struct aif_err err = {0};
		int r;

		o.focus = cases[i].focus;
		o.ignore = cases[i].ignore;
		o.kernel = cases[i].kernel;
		r = aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err);
		assert_int_equal(r, cases[i].total ? 0 : -ENODATA);
		if (r < 0) {
			assert_non_null(strstr(err.text, "--focus"));
			continue;
		}
		assert_int_equal(t.nodes[0].total, cases[i].total);
		aif_tree_finish(&t);
	}
	world_finish(&w);
}

static void empty_pictures_say_what_is_missing(void **state)
{
	struct world w;
	struct aif_flame_opts o = normal;
	struct aif_tree t;
	struct aif_err err;
	enum aif_flame_format format;

	(void)state;
	world_init(&w);
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no device activity"));
	w.a.conservation.left_out = 7;
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err), -ENODATA);
	assert_non_null(
		strstr(err.text, "flame: launches were left out in this span (--overhead)"));
	row(&w, AIF_NONE, AIF_NONE, 5);
	o.by = AIF_BY_SAMPLES;
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no device samples"));
	o.kernel = "a{1,255}{1,255}{1,255}"; /* repeats too often */
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--kernel 'a{1,255}"));
	world_finish(&w);

	assert_int_equal(aif_flame_format_of("a.b/x.svg", &format, &err), 0);
	assert_int_equal(format, AIF_FLAME_SVG);
	assert_int_equal(aif_flame_format_of("x.folded", &format, &err), 0);
	assert_int_equal(format, AIF_FLAME_FOLDED);
	assert_int_equal(aif_flame_format_of("-", &format, &err), 0);
	assert_int_equal(aif_flame_format_of("a.svg/x", &format, &err), -EINVAL);
	assert_int_equal(aif_flame_format_of("x.gif", &format, &err), -EINVAL);
	assert_non_null(strstr(err.text, "rsvg-convert -o x.gif FILE.svg"));
	assert_int_equal(aif_flame_format_of("x.html", &format, &err), -EINVAL);
	assert_non_null(strstr(err.text, "aiflame view"));
}

/* No option adds or loses anything. */
static void test_totals_never_change(void **state)
{
	struct world w;
	uint64_t seed = 1, sum = 0;
	uint32_t kernels[3], stacks[200];

	(void)state;
	world_init(&w);
	device_code(&w);
	for (unsigned i = 0; i < 3; i++)
		kernels[i] = kernel(&w, i ? i == 1 ? "gemm" : "void k<int, 4>(int*)" : "softmax");
	for (unsigned i = 0; i < AIF_ARRAY_LEN(stacks); i++) {
		static const char *const names[] = {
			"_start",
			"main",
			"at::_ops::mm::call(int)",
			"c10::Dispatcher::call()",
			"std::function<void ()>::operator()() const",
			"PyObject_Call",
		};
		uint32_t f;

		seed = aif_mix64(seed + 1);
		f = seed % 7 == 6
			    ? frame(&w, AIF_FRAME_NATIVE, w.runtime, NULL, NULL, 0)
			    : frame(&w, AIF_FRAME_NATIVE, w.app, names[seed % 7 % 6], "f.c", 1);
		stacks[i] = push(&w, i % 9 ? stacks[seed % i] : AIF_NONE, f);
		w.p.stacks[stacks[i]].flags = seed >> 20 & 3;
	}
	for (unsigned i = 0; i < 1000; i++) {
		seed = aif_mix64(seed + 1);
		if (seed & 1)
			inside(&w, stacks[seed % 200], kernels[seed % 3], 0x2000 + seed % 3,
			       seed % 1000, seed % 9);
		else
			row(&w, stacks[seed % 200], kernels[seed % 3], seed % 1000);
		sum += seed % 1000;
	}
	for (unsigned i = 0; i < 4 * 3 * 2; i++) {
		struct aif_flame_opts o = {.leaf = (enum aif_flame_leaf)(i % 4),
					   .detail = (enum aif_name_detail)(i / 4 % 3),
					   .lines = i / 12};
		struct aif_tree t;
		struct aif_err err;
		uint64_t folded_sum = 0;

		assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &o, &t, &err), 0);
		assert_int_equal(t.nodes[0].total, sum);
		assert_int_equal(t.details[0].time_ns, 2 * sum);
		for (size_t n = 0; n < t.len; n++)
			folded_sum += t.nodes[n].self;
		assert_int_equal(folded_sum, sum);
		aif_tree_finish(&t);
	}
	world_finish(&w);
}

#define LONG_NAME   (4 << 20)
#define LONG_FRAMES 200000

/* Each name in whole would be read for minutes: 800 GB. */
static void frames_that_share_a_name_of_4_mib_are_looked_at_in_part(void **state)
{
	char *text = malloc(LONG_NAME + 1);
	struct aif_flame_opts o = normal;
	struct world w;
	uint32_t name;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', LONG_NAME);
	text[LONG_NAME] = '\0';
	world_init(&w);
	row(&w, host_stack(&w), kernel(&w, "gemm"), 100);
	name = str(&w, text);
	for (uint32_t i = 0; i < LONG_FRAMES; i++) {
		uint32_t f = frame(&w, AIF_FRAME_NATIVE, w.libc, NULL, NULL, 0);

		ADD(&w.p, frame_names, .frame = f, .name = name, .file = AIF_NONE);
	}
	check(&w, &o, "main;app::run;step_[i];clEnqueueNDRangeKernel;gemm_[g] 100\n");
	world_finish(&w);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(details_fold_from_full_to_brief),
		cmocka_unit_test(test_a_line_is_said_once),
		cmocka_unit_test(operators_stand_between_caller_and_kernel),
		cmocka_unit_test(brief_shows_only_what_was_called_of_a_library),
		cmocka_unit_test(brief_kernels_keep_arguments_that_tell_them_apart),
		cmocka_unit_test(names_of_the_linker_are_demangled),
		cmocka_unit_test(test_main_has_its_language),
		cmocka_unit_test(lines_and_instructions_stand_inside_kernels),
		cmocka_unit_test(test_code_without_bytes),
		cmocka_unit_test(test_tooltips_sum_up),
		cmocka_unit_test(ranges_of_the_program_become_frames),
		cmocka_unit_test(kernels_of_graphs_stand_on_replay_and_graph),
		cmocka_unit_test(filters_choose_kernels_and_frames),
		cmocka_unit_test(empty_pictures_say_what_is_missing),
		cmocka_unit_test(test_totals_never_change),
		cmocka_unit_test(frames_that_share_a_name_of_4_mib_are_looked_at_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
