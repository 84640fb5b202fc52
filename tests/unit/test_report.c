/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the tables of kernels and stacks, and the summary. How tables are printed: test_report_tables.c. */
#include "names/stack_names.h"
#include "report/report.h"
#include "report/report_table.h"
#include "report/summary/summary.h"
#include "fixture_profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

/* Stack 1 of the fixture: main, which called outer, into which inner was inlined. Two executions of
 * 60 ns each share 20 ns of the device's 100. */
static void fixture_attribution(struct aif_attribution *a)
{
	a->rows = calloc(2, sizeof(*a->rows));
	assert_non_null(a->rows);
	a->rows_len = 2;
	for (uint32_t i = 0; i < 2; i++)
		a->rows[i] = (struct aif_attribution_row){.kind = AIF_LAUNCH_KERNEL,
							  .kernel = i,
							  .stack = 1,
							  .frame = AIF_NONE,
							  .reason = AIF_NONE,
							  .wall_ns = 50,
							  .time_ns = 60,
							  .launches = 1};
	a->conservation.busy_ns = 100;
}

/* Makes a profile without counts of executions that were left out. */
static void profile(struct aif_profile *p)
{
	fixture_profile(p);
	p->durations_len = 0;
}

static char *report_of(struct aif_profile *p, struct aif_attribution *a, struct aif_report_opts o)
{
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	assert_ok(aif_report_write(AIF_NAMES_OF(p), a, &o, &out, &err), &err);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return text;
}

static char *report(const struct aif_report_table *table)
{
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	char *text;

	profile(&p);
	fixture_attribution(&a);
	text = report_of(&p, &a,
			 (struct aif_report_opts){.table = table,
						  .format = AIF_TABLE_CSV,
						  .detail = AIF_NAME_NORMAL});
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
	return text;
}

static void a_share_stands_beside_what_it_is_of(void **state)
{
	char *text = report(&aif_report_table_kernels);

	(void)state;
	assert_string_equal(
		text,
		"wall_share,wall,time,error,launches,average,min,p50,p99,max,samples,used,of,opportunity,gflop_s,"
		"gb_s,process,kernel,operator,caller\n"
		"0.500000,50,60,0,1,60,0,0,0,0,0,,,,,,100,kernel_0,,inner\n"
		"0.500000,50,60,0,1,60,0,0,0,0,0,,,,,,100,kernel_1,,inner\n");
	free(text);
}

static void callers_of_inlined_functions_are_in_the_stack(void **state)
{
	char *text = report(&aif_report_table_stacks);

	(void)state;
	assert_non_null(
		strstr(text, "wall_share,wall,time,error,launches,samples,process,kernel,stack\n"));
	assert_non_null(strstr(text, ",kernel_0,inner < outer < main < [truncated]\n"));
	free(text);
}

/* A table for people has a column of errors only where it is not all zeros, which would take room
 * from names. */
static void errors_are_shown_where_there_are_some(void **state)
{
	static const struct aif_report_table *const tables[] = {&aif_report_table_kernels,
								&aif_report_table_stacks};

	(void)state;
	for (size_t i = 0; i < 2 * AIF_ARRAY_LEN(tables); i++) {
		struct aif_attribution a = {0};
		struct aif_profile p = {0};
		char *text;

		profile(&p);
		fixture_attribution(&a);
		a.rows[0].error_ns = i & 1 ? 7 : 0;
		text = report_of(&p, &a,
				 (struct aif_report_opts){.table = tables[i / 2],
							  .detail = AIF_NAME_NORMAL});
		assert_int_equal(strstr(text, "  error  ") != NULL, i & 1);
		assert_int_equal(strstr(text, "   7 ns  ") != NULL, i & 1);
		free(text);
		aif_attribution_finish(&a);
		aif_profile_finish(&p);
	}
}

/* Fills two rows: a column of zeros, of unknown values, of both, and of others. */
static int fill_unknown(struct aif_report *r, struct aif_err *err)
{
	(void)err;
	for (uint64_t row = 0; row < 2; row++) {
		aif_table_number(&r->t, 0);
		aif_table_number(&r->t, AIF_TABLE_NO_VALUE);
		aif_table_number(&r->t, row ? AIF_TABLE_NO_VALUE : 0);
		aif_table_number(&r->t, AIF_TABLE_NO_VALUE);
		aif_table_number(&r->t, row);
		aif_table_text(&r->t, "row");
	}
	return 0;
}

static void a_column_without_values_is_not_hidden_as_zeros_are(void **state)
{
	static const struct aif_table_column columns[] = {
		{"zero", AIF_TABLE_NS},    {"unknown", AIF_TABLE_NS}, {"both", AIF_TABLE_NS},
		{"none", AIF_TABLE_SHARE}, {"some", AIF_TABLE_COUNT}, {"name", AIF_TABLE_TEXT}};
	static const struct aif_report_table table = {.rows = "rows",
						      .hides_zeros = true,
						      AIF_REPORT_COLUMNS(columns),
						      .fill = fill_unknown};
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	char *text;

	(void)state;
	profile(&p);
	text = report_of(&p, &a, (struct aif_report_opts){.table = &table});
	assert_string_equal(text, "both  some  name\n"
				  "0 ns     0  row\n"
				  "         1  row\n"
				  "not known: unknown, none\n");
	free(text);
	aif_profile_finish(&p);
}

/* ---- of several processes ------------------------------------------------------------------------ */

/* The first kernel ran in the second process too. */
static void two_processes(struct aif_attribution *a)
{
	fixture_attribution(a);
	a->rows[1].kernel = 0;
	a->rows[1].process = 1;
	a->rows[1].wall_ns = 150;
	a->conservation.busy_ns = 200;
}

static void processes_are_told_apart(void **state)
{
	static const struct {
		enum aif_table_format format;
		bool several;
		const char *has, *has_not;
	} cases[] = {
		{AIF_TABLE_PLAIN, false, "average  kernel", "process"},
		{AIF_TABLE_PLAIN, false, "average  kernel", "samples"},
		{AIF_TABLE_PLAIN, true, "process  kernel", NULL},
		{AIF_TABLE_PLAIN, true, "      101  0 ",
		 NULL}, /* the short name, as the file has it */
		{AIF_TABLE_CSV, false, ",100,kernel_0,", ",101,"},
		{AIF_TABLE_CSV, true, "0.750000,150,60,0,1,60,0,0,0,0,0,,,,,,101,kernel_0,", NULL},
		{AIF_TABLE_CSV, true, "0.250000,50,60,0,1,60,0,0,0,0,0,,,,,,100,kernel_0,", NULL},
		{AIF_TABLE_JSON, false, "\"process\": 100,", NULL},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_attribution a = {0};
		struct aif_profile p = {0};
		char *text;

		profile(&p);
		if (cases[i].several)
			two_processes(&a);
		else
			fixture_attribution(&a);
		text = report_of(&p, &a,
				 (struct aif_report_opts){.table = &aif_report_table_kernels,
							  .format = cases[i].format,
							  .detail = AIF_NAME_NORMAL});
		if (!strstr(text, cases[i].has))
			fail_msg("not in it: %s\n%s", cases[i].has, text);
		if (cases[i].has_not && strstr(text, cases[i].has_not))
			fail_msg("in it: %s\n%s", cases[i].has_not, text);
		free(text);
		aif_attribution_finish(&a);
		aif_profile_finish(&p);
	}
}

/* Two programs have a kernel of the same name. */
static void kernels_of_one_name_are_one(void **state)
{
	struct aif_report_opts o = {.table = &aif_report_table_kernels,
				    .format = AIF_TABLE_CSV,
				    .detail = AIF_NAME_NORMAL};
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	struct aif_buf first = {0};
	char *text;

	(void)state;
	profile(&p);
	fixture_attribution(&a);
	p.kernels[1].name = p.kernels[0].name;
	text = report_of(&p, &a, o);
	assert_non_null(
		strstr(text, "1.000000,100,120,0,2,60,0,0,0,0,0,,,,,,100,kernel_0,,inner\n"));
	free(text);
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &first);
	assert_non_null(strstr(aif_buf_str(&first), "  100.0 %  0 "));
	aif_buf_finish(&first);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
}

static void kernels_are_chosen(void **state)
{
	struct aif_report_opts o = {.table = &aif_report_table_kernels,
				    .format = AIF_TABLE_CSV,
				    .detail = AIF_NAME_NORMAL,
				    .kernel = "_1$"};
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	(void)state;
	profile(&p);
	fixture_attribution(&a);
	text = report_of(&p, &a, o);
	assert_null(strstr(text, "kernel_0"));
	assert_non_null(strstr(text, "kernel_1"));
	free(text);
	/* An empty table is a message for people, and no rows for programs. Neither is a failure. */
	o.kernel = "nosuch";
	text = report_of(&p, &a, o);
	assert_int_equal(strchr(text, '\n') - text, (long)strlen(text) - 1);
	free(text);
	o.format = AIF_TABLE_PLAIN;
	text = report_of(&p, &a, o);
	assert_string_equal(text, "no device activity matching --kernel 'nosuch'\n");
	free(text);
	o.table = &aif_report_table_copies;
	o.kernel = NULL;
	text = report_of(&p, &a, o);
	assert_string_equal(text, "no copies in this profile; see aiflame info\n");
	free(text);
	o.sel = &(struct aif_selection){.to_ns = 1};
	text = report_of(&p, &a, o);
	assert_non_null(strstr(text, "no copies matching --time, "));
	free(text);
	/* Left-out launches alone are an error, in any table of any format. */
	for (size_t i = 0; aif_report_tables[i / 3]; i++) {
		struct aif_attribution blank = {.conservation = {.left_out = 1234}};

		if (!aif_report_needs_attribution(aif_report_tables[i / 3]))
			continue;
		o.table = aif_report_tables[i / 3];
		o.format = (enum aif_table_format)(i % 3);
		assert_int_equal(aif_report_write(AIF_NAMES_OF(&p), &blank, &o, &out, &err),
				 -ENODATA);
		assert_string_equal(err.text, "report: launches were left out in this span "
					      "(--overhead), and none was captured; record with "
					      "--all-launches");
	}
	o.table = &aif_report_table_kernels;
	o.format = AIF_TABLE_CSV;
	o.sel = NULL;
	/* A mark as it is printed is itself, not one of its letters. */
	a.rows[0].kind = AIF_LAUNCH_WRITE;
	a.rows[0].kernel = AIF_NONE;
	o.kernel = "[write]";
	text = report_of(&p, &a, o);
	assert_non_null(strstr(text, ",Memcpy HtoD,"));
	assert_null(strstr(text, "kernel_1"));
	free(text);
	o.kernel = "[kern]";
	text = report_of(&p, &a, o);
	assert_non_null(strstr(text, "kernel_1"));
	free(text);
	o.kernel = "kernel_1("; /* no expression: a name, which no kernel has */
	text = report_of(&p, &a, o);
	assert_null(strstr(text, "kernel_1"));
	free(text);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
}

/* ---- who called ---------------------------------------------------------------------------------- */

struct frame {
	uint32_t kind;
	const char *module, *name, *file;
};

/* A stack of these, outermost first; the last has no name. */
static uint32_t stack_add(struct aif_profile *p, const struct frame *f)
{
	struct aif_strset *s = &p->strings;
	uint32_t stack = AIF_NONE;

	for (; f->kind; f++) {
		FIXTURE_ADD(p, modules, .kind = AIF_MODULE_ELF,
			    .path = aif_strset_puts(s, f->module ? f->module : "?"),
			    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
		FIXTURE_ADD(p, frames, .kind = f->kind,
			    .module = f->module ? (uint32_t)p->modules_len - 1 : AIF_NONE,
			    .address = 0x10 + p->frames_len);
		if (f->name)
			FIXTURE_ADD(p, frame_names, .frame = (uint32_t)p->frames_len - 1,
				    .name = aif_strset_puts(s, f->name),
				    .file = f->file ? aif_strset_puts(s, f->file) : AIF_NONE);
		FIXTURE_ADD(p, stacks, .parent = stack, .frame = (uint32_t)p->frames_len - 1);
		stack = (uint32_t)p->stacks_len - 1;
	}
	return stack;
}

#define NATIVE(module, name)                         \
	{                                            \
		AIF_FRAME_NATIVE, module, name, NULL \
	}
#define PYTHON(name, file)                         \
	{                                          \
		AIF_FRAME_PYTHON, NULL, name, file \
	}
#define TORCH                 "/usr/lib/python3/dist-packages/torch/nn/modules/"
#define NULL_CALLER           "" /* whatever it is */
#define LIBCL                 "/usr/lib/libOpenCL.so.1"
#define INTERPRETER(function) NATIVE("/usr/bin/python3.11", function)
static const struct {
	struct frame frames[8];
	const char *caller, *line;
} stacks[] = {
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "work"), NATIVE(LIBCL, "clEnqueue")},
	 "work",
	 "clEnqueue < work < main"},
	/* an extension's function is no answer for a Python program, nor is the interpreter's */
	{{INTERPRETER("Py_BytesMain"), PYTHON("<module>", "/x/train.py"),
	  PYTHON("Net.forward", "/x/model.py"), INTERPRETER("_PyEval_EvalFrameDefault"),
	  NATIVE("/x/_cl.so", NULL), NATIVE(LIBCL, "clEnqueue")},
	 "Net.forward (model.py)",
	 "clEnqueue < [_cl.so+0x1d] < Net.forward (model.py) < <module> (train.py)"},
	/* the application's, not the framework's */
	{{PYTHON("train", "/x/train.py"), PYTHON("Module._call_impl", TORCH "module.py"),
	  PYTHON("Linear.forward", TORCH "linear.py"), NATIVE("/t/libtorch.so", "at::mm(int)"),
	  NATIVE(LIBCL, "clEnqueue")},
	 "train (train.py)",
	 NULL},
	{{PYTHON("main", "/usr/lib/python3.11/runpy.py"),
	  PYTHON("Attention.forward", "/v/lib/python3.11/site-packages/transformers/llama.py"),
	  PYTHON("call", "/tmp/torchinductor_me/ab/cab.py")},
	 "Attention.forward (llama.py)",
	 NULL},
	/* paths of traces */
	{{PYTHON("forward", "transformers/models/bert/modeling_bert.py"),
	  PYTHON("forward", "torch/nn/modules/linear.py"), NATIVE(LIBCL, "clEnqueue")},
	 "forward (modeling_bert.py)",
	 NULL},
	/* nor what a library made, but what was typed */
	{{PYTHON("step", "/x/train.py"),
	  PYTHON("Kernel.__call__", "/v/lib/python3.11/site-packages/pyopencl/__init__.py"),
	  PYTHON("enqueue_knl_k_gen", "<pyopencl invoker for 'k_gen'>"), NATIVE("/x/_cl.so", NULL),
	  NATIVE(LIBCL, "clEnqueue")},
	 "step (train.py)",
	 NULL},
	{{PYTHON("<module>", "/x/run.py"), PYTHON("step", "<string>"),
	  PYTHON("forward", "<eval_with_key>.0")},
	 "step (<string>)",
	 NULL},
	{{PYTHON("<module>", "<stdin>"), NATIVE(LIBCL, "clEnqueue")}, "<module> (<stdin>)", NULL},
	{{PYTHON("<module>", "<ipython-input-3-0badcafe>"), NATIVE(LIBCL, "clEnqueue")},
	 "<module> (<ipython-input-3-0badcafe>)",
	 NULL},
	/* nothing better than the framework */
	{{PYTHON("Linear.forward", TORCH "linear.py"), NATIVE("/t/libtorch.so", "at::mm(int)")},
	 "Linear.forward (linear.py)",
	 NULL},
	/* a thread of a library: what has a name, and not what runs it */
	{{NATIVE("/usr/lib/libc.so.6", "start_thread"), NATIVE("/t/lib.so", "at::mm(int)"),
	  NATIVE("/t/lib.so", NULL), NATIVE("/usr/lib/libc.so.6", "qsort"),
	  NATIVE("/n/libcublas.so.12", "cublasSgemm_v2"), NATIVE(LIBCL, "clEnqueue")},
	 "at::mm",
	 NULL},
	{{NATIVE("/x/app", NULL), NATIVE(LIBCL, "clEnqueue")}, NULL, NULL},
	/* a runtime that is linked into the program, and what its header makes of it for C++ */
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "launch"),
	  NATIVE("/x/app", "cudaError cudaLaunchKernel<char>(char const*, dim3)"),
	  NATIVE("/x/app", "cudaLaunchKernel"), NATIVE("/x/app", "libcudart_static_1f"),
	  NATIVE("/usr/lib/libcuda.so.1", "cuLaunchKernel")},
	 "launch",
	 "cudaLaunchKernel<char> < launch < main"},
	/* what only begins like it */
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "cudagraph::run(int)"),
	  NATIVE("/x/app", "cudaMemcpy")},
	 "cudagraph::run",
	 "cudaMemcpy < cudagraph::run < main"},
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "clear"), NATIVE("/x/app", "cuMemcpyHtoD_v2")},
	 "clear",
	 "cuMemcpyHtoD_v2 < clear < main"},
	/* what headers of a standard library made part of the program */
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "sort_part"),
	  NATIVE("/x/app", "std::sort<int*>(int*, int*)"),
	  NATIVE("/x/app", "__gnu_cxx::__ops::_Iter_less_iter::operator()")},
	 "sort_part",
	 NULL},
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "take"), NATIVE("/x/app", "__gthread_once")},
	 "take",
	 NULL},
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "standard::take(int)")},
	 "standard::take",
	 NULL},
	/* a rank that waits in a library of MPI's */
	{{NATIVE("/x/app", "main"), NATIVE("/x/app", "average"),
	  NATIVE("/usr/lib/libmpi.so.40", "PMPI_Allreduce"),
	  NATIVE("/usr/lib/openmpi/mca_pml_ob1.so", "mca_pml_ob1_send"),
	  NATIVE("/usr/lib/libopen-pal.so.40", "opal_progress")},
	 "average",
	 NULL},
	/* all of it would be folded away */
	{{INTERPRETER("_start"), INTERPRETER("Py_RunMain"), INTERPRETER("_PyEval_Vector")},
	 NULL_CALLER,
	 "Py_RunMain"},
	{{NATIVE("/x/app", "_start"), NATIVE("/usr/lib/libc.so.6", NULL)}, NULL_CALLER, "_start"},
};

static void callers_are_the_applications(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(stacks); i++) {
		struct aif_stack_names *names;
		struct aif_profile p = {0};
		struct aif_buf line = {0};
		const char *caller;
		uint32_t stack;

		profile(&p);
		stack = stack_add(&p, stacks[i].frames);
		assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&p), AIF_NAME_NORMAL, &names), 0);
		caller = aif_stack_names_caller(names, stack);
		if (stacks[i].caller && *stacks[i].caller)
			assert_string_equal(caller, stacks[i].caller);
		else if (!stacks[i].caller)
			assert_memory_equal(caller, "[app+0x", 7);
		assert_int_equal(aif_stack_names_line(names, stack, &line), 0);
		if (stacks[i].line && strcmp(aif_buf_str(&line), stacks[i].line) != 0)
			fail_msg("%s, not %s", aif_buf_str(&line), stacks[i].line);
		aif_buf_finish(&line);
		aif_stack_names_free(names);
		aif_profile_finish(&p);
	}
}

/* The interpreter's frames, which --detail full shows. */
static void stacks_are_folded(void **state)
{
	static const enum aif_name_detail details[] = {AIF_NAME_NORMAL, AIF_NAME_FULL};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(details); i++) {
		struct aif_stack_names *names;
		struct aif_profile p = {0};
		struct aif_buf line = {0};
		uint32_t stack;

		profile(&p);
		stack = stack_add(&p, stacks[1].frames);
		assert_int_equal(aif_stack_names_new(AIF_NAMES_OF(&p), details[i], &names), 0);
		assert_int_equal(aif_stack_names_line(names, stack, &line), 0);
		assert_int_equal(strstr(aif_buf_str(&line), "_PyEval_EvalFrameDefault") != NULL,
				 details[i] == AIF_NAME_FULL);
		aif_buf_clear(&line);
		assert_int_equal(aif_stack_names_line(names, AIF_NONE, &line), 0);
		assert_string_equal(aif_buf_str(&line), "[no stack]");
		aif_buf_finish(&line);
		aif_stack_names_free(names);
		aif_profile_finish(&p);
	}
}

/* ---- the first screen ---------------------------------------------------------------------------- */

static char *summary_of(const char *path, struct aif_attribution *a)
{
	struct aif_profile p = {0};
	struct aif_buf out = {0};
	char *text;

	profile(&p);
	aif_summary_write(AIF_NAMES_OF(&p), a, path, &out);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	aif_attribution_finish(a);
	aif_profile_finish(&p);
	return text;
}

static char *summary(const char *path)
{
	struct aif_attribution a = {0};

	fixture_attribution(&a);
	return summary_of(path, &a);
}

static void the_summary_tells_processes_apart(void **state)
{
	struct aif_attribution a = {0};
	char *text;

	(void)state;
	text = summary("aiflame.data");
	assert_null(strstr(text, "process  "));
	free(text);
	two_processes(&a);
	text = summary_of("aiflame.data", &a);
	assert_non_null(strstr(text, "process  101 75.0 %, 100 25.0 % of it; "));
	free(text);
}

static void the_next_commands_name_the_file(void **state)
{
	static const char *const paths[][2] = {
		{"aiflame.data", "next: aiflame flame, aiflame report --kernels, aiflame info\n"},
		{"/x/r-1.data", "next: aiflame flame /x/r-1.data, aiflame report --kernels "
				"/x/r-1.data, aiflame info /x/r-1.data\n"},
		{"it's $1.data", "next: aiflame flame 'it'\\''s $1.data', "},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(paths); i++) {
		char *text = summary(paths[i][0]);

		if (!strstr(text, paths[i][1]))
			fail_msg("not in it: %s\n%s", paths[i][1], text);
		free(text);
	}
}

/* Kernels whose names are longer than their column stay different where they are. */
static void the_summary_cuts_no_two_names_to_one(void **state)
{
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	struct aif_buf out = {0};

	(void)state;
	profile(&p);
	fixture_attribution(&a);
	for (uint32_t k = 0; k < FIXTURE_KERNELS; k++)
		p.kernels[k].short_name = aif_strset_puts(
			&p.strings,
			k % 2 ? "sm80_xmma_gemm_f32f32_f32f32_f32_f32f32_tn_n_tilesize128x128x8_"
				"stage3_warpsize2x2x1_ffma_kernel__5x_cublas"
			      : "sm80_xmma_gemm_f32f32_f32f32_f32_f32f32_nn_n_tilesize256x128x8_"
				"stage3_warpsize2x2x1_ffma_kernel__5x_cublas");
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &out);
	if (!strstr(aif_buf_str(&out), "\u2026tn_n_tilesize") ||
	    !strstr(aif_buf_str(&out), "\u2026nn_n_tilesize"))
		fail_msg("%s", aif_buf_str(&out));
	assert_null(strstr(aif_buf_str(&out), "..."));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
}

/* The summary has the vendor's part of the cost beside that of capture. */
static void the_summary_says_what_cupti_costs(void **state)
{
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	struct aif_buf out = {0};

	(void)state;
	profile(&p);
	fixture_attribution(&a);
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &out);
	assert_null(strstr(aif_buf_str(&out), "CUPTI"));
	aif_buf_finish(&out);
	/* 32 ms of 4 s. */
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.callbacks_ns"),
		    aif_strset_puts(&p.strings, "32000000"));
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.device_bytes"),
		    aif_strset_puts(&p.strings, "67108864"));
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &out);
	if (!strstr(aif_buf_str(&out),
		    "\ncost     about 0.81 % slower while it worked: CUPTI in each launch 0.81; "
		    "64 MiB of the GPU's memory; "))
		fail_msg("%s", aif_buf_str(&out));
	aif_buf_finish(&out);
	/* The program worked for a fifth of the time: 32 ms of 0.8 s less 32 ms. */
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.worked_ns"),
		    aif_strset_puts(&p.strings, "800000000"));
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.records_ns"),
		    aif_strset_puts(&p.strings, "20000000"));
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.samples_ns"),
		    aif_strset_puts(&p.strings, "4000000"));
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "overhead.asked_ppm"),
		    aif_strset_puts(&p.strings, "20000"));
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &out);
	if (!strstr(aif_buf_str(&out),
		    "\ncost     about 4.2 % slower while it worked: CUPTI in each launch 1, its records 2.6, "
		    "its samples 0.52; allowed 2 %; --cupti launches for less; "))
		fail_msg("%s", aif_buf_str(&out));
	aif_buf_finish(&out);
	/* Launches took no longer while they were captured, for which 10 ms were spent: the program waits for its device. */
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.agent_ns"),
		    aif_strset_puts(&p.strings, "10000000"));
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "overhead.cost_error_ppm"),
		    aif_strset_puts(&p.strings, "1000"));
	a.conservation.launches = 1000;
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &out);
	/* 2 * 0.001 of 0.8 s are 1.6 ms of those 10: so much is seen of the other 42, too. */
	if (!strstr(aif_buf_str(&out),
		    "\ncost     about 0.85 % slower while it worked: CUPTI in each launch 0.16, its records 0.4, "
		    "its samples 0.081, capture 0.2; allowed 2 %; "))
		fail_msg("%s", aif_buf_str(&out));
	aif_buf_finish(&out);
	/* Blocks were not compared: 10 ms of capture, 8 of its records, 12 of CPU samples. */
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.block_records_ns"),
		    aif_strset_puts(&p.strings, "8000000"));
	FIXTURE_ADD(&p, meta, aif_strset_puts(&p.strings, "cost.cpu_samples_ns"),
		    aif_strset_puts(&p.strings, "12000000"));
	a.conservation.launches = 0;
	aif_summary_write(AIF_NAMES_OF(&p), &a, "aiflame.data", &out);
	if (!strstr(aif_buf_str(&out), "capture 2.4, CPU samples 1.6; allowed 2 %; "))
		fail_msg("%s", aif_buf_str(&out));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
}

static void the_summary_says_what_grades_are_of(void **state)
{
	char *text = summary("aiflame.data");

	(void)state;
	assert_non_null(strstr(text, "; of the busy time 100.0 % "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_stands_beside_what_it_is_of),
		cmocka_unit_test(callers_of_inlined_functions_are_in_the_stack),
		cmocka_unit_test(errors_are_shown_where_there_are_some),
		cmocka_unit_test(a_column_without_values_is_not_hidden_as_zeros_are),
		cmocka_unit_test(processes_are_told_apart),
		cmocka_unit_test(kernels_of_one_name_are_one),
		cmocka_unit_test(kernels_are_chosen),
		cmocka_unit_test(callers_are_the_applications),
		cmocka_unit_test(stacks_are_folded),
		cmocka_unit_test(the_summary_tells_processes_apart),
		cmocka_unit_test(the_summary_says_what_cupti_costs),
		cmocka_unit_test(the_next_commands_name_the_file),
		cmocka_unit_test(the_summary_says_what_grades_are_of),
		cmocka_unit_test(the_summary_cuts_no_two_names_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
