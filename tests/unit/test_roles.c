/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roles.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Names are from traces of PyTorch, vLLM and others, and from the sources of their kernels. */
static void kernels_have_roles(void **state)
{
	static const struct {
		const char *name;
		enum aif_role is;
	} cases[] = {
		{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>()",
		 AIF_ROLE_ATTENTION},
		{"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausal",
		 AIF_ROLE_ATTENTION},
		{"kernel_unified_attention_3d", AIF_ROLE_ATTENTION},
		{"attn_fwd", AIF_ROLE_ATTENTION},
		{"bwd_kernel_dk_dv", AIF_ROLE_ATTENTION},
		{"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
		 AIF_ROLE_ATTENTION},
		{"void flashinfer::BatchDecodeWithPagedKVCacheKernel<>()", AIF_ROLE_ATTENTION},
		{"void flashinfer::AppendPagedKVCacheKernel<>()", AIF_ROLE_KV_CACHE},
		{"void vllm::reshape_and_cache_flash_kernel<unsigned short>()", AIF_ROLE_KV_CACHE},
		{"nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT", AIF_ROLE_PRODUCTS},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64", AIF_ROLE_PRODUCTS},
		{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", AIF_ROLE_PRODUCTS},
		{"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32", AIF_ROLE_PRODUCTS},
		{"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>()",
		 AIF_ROLE_PRODUCTS},
		{"fused_moe_kernel", AIF_ROLE_PRODUCTS},
		{"void moe::dev::routing::routingIndicesHistogramKernel<>()", AIF_ROLE_EXPERTS},
		{"void vllm::moe::topkGatingSoftmax<8, 64, 4, 16>()", AIF_ROLE_EXPERTS},
		{"_topk_forward", AIF_ROLE_EXPERTS},
		{"void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16>()",
		 AIF_ROLE_QUANTIZATION},
		{"void tensorrt_llm::kernels::quantize_with_block_size<>()", AIF_ROLE_QUANTIZATION},
		{"std::enable_if<>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>()",
		 AIF_ROLE_NORMALIZATION},
		{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>()",
		 AIF_ROLE_NORMALIZATION},
		{"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>()",
		 AIF_ROLE_NORMALIZATION},
		{"void (anonymous namespace)::softmax_warp_forward<float>()",
		 AIF_ROLE_NORMALIZATION},
		{"triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1", AIF_ROLE_NORMALIZATION},
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
		 "at::native::ArgMaxOps<float>>>()",
		 AIF_ROLE_SAMPLING},
		{"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<>()",
		 AIF_ROLE_SAMPLING},
		{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		 AIF_ROLE_COLLECTIVES},
		{"Memcpy DtoD (Device -> Device)", AIF_ROLE_COPIES},
		{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>()",
		 AIF_ROLE_COPIES},
		{"void at::native::vectorized_elementwise_kernel<4, "
		 "at::native::FillFunctor<float>>()",
		 AIF_ROLE_COPIES},
		{"void at::native::vectorized_elementwise_kernel<4, "
		 "at::native::CUDAFunctor_add<float>>()",
		 AIF_ROLE_ELEMENTWISE},
		{"triton_poi_fused__unsafe_view_mul_silu_2", AIF_ROLE_ELEMENTWISE},
		{"void vllm::act_and_mul_kernel<c10::BFloat16>()", AIF_ROLE_ELEMENTWISE},
		/* Names that rules for other kernels would take. */
		{"void vllm::paged_attention_v2_kernel<c10::BFloat16, unsigned char, 128, 16, 128, "
		 "(vllm::Fp8KVCacheDataType)1, false>()",
		 AIF_ROLE_ATTENTION},
		{"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<>()", AIF_ROLE_ATTENTION},
		{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", AIF_ROLE_ATTENTION},
		{"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", AIF_ROLE_ATTENTION},
		{"_fwd_grouped_kernel_stage1", AIF_ROLE_ATTENTION},
		{"_fwd_kernel_splitK", AIF_ROLE_ATTENTION},
		{"pa_bf16_noquant_gqa8", AIF_ROLE_ATTENTION},
		{"void vllm::indexer_k_quant_and_cache_kernel<>()", AIF_ROLE_KV_CACHE},
		{"triton_poi_fused_convolution_relu_3", AIF_ROLE_ELEMENTWISE},
		{"triton_poi_fused_mm_t_4", AIF_ROLE_ELEMENTWISE},
		{"triton_poi_fused__scaled_dot_product_flash_attention_clone_2",
		 AIF_ROLE_ELEMENTWISE},
		{"triton_for_fused_0", AIF_ROLE_ELEMENTWISE},
		{"void at::native::(anonymous namespace)::grid_sampler_2d_kernel<float, int>()",
		 AIF_ROLE_ELEMENTWISE},
		{"void vllm::moe::moeTopK<256, float>()", AIF_ROLE_EXPERTS},
		{"void vllm::moe::grouped_topk_fused_kernel<float>()", AIF_ROLE_EXPERTS},
		{"turing_fp16_s1688cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
		 AIF_ROLE_PRODUCTS},
		{"miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1", AIF_ROLE_PRODUCTS},
		{"naive_conv_ab_nonpacked_fwd_nchw_half_double_half", AIF_ROLE_PRODUCTS},
		{"void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3>()",
		 AIF_ROLE_PRODUCTS},
		{"Custom_Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_NTD_UserArgs", AIF_ROLE_PRODUCTS},
		{"void at::native::index_elementwise_kernel<128, 4>()", AIF_ROLE_COPIES},
		{"void at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)",
		 AIF_ROLE_COPIES},
		{"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<>()",
		 AIF_ROLE_NORMALIZATION},
		{"my_kernel", AIF_ROLE_OTHER},
		{"", AIF_ROLE_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		if (aif_role_of(cases[i].name) != cases[i].is)
			fail_msg("%s: %s instead of %s", cases[i].name,
				 aif_role_name(aif_role_of(cases[i].name)),
				 aif_role_name(cases[i].is));
}

static void roles_have_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < AIF_ROLE_COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(aif_role_name((enum aif_role)i),
						aif_role_name((enum aif_role)k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_have_roles),
		cmocka_unit_test(roles_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
