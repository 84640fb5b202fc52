/* SPDX-License-Identifier: Apache-2.0 */
/* The operators' table. What torch itself makes of the same is compared in tests/e2e/ops.sh. */
#include "fixture_ops.h"

#include "base/map.h"
#include "rounds.h"

#include <errno.h>

#define HEADER                                                                             \
	"name,process,type,self_cpu_share,self_cpu,cpu_total_share,cpu_total,cpu_average," \
	"self_device,self_device_share,device_total,device_average,error,calls\n"

static const struct aif_report_opts as_csv = {.table = &aif_report_table_ops,
					      .format = AIF_TABLE_CSV};

/* linear calls addmm, which launches a kernel; it then launches another one itself. */
static void linear(struct ops_fixture *f)
{
	ops_add(f, 0, 0, 100, AIF_OP_OPERATOR, "aten::linear");
	ops_add(f, 0, 10, 60, AIF_OP_OPERATOR, "aten::addmm");
	ops_add(f, 0, 20, 25, AIF_OP_RUNTIME, "cudaLaunchKernel");
	ops_exec(f, 0, 20, 0, 1000, 1040, "gemm");
	ops_add(f, 0, 70, 75, AIF_OP_RUNTIME, "cudaLaunchKernel");
	ops_exec(f, 0, 70, 0, 1040, 1050, "bias");
}

static void times_go_up_the_tree(void **state)
{
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	linear(&f);
	ops_read(&f);
	assert_report(
		&f, as_csv,
		HEADER
		"aten::addmm,100,operator,0.450000,45,0.500000,50,50,40,0.800000,40,40,0,1\n"
		"gemm,100,kernel,0.000000,0,0.000000,0,0,40,0.800000,40,40,0,1\n"
		"aten::linear,100,operator,0.450000,45,1.000000,100,100,10,0.200000,50,50,0,1\n"
		"bias,100,kernel,0.000000,0,0.000000,0,0,10,0.200000,10,10,0,1\n"
		"cudaLaunchKernel,100,runtime,0.100000,10,0.100000,10,5,0,0.000000,0,0,0,2\n");
	ops_end(&f);
}

/* People have torch's titles, with the device's own name. */
static void titles_are_those_of_torch(void **state)
{
	static const struct {
		const char *vendor, *runtime, *self, *total;
	} cases[] = {
		{NULL, "cuda", "  Self CUDA  Self CUDA %  CUDA total  CUDA time avg  # of Calls\n",
		 "Self CUDA time total: 0.050us\n"},
		{"IBM", "privateuse1", "  Self AIU  Self AIU %  AIU total  AIU time avg  ",
		 "Self AIU time total: 0.050us\n"},
		{NULL, "level_zero", "  Self XPU  ", "Self XPU time total: 0.050us\n"},
		{NULL, "", "  Self DEVICE  ", "Self DEVICE time total: 0.050us\n"},
		{NULL, "a-runtime-with-a-long-name", "  Self A-RUNTIME-WITH-  ", "Self A-RUN"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct ops_fixture f;
		char *text;

		ops_begin(&f, cases[i].vendor, cases[i].runtime);
		linear(&f);
		ops_read(&f);
		text = ops_report(&f, (struct aif_report_opts){.table = &aif_report_table_ops});
		if (strncmp(text,
			    "Name              Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg",
			    70) != 0 ||
		    !strstr(text, cases[i].self) || !strstr(text, cases[i].total) ||
		    !strstr(text, "Self CPU time total: 0.100us\n"))
			fail_msg("%s:\n%s", cases[i].runtime, text);
		free(text);
		ops_end(&f);
	}
}

static void without_a_device_there_are_no_columns_of_it(void **state)
{
	struct ops_fixture f;
	char *text;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 100, AIF_OP_OPERATOR, "aten::linear");
	ops_read(&f);
	text = ops_report(&f, (struct aif_report_opts){.table = &aif_report_table_ops});
	assert_null(strstr(text, "CUDA"));
	assert_non_null(strstr(text, "# of Calls\n"));
	free(text);
	ops_end(&f);
}

/* An only child of the same name is its parent; one of two is not. */
static void twins_are_one_call(void **state)
{
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 50, AIF_OP_OPERATOR, "mm");
	ops_add(&f, 0, 10, 40, AIF_OP_OPERATOR, "mm");
	ops_add(&f, 0, 11, 39, AIF_OP_OPERATOR, "mm");
	ops_add(&f, 0, 12, 20, AIF_OP_OPERATOR, "empty");
	ops_exec(&f, 0, 30, 0, 1000, 1007, "gemm");
	ops_add(&f, 0, 100, 150, AIF_OP_OPERATOR, "copy");
	ops_add(&f, 0, 110, 120, AIF_OP_OPERATOR, "copy");
	ops_add(&f, 0, 130, 135, AIF_OP_OPERATOR, "empty");
	ops_read(&f);
	assert_report(&f, as_csv,
		      HEADER "mm,100,operator,0.420000,42,0.500000,50,50,7,1.000000,7,7,0,1\n"
			     "gemm,100,kernel,0.000000,0,0.000000,0,0,7,1.000000,7,7,0,1\n"
			     "empty,100,operator,0.130000,13,0.130000,13,7,0,0.000000,0,0,0,2\n"
			     "copy,100,operator,0.450000,45,0.600000,60,30,0,0.000000,0,0,0,2\n");
	ops_end(&f);
}

/* An op that lies in another in part is none of its own; of the same time the first is the
 * parent. */
static void only_what_lies_in_another_is_its_child(void **state)
{
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 40, AIF_OP_OPERATOR, "a");
	ops_add(&f, 0, 30, 60, AIF_OP_OPERATOR, "b");
	ops_add(&f, 0, 60, 70, AIF_OP_OPERATOR, "c");
	ops_add(&f, 0, 60, 70, AIF_OP_OPERATOR, "d");
	ops_add(&f, 1, 0, 100, AIF_OP_OPERATOR, "e"); /* another thread's */
	ops_read(&f);
	assert_report(&f, as_csv,
		      HEADER "e,100,operator,0.555555,100,0.555555,100,100,0,0.000000,0,0,0,1\n"
			     "a,100,operator,0.222222,40,0.222222,40,40,0,0.000000,0,0,0,1\n"
			     "b,100,operator,0.166666,30,0.166666,30,30,0,0.000000,0,0,0,1\n"
			     "d,100,operator,0.055555,10,0.055555,10,10,0,0.000000,0,0,0,1\n"
			     "c,100,operator,0.000000,0,0.055555,10,10,0,0.000000,0,0,0,1\n");
	ops_end(&f);
}

static void steps_are_one_row_and_bookkeeping_none(void **state)
{
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 0, 50, AIF_OP_STEP, "ProfilerStep#1");
	ops_add(&f, 0, 50, 100, AIF_OP_STEP, "ProfilerStep#2");
	ops_add(&f, 0, 10, 20, AIF_OP_OPERATOR, "aten::is_leaf");
	ops_add(&f, 0, 60, 70, AIF_OP_PYTHON, "train.py(1): step");
	ops_add(&f, 0, 75, 80, AIF_OP_OPERATOR, "same");
	ops_add(&f, 0, 85, 90, AIF_OP_RANGE, "same");
	ops_exec(&f, 0, 65, 0, 1000, 1010, NULL);
	ops_exec(&f, 1, 65, 0, 1010, 1015, NULL); /* in none */
	ops_exec(&f, AIF_NONE, 0, 0, 1015, 1016, NULL);
	ops_read(&f);
	assert_report(&f, as_csv,
		      HEADER
		      "Memcpy HtoD,100,write,0.000000,0,0.000000,0,0,16,1.000000,16,5,0,3\n"
		      "ProfilerStep*,100,step,0.900000,90,1.000000,100,50,0,0.000000,0,0,0,2\n"
		      "same,100,operator,0.050000,5,0.050000,5,5,0,0.000000,0,0,0,1\n"
		      "same,100,range,0.050000,5,0.050000,5,5,0,0.000000,0,0,0,1\n");
	ops_end(&f);
}

/* Ranges launch nothing themselves, as for torch, unless there are no operators. */
static void ranges_own_where_nothing_else_does(void **state)
{
	(void)state;
	for (int has_operators = 0; has_operators < 2; has_operators++) {
		struct ops_fixture f;

		ops_begin(&f, NULL, "cuda");
		if (has_operators)
			ops_add(&f, 0, 0, 100, AIF_OP_OPERATOR, "aten::mm");
		ops_add(&f, 0, 10, 60, AIF_OP_RANGE, "inside");
		ops_exec(&f, 0, 20, 0, 1000, 1040, "gemm");
		ops_read(&f);
		assert_report(
			&f, as_csv,
			has_operators ? HEADER
				"aten::mm,100,operator,0.500000,50,1.000000,100,100,40,"
				"1.000000,40,40,0,1\n"
				"gemm,100,kernel,0.000000,0,0.000000,0,0,40,1.000000,40,40,0,1\n"
				"inside,100,range,0.500000,50,0.500000,50,50,0,0.000000,0,0,0,1\n"
				      : HEADER
				"inside,100,range,1.000000,50,1.000000,50,50,40,1.000000,40,"
				"40,0,1\n"
				"gemm,100,kernel,0.000000,0,0.000000,0,0,40,1.000000,40,40,0,1\n");
		ops_end(&f);
	}
}

static void shapes_tell_operators_apart(void **state)
{
	static const char *const shapes[] = {"[[2, 2]]", "[[4, 4]]", "[[2, 2]]", NULL};
	struct aif_report_opts o = as_csv;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (size_t i = 0; i < AIF_ARRAY_LEN(shapes); i++)
		ops_add_row(&f, (struct aif_op_row){
					.start = i * 100,
					.end = i * 100 + 10,
					.name = ops_string(&f, "mm"),
					.kind = AIF_OP_OPERATOR,
					.stack = AIF_NONE,
					.shapes = shapes[i] ? ops_string(&f, shapes[i]) : AIF_NONE,
				});
	ops_read(&f);
	o.by = AIF_REPORT_BY_SHAPE;
	assert_report(
		&f, o,
		"name,process,type,self_cpu_share,self_cpu,cpu_total_share,cpu_total,cpu_average,"
		"self_device,self_device_share,device_total,device_average,error,calls,shapes\n"
		"mm,100,operator,0.500000,20,0.500000,20,10,0,0.000000,0,0,0,2,\"[[2, 2]]\"\n"
		"mm,100,operator,0.250000,10,0.250000,10,10,0,0.000000,0,0,0,1,\"[[4, 4]]\"\n"
		"mm,100,operator,0.250000,10,0.250000,10,10,0,0.000000,0,0,0,1,\n");
	ops_end(&f);
}

static void stacks_tell_operators_apart(void **state)
{
	struct aif_report_opts o = as_csv;
	struct ops_fixture f;
	char *text;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	FIXTURE_ADD(&f.made, modules, .kind = AIF_MODULE_SOURCE, .path = AIF_NONE,
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	for (uint32_t i = 0; i < 2; i++) {
		FIXTURE_ADD(&f.made, frames, .kind = AIF_FRAME_PYTHON, .module = 0, .address = i);
		FIXTURE_ADD(&f.made, frame_names, .frame = i, .inline_depth = 0,
			    .name = ops_string(&f, i ? "backward" : "forward"),
			    .file = ops_string(&f, "train.py"), .line = 1);
		FIXTURE_ADD(&f.made, stacks, .parent = AIF_NONE, .frame = i, .depth = 1);
	}
	for (uint32_t i = 0; i < 5; i++)
		ops_add_row(&f, (struct aif_op_row){
					.start = i * 100,
					.end = i * 100 + 10,
					.name = ops_string(&f, "mm"),
					.kind = AIF_OP_OPERATOR,
					.stack = i % 2,
					.shapes = AIF_NONE,
				});
	ops_read(&f);
	o.by = AIF_REPORT_BY_STACK;
	o.detail = AIF_NAME_NORMAL;
	text = ops_report(&f, o);
	assert_non_null(strstr(text, "calls,stack\nmm,100,operator,0.600000,30,"));
	assert_non_null(strstr(text, ",3,forward"));
	assert_non_null(strstr(text, ",2,backward"));
	free(text);
	ops_end(&f);
}

static void parts_can_be_chosen(void **state)
{
	static const bool second[] = {false, true}, thread[] = {false, true, false};
	struct aif_selection sel = {.processes = second};
	struct aif_report_opts o = as_csv;
	struct ops_fixture f;
	struct aif_buf out = {0};
	struct aif_err err = {0};

	(void)state;
	ops_begin(&f, NULL, "cuda");
	linear(&f);
	ops_add(&f, 2, 0, 10, AIF_OP_OPERATOR, "aten::relu");
	ops_exec(&f, 2, 5, 2, 500, 520, "relu");
	ops_read(&f);
	o.sel = &sel;
	assert_report(&f, o,
		      HEADER
		      "aten::relu,101,operator,1.000000,10,1.000000,10,10,20,1.000000,20,20,0,1\n"
		      "relu,101,kernel,0.000000,0,0.000000,0,0,20,1.000000,20,20,0,1\n");
	sel = (struct aif_selection){.from_ns = 65, .to_ns = 1045};
	assert_report(&f, o,
		      HEADER
		      "gemm,100,kernel,0.000000,0,0.000000,0,0,40,0.571428,40,40,0,1\n"
		      "relu,101,kernel,0.000000,0,0.000000,0,0,20,0.285714,20,20,0,1\n"
		      "bias,100,kernel,0.000000,0,0.000000,0,0,10,0.142857,10,10,0,1\n"
		      "cudaLaunchKernel,100,runtime,1.000000,5,1.000000,5,5,0,0.000000,0,0,0,1\n");
	sel = (struct aif_selection){0};
	o.kernel = "bias";
	o.limit = 1;
	assert_report(
		&f, o,
		HEADER
		"aten::linear,100,operator,0.409090,45,0.909090,100,100,10,1.000000,10,10,0,1\n");
	/* A selection that leaves nothing. */
	sel.threads = thread;
	o.kernel = NULL;
	assert_report(&f, o, HEADER);
	o.format = AIF_TABLE_PLAIN;
	assert_ok(aif_report_write(AIF_NAMES_OF(&f.p), NULL, &o, &out, &err), &err);
	assert_non_null(strstr(aif_buf_str(&out), "no operators matching "));
	aif_buf_clear(&out);
	o.sort = "width";
	assert_int_equal(aif_report_write(AIF_NAMES_OF(&f.p), NULL, &o, &out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no column 'width'; use one of name, process,"));
	assert_int_equal(out.len, 0);
	aif_buf_finish(&out);
	ops_end(&f);
}

/* ---- of stacks ------------------------------------------------------------------------------- */

/* A recording of our own: linear called addmm, which called itself; each launches something. */
static void dispatchers_frames_are_operators(void **state)
{
	static const char *const names[] = {
		"main", "at::_ops::linear::call(at::Tensor const&, at::Tensor const&)",
		"at::_ops::addmm::call(at::Tensor const&)",
		"at::_ops::addmm::call(at::Tensor const&)", "cublasGemmEx"};
	struct aif_report_opts o = as_csv;
	struct ops_fixture f;
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	FIXTURE_ADD(&f.made, modules, .kind = AIF_MODULE_ELF, .path = AIF_NONE,
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		FIXTURE_ADD(&f.made, frames, .kind = AIF_FRAME_NATIVE, .module = 0, .address = i);
		FIXTURE_ADD(&f.made, frame_names, .frame = i, .inline_depth = 0,
			    .name = ops_string(&f, names[i]), .file = AIF_NONE, .line = 0);
		FIXTURE_ADD(&f.made, stacks, .parent = i ? i - 1 : AIF_NONE, .frame = i,
			    .depth = i + 1);
	}
	f.stack = 4;
	ops_exec(&f, 0, 20, 0, 1000, 1040, "gemm");
	ops_exec(&f, 0, 30, 0, 1040, 1050, "gemm");
	f.stack = 1;
	ops_exec(&f, 0, 70, 0, 1050, 1060, "bias");
	f.stack = 0;
	ops_exec(&f, 0, 80, 0, 1060, 1080, NULL);
	ops_read(&f);
	assert_report(
		&f, o,
		"name,process,type,self_cpu_share,self_cpu,cpu_total_share,cpu_total,cpu_error,"
		"self_device,self_device_share,device_total,error,calls,calls_error,launches\n"
		"gemm,100,kernel,,,,,,50,0.625000,50,0,2,0,2\n"
		"aten::addmm,100,operator,,,,,,50,0.625000,50,0,2,0,2\n"
		"Memcpy HtoD,100,write,,,,,,20,0.250000,20,0,1,0,1\n"
		"aten::linear,100,operator,,,,,,10,0.125000,60,0,2,0,1\n"
		"bias,100,kernel,,,,,,10,0.125000,10,0,1,0,1\n");
	o.kernel = "bias";
	assert_report(
		&f, o,
		"name,process,type,self_cpu_share,self_cpu,cpu_total_share,cpu_total,cpu_error,"
		"self_device,self_device_share,device_total,error,calls,calls_error,launches\n"
		"bias,100,kernel,,,,,,10,1.000000,10,0,1,0,1\n"
		"aten::linear,100,operator,,,,,,10,1.000000,10,0,1,0,1\n");
	o.format = AIF_TABLE_PLAIN;
	text = ops_report(&f, o);
	assert_non_null(
		strstr(text, "Self CUDA  Self CUDA %  CUDA total  # of Calls  # of Launches\n"));
	assert_non_null(strstr(text, "Calls: those that launched work"));
	free(text);
	o.kernel = NULL;
	o.by = AIF_REPORT_BY_SHAPE;
	assert_int_equal(aif_report_write(AIF_NAMES_OF(&f.p), NULL, &o, &out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--by is for operators of a trace"));
	ops_end(&f);
}

static void without_operators_there_is_no_table(void **state)
{
	struct ops_fixture f;
	struct aif_buf out = {0};
	struct aif_err err = {0};

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_exec(&f, 0, 20, 0, 1000, 1040, "gemm");
	ops_read(&f);
	assert_int_equal(aif_report_write(AIF_NAMES_OF(&f.p), NULL, &as_csv, &out, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no operators in this profile; import a trace"));
	assert_int_equal(out.len, 0);
	ops_end(&f);
}

/* ---- against the rules, applied one by one --------------------------------------------------- */

enum { MANY = 60, CALLS = 40, NAMES = 4 };
struct plain {
	uint64_t start, end, self, device;
	int name, thread, parent, children;
	bool gone;
};

static uint64_t next(uint64_t *r, uint64_t n)
{
	*r = aif_mix64(*r + UINT64_C(0x9e3779b97f4a7c15));
	return *r % n;
}

static void ops_draw(uint64_t *r, struct plain *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct plain *in = i ? &o[next(r, i)] : NULL;
		uint64_t room = in ? in->end - in->start : 0;

		o[i] = (struct plain){.name = (int)next(r, NAMES), .thread = (int)next(r, 2)};
		o[i].start = next(r, 1000);
		o[i].end = o[i].start + next(r, 300);
		if (in && room && next(r, 5)) { /* most lie in another */
			o[i].thread = in->thread;
			o[i].start = in->start + next(r, room);
			o[i].end = o[i].start + next(r, in->end - o[i].start + 1);
		}
	}
}

static int earlier(const void *a, const void *b)
{
	const struct plain *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread - y->thread;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	/* as no rule tells them apart, they are made the same */
	return x->name - y->name;
}

static void find_parents(struct plain *o, int n)
{
	int open[MANY], depth = 0;

	for (int i = 0; i < n; i++) {
		if (i && o[i].thread != o[i - 1].thread)
			depth = 0;
		while (depth &&
		       (o[i].start >= o[open[depth - 1]].end || o[i].end > o[open[depth - 1]].end))
			depth--;
		o[i].parent = depth ? open[depth - 1] : -1;
		if (depth)
			o[open[depth - 1]].children++;
		open[depth++] = i;
	}
}

/* Removes twins as long as there are any. */
static void remove_twins(struct plain *o, int n)
{
	bool again = true;

	while (again) {
		again = false;
		for (int i = 0; i < n; i++) {
			int p = o[i].parent;

			if (o[i].gone || p < 0 || o[p].name != o[i].name || o[p].children != 1)
				continue;
			for (int c = 0; c < n; c++)
				if (!o[c].gone && o[c].parent == i)
					o[c].parent = p;
			o[p].children = o[i].children;
			o[p].device += o[i].device;
			o[i].gone = again = true;
		}
	}
}

/* The one that began last of those that it lies in; of several the shortest, then the last. */
static int owner(const struct plain *o, int n, int thread, uint64_t at)
{
	int best = -1;

	for (int i = 0; i < n; i++)
		if (o[i].thread == thread && o[i].start <= at && at <= o[i].end &&
		    !(best >= 0 && o[best].start == o[i].start && o[best].end < o[i].end))
			best = i;
	/* An op that ends as the next begins has given way to it. */
	return best;
}

static uint64_t device_of(const struct plain *o, int n, int i)
{
	uint64_t sum = o[i].device;

	for (int c = 0; c < n; c++)
		if (!o[c].gone && o[c].parent == i)
			sum += device_of(o, n, c);
	return sum;
}

static void add_expected(const struct plain *o, int n, struct aif_buf *out)
{
	for (int name = 0; name < NAMES; name++) {
		uint64_t calls = 0, cpu = 0, self = 0, device = 0, self_device = 0;

		for (int i = 0; i < n; i++) {
			uint64_t children = 0;

			if (o[i].gone || o[i].name != name)
				continue;
			for (int c = 0; c < n; c++)
				if (!o[c].gone && o[c].parent == i)
					children += o[c].end - o[c].start;
			calls++;
			cpu += o[i].end - o[i].start;
			self += o[i].end - o[i].start - children;
			self_device += o[i].device;
			device += device_of(o, n, i);
		}
		self = self > INT64_MAX ? 0 : self;
		if (calls)
			aif_buf_printf(out, "op%d %llu %llu %llu %llu %llu\n", name,
				       (unsigned long long)self, (unsigned long long)cpu,
				       (unsigned long long)self_device, (unsigned long long)device,
				       (unsigned long long)calls);
	}
}

/* name self cpu self_device device calls, of the operators in the table. */
static void add_found(char *csv, struct aif_buf *out)
{
	for (char *line = strtok(csv, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long long self, cpu, self_device, device, calls;
		char name[8];

		if (sscanf(line,
			   "%7[op0-9],100,operator,%*f,%llu,%*f,%llu,%*u,%llu,%*f,%llu,%*u,%*u,%llu",
			   name, &self, &cpu, &self_device, &device, &calls) == 6)
			aif_buf_printf(out, "%s %llu %llu %llu %llu %llu\n", name, self, cpu,
				       self_device, device, calls);
	}
}

static void many_are_added_up_by_the_rules(void **state)
{
	struct aif_report_opts o = as_csv;

	(void)state;
	o.sort = "name";
	for (uint64_t seed = 0; seed < rounds(300); seed++) {
		struct plain ops[MANY];
		struct aif_buf want = {0}, got = {0};
		struct ops_fixture f;
		uint64_t r = seed;
		char *text;

		ops_draw(&r, ops, MANY);
		qsort(ops, MANY, sizeof(*ops), earlier);
		find_parents(ops, MANY);
		ops_begin(&f, NULL, "cuda");
		for (int i = 0; i < MANY; i++) {
			char name[8];

			snprintf(name, sizeof(name), "op%d", ops[i].name);
			ops_add(&f, (uint32_t)ops[i].thread, ops[i].start, ops[i].end,
				AIF_OP_OPERATOR, name);
		}
		for (int i = 0; i < CALLS; i++) {
			int thread = (int)next(&r, 2), op;
			uint64_t at = next(&r, 1300), ns = next(&r, 100);

			op = owner(ops, MANY, thread, at);
			if (op >= 0)
				ops[op].device += ns;
			ops_exec(&f, (uint32_t)thread, at, 0, 2000, 2000 + ns, "k");
		}
		ops_read(&f);
		remove_twins(ops, MANY);
		add_expected(ops, MANY, &want);
		text = ops_report(&f, o);
		add_found(text, &got);
		if (strcmp(aif_buf_str(&want), aif_buf_str(&got)) != 0)
			fail_msg("seed %u: expected\n%sfound\n%s", (unsigned)seed,
				 aif_buf_str(&want), aif_buf_str(&got));
		free(text);
		aif_buf_finish(&want);
		aif_buf_finish(&got);
		ops_end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_go_up_the_tree),
		cmocka_unit_test(titles_are_those_of_torch),
		cmocka_unit_test(without_a_device_there_are_no_columns_of_it),
		cmocka_unit_test(twins_are_one_call),
		cmocka_unit_test(only_what_lies_in_another_is_its_child),
		cmocka_unit_test(steps_are_one_row_and_bookkeeping_none),
		cmocka_unit_test(ranges_own_where_nothing_else_does),
		cmocka_unit_test(shapes_tell_operators_apart),
		cmocka_unit_test(stacks_tell_operators_apart),
		cmocka_unit_test(parts_can_be_chosen),
		cmocka_unit_test(dispatchers_frames_are_operators),
		cmocka_unit_test(without_operators_there_is_no_table),
		cmocka_unit_test(many_are_added_up_by_the_rules),
	};

	return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
