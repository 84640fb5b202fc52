/* SPDX-License-Identifier: Apache-2.0 */
#include "names/fold_rules.h"
#include "names/frame_type.h"
#include "names/stack_names.h"
#include "fixture_flame.h"

/* Hidden frames are named where they went, and a frame of libc inside the program is none of the start. */
static void test_hidden_frames_are_told(void **state)
{
	struct world w;
	struct aif_tree t;
	struct aif_err err;
	uint32_t s, n;
	const char *full;

	(void)state;
	world_init(&w);
	row(&w, host_stack(&w), kernel(&w, "gemm"), 100);
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &normal, &t, &err), 0);
	for (n = 0; t.nodes[n].first; n = t.nodes[n].first)
		if (aif_tree_type_of(&t, t.nodes[n].name) == AIF_TREE_API)
			break;
	full = aif_strset_get(&t.full, t.details[n].full, NULL);
	assert_string_equal(full, "POclEnqueueNDRangeKernel");
	n = t.nodes[t.nodes[0].first].first;
	assert_string_equal(aif_strset_get(&t.full, t.details[n].full, NULL),
			    "app::run(std::vector<int> const&)");
	aif_tree_finish(&t);
	world_finish(&w);

	world_init(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.libc, NULL, NULL, 0)); /* qsort, say */
	row(&w, s, kernel(&w, "k"), 1);
	check(&w, &normal, "main;[libc.so.6+0x1010];k_[g] 1\n");
	world_finish(&w);
}

/* A decorator's function is work of the program's own, and says nothing in a package. */
static void decorators_are_shown_for_the_program_only(void **state)
{
	struct world w;
	uint32_t s;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "main", "/home/u/train.py", 1));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "retry.<locals>.wrapper", "/home/u/train.py",
		       2));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "once.<locals>.wrapper",
		       "/usr/lib/python3/dist-packages/once.py", 3));
	row(&w, s, kernel(&w, "k"), 1);
	check(&w, &normal, "main (train.py)_[p];retry.<locals>.wrapper (train.py)_[p];k_[g] 1\n");
	world_finish(&w);
}

/* A stack of which folding leaves nothing is not drawn as if nobody had been there. */
static void a_stack_that_folds_to_nothing_is_drawn(void **state)
{
	struct world w;
	struct aif_tree t;
	struct aif_err err;
	uint32_t s, k, python;

	(void)state;
	world_init(&w);
	k = kernel(&w, "k");
	python = module(&w, AIF_MODULE_ELF, "/usr/bin/python3.12");
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "_start", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.libc, NULL, NULL, 0));
	row(&w, s, k, 1);
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, python, "Py_RunMain", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, python, "_PyEval_Vector", NULL, 0));
	row(&w, s, k, 2);
	/* its callees show more than it does */
	s = push(&w, s, frame(&w, AIF_FRAME_PYTHON, w.script, "f", "/home/u/train.py", 1));
	row(&w, s, k, 4);
	check(&w, &normal, "Py_RunMain;k_[g] 2\n_start;k_[g] 1\nf (train.py)_[p];k_[g] 4\n");
	assert_int_equal(aif_flame_build(AIF_NAMES_OF(&w.p), &w.a, &normal, &t, &err), 0);
	assert_int_equal(t.nodes[0].total, 7);
	aif_tree_finish(&t);
	world_finish(&w);
}

/* cudart is linked into most programs: its functions are the runtime's all the same. */
/* The interpreter's end has no Python frames: what it does is not Py_BytesMain's. */
static void frames_of_the_interpreters_end_are_its_own(void **state)
{
	struct world w;
	uint32_t s, k, python, in_main;

	(void)state;
	world_init(&w);
	k = kernel(&w, "k");
	python = module(&w, AIF_MODULE_ELF, "/usr/bin/python3.11");
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, python, "Py_BytesMain", NULL, 0));
	in_main = push(&w, s, frame(&w, AIF_FRAME_NATIVE, python, "Py_RunMain", NULL, 0));
	s = push(&w, in_main, frame(&w, AIF_FRAME_NATIVE, python, "Py_FinalizeEx", NULL, 0));
	row(&w, push(&w, s, frame(&w, AIF_FRAME_NATIVE, python, "PyGC_Collect", NULL, 0)), k, 2);
	s = push(&w, in_main, frame(&w, AIF_FRAME_NATIVE, python, "_Py_Finalize", NULL, 0));
	row(&w, push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.driver, "cuCtxDestroy", NULL, 0)), k, 4);
	row(&w, push(&w, in_main, frame(&w, AIF_FRAME_PYTHON, w.script, "f", "/u/a.py", 1)), k, 1);
	check(&w, &normal,
	      "Py_FinalizeEx;k_[g] 2\n_Py_Finalize;cuCtxDestroy;k_[g] 4\nf (a.py)_[p];k_[g] 1\n");
	world_finish(&w);
}

/* Returns the folded tree of one CPU sample of each of the stacks. */
static void cpu_check(struct world *w, const uint32_t *stacks, size_t n, const char *want)
{
	struct aif_cpu_stack at[4] = {{.stack = 0}};
	struct aif_cpu_totals cpu = {.stacks = at, .stacks_len = n, .threads = 1};
	struct aif_flame_opts o = normal;
	struct aif_tree t;
	struct aif_err err;
	char *text;

	for (size_t i = 0; i < n; i++)
		at[i] = (struct aif_cpu_stack){
			.stack = stacks[i], .weight_ns = i + 1, .samples = i + 1};
	assert_int_equal(aif_flame_build_cpu(AIF_NAMES_OF(&w->p), &cpu, &o, &t, &err), 0);
	text = folded(&t);
	assert_string_equal(text, want);
	free(text);
	aif_tree_finish(&t);
}

static void an_interpreter_without_python_frames_keeps_its_own_cpu_time(void **state)
{
	struct world w;
	uint32_t python, s, run, eval, f;

	(void)state;
	world_init(&w);
	python = module(&w, AIF_MODULE_ELF, "/usr/bin/python3.11");
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, python, "Py_RunMain", NULL, 0));
	run = push(&w, s, frame(&w, AIF_FRAME_NATIVE, python, "pyrun_file", NULL, 0));
	eval = push(&w, run,
		    frame(&w, AIF_FRAME_NATIVE, python, "_PyEval_EvalFrameDefault", NULL, 0));
	cpu_check(&w, (uint32_t[]){eval}, 1, "pyrun_file;_PyEval_EvalFrameDefault 1\n");
	/* Another stack with the same callers has Python frames: these say what it does. */
	f = push(&w, run, frame(&w, AIF_FRAME_PYTHON, w.script, "f", "/home/u/train.py", 1));
	f = push(&w, f, frame(&w, AIF_FRAME_NATIVE, python, "_PyEval_EvalFrameDefault", NULL, 0));
	cpu_check(&w, (uint32_t[]){eval, f}, 2,
		  "f (train.py)_[p] 2\npyrun_file;_PyEval_EvalFrameDefault 1\n");
	world_finish(&w);
}

/* A framework's launcher is in no file and says nothing; what somebody typed is the program. */
static void generated_launchers_are_hidden_typed_code_is_not(void **state)
{
	struct world w;
	uint32_t s, typed, k;
	struct aif_stack_names *names;

	(void)state;
	world_init(&w);
	k = kernel(&w, "k");
	s = push(&w, AIF_NONE,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "step", "/home/u/train.py", 3));
	s = push(&w, s,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "CachingAutotuner.run",
		       "/v/site-packages/torch/_inductor/runtime/triton_heuristics.py", 9));
	s = push(&w, s, frame(&w, AIF_FRAME_PYTHON, w.script, "launcher", "<string>", 2));
	row(&w, s, k, 2);
	typed = push(&w, AIF_NONE,
		     frame(&w, AIF_FRAME_PYTHON, w.script, "<module>", "<string>", 1));
	typed = push(&w, typed, frame(&w, AIF_FRAME_PYTHON, w.script, "launcher", "<string>", 1));
	row(&w, typed, k, 1);
	check(&w, &normal,
	      "<module> (<string>)_[p];launcher (<string>)_[p];k_[g] 1\n"
	      "step (train.py)_[p];k_[g] 2\n");
	assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&w.p), AIF_NAME_NORMAL, &names), 0);
	assert_string_equal(aif_stack_names_caller(names, s), "step (train.py)");
	aif_stack_names_free(names);
	world_finish(&w);
}

/* A package that computes on the host only is what a line of the program uses. */
static void packages_that_use_no_device_are_no_callers(void **state)
{
	static const char *const image = "/usr/lib/python3/dist-packages/PIL/Image.py";
	uint32_t s, model, launch, load, again;
	struct aif_stack_names *names;
	struct world w;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE,
		 frame(&w, AIF_FRAME_PYTHON, w.script, "decode", "/home/u/tiles.py", 3));
	load = push(&w, s, frame(&w, AIF_FRAME_PYTHON, w.script, "Image.load", image, 9));
	model = push(&w, s,
		     frame(&w, AIF_FRAME_PYTHON, w.script, "Model.forward",
			   "/v/site-packages/model/layers.py", 9));
	assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&w.p), AIF_NAME_NORMAL, &names), 0);
	/* Knows of no package that uses a device. */
	assert_string_equal(aif_stack_names_caller(names, load), "Image.load (Image.py)");
	aif_stack_names_free(names);
	launch = push(&w, model,
		      frame(&w, AIF_FRAME_NATIVE, w.app, "clEnqueueNDRangeKernel", NULL, 0));
	again = push(&w, AIF_NONE, frame(&w, AIF_FRAME_PYTHON, w.script, "Image.show", image, 4));
	assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&w.p), AIF_NAME_NORMAL, &names), 0);
	assert_string_equal(aif_stack_names_caller(names, load), "decode (tiles.py)");
	assert_string_equal(aif_stack_names_caller(names, model), "Model.forward (layers.py)");
	assert_string_equal(aif_stack_names_caller(names, launch), "Model.forward (layers.py)");
	/* No line of the program is there. */
	assert_string_equal(aif_stack_names_caller(names, again), "Image.show (Image.py)");
	aif_stack_names_free(names);
	world_finish(&w);
}

/* Keeps the name of one that stands in no function. */
static void a_lambda_is_called_by_the_function_that_it_stands_in(void **state)
{
	static const char *const lambdas[][2] = {
		{"Tree.descend.<locals>.<lambda>:4", "Tree.descend (tree.py)"},
		{"load.<locals>.<lambda>.<locals>.<lambda>", "load (tree.py)"},
		{"load.<locals>.key", "load.<locals>.key (tree.py)"},
		{"load.<locals>.<lambda>.<locals>.key",
		 "load.<locals>.<lambda>.<locals>.key (tree.py)"},
		{"<lambda>:4", "<lambda>:4 (tree.py)"},
	};
	struct aif_stack_names *names;
	uint32_t s[AIF_ARRAY_LEN(lambdas)];
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < AIF_ARRAY_LEN(lambdas); i++)
		s[i] = push(&w, AIF_NONE,
			    frame(&w, AIF_FRAME_PYTHON, w.script, lambdas[i][0], "/u/tree.py", 4));
	assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&w.p), AIF_NAME_NORMAL, &names), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(lambdas); i++)
		assert_string_equal(aif_stack_names_caller(names, s[i]), lambdas[i][1]);
	aif_stack_names_free(names);
	assert_int_equal(aif_stack_names_new_with_lines(AIF_NAMES_OF(&w.p), &names), 0);
	assert_string_equal(aif_stack_names_caller(names, s[0]), "Tree.descend (tree.py:4)");
	aif_stack_names_free(names);
	world_finish(&w);
}

static void a_runtime_linked_statically_is_the_runtime(void **state)
{
	struct world w;
	uint32_t s;

	(void)state;
	world_init(&w);
	s = push(&w, AIF_NONE, frame(&w, AIF_FRAME_NATIVE, w.app, "main", NULL, 0));
	s = push(&w, s, frame(&w, AIF_FRAME_NATIVE, w.app, "cudaMemcpy", NULL, 0));
	row(&w, s, kernel(&w, "k"), 1);
	assert_int_equal(aif_frame_type_native("cudaMemcpy", 10, "/x/app"), AIF_TREE_API);
	assert_int_equal(aif_frame_type_native("cuda_mm", 7, "/x/app"), AIF_TREE_C);
	assert_int_equal(aif_frame_type_native("clone", 5, "/x/app"), AIF_TREE_C);
	assert_int_equal(aif_frame_type_native("cuMul(int)", 10, "/x/app"), AIF_TREE_CXX);
	check(&w, &normal, "main;cudaMemcpy;k_[g] 1\n");
	world_finish(&w);
}

/* python -X perf: beside the Python frame that it is for, a trampoline says nothing; alone it is all that there is. */
static void trampolines_are_hidden_beside_their_python_frame(void **state)
{
	static const char name[] = "[jit] py::f:/x/train.py";
	const size_t len = sizeof(name) - 1;
	const unsigned beside = AIF_TREE_C | AIF_FOLD_WITH_PYTHON;
	struct aif_buf label = {0};

	(void)state;
	assert_int_equal(aif_fold(AIF_NAME_NORMAL, beside, name, len, "[jit]", &label),
			 AIF_FOLD_HIDE);
	assert_int_equal(aif_fold(AIF_NAME_NORMAL, AIF_TREE_C, name, len, "[jit]", &label),
			 AIF_FOLD_SHOW);
	assert_int_equal(aif_fold(AIF_NAME_FULL, beside, name, len, "[jit]", &label),
			 AIF_FOLD_SHOW);
	aif_buf_finish(&label);
}

/* Stubs that nvcc puts between <<<...>>> and the runtime are hidden, in whatever namespace; functions only called like
 * them are not. */
static void stubs_of_nvcc_are_hidden(void **state)
{
	static const struct {
		const char *name;
		enum aif_fold_action action;
	} cases[] = {
		{"__device_stub__Z4gemmPfi(float*, int)", AIF_FOLD_HIDE},
		{"__wrapper__device_stub_gemm(float*&, int&)", AIF_FOLD_HIDE},
		{"void at::native::__wrapper__device_stub_fill<4>(int&)", AIF_FOLD_HIDE},
		{"at::native::__device_stub__ZN2at4fillEi(int)", AIF_FOLD_HIDE},
		{"make_device_stub(int)", AIF_FOLD_SHOW},
	};
	struct aif_buf label = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		assert_int_equal(aif_fold(AIF_NAME_NORMAL, AIF_TREE_CXX, cases[i].name,
					  strlen(cases[i].name), "app", &label),
				 cases[i].action);
	aif_buf_finish(&label);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hidden_frames_are_told),
		cmocka_unit_test(decorators_are_shown_for_the_program_only),
		cmocka_unit_test(a_stack_that_folds_to_nothing_is_drawn),
		cmocka_unit_test(frames_of_the_interpreters_end_are_its_own),
		cmocka_unit_test(an_interpreter_without_python_frames_keeps_its_own_cpu_time),
		cmocka_unit_test(generated_launchers_are_hidden_typed_code_is_not),
		cmocka_unit_test(packages_that_use_no_device_are_no_callers),
		cmocka_unit_test(a_lambda_is_called_by_the_function_that_it_stands_in),
		cmocka_unit_test(a_runtime_linked_statically_is_the_runtime),
		cmocka_unit_test(trampolines_are_hidden_beside_their_python_frame),
		cmocka_unit_test(stubs_of_nvcc_are_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
