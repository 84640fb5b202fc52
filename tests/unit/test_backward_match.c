/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/backward_match.h"
#include "analysis/torch_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Tests the meaning of PyTorch's function names, and the alignment of a backward with its
 * forward. */

/* ---- names --------------------------------------------------------------------------------------- */

static void kind_is(const char *function, enum aif_torch_kind kind, const char *part)
{
	const char *name;
	size_t len;

	if (aif_torch_kind(function, &name, &len) != kind)
		fail_msg("%s is none of kind %d", function, kind);
	assert_int_equal(len, strlen(part));
	assert_memory_equal(name, part, len);
}

static void functions_tell_operators_and_nodes(void **state)
{
	(void)state;
	kind_is("at::_ops::add_Tensor::call(at::Tensor const&, c10::Scalar const&)", AIF_TORCH_CALL,
		"add_Tensor");
	kind_is("at::_ops::mm::redispatch(c10::DispatchKeySet)", AIF_TORCH_OTHER, "");
	kind_is("torch::autograd::VariableType::(anonymous namespace)::mm(c10::DispatchKeySet)",
		AIF_TORCH_VARIABLE, "mm");
	kind_is("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
		AIF_TORCH_NODE, "MmBackward0");
	kind_is("torch::autograd::generated::MmBackward0_apply_functional(std::vector<int>&&)",
		AIF_TORCH_NODE_INSIDE, "");
	kind_is("torch::autograd::Engine::evaluate_function(int)", AIF_TORCH_ENGINE, "");
	kind_is("torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)", AIF_TORCH_NODE_PYTHON,
		"");
	kind_is("THPFunction_apply(_object*, _object*)", AIF_TORCH_APPLY_PYTHON, "");
	kind_is("(anonymous namespace)::THPFunction_apply(_object*, _object*)",
		AIF_TORCH_APPLY_PYTHON, "");
	kind_is("(anonymous namespace)::THPFunction_applied(int)", AIF_TORCH_OTHER, "");
	kind_is("at::_ops", AIF_TORCH_OTHER, "");
	kind_is("at::_ops::x::call<(", AIF_TORCH_OTHER, "");
	kind_is("", AIF_TORCH_OTHER, "");
}

static void an_overload_is_no_part_of_the_operator(void **state)
{
	static const struct {
		const char *name, *operator;
	} cases[] = {
		{"mm", "mm"},
		{"add__Tensor", "add_"},
		{"add_", "add_"},
		{"sum_dim_IntList", "sum"},
		{"log_softmax_int", "log_softmax"},
		{"flatten_using_ints", "flatten"},
		{"arange_start_out", "arange"},
		{"gather_out", "gather"},
		{"index_select", "index_select"},
		{"max_pool2d_with_indices", "max_pool2d_with_indices"},
		{"_foreach_addcdiv__ScalarList", "_foreach_addcdiv_"},
		{"pow_Tensor_Scalar", "pow"},
		{"_", "_"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		size_t n = aif_torch_operator(cases[i].name, strlen(cases[i].name));

		if (n != strlen(cases[i].operator))
			fail_msg("%s is %.*s", cases[i].name, (int)n, cases[i].name);
	}
}

static void a_node_and_its_operator_are_one_family(void **state)
{
	static const char *const same[][2] = {
		{"MmBackward0", "mm"},
		{"AddmmBackward0", "addmm"},
		{"NativeLayerNormBackward0", "native_layer_norm"},
		{"NllLossBackward0", "nll_loss_forward"},
		{"NllLoss2DBackward0", "nll_loss2d_forward"},
		{"LogSoftmaxBackward0", "_log_softmax"},
		{"MulBackward0", "mul_Tensor"},
		{"SumBackward1", "sum_dim_IntList"},
		{"ReluBackward0", "relu_"},
		{"ToCopyBackward0", "_to_copy"},
		{"NativeBatchNormBackward0", "_native_batch_norm_legit"},
		{"ScaledDotProductFlashAttentionBackward0", "_scaled_dot_product_flash_attention"},
	};
	struct aif_buf node = {0}, op = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(same); i++) {
		aif_buf_clear(&node);
		aif_buf_clear(&op);
		aif_torch_family_of_node(same[i][0], strlen(same[i][0]), &node);
		aif_torch_family_of_operator(same[i][1], strlen(same[i][1]), &op);
		assert_string_equal(aif_buf_str(&node), aif_buf_str(&op));
	}
	aif_buf_clear(&op);
	aif_torch_family_of_operator("max_pool2d", 10, &op);
	assert_string_equal(aif_buf_str(&op), "maxpool2d"); /* not MaxBackward0's */
	aif_buf_finish(&node);
	aif_buf_finish(&op);
}

/* ---- sequences ----------------------------------------------------------------------------------- */

/* Units "abA", capitals weak; operators newest first; expected: of each unit the operator's place, '.' none. */
static void match_is(const char *units, const char *ops, const char *expected)
{
	struct aif_backward_unit u[64] = {0};
	uint32_t o[64] = {0}, ret[64];
	size_t n = strlen(units), m = strlen(ops);
	char got[65] = "";

	for (size_t i = 0; i < n; i++)
		u[i] = (struct aif_backward_unit){.family = (uint32_t)units[i] | 0x20,
						  .is_weak = !(units[i] & 0x20)};
	for (size_t j = 0; j < m; j++)
		o[j] = (uint32_t)ops[j];
	assert_int_equal(aif_backward_match(u, n, o, m, ret), 0);
	for (size_t i = 0; i < n; i++)
		got[i] = ret[i] == AIF_BACKWARD_NO_OP ? '.' : (char)('0' + ret[i]);
	assert_string_equal(got, expected);
}

static void sequences_are_aligned(void **state)
{
	(void)state;
	match_is("abc", "abc", "012");
	match_is("abc", "axbyc", "024");   /* operators without nodes */
	match_is("avbwc", "abc", "0.1.2"); /* nodes whose operators launched nothing */
	match_is("abab", "ab", "01..");    /* the record of the forward ends early */
	match_is("ab", "abab", "01");      /* an older forward */
	match_is("ab", "cab", "12");
	match_is("mmm", "mmm", "012");
	match_is("mM", "mm", "01"); /* two runs where there were two calls */
	match_is("mM", "m", "00");  /* one where there was one */
	match_is("mm", "m", "0.");
	match_is("mMMx", "mx", "0001");
	/* Cut off in the middle: of older operators there are plenty. Two kernels of one run stay one. */
	match_is("aAagal", "aagalasmlagala", "001234");
	/* The record of the forward begins in the middle: what is left of it is no other layer's. */
	match_is("lgalsmlgalsm", "lga", "012.........");
	match_is("gsgsgslsgl", "gl", "0.....1...");
	match_is("gglggglggglgggl", "gglm", "012............");
	match_is("", "abc", "");
	match_is("abc", "", "...");
}

/* Longer than a window. */
static void long_sequences_are_aligned(void **state)
{
	enum { N = 5000 };
	struct aif_backward_unit *u = calloc(N, sizeof(*u));
	uint32_t *o = calloc(2 * N, sizeof(*o)), *ret = calloc(N, sizeof(*ret)),
		 *truth = calloc(N, sizeof(*truth)), random = 1;
	size_t m = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		random = random * 1664525 + 1013904223;
		u[i].family = (random >> 16) % 7;
		truth[i] = AIF_BACKWARD_NO_OP;
		if (u[i].family == 6) /* a view */
			continue;
		if (u[i].family == 3) /* an operator without a node */
			o[m++] = 9;
		truth[i] = (uint32_t)m;
		o[m++] = u[i].family;
	}
	assert_int_equal(aif_backward_match(u, N, o, m, ret), 0);
	assert_memory_equal(ret, truth, N * sizeof(*ret));
	free(u);
	free(o);
	free(ret);
	free(truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_tell_operators_and_nodes),
		cmocka_unit_test(an_overload_is_no_part_of_the_operator),
		cmocka_unit_test(a_node_and_its_operator_are_one_family),
		cmocka_unit_test(sequences_are_aligned),
		cmocka_unit_test(long_sequences_are_aligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
