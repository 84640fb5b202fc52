/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what kernels reach of a device's peaks: work by shapes, precisions by names, the time that better use would save. */
#include "analysis/roof/op_work.h"
#include "analysis/roof/opportunity.h"

#include "fixture_ops.h"

enum { US = 1000 };

#define BF16_TYPES "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]"

static void products_have_operations_and_bytes(void **state)
{
	struct aif_op_work w;

	(void)state;
	assert_true(aif_op_work("aten::mm", "[[32, 1000], [1000, 2048]]", "[\"float\", \"float\"]",
				&w));
	assert_true(w.flops == 2.0 * 32 * 1000 * 2048);
	assert_true(w.bytes == 4.0 * (32 * 1000 + 1000 * 2048 + 32 * 2048));
	assert_int_equal(w.precision, AIF_PRECISION_NONE); /* FP32 or TF32 */
	assert_true(aif_op_work("aten::addmm", "[[512], [141, 512], [512, 256], [], []]",
				BF16_TYPES, &w));
	assert_true(w.flops == 2.0 * 141 * 512 * 256);
	assert_int_equal(w.precision, AIF_PRECISION_BF16);
	assert_true(aif_op_work("aten::bmm", "[[3, 4, 5], [3, 5, 6]]", "", &w));
	assert_true(w.flops == 2.0 * 3 * 4 * 5 * 6);
	assert_true(w.bytes == 0); /* of no known type */
	assert_true(aif_op_work("aten::mv", "[[4, 5], [5]]", "", &w));
	assert_true(w.flops == 2.0 * 4 * 5);
}

static void gradients_of_convolutions_are_two_products(void **state)
{
	struct aif_op_work w;

	(void)state;
	/* 32 images, 2048 channels to 512 by 1 x 1. */
	assert_true(aif_op_work("aten::cudnn_convolution_backward",
				"[[32, 2048, 7, 7], [32, 512, 7, 7], [512, 2048, 1, 1]]",
				"[\"float\", \"float\", \"float\"]", &w));
	assert_true(w.flops == 2 * 2.0 * 32 * 512 * 7 * 7 * 2048);
	assert_true(w.is_pair);
}

static void elementwise_operators_move_bytes(void **state)
{
	struct aif_op_work w;

	(void)state;
	assert_true(aif_op_work("aten::add", "[[8, 4], [4], []]",
				"[\"c10::Half\", \"c10::Half\", \"Scalar\"]", &w));
	assert_true(w.flops == 0);
	assert_true(w.bytes == 2.0 * (32 + 4 + 32)); /* broadcast: the output is like the larger */
	assert_true(aif_op_work("aten::zero_", "[[100]]", "[\"float\"]", &w));
	assert_true(w.bytes == 400);
	assert_false(aif_op_work("aten::add", "[[8], [8]]", "", &w));
}

/* Shapes of a file that somebody else wrote. */
static void what_is_no_shape_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "[",
					  "[[",
					  "[[1",
					  "[[1,",
					  "[[1]",
					  "[[1], [",
					  "x",
					  "[1, 2]",
					  "[[[2, 3]], [3, 4]]",
					  "[[nan, 2], [2, 3]]",
					  "[[1e300, 2], [2, 3]]",
					  "[[-1, 2], [2, 3]]",
					  "[[2, 3], [4, 5]]",
					  "[[2], [2]]",
					  "[[], []]",
					  "[]",
					  "[[1,1,1,1,1,1,1,1,1,1,1], [1, 1]]"};
	struct aif_op_work w;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(bad); i++)
		if (aif_op_work("aten::mm", bad[i], "[\"", &w))
			fail_msg("%s", bad[i]);
	assert_false(aif_op_work("aten::conv2d", "[[2, 3], [3, 4]]", "", &w));
	assert_true(aif_op_work("aten::mm", "[[2, 3], [3, 4]]",
				"[\"a type whose name is longer than there is room for one\"", &w));
}

static void names_of_kernels_say_the_precision(void **state)
{
	static const struct {
		const char *name;
		enum aif_precision precision;
	} kernels[] = {
		{"ampere_sgemm_128x64_tn", AIF_PRECISION_FP32},
		{"volta_scudnn_128x128_stridedB_splitK_small_nn_v1", AIF_PRECISION_FP32},
		{"cutlass_80_simt_sgemm_128x128_8x4_nn_align1", AIF_PRECISION_FP32},
		{"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16", AIF_PRECISION_TF32},
		{"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>",
		 AIF_PRECISION_TF32},
		{"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", AIF_PRECISION_FP16},
		{"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn", AIF_PRECISION_BF16},
		{"cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32", AIF_PRECISION_BF16},
		{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", AIF_PRECISION_BF16},
		{"nvjet_sm90_hsh_64x8_64x16_4x1_v_bz_TNT", AIF_PRECISION_FP16},
		{"nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", AIF_PRECISION_BF16},
		{"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n", AIF_PRECISION_FP8},
		{"Cijk_Alik_Bljk_BBS_BH_MT128x128x64", AIF_PRECISION_BF16},
		{"volta_dgemm_64x64_nn", AIF_PRECISION_FP64},
		{"vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
		 AIF_PRECISION_NONE},
		{"reduce_kernel<512, 1, float>", AIF_PRECISION_NONE},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(kernels); i++)
		if (aif_precision_of_kernel(kernels[i].name) != kernels[i].precision)
			fail_msg("%s: %s", kernels[i].name,
				 aif_precision_name(aif_precision_of_kernel(kernels[i].name)));
}

static bool is_near(double a, double b)
{
	return a > b * 0.999 && a < b * 1.001;
}

static bool roof_of(const char *name, struct aif_device d, struct aif_roof *ret)
{
	struct ops_fixture f;
	bool found;

	ops_begin(&f, NULL, "cuda");
	d.name = ops_string(&f, name);
	ops_read(&f);
	found = aif_roof_of(&f.p, &d, ret);
	ops_end(&f);
	return found;
}

/* Data sheets say 989.4 TFLOP/s in BF16, 66.9 in FP32; 756 of the PCIe card; 312 of an A100. */
static void listed_devices_are_found_by_their_names(void **state)
{
	struct aif_device d = {0};
	struct aif_roof r;

	(void)state;
	assert_true(roof_of("NVIDIA H100 80GB HBM3", d, &r));
	assert_true(is_near(r.per_s[AIF_PRECISION_BF16], 989.4e12));
	assert_true(is_near(r.per_s[AIF_PRECISION_TF32], 494.7e12));
	assert_true(is_near(r.per_s[AIF_PRECISION_FP8], 1978.9e12));
	assert_true(is_near(r.per_s[AIF_PRECISION_FP32], 66.9e12));
	assert_true(is_near(r.per_s[AIF_PRECISION_FP64], 33.45e12));
	assert_true(roof_of("NVIDIA H100 PCIe", d, &r));
	assert_true(is_near(r.per_s[AIF_PRECISION_BF16], 756.4e12));
	assert_true(roof_of("NVIDIA A100-SXM4-40GB", d, &r));
	assert_true(r.bytes_per_s == 1555e9);
	assert_true(is_near(r.per_s[AIF_PRECISION_FP16], 311.9e12));
	assert_true(is_near(r.per_s[AIF_PRECISION_TF32], 155.95e12));
	assert_true(roof_of("Tesla V100-PCIE-16GB", d, &r));
	assert_true(r.per_s[AIF_PRECISION_TF32] == 0);
	assert_false(roof_of("Tesla V100-DGXS-32GB", d, &r));
	assert_false(roof_of("cpu-haswell-AMD EPYC", d, &r));
	assert_false(roof_of("NVIDIA GeForce RTX 3090", d, &r));
}

/* An A100 of 80 GB as deviceQuery shows it; and a device whose units are not known. */
static void what_a_device_reports_goes_first(void **state)
{
	struct aif_device d = {.units = 108,
			       .arch = 80,
			       .clock_khz = 1410000,
			       .memory_khz = 1593000,
			       .memory_bits = 5120};
	struct aif_roof r;

	(void)state;
	assert_true(roof_of("NVIDIA H100 80GB HBM3", d, &r));
	assert_true(is_near(r.bytes_per_s, 2039e9));
	assert_true(is_near(r.per_s[AIF_PRECISION_FP16], 311.9e12));
	assert_true(is_near(r.per_s[AIF_PRECISION_FP32], 19.49e12));
	d.arch = 86;
	assert_true(roof_of("another", d, &r));
	assert_true(is_near(r.bytes_per_s, 2039e9));
	assert_true(r.per_s[AIF_PRECISION_FP32] == 0);
	d.memory_khz = 0;
	assert_false(roof_of("another", d, &r));
}

static void op(struct ops_fixture *f, uint64_t from, uint64_t to, const char *name,
	       const char *shapes, const char *types)
{
	ops_add_row(f, (struct aif_op_row){.start = from,
					   .end = to,
					   .name = ops_string(f, name),
					   .kind = AIF_OP_OPERATOR,
					   .shapes = ops_string(f, shapes),
					   .types = ops_string(f, types),
					   .stack = AIF_NONE,
					   .sequence = -1});
}

static void begin(struct ops_fixture *f, const char *device)
{
	ops_begin(f, NULL, "cuda");
	f->made.devices[0].name = ops_string(f, device);
}

static void make(struct ops_fixture *f, struct aif_opportunity *o)
{
	const struct aif_exec_timeline *t;

	ops_read(f);
	assert_int_equal(aif_exec_timeline_get(&f->p, NULL, &t), 0);
	assert_int_equal(aif_opportunity_make(&f->p, NULL, t, NULL, NULL, o), 0);
	aif_facts_put(t);
}

static const struct aif_opportunity_kernel *find(const struct ops_fixture *f,
						 const struct aif_opportunity *o, const char *name)
{
	for (uint32_t i = 0; i < f->p.kernels_len; i++)
		if (!strcmp(aif_profile_str(&f->p, f->p.kernels[i].name), name))
			return aif_opportunity_of(o, &f->p, AIF_LAUNCH_KERNEL, i);
	return NULL;
}

/* A product of 4096 cubed takes 138.9 us at the peak of an H100; the operator's second kernel computes nothing. */
static void a_product_is_measured_by_its_precision(void **state)
{
	const struct aif_opportunity_kernel *k;
	struct aif_opportunity_mfu mfu;
	struct aif_opportunity o;
	struct ops_fixture f;

	(void)state;
	begin(&f, "NVIDIA H100 80GB HBM3");
	op(&f, 0, 10 * US, "aten::mm", "[[4096, 4096], [4096, 4096]]", BF16_TYPES);
	ops_exec(&f, 0, 1 * US, 0, 20 * US, 320 * US, "nvjet_sm90_tst_128x256");
	ops_exec(&f, 0, 2 * US, 0, 320 * US, 330 * US, "splitKreduce_kernel");
	make(&f, &o);
	k = find(&f, &o, "nvjet_sm90_tst_128x256");
	assert_true(k->is_known && k->has_roof);
	assert_true(is_near(k->least_ns, 2 * 4096.0 * 4096 * 4096 / 989.4e12 * 1e9));
	assert_true(is_near(aif_opportunity_used(k), 138.9 / 300));
	assert_string_equal(aif_opportunity_bound(k), "BF16");
	assert_false(find(&f, &o, "splitKreduce_kernel")->is_known);
	assert_true(o.fp32_ns == 0);
	assert_true(aif_opportunity_mfu(&o, 620 * US, &mfu));
	assert_true(is_near(mfu.share, 138.9 / 620) && is_near(mfu.peak_per_s, 989.4e12));
	assert_true(is_near(mfu.known, 300.0 / 310) && mfu.precision == AIF_PRECISION_BF16);
	assert_false(aif_opportunity_mfu(&o, 0, &mfu));
	o.do_peaks_differ = true;
	assert_false(aif_opportunity_mfu(&o, 620 * US, &mfu));
	aif_opportunity_finish(&o);
	ops_end(&f);
}

static void products_in_fp32_are_said(void **state)
{
	static const char types[] = "[\"float\", \"float\"]";
	const struct aif_opportunity_kernel *k;
	struct aif_opportunity o;
	struct aif_buf said = {0};
	struct ops_fixture f;

	(void)state;
	begin(&f, "NVIDIA H100 80GB HBM3");
	op(&f, 0, 10 * US, "aten::mm", "[[4096, 4096], [4096, 4096]]", types);
	ops_exec(&f, 0, 1 * US, 0, 20 * US, 4020 * US, "ampere_sgemm_128x64_tn");
	/* Faster than FP32 can be, and its name does not say in what. */
	op(&f, 5000 * US, 5010 * US, "aten::mm", "[[4096, 4096], [4096, 4096]]", types);
	ops_exec(&f, 0, 5001 * US, 0, 5020 * US, 5520 * US, "some_gemm");
	make(&f, &o);
	k = find(&f, &o, "ampere_sgemm_128x64_tn");
	assert_int_equal(k->precision, AIF_PRECISION_FP32);
	assert_true(is_near(aif_opportunity_used(k), 137.439 / 66.9 / 4));
	assert_int_equal(find(&f, &o, "some_gemm")->precision, AIF_PRECISION_TF32);
	aif_opportunity_say_precision(&o, &f.p, &said);
	assert_string_equal(aif_buf_str(&said),
			    "88.9 % of kernel time in FP32 products outside of matrix units: TF32 "
			    "has 7.4x the rate of FP32 on NVIDIA H100 80GB "
			    "HBM3, "
			    "torch.set_float32_matmul_precision(\"high\")");
	aif_buf_finish(&said);
	aif_opportunity_finish(&o);
	ops_end(&f);
}

/* A convolution's gradients are computed by the kernels of its operator's children; alone it is one product. */
static void children_do_their_operators_work(void **state)
{
	static const char shapes[] = "[[32, 2048, 7, 7], [32, 512, 7, 7], [512, 2048, 1, 1]]";
	static const char types[] = "[\"float\", \"float\", \"float\"]";
	double flops = 2 * 2.0 * 32 * 512 * 7 * 7 * 2048;
	struct aif_opportunity o;
	struct ops_fixture f;

	(void)state;
	begin(&f, "Tesla V100-PCIE-16GB");
	op(&f, 0, 100 * US, "aten::cudnn_convolution_backward", shapes, types);
	op(&f, 10 * US, 40 * US, "aten::cudnn_convolution_backward_input", "[[], []]", types);
	op(&f, 50 * US, 90 * US, "aten::cudnn_convolution_backward_weight", "[[], []]", types);
	ops_exec(&f, 0, 20 * US, 0, 100 * US, 500 * US, "dgrad_engine<float>");
	ops_exec(&f, 0, 60 * US, 0, 500 * US, 1100 * US, "wgrad_alg0_engine<float>");
	op(&f, 2000 * US, 2100 * US, "aten::cudnn_convolution_backward", shapes, types);
	ops_exec(&f, 0, 2020 * US, 0, 2100 * US, 2500 * US, "volta_scudnn_first");
	make(&f, &o);
	assert_true(is_near(find(&f, &o, "dgrad_engine<float>")->flops, flops * 0.4));
	assert_true(is_near(find(&f, &o, "wgrad_alg0_engine<float>")->flops, flops * 0.6));
	assert_true(is_near(find(&f, &o, "volta_scudnn_first")->flops, flops / 2));
	aif_opportunity_finish(&o);
	ops_end(&f);
}

static void without_a_listed_device_the_peaks_are_not_known(void **state)
{
	struct aif_opportunity o;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	op(&f, 0, 10 * US, "aten::mm", "[[4096, 4096], [4096, 4096]]", BF16_TYPES);
	ops_exec(&f, 0, 1 * US, 0, 20 * US, 4020 * US, "ampere_sgemm_128x64_tn");
	make(&f, &o);
	assert_true(find(&f, &o, "ampere_sgemm_128x64_tn")->is_known); /* its work */
	assert_false(find(&f, &o, "ampere_sgemm_128x64_tn")->has_roof);
	assert_int_equal(o.without_roof, f.p.devices[0].name);
	assert_true(o.fp32_ns == 0);
	aif_opportunity_finish(&o);
	ops_end(&f);
}

static void the_table_has_what_is_known(void **state)
{
	struct aif_report_opts opts = {.table = &aif_report_table_kernels, .format = AIF_TABLE_CSV};
	struct aif_attribution a = {0};
	struct aif_err err = {0};
	struct aif_buf out = {0};
	struct ops_fixture f;
	const char *text;

	(void)state;
	begin(&f, "NVIDIA H100 80GB HBM3");
	op(&f, 0, 10 * US, "aten::zero_", "[[83750]]", "[\"float\"]");
	ops_exec(&f, 0, 1 * US, 0, 20 * US, 21 * US, "fill_kernel"); /* 335 kB in 1 us: 10 % */
	ops_exec(&f, 0, 15 * US, 0, 30 * US, 40 * US, "other");
	ops_read(&f);
	assert_ok(aif_attribution_compute(&f.p, NULL, &a, &err), &err);
	assert_ok(aif_report_write(AIF_NAMES_OF(&f.p), &a, &opts, &out, &err), &err);
	text = aif_buf_str(&out);
	assert_non_null(
		strstr(text, ",1000,0,1,1000,1000,1000,1000,1000,0,0.100000,memory,900,,335,"));
	assert_non_null(strstr(text, ",10000,10000,10000,10000,0,,,,,,"));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_have_operations_and_bytes),
		cmocka_unit_test(gradients_of_convolutions_are_two_products),
		cmocka_unit_test(elementwise_operators_move_bytes),
		cmocka_unit_test(what_is_no_shape_is_refused),
		cmocka_unit_test(names_of_kernels_say_the_precision),
		cmocka_unit_test(listed_devices_are_found_by_their_names),
		cmocka_unit_test(what_a_device_reports_goes_first),
		cmocka_unit_test(a_product_is_measured_by_its_precision),
		cmocka_unit_test(products_in_fp32_are_said),
		cmocka_unit_test(children_do_their_operators_work),
		cmocka_unit_test(without_a_listed_device_the_peaks_are_not_known),
		cmocka_unit_test(the_table_has_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
