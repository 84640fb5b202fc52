/* SPDX-License-Identifier: Apache-2.0 */
/* Tests names, lines and code of addresses. Where these are read from: test_symbolize_files.c. */
#define _GNU_SOURCE
#include "fixture_symbolize.h"

#include "base/demangle.h"

#include <errno.h>
#include <inttypes.h>

/* Addresses of functions as nm gives them. */
struct function {
	uint64_t start, size;
	char *name; /* mangled */
};
static size_t functions_of(const char *file, struct function **ret)
{
	char *text = fixture_run(&fx, "nm -S --defined-only %s", file), *save = NULL;
	size_t n = 0, cap = 0;

	*ret = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct function f;
		char type, name[4096];

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %4095s", &f.start, &f.size, &type,
			   name) != 4 ||
		    !strchr("tTwWi", type))
			continue;
		assert_int_equal(aif_grow(ret, &cap, n + 1, sizeof(**ret)), 0);
		f.name = strdup(name);
		(*ret)[n++] = f;
	}
	free(text);
	assert_true(n > 20);
	return n;
}

static void functions_free(struct function *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(f[i].name);
	free(f);
}

/* Every instruction (padding aside), our chain against addr2line's: same functions, files, lines. At
 * the first address of some blocks addr2line calls the innermost function by the symbol, though it
 * has its line right (llvm-symbolizer sides with us): such slips are counted apart. */
static void inline_chains_as_addr2line(void **state)
{
	char *dis = fixture_run(&fx, "objdump -d --no-show-raw-insn -j .text fix > dis; "
				     "grep -v -e nop -e xchg dis | "
				     "sed -n 's/^ *\\([0-9a-f]*\\):.*/\\1/p' > addresses; "
				     "addr2line -a -i -f -e fix < addresses > oracle; cat oracle");
	struct aif_symbols *s = open_module("fix");
	size_t addresses = 0, levels = 0, inlined = 0, wrong = 0, slips = 0;
	char *save = NULL, *line = strtok_r(dis, "\n", &save);

	(void)state;
	while (line) {
		struct aif_symbol sym[MAX_LEVELS];
		uint64_t address = strtoull(line, NULL, 16);
		int n = aif_symbols_resolve(s, MODULE, address, sym, MAX_LEVELS);
		char *first_name = NULL, *place;
		bool same = true;
		int level = 0;

		assert_true(n >= 1);
		while ((line = strtok_r(NULL, "\n", &save)) && strncmp(line, "0x", 2)) {
			const struct aif_symbol *mine = level < n ? &sym[n - 1 - level] : NULL;
			struct aif_buf demangled = {0};
			char expected[4096];
			unsigned number;

			first_name = line;
			place = strtok_r(NULL, "\n", &save);
			assert_non_null(place);
			place[strcspn(place, " ")] = 0; /* "(discriminator 3)" */
			number = (unsigned)strtoul(strrchr(place, ':') + 1, NULL, 10);
			aif_demangle(first_name, &demangled);
			snprintf(expected, sizeof(expected), "%s", aif_buf_str(&demangled));
			aif_buf_finish(&demangled);
			level++;
			if (place[0] != '/') /* no debug information: start files, assembly */
				continue;
			*strrchr(place, ':') = 0;
			levels++;
			if (!mine || mine->line != number || !mine->file ||
			    strcmp(mine->file, place))
				same = false;
			else if (n > 1 && level == 1 && !strcmp(expected, sym[0].name) &&
				 strcmp(expected, mine->name))
				slips++;
			else if (!strstr(mine->name, expected)) /* which may be a bare name */
				same = false;
			if (!same && wrong < 10)
				printf("%" PRIx64 " level %d: %s %s:%u, not %s %s:%u\n", address,
				       level - 1, expected, place, number,
				       mine ? mine->name : "nothing",
				       mine && mine->file ? mine->file : "?",
				       mine ? mine->line : 0);
		}
		if (level != n)
			same = false;
		addresses++;
		inlined += n > 1;
		wrong += !same;
	}
	printf("%zu addresses, %zu levels, %zu with inlined functions: %zu differ, %zu slips\n",
	       addresses, levels, inlined, wrong, slips);
	assert_true(addresses > 500);
	assert_true(inlined > 100);
	assert_int_equal(wrong, 0);
	assert_true(slips * 20 < addresses);
	free(dis);
	aif_symbols_free(s);
}

/* An inlined function without a linker's name is called by its scopes. */
static void inlined_lambda_has_scopes(void **state)
{
	struct aif_symbols *s = open_module("fix");
	uint64_t at = address_of("_ZL7lambdasi");
	size_t seen = 0;

	(void)state;
	for (uint64_t a = at; a < at + 100; a++) {
		struct aif_symbol sym[MAX_LEVELS];
		int n = aif_symbols_resolve(s, MODULE, a, sym, MAX_LEVELS);

		for (int i = 1; i < n; i++)
			if (strstr(sym[i].name, "operator()")) {
				assert_string_equal(sym[i].name, "lambdas::{lambda}::operator()");
				assert_string_equal(sym[0].name, "lambdas(int)");
				seen++;
			}
	}
	assert_true(seen > 0);
	aif_symbols_free(s);
}

static void names_as_cxxfilt(void **state)
{
	struct aif_symbols *s = open_module("fix");
	struct function *f;
	size_t n = functions_of("fix", &f), same = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		char *expected = fixture_run(&fx, "c++filt '%.*s'", (int)strcspn(f[i].name, "@."),
					     f[i].name);

		expected[strcspn(expected, "\n")] = 0;
		if (f[i].size && !strcmp(name_at(s, f[i].start + f[i].size - 1), expected))
			same++;
		else /* constructors: C1 and C2 are one function, with one name */
			assert_string_equal(name_at(s, f[i].start), expected);
		free(expected);
	}
	assert_true(same > 20);
	functions_free(f, n);
	aif_symbols_free(s);
}

static void labels_without_size(void **state)
{
	struct aif_symbols *s = open_module("fix");
	char *text = fixture_run(&fx, "nm fix | grep ' bare'");
	uint64_t bare = strtoull(strstr(text, " T bare\n") - 16, NULL, 16), start, size;
	const char *name;

	(void)state;
	assert_string_equal(name_at(s, bare + 2), "bare");
	assert_string_equal(name_at(s, bare + 3), "bare2");
	assert_int_equal(aif_symbols_function(s, MODULE, bare + 1, &start, &size, &name), 0);
	assert_int_equal(start, bare);
	assert_int_equal(size, 3);
	free(text);
	aif_symbols_free(s);
}

/* A handler returns to the first byte of a function, whose unwind table begins a byte early for that. */
static void where_handlers_return(void **state)
{
	struct aif_symbols *s = open_module("fix");
	uint64_t at = address_of("came_back");

	(void)state;
	assert_string_equal(name_at(s, at - 1), "came_back");
	assert_string_equal(name_at(s, at), "came_back");
	aif_symbols_free(s);
	s = open_module("stripped");
	assert_string_equal(name_at(s, at - 1), "__restore_rt");
	aif_symbols_free(s);
}

/* A stripped file: every function goes by the start of its FDE. */
static void stripped_by_fde(void **state)
{
	struct aif_symbols *s = open_module("stripped");
	struct function *f;
	size_t n = functions_of("fix", &f), seen = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		char expected[64];
		struct aif_symbol sym[2];
		uint64_t start, size;
		const char *name;

		if (strncmp(f[i].name, "_Z", 2)) /* not what assembly defines */
			continue;
		snprintf(expected, sizeof(expected), "[stripped+0x%" PRIx64 "]", f[i].start);
		assert_int_equal(aif_symbols_resolve(s, MODULE, f[i].start + f[i].size / 2, sym, 2),
				 1);
		assert_string_equal(sym[0].name, expected);
		assert_false(sym[0].named);
		assert_null(sym[0].file);
		assert_int_equal(
			aif_symbols_function(s, MODULE, f[i].start + 1, &start, &size, &name), 0);
		assert_int_equal(start, f[i].start);
		assert_int_equal(size, f[i].size);
		seen++;
	}
	assert_true(seen > 10);
	/* nothing there at all */
	assert_string_equal(name_at(s, 0x123456789), "[stripped+0x123456789]");
	functions_free(f, n);
	aif_symbols_free(s);
}

static void plt_stubs_have_the_name_they_call(void **state)
{
	static const char *const flags[] = {"-fcf-protection=none -Wl,-z,lazy",
					    "-fcf-protection=full -Wl,-z,lazy -Wl,-z,ibtplt",
					    "-fcf-protection=none -fno-plt -Wl,-z,now"};
	size_t seen = 0;

	(void)state;
	for (size_t k = 0; k < AIF_ARRAY_LEN(flags); k++) {
		struct aif_symbols *s;
		char *text, *save = NULL;

		free(fixture_run(&fx, "c++ -O2 %s fix.cc -o plt && strip plt", flags[k]));
		text = fixture_run(&fx, "objdump -d plt | grep '@plt>:$' || true");
		s = open_module("plt");
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			uint64_t at = strtoull(line, NULL, 16);
			struct aif_buf expected = {0};
			char *name = strchr(line, '<') + 1;

			*strstr(name, "@plt>:") = 0;
			aif_demangle(name, &expected);
			aif_buf_puts(&expected, "@plt");
			assert_string_equal(name_at(s, at + 5), aif_buf_str(&expected));
			aif_buf_finish(&expected);
			seen++;
		}
		free(text);
		aif_symbols_free(s);
	}
	assert_true(seen > 20);
}

/* A stripped interpreter's collector of garbage, which no symbol names, is what an exported function calls. */
static void a_stripped_collector_is_named_by_its_caller(void **state)
{
	static const char code[] =
		"#define KEEP __attribute__((noinline, noclone))\n"
		"volatile int n;\n"
		"KEEP static void collect(int k) { while (k--) { n += k; n ^= n / 3; n *= 5; n -= n / 7; } }\n"
		"KEEP static void other(int k) { while (k--) { n -= k; n ^= n / 5; n *= 3; n -= n / 9; } }\n"
		"KEEP static void error(void) { n++; }\n"
		"KEEP void PyErr(void) { n++; }\n"
		"void PyGC_Collect(void) { PyErr(); collect(n); PyErr(); %s }\n"
		"int main(void) { PyGC_Collect(); other(n); error(); return n; }\n";
	static const struct {
		const char *file, *more, *name;
	} cases[] = {
		{"python3", "collect(2);", "gc_collect (called by PyGC_Collect)"},
		{"libpython3.so", "", "gc_collect (called by PyGC_Collect)"},
		{"python3.12", "error();", "gc_collect (called by PyGC_Collect)"},
		{"perl", "", NULL},
		{"python4", "other(1);", NULL}, /* which of the two? */
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		char path[300], named[64];
		struct aif_symbols *s;
		uint64_t collect, other;
		FILE *f;
		char *at;

		snprintf(path, sizeof(path), "%s/collector.c", fx.dir);
		f = fopen(path, "w");
		assert_non_null(f);
		fprintf(f, code, cases[i].more);
		assert_int_equal(fclose(f), 0);
		free(fixture_run(&fx, "cc -O1 -rdynamic collector.c -o whole && strip -o %s whole",
				 cases[i].file));
		at = fixture_run(&fx, "nm whole | sed -n 's/ t collect$//p'");
		collect = strtoull(at, NULL, 16);
		free(at);
		at = fixture_run(&fx, "nm whole | sed -n 's/ t other$//p'");
		other = strtoull(at, NULL, 16);
		free(at);
		s = open_module(cases[i].file);
		snprintf(named, sizeof(named), "[%s+0x%" PRIx64 "]", cases[i].file, collect);
		assert_string_equal(name_at(s, collect + 1), cases[i].name ? cases[i].name : named);
		snprintf(named, sizeof(named), "[%s+0x%" PRIx64 "]", cases[i].file, other);
		assert_string_equal(name_at(s, other + 1), named);
		aif_symbols_free(s);
	}
}

/* A chain deeper than the caller's room keeps its outermost and its innermost functions. */
static void deep_chain_in_little_room(void **state)
{
	struct aif_symbols *s = open_module("fix");
	struct aif_symbol all[MAX_LEVELS], two[2];
	uint64_t at = address_of("_ZNK4deep2er5Shape4areaEi");
	size_t deep = 0;

	(void)state;
	for (uint64_t a = at; a < at + 200; a++) {
		int n = aif_symbols_resolve(s, MODULE, a, all, MAX_LEVELS);
		char inner[256];
		uint32_t line;

		if (n < 3)
			continue;
		snprintf(inner, sizeof(inner), "%s", all[n - 1].name);
		line = all[n - 1].line;
		assert_int_equal(aif_symbols_resolve(s, MODULE, a, two, 2), 2);
		assert_string_equal(two[1].name, inner);
		assert_int_equal(two[1].line, line);
		deep++;
	}
	assert_true(deep > 0);
	aif_symbols_free(s);
}

static void code_of_a_function(void **state)
{
	struct aif_symbols *s = open_module("fix");
	uint64_t at = address_of("plain"), start, size;
	struct aif_buf code = {0};
	char *expected = fixture_run(&fx, "objdump -d fix --disassemble=plain | "
					  "sed -n 's/^ *[0-9a-f]*:\\t\\([0-9a-f ]*\\).*/\\1/p' | "
					  "tr -d ' \\n'");
	const char *name;

	(void)state;
	assert_int_equal(aif_symbols_function(s, MODULE, at + 1, &start, &size, &name), 0);
	assert_int_equal(start, at);
	assert_string_equal(name, "plain");
	assert_string_equal(aif_symbols_arch(s, MODULE), "x86_64");
	aif_buf_puts(&code, "head");
	assert_int_equal(aif_symbols_code(s, MODULE, start, size, &code), 0);
	assert_int_equal(code.len, 4 + size);
	assert_int_equal(strlen(expected), 2 * size);
	for (size_t i = 0; i < size; i++) {
		char hex[3];

		snprintf(hex, sizeof(hex), "%02x", code.data[4 + i]);
		assert_memory_equal(hex, expected + 2 * i, 2);
	}
	assert_int_equal(aif_symbols_code(s, MODULE, start, 1u << 30, &code), -E2BIG);
	assert_int_equal(aif_symbols_code(s, MODULE, 1u << 30, 8, &code), -ENODATA);
	assert_int_equal(code.len, 4 + size);
	aif_buf_finish(&code);
	free(expected);
	aif_symbols_free(s);
}

static void names_of_all_lengths(void **state)
{
	static const struct {
		const char *mangled, *plain;
	} cases[] = {
		{"main", "main"},
		{"_ZN1a1bIiEEvT_", "void a::b<int>(int)"},
		{"_ZN1a1bEv.cold", "a::b()"},
		{"foo.part.0", "foo"},
		{"foo.isra.0.constprop.12", "foo"},
		{"foo.llvm.1234567890123", "foo"},
		{"foo.cold.3", "foo"},
		{"a.b", "a.b"},
		{"version.2", "version.2"},
		{".hidden", ".hidden"},
		{"_Zfoo", "_Zfoo"},
		{"_ZN3std3fmt5write17h0123456789abcdefE", "std::fmt::write"},
		/* Rust */
		{"_ZN60_$LT$main..model..Linear$LT$T$GT$$u20$as$u20$main..Layer$GT$7forward17h0123456789abcdefE",
		 "<main::model::Linear<T> as main::Layer>::forward"},
		{"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE",
		 "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
		{"main::Pool$LT$T$GT$::new::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef",
		 "main::Pool<T>::new::{{closure}}"},
		{"_$LT$$RF$T$u20$as$u20$main..Layer$GT$::forward::h0123456789abcdef.llvm.42",
		 "<&T as main::Layer>::forward"},
		{"main::forward::h0123456789abcde", "main::forward::h0123456789abcde"},
		{"_RNvCs32gj3y4fnmh_4main4main", "main::main"},
		{"_RNvXNtCs32gj3y4fnmh_4main5modelINtB2_6LinearfENtB2_5Layer7forwardB4_",
		 "<main::model::Linear<f32> as main::model::Layer>::forward"},
		{"_RNvMs_NtCs32gj3y4fnmh_4main5modelINtB4_6LinearfE6launchB6_",
		 "<main::model::Linear<f32>>::launch"},
		{"_RNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal0B5_.llvm.42",
		 "std::rt::lang_start_internal::{closure#0}"},
		{"_RINvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace28___rust_begin_short_backtraceFEuuECs32gj3y4fnmh_4main",
		 "std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>"},
		{"_RINvC1a1fDG_INtC1a1TRL0_hEEL_KAhj4_RSeKj1f_Kb1_Kin5_E",
		 "_RINvC1a1fDG_INtC1a1TRL0_hEEL_KAhj4_RSeKj1f_Kb1_Kin5_E"},
		{"_RINvC1a1fDG_INtC1a1TRL0_hEEL_AhKj4_E", "_RINvC1a1fDG_INtC1a1TRL0_hEEL_AhKj4_E"},
		{"_RINvC1a1fDG_INtC1a1TRL0_hEEL_Ahj4_RSeQlPuOzTtEKj1f_Kb1_Kin5_Kc61_E",
		 "a::f::<dyn for<'a> a::T<&'a u8>, [u8; 4], &[str], &mut i32, *const (), *mut !, (u16,), 31, true, -5, 'a'>"},
		{"_RINvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace28___rust_begin_short_backtraceNCNCNvCs32gj3y4fnmh_4main4main00uEB1d_",
		 "std::sys::backtrace::__rust_begin_short_backtrace::<main::main::{closure#0}::{closure#0}, ()>"},
		{"_RNvXst_NtCslNYArtu3iFV_5alloc5boxedINtB5_3BoxDINtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceuEp6OutputuNtNtBP_"
		 "6marker4SendEL_EIBJ_uE9call_onceCsjrHSEGnQ3l9_3std",
		 "<alloc::boxed::Box<dyn core::ops::function::FnOnce<(), Output = ()> + core::marker::Send> as "
		 "core::ops::function::FnOnce<()>>::call_once"},
		{"_RB_", "_RB_"},
		{"_RNvB_1a", "_RNvB_1a"},
		{"", ""},
		/* clang 18 and later write the declared types of template parameters */
		{"_Z13is_power_of_2IlTnNSt9enable_ifIXcvbsr3std11is_integralIT_EE5valueEiE4typeELi0EEbS1_",
		 "is_power_of_2<...>(...)"},
		{"_ZNSt4pairIllEC2IRKliTnNSt9enable_ifIXaaclsr5_PCCPE22_MoveConstructiblePairIT_T0_EE"
		 "clsr5_PCCPE30_ImplicitlyMoveConvertiblePairIS5_S6_EEEbE4typeELb1EEEOS5_OS6_.llvm.8143",
		 "std::pair<long, long>::pair<...>..."},
		{"_ZN4absl7debian218FormatSpecTemplateIJLi4EEEC2EUa9enable_ifIXLb1EEEPKc",
		 "absl::debian2::FormatSpecTemplate<4>::FormatSpecTemplate(...)"},
		{"_Z1fIiQ1CIT_EEvv", "f<...>(...)"},
		{"_ZNK1a1bITkSt8integraliE1cEv", "a::b<...>..."},
		{"_ZN3abcI", "abc<...>..."}, /* cut off */
		/* nvcc's stubs of kernels */
		{"_Z36__device_stub__Z14multiply_basiciPKfiPKf",
		 "__device_stub__multiply_basic(int, float const*)"},
		{"_ZN2at35__device_stub__ZN2at9fill_someEfmmmEf",
		 "__device_stub__at::fill_some(float, unsigned long, unsigned long, unsigned long)"},
		{"_Z18__device_stub__ZxyPKf", "__device_stub__Zxy(float const*)"},
		{"_Z1fI18__device_stub__ZxyEvv", "void f<__device_stub__Zxy>()"},
		{"__device_stub__Z4gemmPfi", "__device_stub__Z4gemmPfi"},
		/* what is no name stays */
		{"_ZN3abc", "_ZN3abc"},
		{"_ZN3abcTn", "_ZN3abcTn"},
		{"_ZN3abI", "_ZN3abI"},
		{"_ZIE", "_ZIE"},
		{"_ZEEEEI", "_ZEEEEI"},
	};
	struct aif_buf out = {0};
	char *name;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		aif_buf_clear(&out);
		aif_demangle(cases[i].mangled, &out);
		assert_string_equal(aif_buf_str(&out), cases[i].plain);
	}
	/* Too long for the demangler: what can be read. */
	name = malloc(20100);
	strcpy(name, "_ZNK2at6nativeL3fooI");
	memset(name + strlen(name), 'i', 20000);
	strcpy(name + 20020, "EEvv");
	aif_buf_clear(&out);
	aif_demangle(name, &out);
	assert_string_equal(aif_buf_str(&out), "at::native::foo<...>(...)");
	free(name);
	/* f(A<int, int>, A<1, 1>, A<2, 2>, ...): each twice as long as the one before */
	aif_buf_clear(&out);
	name = malloc(1000);
	strcpy(name, "_Z1f1AIiiE");
	for (unsigned i = 0; i < 36; i++) {
		char c = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		sprintf(name + strlen(name), "S_IS%c_S%c_E", c, c);
	}
	aif_demangle(name, &out);
	assert_int_equal(out.len, AIF_NAME_MAX);
	aif_buf_clear(&out);
	aif_demangle_part(name, 100, &out);
	assert_int_equal(out.len, 100);
	free(name);
	aif_buf_finish(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inline_chains_as_addr2line),
		cmocka_unit_test(inlined_lambda_has_scopes),
		cmocka_unit_test(names_as_cxxfilt),
		cmocka_unit_test(labels_without_size),
		cmocka_unit_test(where_handlers_return),
		cmocka_unit_test(stripped_by_fde),
		cmocka_unit_test(plt_stubs_have_the_name_they_call),
		cmocka_unit_test(a_stripped_collector_is_named_by_its_caller),
		cmocka_unit_test(deep_chain_in_little_room),
		cmocka_unit_test(code_of_a_function),
		cmocka_unit_test(names_of_all_lengths),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
