/* SPDX-License-Identifier: Apache-2.0 */
#include "names/kernel_names.h"
#include "names/profile_names.h"

#include "fixture_names.h"
#include "fixture_profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COPY(functor, type, load)                                                           \
	"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(" \
	"at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#" functor    \
	"}::operator()() const::{lambda(" type ")#1}, std::array<char*, 2ul>, 4, "          \
	"TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned "    \
	"int>, at::native::memory::" load ", at::native::memory::StoreWithCast<1> >(int, "  \
	"at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"      \
	"operator()() const::{lambda()#" functor "}::operator()() const::{lambda(" type ")#1})"
#define BINARY(functor)                                                                        \
	"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"      \
	"at::native::BinaryFunctor<float, float, float, at::native::binary_internal::" functor \
	"<float> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<float, "               \
	"float, float, at::native::binary_internal::" functor "<float> > const&)::"            \
	"{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<float>)"
#define FLASH(last)                                                                      \
	"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, " \
	"false, false, cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 4, "       \
	"cutlass::bfloat16_t> >, false, false, false, false, true, true, " last          \
	">(flash::Flash_fwd_params)"

/* Names as PyTorch, its libraries and compilers make them. */
static const struct {
	const char *name, *short_name;
} cases[] = {
	{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<"
	 "c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, "
	 "std::array<char*, 3ul>)",
	 "vectorized_elementwise_kernel<4, CUDAFunctor_add<bf16>, ...>"},
	{COPY("7", "float", "LoadWithCast<1>"),
	 "unrolled_elementwise_kernel<direct_copy_kernel_cuda::{lambda(float)}, ..., 4, ...>"},
	{BINARY("MulFunctor"), "elementwise_kernel<128, 4, BinaryFunctor<..., MulFunctor<float>>>"},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, "
	 "at::native::MeanOps<c10::BFloat16, float, float, c10::BFloat16>, unsigned int, "
	 "c10::BFloat16, 4, 4> >(at::native::ReduceOp<c10::BFloat16>)",
	 "reduce_kernel<512, 1, ReduceOp<bf16, MeanOps<...>, unsigned int, bf16, 4, 4>>"},
	{"void (anonymous namespace)::softmax_warp_forward<float, float, float, 5, false, false>("
	 "float*, float const*, int, int, int, bool const*, int, bool)",
	 "softmax_warp_forward<float, float, float, 5, false, false>"},
	{"void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, "
	 "16, 4, 4, false, true, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<"
	 "__nv_bfloat16 const>, float> >(cublasGemvParamsEx<int>)",
	 "gemv2T_kernel_val<int, int, bf16, bf16, bf16, float, 128, 16, 4, 4, false, true, ...>"},
	{"nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "nvjet_tst_64x8_64x16_2x1_v_bz_TNT"},
	{"ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn",
	 "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn"},
	{"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_"
	 "align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8::Params)",
	 "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8"},
	{"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::"
	 "kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::"
	 "CollectiveMma<int>, void> > >(at::Params)",
	 "enable_3x_kernel_for_sm9x<GemmUniversal<cute::tuple<int, int, int, int>, ...>>"},
	{FLASH("false, false"),
	 "flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, ...>, ...>"},
	/* cut off by somebody before us */
	{"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
	 "cutlass::bfloat16_t, ...>(flash::Flash_fwd_params)",
	 "flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, ...>"},
	{"void cub::CUB_200700_500_600_NS::DeviceScanKernel<int*, int>(int*)",
	 "cub::DeviceScanKernel<int*, int>"},
	{"matmul(float const*, float const*, float*, int)", "matmul"},
	{"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0"},
	{"matmul_kernel_0d1d2d3de4de", "matmul_kernel"},
	{"multiply_basic", "multiply_basic"},
	{"", ""},
	{"k<", "k<"},
	{"void k<a(", "k<a("},
	{"k<>()", "k<>"},
};

static void kernels_get_short_names(void **state)
{
	int failed = 0;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf b = {0};

		aif_kernel_name(cases[i].name, strlen(cases[i].name), 0, &b);
		if (strcmp(aif_buf_str(&b), cases[i].short_name))
			failed += printf("\"%s\": \"%s\", not \"%s\"\n", cases[i].name,
					 aif_buf_str(&b), cases[i].short_name);
		aif_buf_finish(&b);
	}
	assert_int_equal(failed, 0);
}

static void kernel_add(struct aif_profile *p, const char *name)
{
	FIXTURE_ADD(p, kernels, .name = aif_strset_puts(&p->strings, name), .short_name = AIF_NONE,
		    .program = AIF_NONE);
}

static const char *short_of(const struct aif_names *n, size_t kernel)
{
	return aif_names_short(n, (uint32_t)kernel);
}

/* Two that have the same name with the least room get more of it, and a mark where all they show is the
 * same. Others keep theirs. */
static void kernels_are_told_apart(void **state)
{
	static const char *const names[][2] = {
		{BINARY("MulFunctor"),
		 "elementwise_kernel<128, 4, BinaryFunctor<..., MulFunctor<float>>>"},
		{BINARY("AddFunctor"),
		 "elementwise_kernel<128, 4, BinaryFunctor<..., AddFunctor<float>>>"},
		{"void at::native::k<4, at::native::BinaryFunctor<c10::Half, c10::Half, F> >(int)",
		 "k<4, BinaryFunctor<half, half, F>>"},
		{"void at::native::k<4, at::native::BinaryFunctor<float, float, F> >(int)",
		 "k<4, BinaryFunctor<float, float, F>>"},
		{"k(int)", NULL},
		{"k(long)", NULL},
		{"matmul", "matmul"},
		{"matmul", "matmul"}, /* of another program */
		{FLASH("false, false"), NULL},
		{FLASH("false, true"), NULL},
		{COPY("7", "float", "LoadWithCast<1>"), NULL},
		{COPY("8", "float", "LoadWithCast<1>"), NULL},
		{COPY("7", "float", "LoadWithoutCast"), NULL},
	};
	struct aif_profile p = {0};
	struct aif_names n;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		kernel_add(&p, names[i][0]);
	assert_int_equal(aif_names_make(&n, &p), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		if (names[i][1])
			assert_string_equal(short_of(&n, i), names[i][1]);
		for (size_t j = 0; j < i; j++)
			assert_int_equal(!strcmp(short_of(&n, i), short_of(&n, j)),
					 !strcmp(names[i][0], names[j][0]));
		assert_in_range(strlen(short_of(&n, i)), 1, 300);
	}
	/* Kernels that differ in nothing but parameters get an address, behind the part with the
	 * most room. */
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		assert_int_equal(strchr(short_of(&n, i), '~') != NULL,
				 !strncmp(names[i][0], "k(", 2) ||
					 strstr(names[i][0], "{lambda()#7}") != NULL);
	aif_names_finish(&n);
	aif_profile_finish(&p);
}

static void names_of_the_file_are_kept(void **state)
{
	struct aif_profile p = {0};
	struct aif_names n;

	(void)state;
	fixture_profile(&p);
	kernel_add(&p, "kernel_9");
	assert_int_equal(aif_names_make(&n, &p), 0);
	assert_string_equal(short_of(&n, 0), "0");
	assert_string_equal(short_of(&n, FIXTURE_KERNELS), "kernel_9");
	aif_names_finish(&n);
	aif_profile_finish(&p);
}

/* Mangled names of a trace are shown demangled; the name itself stays. */
static void linkers_names_are_read(void **state)
{
	static const char *const names[] = {
		"_ZN2at6native29vectorized_elementwise_kernelILi4EfEEvPf", "_Z4gemmPfS_i", "_Zwhat",
		"_Z1gIiEvT_" /* and the next are the same to who reads them */, "void g<int>(int)"};
	struct aif_profile p = {0};
	struct aif_names n;

	(void)state;
	fixture_profile(&p);
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		kernel_add(&p, names[i]);
	assert_int_equal(aif_names_make(&n, &p), 0);
	assert_string_equal(short_of(&n, FIXTURE_KERNELS),
			    "vectorized_elementwise_kernel<4, float>");
	assert_string_equal(short_of(&n, FIXTURE_KERNELS + 1), "gemm");
	assert_string_equal(short_of(&n, FIXTURE_KERNELS + 2), "_Zwhat");
	assert_int_equal(strncmp(short_of(&n, FIXTURE_KERNELS + 3), "g<int> ~", 8), 0);
	assert_int_equal(strncmp(short_of(&n, FIXTURE_KERNELS + 4), "g<int> ~", 8), 0);
	assert_string_equal(aif_profile_str(&p, p.kernels[FIXTURE_KERNELS + 1].name),
			    "_Z4gemmPfS_i");
	aif_names_finish(&n);
	aif_profile_finish(&p);
}

static void functions_that_are_the_kernel(void **state)
{
	static const struct {
		const char *function, *kernel;
		bool is;
	} pairs[] = {
		{"gemm", "gemm", true},
		{"gemm (line matched)", "gemm", true},
		{"gemm_inner", "gemm", false},
		{"gemm(float*)", "gemm", false},
		{"gem", "gemm", false},
		{"void k<4>(int)", "void k<4>(int)", true},
		{"void k<4>(int, int)", "void k<4>(int)", false},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(pairs); i++)
		assert_int_equal(aif_kernel_is_itself(pairs[i].function, pairs[i].kernel),
				 pairs[i].is);
}

/* Brackets in every order: bounded, the same result under sanitizers. */
static void hostile_kernel_names_are_shortened_in_bounds(void **state)
{
	static const char *const parts[] = {
		"(", "<",  ")",          ">",        "{",      "}",  ",", " ",
		"f", "::", "operator()", "{lambda(", " const", "#1", "a<"};
	struct aif_buf name = {0}, b = {0};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(parts) + 20; i++) {
		fixture_hostile_name(parts, AIF_ARRAY_LEN(parts), i, 30000, &random, &name);
		for (unsigned room = 0; room < AIF_KERNEL_ROOMS; room++) {
			aif_buf_clear(&b);
			aif_kernel_name((char *)name.data, name.len, room, &b);
			assert_false(b.failed);
			assert_true(b.len <= 300);
		}
	}
	aif_buf_finish(&name);
	aif_buf_finish(&b);
}

/* Names that no compiler makes are parsed in part: as long a name with another end is called the same. */
static void endless_kernel_names_are_called_by_their_beginning(void **state)
{
	struct aif_buf name = {0}, one = {0}, two = {0};

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		aif_buf_puts(&name, i % 3 ? "b, " : "a<");
	aif_buf_puts(&name, " f(int)");
	for (unsigned room = 0; room < AIF_KERNEL_ROOMS; room++) {
		aif_buf_clear(&one);
		aif_buf_clear(&two);
		aif_kernel_name((char *)name.data, name.len, room, &one);
		aif_kernel_name((char *)name.data, name.len - 7, room, &two);
		assert_string_equal(aif_buf_str(&one), aif_buf_str(&two));
		assert_true(one.len && one.len <= 300);
	}
	aif_buf_finish(&name);
	aif_buf_finish(&one);
	aif_buf_finish(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_get_short_names),
		cmocka_unit_test(kernels_are_told_apart),
		cmocka_unit_test(names_of_the_file_are_kept),
		cmocka_unit_test(linkers_names_are_read),
		cmocka_unit_test(functions_that_are_the_kernel),
		cmocka_unit_test(hostile_kernel_names_are_shortened_in_bounds),
		cmocka_unit_test(endless_kernel_names_are_called_by_their_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
