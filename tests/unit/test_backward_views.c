/* SPDX-License-Identifier: Apache-2.0 */
/* Tests pictures, tables and the summary of profiles whose backward is joined to its forward. */
#include "flame/build.h"
#include "flame/flame.h"
#include "report/report.h"
#include "report/summary/summary.h"

#include <fcntl.h>

#include "fixture_backward.h"

/* ---- the picture --------------------------------------------------------------------------------- */

static void drawn_is(struct model *m, enum aif_name_detail detail, const char *expected)
{
	struct aif_flame_opts o = {.leaf = AIF_LEAF_KERNEL, .by = AIF_BY_TIME, .detail = detail};
	struct aif_attribution a = {0};
	struct aif_tree t = {0};
	char path[96], text[4096];
	struct aif_err err;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s.folded", m->path);
	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_flame_build(AIF_NAMES_OF(&m->opened), &a, &o, &t, &err), &err);
	assert_ok(aif_flame_write(&t, AIF_FLAME_FOLDED, NULL, path, &err), &err);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = 0;
	close(fd);
	unlink(path);
	assert_string_equal(text, expected);
	aif_tree_finish(&t);
	aif_attribution_finish(&a);
}

static void the_backward_stands_on_its_forward(void **state)
{
	struct model *m = *state;

	forward(m, "py:head", "mm");
	node(m, "MmBackward0", 10);
	node(m, "AddBackward0", 3);
	launch(m, AUTOGRAD, 7, "start engine accumulate");
	record(m);
	drawn_is(
		m, AIF_NAME_NORMAL,
		"[backward];[backward] AddBackward0;aten::mm;cudaLaunchKernel;k_[g] 6000\n"
		"[backward];[backward] AddBackward0;torch::autograd::AccumulateGrad::apply;k_[g] 7000\n"
		"main;train (model.py)_[p];head (model.py)_[p];[backward] MmBackward0;aten::mm;"
		"cudaLaunchKernel;k_[g] 20000\n"
		"main;train (model.py)_[p];head (model.py)_[p];aten::mm;cudaLaunchKernel;k_[g] 1000\n");
}

static void what_says_nothing_is_folded_away(void **state)
{
	struct model *m = *state;

	launch(m, MAIN, 1,
	       "main py:train py:use.<locals>.wrapper py:head "
	       "torch::autograd::THPVariable_add(_object*) op:add__Tensor "
	       "at::native::structured_ufunc_add_CUDA::impl(int) "
	       "at::native::add_kernel(int)::{lambda()#1}::operator()()(int) cudaLaunchKernel");
	record(m);
	drawn_is(
		m, AIF_NAME_NORMAL,
		"main;train (model.py)_[p];use.<locals>.wrapper (model.py)_[p];head (model.py)_[p];"
		"aten::add_;cudaLaunchKernel;k_[g] 1000\n");
}

static void table_write(struct model *m, const struct aif_report_table *table,
			enum aif_table_format format, struct aif_buf *ret)
{
	struct aif_report_opts o = {
		.table = table, .format = format, .detail = AIF_NAME_NORMAL, .sort = "time"};
	struct aif_attribution a = {0};
	struct aif_err err;

	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_report_write(AIF_NAMES_OF(&m->opened), &a, &o, ret, &err), &err);
	aif_attribution_finish(&a);
}

static void table_is(struct model *m, const struct aif_report_table *table, const char *expected)
{
	struct aif_buf out = {0};

	table_write(m, table, AIF_TABLE_CSV, &out);
	assert_string_equal(aif_buf_str(&out), expected);
	aif_buf_finish(&out);
}

/* The innermost operator, and of a backward the forward's caller. */
static void tables_name_operators_and_forwards(void **state)
{
	struct model *m = *state;
	struct aif_buf plain = {0};

	forward(m, "py:mlp at::_ops::linear::call(int)", "addmm");
	launch(m, MAIN, 2,
	       "main py:train py:head at::_ops::linear::call(int) op:addmm cudaLaunchKernel");
	node(m, "AddmmBackward0", 3);
	node(m, "AddmmBackward0", 100);
	launch(m, AUTOGRAD, 20, "start engine node:AddBackward0 in:Add@1 op:sum_dim_IntList f");
	record(m);
	table_is(
		m, &aif_report_table_kernels,
		"wall_share,wall,time,error,launches,average,min,p50,p99,max,samples,used,of,opportunity,gflop_s,"
		"gb_s,process,kernel,operator,caller\n"
		"1.000000,229000,229000,0,7,32714,1000,3000,100000,100000,0,,,,,,7,k,aten::mm,mlp (model.py) [backward]\n");
	table_write(m, &aif_report_table_kernels, AIF_TABLE_PLAIN, &plain);
	assert_non_null(strstr(aif_buf_str(&plain), "aten::mm  mlp (model.py) [backward]\n"));
	aif_buf_finish(&plain);
	table_is(
		m, &aif_report_table_stacks,
		"wall_share,wall,time,error,launches,samples,process,kernel,stack\n"
		"0.873362,200000,200000,0,2,0,7,k,cudaLaunchKernel < aten::mm < [backward] AddmmBackward0 < "
		"mlp (model.py) < train (model.py) < main\n"
		"0.087336,20000,20000,0,1,0,7,k,f < aten::sum < [backward] AddBackward0\n"
		"0.026200,6000,6000,0,2,0,7,k,cudaLaunchKernel < aten::mm < [backward] AddmmBackward0 < "
		"head (model.py) < train (model.py) < main\n"
		"0.008733,2000,2000,0,1,0,7,k,cudaLaunchKernel < aten::addmm < aten::linear < "
		"head (model.py) < train (model.py) < main\n"
		"0.004366,1000,1000,0,1,0,7,k,cudaLaunchKernel < aten::addmm < aten::linear < "
		"mlp (model.py) < train (model.py) < main\n");
}

static void the_first_screen_names_them_too(void **state)
{
	struct model *m = *state;
	struct aif_attribution a = {0};
	struct aif_buf out = {0};
	struct aif_err err;

	forward(m, "py:mlp", "mm");
	node(m, "MmBackward0", 100);
	record(m);
	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	aif_summary_write(AIF_NAMES_OF(&m->opened), &a, m->path, &out);
	assert_non_null(strstr(aif_buf_str(&out), "aten::mm in mlp (model.py) [backward]\n"));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
}

/* In full detail nothing is inferred. */
static void full_detail_shows_what_was_recorded(void **state)
{
	struct model *m = *state;

	forward(m, "py:head", "mm");
	launch(m, AUTOGRAD, 7, "start engine node:MmBackward0 f");
	record(m);
	drawn_is(
		m, AIF_NAME_FULL,
		"main;train (model.py)_[p];head (model.py)_[p];at::_ops::mm::call(at::Tensor const&);"
		"torch::autograd::VariableType::(anonymous namespace)::mm(int);cudaLaunchKernel;k_[g] 1000\n"
		"start;torch::autograd::Engine::evaluate_function(int);"
		"torch::autograd::generated::MmBackward0::apply(int);f;k_[g] 7000\n");
}

int main(void)
{
#define RECORDED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RECORDED(the_backward_stands_on_its_forward),
		RECORDED(what_says_nothing_is_folded_away),
		RECORDED(tables_name_operators_and_forwards),
		RECORDED(the_first_screen_names_them_too),
		RECORDED(full_detail_shows_what_was_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
