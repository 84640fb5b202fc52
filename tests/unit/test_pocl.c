/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbolize/pocl.h"
#include "symbolize/pocl_twin.h"

#include "symbolize/symbolize.h"

#include "fixture_pocl.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

static struct fixture fx;

static int set_up(void **state)
{
	(void)state;
	fixture_init(&fx);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_finish(&fx);
	return 0;
}

static void paths_of_kernels_give_their_names(void **state)
{
	static const struct {
		const char *path, *kernel;
	} cases[] = {
		{"/c/kcache/AB/XYZ/mm/16-16-1/mm.so", "mm"},
		{"/c/kcache/AB/XYZ/mm/0-0-0/mm.so", "mm"},
		{"/c/_UNCACHED_x1/AB/XYZ/mm/64-1-1-goffs0-smallgrid/mm.so", "mm"},
		{"/c/kcache/AB/XYZ/mm/16-16-1/mm.so (deleted)", "mm"},
		{"/c/kcache/AB/XYZ/mm/16-16-1/nn.so", NULL},
		{"/c/kcache/AB/XYZ/mm/16-16/mm.so", NULL},
		{"/c/kcache/AB/XYZ/mm/16-16-x/mm.so", NULL},
		{"/c/kcache/AB/XYZ/mm/16-16-1/mm.so.1", NULL},
		{"mm/1-1-1/mm.so", NULL},
		{"/usr/lib/libc.so", NULL},
		{"", NULL},
	};
	char name[16];

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		assert_int_equal(aif_pocl_is_kernel_path(cases[i].path), cases[i].kernel != NULL);
		assert_int_equal(aif_pocl_kernel_of_path(cases[i].path, name, sizeof(name)),
				 cases[i].kernel ? 0 : -ENOENT);
		if (cases[i].kernel)
			assert_string_equal(name, cases[i].kernel);
	}
	assert_int_equal(aif_pocl_kernel_of_path(cases[0].path, name, 2), -ENAMETOOLONG);
}

static void symbols_of_kernels_give_their_names(void **state)
{
	static const char path[] = "/c/AB/XYZ/a_workgroup/1-1-1/a_workgroup.so";
	static const struct {
		const char *symbol, *path, *kernel;
	} cases[] = {
		{"_pocl_kernel_mm", NULL, "mm"},
		{"_pocl_kernel_mm_workgroup", NULL, "mm"},
		{"_pocl_kernel_mm_workgroup_fast", NULL, "mm"},
		{"_pocl_kernel_a_workgroup", NULL, "a"},
		{"_pocl_kernel_a_workgroup", path, "a_workgroup"},
		{"_pocl_kernel_a_workgroup_workgroup_fast", path, "a_workgroup"},
		{"_pocl_kernel_other_workgroup", path, "other"},
		{"_pocl_kernel__workgroup", NULL, "_workgroup"},
		{"_pocl_kernel_", NULL, NULL},
		{"memcpy", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		size_t n = 0;
		const char *k = aif_pocl_kernel_name(cases[i].symbol, cases[i].path, &n);

		if (!cases[i].kernel) {
			assert_null(k);
			continue;
		}
		assert_int_equal(n, strlen(cases[i].kernel));
		assert_memory_equal(k, cases[i].kernel, n);
	}
}

/* Counts of a kernel's library: each instruction of PoCL's functions is named by the kernel; how
 * many of them have a line of the source, and in which lines. */
struct census {
	size_t instructions, with_line, in_loop; /* in_loop: of mm_tiled's inner loop */
	size_t of_groups, matched;               /* of_groups: in what runs a work group */
};
static struct census count(const char *path, const char *kernel)
{
	struct census c = {0};
	struct aif_symbols *s;
	char *text = fixture_run(&fx, "objdump -d --no-show-raw-insn '%s'", path), *save = NULL;
	bool ours = false, of_group = false;

	assert_int_equal(aif_symbols_new(&s), 0);
	assert_int_equal(aif_symbols_module(s, 0, open(path, O_RDONLY | O_CLOEXEC), path, NULL), 0);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct aif_symbol sym[16];
		uint64_t at;
		int n;

		if (strstr(line, ">:")) {
			ours = strstr(line, "<_pocl_kernel_") && !strstr(line, "-0x"); /* .plt */
			of_group = strstr(line, "_workgroup>:") || strstr(line, "_fast>:");
			continue;
		}
		if (!ours || line[0] != ' ' || strstr(line, "nop") ||
		    strstr(line, "xchg   %ax,%ax") || sscanf(line, " %" SCNx64 ":", &at) != 1)
			continue;
		n = aif_symbols_resolve(s, 0, at, sym, 16);
		assert_true(n >= 1);
		if (!sym[0].named)
			fail_msg("not named: %s (%s)", line, sym[0].name);
		if (strcmp(sym[0].name, kernel)) {
			assert_true(of_group && sym[n - 1].line);
			assert_memory_equal(sym[0].name, kernel, strlen(kernel));
			assert_string_equal(sym[0].name + strlen(kernel), AIF_POCL_MATCHED);
			c.matched++;
		}
		c.instructions++;
		c.of_groups += of_group;
		if (sym[0].line) {
			c.with_line++;
			assert_non_null(strstr(sym[0].file, ".cl"));
			c.in_loop += sym[0].line == 17 || sym[0].line == 18;
		}
	}
	free(text);
	aif_symbols_free(s);
	return c;
}

static void kernels_are_named(void **state)
{
	static const char *const kernels[] = {"mm_tiled", "odd_workgroup"};
	char *list = fixture_pocl(&fx, "cache", "");

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(kernels); i++) {
		char path[PATH_MAX], name[64];
		struct census c;

		fixture_pocl_path(list, kernels[i], path);
		assert_int_equal(aif_pocl_kernel_of_path(path, name, sizeof(name)), 0);
		assert_string_equal(name, kernels[i]);
		c = count(path, kernels[i]);
		printf("%s: %zu instructions\n", kernels[i], c.instructions);
		assert_true(c.instructions > 50);
		assert_int_equal(c.with_line, 0);
	}
	free(list);
}

static void kernels_have_lines(void **state)
{
	char *list = fixture_pocl(&fx, "lines", "-g -cl-opt-disable"), path[PATH_MAX];
	struct census c;

	(void)state;
	fixture_pocl_path(list, "mm_tiled", path);
	c = count(path, "mm_tiled");
	printf("%zu instructions, %zu with a line, %zu in the inner loop\n", c.instructions,
	       c.with_line, c.in_loop);
	assert_true(c.with_line > 50);
	assert_true(c.in_loop > 10);
	free(list);
}

/* Optimised, the functions that run have no lines of their own in PoCL 3. */
static void optimised_kernels_have_lines(void **state)
{
	char *list = fixture_pocl(&fx, "optimised", "-g"), path[PATH_MAX];
	struct census c;
	size_t alone;

	(void)state;
	fixture_pocl_path(list, "mm_tiled", path);
	c = count(path, "mm_tiled");
	alone = c.with_line - c.matched;
	printf("%zu of %zu instructions have a line, of work groups' %zu of %zu\n", alone,
	       c.instructions - c.of_groups, c.matched, c.of_groups);
	assert_true(c.of_groups > 50);
	assert_true(c.with_line > c.instructions / 2);
	assert_true(c.in_loop > 10);
	free(list);
}

static void code_is_aligned_with_its_twin(void **state)
{
	/* push; mov; add; [nop]; sub; pop; ret */
	static const uint8_t twin[] = {0x55, 0x89, 0xd8, 0x01, 0xc8, 0x29, 0xd0, 0x5d, 0xc3};
	static const uint8_t code[] = {0x55, 0x89, 0xc8, 0x01, 0xd8, 0x90, 0x29, 0xd0, 0x5d, 0xc3};
	static const uint8_t other[] = {0x31, 0xc0, 0xff, 0xc0, 0xff, 0xc8, 0xc3};
	/* mov; vpermt2d xmm0, xmm1, xmm2; add; ret, and what does not decode */
	static const uint8_t wide[] = {0x89, 0xd8, 0x62, 0xf2, 0x75, 0x08, 0x7e,
				       0xc2, 0x01, 0xc8, 0xc3, 0x06, 0xc3};
	static const struct aif_pocl_code c = {code, sizeof(code), 0x1000},
					  w = {wide, sizeof(wide), 0x4000},
					  t = {twin, sizeof(twin), 0x2000},
					  o = {other, sizeof(other), 0x3000},
					  none = {code, 0, 0x1000};
	struct aif_pocl_twin *a;

	(void)state;
	assert_int_equal(aif_pocl_twin_new(EM_X86_64, &c, &t, &a), 0);
	assert_int_equal(aif_pocl_twin_of(a, 0xfff), 0);
	assert_int_equal(aif_pocl_twin_of(a, 0x1000), 0x2000);
	assert_int_equal(aif_pocl_twin_of(a, 0x1002), 0x2001); /* inside of an instruction */
	assert_int_equal(aif_pocl_twin_of(a, 0x1005), 0);      /* it has no twin */
	assert_int_equal(aif_pocl_twin_of(a, 0x1006), 0x2005);
	assert_int_equal(aif_pocl_twin_of(a, 0x1009), 0x2008);
	assert_int_equal(aif_pocl_twin_of(a, 0x100a), 0);
	aif_pocl_twin_free(a);
	assert_int_equal(aif_pocl_twin_new(EM_X86_64, &w, &w, &a), 0);
	assert_int_equal(aif_pocl_twin_of(a, 0x4003), 0x4002);
	assert_int_equal(aif_pocl_twin_of(a, 0x4008), 0x4008);
	assert_int_equal(aif_pocl_twin_of(a, 0x400a), 0x400a);
	assert_int_equal(aif_pocl_twin_of(a, 0x400c), 0);
	aif_pocl_twin_free(a);
	assert_int_equal(aif_pocl_twin_new(EM_X86_64, &c, &o, &a), -ENOENT);
	assert_int_equal(aif_pocl_twin_new(EM_X86_64, &none, &t, &a), -ENOENT);
	assert_int_equal(aif_pocl_twin_new(EM_RISCV, &c, &t, &a), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_kernels_give_their_names),
		cmocka_unit_test(symbols_of_kernels_give_their_names),
		cmocka_unit_test(kernels_are_named),
		cmocka_unit_test(kernels_have_lines),
		cmocka_unit_test(optimised_kernels_have_lines),
		cmocka_unit_test(code_is_aligned_with_its_twin),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
