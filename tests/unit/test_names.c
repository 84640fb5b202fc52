/* SPDX-License-Identifier: Apache-2.0 */
#include "names/names.h"

#include "fixture_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void names_of_functions_are_shortened(void **state)
{
	int failed = 0;
	static const struct {
		const char *name, *brief, *normal;
	} cases[] = {
		/* no C++: as they are */
		{"main", "main", "main"},
		{"", "", ""},
		{"[libc.so.6+0x29d90]", "[libc.so.6+0x29d90]", "[libc.so.6+0x29d90]"},
		{"forward (model.py)", "forward (model.py)", "forward (model.py)"},
		{"Conv2d._call (nn.py:12)", "Conv2d._call (nn.py:12)", "Conv2d._call (nn.py:12)"},
		{"memcpy@plt", "memcpy@plt", "memcpy@plt"},
		{"<module>", "<module>", "<module>"},
		{"<listcomp> (a.py)", "<listcomp> (a.py)", "<listcomp> (a.py)"},
		{"a (b) c", "a (b) c", "a (b) c"},
		/* parameters, return types, qualifiers */
		{"f()", "f", "f"},
		{"a::f(int, char const*)", "a::f", "a::f"},
		{"a::f(void (*)(int))", "a::f", "a::f"},
		{"a::f() const", "a::f", "a::f"},
		{"a::f(int) const volatile &&", "a::f", "a::f"},
		{"unsigned long a::f<int>(int)", "a::f<int>", "a::f<int>"},
		{"std::vector<int, std::allocator<int> > f<int>(char)", "f<int>", "f<int>"},
		{"a::f() [clone .cold]", "a::f", "a::f"},
		{"f[abi:cxx11](int)", "f", "f"},
		{"(anonymous namespace)::f(int)", "f", "f"},
		{"a::(anonymous namespace)::b::f(int)", "a::b::f", "a::b::f"},
		/* operators */
		{"a::operator()(int) const", "a::operator()", "a::operator()"},
		{"bool a::operator< <int>(b<int> const&)", "a::operator< <int>",
		 "a::operator< <int>"},
		{"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <...>",
		 "operator<< <char>"},
		{"a::operator->() const", "a::operator->", "a::operator->"},
		{"operator new(unsigned long)", "operator new", "operator new"},
		{"operator new[](unsigned long)", "operator new[]", "operator new[]"},
		{"a::operator bool() const", "a::operator bool", "a::operator bool"},
		{"my_operator(int)", "my_operator", "my_operator"},
		/* functions in functions */
		{"f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda}::operator()",
		 "f::{lambda}::operator()"},
		{"void g<f(int)::{lambda()#2}>(f(int)::{lambda()#2}&&)", "g<...>",
		 "g<f(int)::{lambda()#2}>"},
		{"lambdas(int)::Local::go(int)", "lambdas::Local::go", "lambdas::Local::go"},
		{"decltype(auto) h<int>(int)", "h<int>", "h<int>"},
		{"f(decltype (a(b)))", "f", "f"},
		/* templates */
		{"std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> >::append(char const*)",
		 "std::string::append", "std::string::append"},
		{"std::map<std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> >, int>::f()",
		 "std::map<...>::f", "std::map<std::string, int>::f"},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<"
		 "float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
		 "at::detail::Array<char*, 3>)",
		 "at::native::vectorized_elementwise_kernel<...>",
		 "at::native::vectorized_elementwise_kernel<...>"},
		{"void reduce<512, 1, Op<float, float, 4> >(Op<float, float, 4>)", "reduce<...>",
		 "reduce<512, 1, Op<float, float, 4> >"},
		{"void r<A<B<C<D<E<F<G<H<int> > > > > > > > >()", "r<...>",
		 "r<A<B<C<D<E<F<...> > > > > > >"},
		{"x<((a)>(b))>::f()", "x<...>::f", "x<((a)>(b))>::f"},
		{"x<decltype((a)->(b))>::f()", "x<...>::f", "x<decltype((a)->(b))>::f"},
		/* other languages' and compilers' marks */
		{"core::fmt::write::h0123456789abcdef", "core::fmt::write", "core::fmt::write"},
		{"core::fmt::write::h0123456789abcde", "core::fmt::write::h0123456789abcde",
		 "core::fmt::write::h0123456789abcde"},
		{"<T as core::fmt::Display>::fmt", "<T as core::fmt::Display>::fmt",
		 "<T as core::fmt::Display>::fmt"},
		{"typeinfo name for my::Kernel<int>", "my::Kernel<int>", "my::Kernel<int>"},
		{"matmul_kernel_0d1d2d3de4de", "matmul_kernel", "matmul_kernel"},
		{"matmul_kernel_0a", "matmul_kernel_0a", "matmul_kernel_0a"},
		{"Cijk_Ailk_MT64x64.kd", "Cijk_Ailk_MT64x64", "Cijk_Ailk_MT64x64"},
		{"triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0",
		 "triton_poi_fused_add_relu_0"},
		{"non-virtual thunk to a::f()", "a::f", "a::f"},
		/* Cython's */
		{"__pyx_pw_4cupy_5_core_4core_7ndarray_9get", "cupy._core.core.ndarray.get",
		 "cupy._core.core.ndarray.get"},
		{"__pyx_pw_4cupy_4cuda_8function_8Function_1__call__(_object*, _object*, _object*)",
		 "cupy.cuda.function.Function.__call__", "cupy.cuda.function.Function.__call__"},
		{"__pyx_pw_4cupy_5_core_7_kernel_9_get_outs_args",
		 "cupy._core._kernel._get_outs_args", "cupy._core._kernel._get_outs_args"},
		{"__pyx_pf_4cupy_5_core_4core_7ndarray_get", "cupy._core.core.ndarray.get",
		 "cupy._core.core.ndarray.get"},
		{"__pyx_f_4cupy_5_core_7_kernel_linear_launch", "cupy._core._kernel.linear_launch",
		 "cupy._core._kernel.linear_launch"},
		{"__pyx_fuse_1__pyx_pw_3app_21total", "app.total", "app.total"},
		{"__pyx_tp_dealloc_4cupy_5_core_4core__ndarray_base",
		 "cupy._core.core._ndarray_base.__dealloc__",
		 "cupy._core.core._ndarray_base.__dealloc__"},
		{"__pyx_pw_", "__pyx_pw_", "__pyx_pw_"},
		{"__pyx_pw_99999999999999999999_a", "__pyx_pw_99999999999999999999_a",
		 "__pyx_pw_99999999999999999999_a"},
		{"__pyx_pw_3app_", "__pyx_pw_3app_", "__pyx_pw_3app_"},
		{"__pyx_pymod_exec_core", "__pyx_pymod_exec_core", "__pyx_pymod_exec_core"},
		/* not balanced: left alone, no crash */
		{"f(", "f(", "f("},
		{"f<", "f<", "f<"},
		{"f)", "f)", "f)"},
		{"a<b(c>d)", "a<b", "a<b"},
		{"operator", "operator", "operator"},
		{"operator<", "operator<", "operator<"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const char *expected[] = {cases[i].brief, cases[i].normal, cases[i].name};

		for (int detail = AIF_NAME_BRIEF; detail <= AIF_NAME_FULL; detail++) {
			struct aif_buf b = {0};

			aif_buf_puts(&b, "head ");
			aif_name_short(cases[i].name, strlen(cases[i].name),
				       (enum aif_name_detail)detail, &b);
			if (strcmp(aif_buf_str(&b) + 5, expected[detail]))
				failed += printf("detail %d of \"%s\": \"%s\", not \"%s\"\n",
						 detail, cases[i].name, aif_buf_str(&b) + 5,
						 expected[detail]);
			aif_buf_finish(&b);
		}
	}
	assert_int_equal(failed, 0);
}

static void long_names_are_cut(void **state)
{
	struct aif_buf b = {0};
	char *name = malloc(20001);

	(void)state;
	/* characters of two bytes: the cut falls between them */
	for (size_t i = 0; i < 10000; i++)
		memcpy(name + 2 * i, "\xc3\xa4", 2);
	for (size_t shift = 0; shift < 2; shift++) {
		aif_buf_clear(&b);
		aif_name_short(name + 2 - 2 * shift, 20000 - 2, AIF_NAME_NORMAL, &b);
		assert_in_range(b.len, 250, 256);
		assert_memory_equal(b.data + b.len - 3, "...", 3);
		assert_int_equal((b.len - 3) % 2, 0);
	}
	free(name);
	aif_buf_finish(&b);
}

/* Brackets without end, in every order: linear time, the same result under sanitizers. */
static void hostile_function_names_take_linear_time(void **state)
{
	static const char *const parts[] = {"(", "<",  ")",  ">",     "{", "}",  "operator<", "f",
					    " ", "::", "->", "[abi:", "]", "<a", "(f<"};
	struct aif_buf name = {0}, b = {0};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(parts) + 20; i++) {
		fixture_hostile_name(parts, AIF_ARRAY_LEN(parts), i, 60000, &random, &name);
		for (int detail = AIF_NAME_BRIEF; detail <= AIF_NAME_NORMAL; detail++) {
			aif_buf_clear(&b);
			aif_name_short((char *)name.data, name.len, (enum aif_name_detail)detail,
				       &b);
			assert_false(b.failed);
			assert_true(b.len <= 256);
		}
	}
	aif_buf_finish(&name);
	aif_buf_finish(&b);
}

static void sanitized(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *text;
	} cases[] = {
		{"plain", 5, "plain"},
		{"", 0, ""},
		{"a\nb\tc\r", 6, "a\u240ab\u2409c\u240d"},
		{"a\0b\x1b[31m", 8, "a\u2400b\u241b[31m"},
		{"\x7f", 1, "\u2421"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5", 9, "\u00e4\u20ac\U0001f525"},
		/* cut off, alone, too long, surrogates, too large */
		{"a\xc3", 2, "a\ufffd"},
		{"\xa4", 1, "\ufffd"},
		{"\xe2\x82", 2, "\ufffd\ufffd"},
		{"\xc0\x80", 2, "\ufffd\ufffd"},
		{"\xe0\x80\x80", 3, "\ufffd\ufffd\ufffd"},
		{"\xed\xa0\x80", 3, "\ufffd\ufffd\ufffd"},
		{"\xf4\x90\x80\x80", 4, "\ufffd\ufffd\ufffd\ufffd"},
		{"\xff\xfe", 2, "\ufffd\ufffd"},
		/* what breaks lines, turns text round, or XML forbids */
		{"\xc2\x85", 2, "\ufffd"},
		{"\xe2\x80\xa8", 3, "\ufffd"},
		{"\xe2\x80\xae", 3, "\ufffd"},
		{"\xd8\x9c", 2, "\ufffd"},
		{"\xef\xbf\xbe", 3, "\ufffd"},
		{"\xef\xbf\xbf", 3, "\ufffd"},
		{"\xef\xbf\xbd", 3, "\ufffd"},
		{"<a href=\"x\">&;", 14, "<a href=\"x\">&;"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf b = {0};

		aif_name_sanitize(cases[i].bytes, cases[i].n, &b);
		assert_string_equal(aif_buf_str(&b), cases[i].text);
		aif_buf_finish(&b);
	}
}

static void sanitized_in_place(void **state)
{
	char text[] = "a\nb\tc\r\033[1m\302\233\xff\342\200\256\xc3\xa4\x7f\xe2\x82";

	(void)state;
	aif_name_sanitize_in_place(text);
	/* An incomplete character becomes a '?' for each byte. */
	assert_string_equal(text, "a b c ?[1m???\xc3\xa4???");
}

/* Orders to services that build and test a project, in a text of lines and in a line alone. */
static void orders_are_broken(void **state)
{
	static const char *const cases[][2] = {
		{"::error file=a::x", "?:error file=a::x"},
		{" \xc2\xa0\xe2\x80\x83::error::x", " \xc2\xa0\xe2\x80\x83?:error::x"},
		{"a\n  ::set-output name=a::b\nc", "a\n  ?:set-output name=a::b\nc"},
		{"::::", "?:::"},
		{"a ##[error]b", "a ?#[error]b"},
		{"x##vso[task.complete]", "x?#vso[task.complete]"},
		{"###[group]##teamcity[a]", "#?#[group]?#teamcity[a]"},
		/* none */
		{"::operator", "::operator"},
		{"a::b::c", "a::b::c"},
		{":: :", ":: :"},
		{"## [a]#[b] ##a b[", "## [a]#[b] ##a b["},
		{"##", "##"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf b = {0};
		char line[64];

		aif_name_sanitize_lines(cases[i][0], strlen(cases[i][0]), &b);
		assert_string_equal(aif_buf_str(&b), cases[i][1]);
		aif_buf_finish(&b);
		strcpy(line, cases[i][0]);
		aif_name_sanitize_in_place(line);
		if (!strchr(cases[i][0], '\n'))
			assert_string_equal(line, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_functions_are_shortened),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(hostile_function_names_take_linear_time),
		cmocka_unit_test(sanitized),
		cmocka_unit_test(sanitized_in_place),
		cmocka_unit_test(orders_are_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
