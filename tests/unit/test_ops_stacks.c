/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the operators' table of recordings, which have stacks and no operators' times. */
#include "report/report.h"

#include "fixture_backward.h"

static void table_is(struct model *m, enum aif_table_format format, const char *expected)
{
	struct aif_report_opts o = {
		.table = &aif_report_table_ops, .format = format, .detail = AIF_NAME_NORMAL};
	struct aif_attribution a = {0};
	struct aif_buf out = {0};
	struct aif_err err;

	assert_ok(aif_attribution_compute(&m->opened, NULL, &a, &err), &err);
	assert_ok(aif_report_write(AIF_NAMES_OF(&m->opened), &a, &o, &out, &err), &err);
	assert_string_equal(aif_buf_str(&out), expected);
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
}

/* Samples of one stack of the main thread, of 1 ms each. */
static void samples(struct model *m, size_t n, const char *words)
{
	char copy[256], *rest = copy;
	uint32_t s = AIF_NONE;

	snprintf(copy, sizeof(copy), "%s", words);
	for (const char *word; (word = strsep(&rest, " "));)
		s = word_push(m, s, word);
	for (size_t i = 0; i < n; i++) {
		m->now += 1000000;
		m->cpu[m->cpu_len++] = (struct aif_cpu_row){
			.time = m->now, .weight = 1000000, .thread = MAIN, .stack = s};
	}
}

static void an_operator_is_called_until_a_launch_comes_again(void **state)
{
	struct model *m = *state;

	for (int i = 0; i < 3; i++) {
		/* Two kernels of one call, then a call from elsewhere. */
		launch(m, MAIN, 10, "main py:f op:softmax copy cudaLaunchKernel");
		launch(m, MAIN, 10, "main py:f op:softmax exp cudaLaunchKernel");
		launch(m, MAIN, 1, "main py:g op:linear op:addmm cudaLaunchKernel");
	}
	launch(m, MAIN, 1, "main py:g op:linear op:addmm cudaLaunchKernel");
	/* Another thread's calls are its own. */
	launch(m, AUTOGRAD, 1, "main py:f op:softmax exp cudaLaunchKernel");
	record(m);
	table_is(m, AIF_TABLE_CSV,
		 "name,process,type,self_cpu_share,self_cpu,cpu_total_share,cpu_total,cpu_error,"
		 "self_device,self_device_share,device_total,error,calls,calls_error,launches\n"
		 "k,7,kernel,,,,,,65000,1.000000,65000,0,11,0,11\n"
		 "aten::softmax,7,operator,,,,,,61000,0.938461,61000,0,4,0,7\n"
		 "aten::addmm,7,operator,,,,,,4000,0.061538,4000,0,4,0,4\n"
		 "aten::linear,7,operator,,,,,,0,0.000000,4000,0,4,0,0\n");
}

static void samples_are_of_all_operators_on_their_stack(void **state)
{
	struct model *m = *state;

	launch(m, MAIN, 1, "main py:g op:linear op:addmm cudaLaunchKernel");
	samples(m, 4, "main py:g op:linear op:addmm cudaLaunchKernel");
	samples(m, 9, "main py:g op:linear f");
	samples(m, 1, "main py:g op:empty f");
	samples(m, 5, "main py:g");
	record(m);
	table_is(
		m, AIF_TABLE_PLAIN,
		"Name          Self CPU %  Self CPU  CPU total %  CPU total  CPU error  Self CUDA  "
		"Self CUDA %  CUDA total  # of Calls  # of Launches\n"
		"k                  0.00%   0.000us        0.00%    0.000us    0.000us    1.000us      "
		"100.00%     1.000us           1              1\n"
		"aten::addmm       28.57%   4.000ms       28.57%    4.000ms    2.000ms    1.000us      "
		"100.00%     1.000us           1              1\n"
		"aten::linear      64.29%   9.000ms       92.86%   13.000ms    3.606ms    0.000us        "
		"0.00%     1.000us           1              0\n"
		"aten::empty        7.14%   1.000ms        7.14%    1.000ms    1.000ms    0.000us        "
		"0.00%     0.000us           -              0\n"
		"CPU times: 14.0 ms in operators, of 19.0 ms on CPU in 1 thread, 19 samples.\n"
		"Calls: those that launched work, counted by how launch stacks change; a loop within an "
		"operator counts each turn. -: launched nothing, not known.\n");
}

static void without_launches_calls_are_not_known(void **state)
{
	struct model *m = *state;

	samples(m, 4, "main py:g op:mm f");
	record(m);
	table_is(m, AIF_TABLE_PLAIN,
		 "Name      Self CPU %  Self CPU  CPU total %  CPU total  CPU error  # of Calls\n"
		 "aten::mm     100.00%   4.000ms      100.00%    4.000ms    2.000ms           -\n"
		 "CPU times: 4.0 ms in operators, of 4.0 ms on CPU in 1 thread, 4 samples.\n"
		 "Calls are counted from launches, of which there are none.\n");
}

int main(void)
{
#define RECORDED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RECORDED(an_operator_is_called_until_a_launch_comes_again),
		RECORDED(samples_are_of_all_operators_on_their_stack),
		RECORDED(without_launches_calls_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
