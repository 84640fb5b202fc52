/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/device_object.h"
#include "symbolize/spirv.h"
#include "symbolize/zebin.h"
#include "symbolize/zebin_lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* after those */
#include <cmocka.h>

#include "fixture_zebin.h"

/* Intel's device code: images made by hand. Those that ocloc makes are in tests/e2e/zebin.sh. */

struct opened {
	struct aif_buf bytes;
	struct aif_zebin z;
	struct aif_zebin_lines *lines;
};

static void open_it(struct opened *o, const struct fake_zebin *how)
{
	int r;

	*o = (struct opened){0};
	fake_zebin(&o->bytes, how);
	assert_false(aif_buf_failed(&o->bytes));
	assert_int_equal(aif_zebin_init(&o->z, o->bytes.data, o->bytes.len), 0);
	r = aif_zebin_lines_new(&o->z, o->bytes.data, o->bytes.len, &o->lines);
	assert_int_equal(r, how->dwarf ? 0 : -ENODATA);
}

static void close_it(struct opened *o)
{
	aif_zebin_lines_free(o->lines);
	aif_zebin_finish(&o->z);
	aif_buf_finish(&o->bytes);
}

static const struct aif_device_function *named(const struct opened *o, const char *name)
{
	return aif_device_elf_by_name(&o->z.elf, name);
}

/* ---- functions ---- */

static void kernels_are_sections_with_a_symbol(void **state)
{
	const struct fake_zebin how = {.has_two = true};
	const struct aif_device_function *first, *called;
	uint64_t offset;
	struct opened o;
	size_t n;

	(void)state;
	open_it(&o, &how);
	assert_int_equal(o.z.elf.functions_len, 3);
	first = named(&o, "first");
	called = named(&o, "called");
	assert_true(first && first->kernel && named(&o, "second")->kernel);
	assert_int_equal(first->size, ZEBIN_KERNEL_SIZE); /* without what pads it */
	assert_true(called && !called->kernel);
	assert_null(named(&o, "_entry")); /* a place */
	/* what lies inside is found there, "_entry" is the kernel */
	assert_ptr_equal(aif_device_elf_find(&o.z.elf, first->symbol, 40, &offset), first);
	assert_int_equal(offset, 40);
	assert_ptr_equal(aif_device_elf_find(&o.z.elf, first->symbol, 168, &offset), called);
	assert_int_equal(offset, 8);
	assert_int_equal(aif_device_elf_code(&o.z.elf, called, &n)[0], 160 / 8);
	assert_int_equal(n, 32);
	close_it(&o);
}

static void without_symbols_sections_tell(void **state)
{
	const struct fake_zebin how = {.has_two = true, .is_stripped = true, .dwarf = 4};
	const struct aif_device_function *second;
	struct aif_dwarf_level levels[4];
	struct opened o;

	(void)state;
	open_it(&o, &how);
	second = named(&o, "second");
	assert_true(second && second->kernel);
	assert_int_equal(second->size, ZEBIN_CODE);
	assert_ptr_equal(aif_device_elf_by_symbol(&o.z.elf, second->symbol), second);
	assert_int_equal(aif_zebin_lines_resolve(o.lines, second->symbol, 0, levels, 4), 1);
	assert_int_equal(levels[0].line, 20);
	close_it(&o);
}

static void the_family_is_named(void **state)
{
	static const struct {
		uint32_t family, ip;
		const char *arch;
	} cases[] = {
		{18, 0, "gen9"},
		{29, 0, "xe_lp"},
		{1270, 0, "xe_hpg"},
		{1271, 0, "xe_hpc"},
		{0, 12u << 22 | 60 << 14 | 7, "xe_hpc"},
		{0, 12u << 22 | 55 << 14, "xe_hpg"},
		{0, 20u << 22 | 1 << 14, "xe2"},
		{0, 30u << 22, "xe3"},
		{1271, 77u << 22, "xe_hpc"}, /* of two the one that is known */
		{0, 77u << 22, AIF_ZEBIN_ARCH_UNKNOWN},
		{9999, 0, AIF_ZEBIN_ARCH_UNKNOWN},
		{0, 0, AIF_ZEBIN_ARCH_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const struct fake_zebin how = {.family = cases[i].family, .ip = cases[i].ip};
		struct opened o;

		open_it(&o, &how);
		assert_string_equal(o.z.arch, cases[i].arch);
		close_it(&o);
	}
}

static void other_files_are_told_apart(void **state)
{
	uint8_t old[64] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, [16] = 4, 0xff};
	struct aif_device_object *object = NULL;
	struct aif_zebin z;
	uint8_t *copy = malloc(sizeof(old));

	(void)state;
	assert_non_null(copy);
	memcpy(copy, old, sizeof(old));
	assert_int_equal(aif_zebin_init(&z, old, sizeof(old)), -ENOEXEC);
	assert_true(aif_zebin_is_patchtokens(old, sizeof(old)));
	assert_int_equal(aif_device_object_new(copy, sizeof(old), &object), -ENOTSUP);
	old[18] = 62; /* another machine */
	assert_false(aif_zebin_is_patchtokens(old, sizeof(old)));
	old[18] = 0;
	old[16] = 6;
	assert_false(aif_zebin_is_patchtokens(old, sizeof(old)));
	assert_false(aif_zebin_is_patchtokens(old, 63));
	assert_null(object);
}

/* ---- lines ---- */

struct line_case {
	const char *kernel;
	uint64_t pc;
	unsigned levels;
	uint32_t line, inner; /* of the kernel and of "helper" in it */
};

static void assert_lines(const struct opened *o, const struct line_case *c)
{
	const struct aif_device_function *f = named(o, c->kernel);
	struct aif_dwarf_level levels[4];

	assert_non_null(f);
	assert_int_equal(aif_zebin_lines_resolve(o->lines, f->symbol, c->pc, levels, 4), c->levels);
	if (!c->levels)
		return;
	assert_string_equal(levels[0].name, c->kernel);
	assert_non_null(levels[0].file);
	assert_string_equal(levels[0].file, "/src/k.cl");
	assert_int_equal(levels[0].line, c->line);
	if (c->levels == 1)
		return;
	assert_string_equal(levels[1].name, "helper");
	assert_int_equal(levels[1].line, c->inner);
}

static void lines_and_inlined_functions(void **state)
{
	static const struct line_case cases[] = {
		{"first", 0, 1, 10, 0},    {"first", 63, 1, 10, 0},   {"first", 64, 2, 17, 11},
		{"first", 127, 2, 17, 11}, {"first", 128, 1, 15, 0},  {"first", 191, 1, 15, 0},
		{"first", 192, 0, 0, 0},   {"second", 0, 1, 20, 0},   {"second", 64, 2, 27, 21},
		{"second", 191, 1, 25, 0}, {"second", 1000, 0, 0, 0},
	};

	(void)state;
	for (unsigned dwarf = 4; dwarf <= 5; dwarf++) {
		for (unsigned rel = 0; rel < 2; rel++) {
			const struct fake_zebin how = {
				.dwarf = dwarf, .has_two = true, .is_rel = rel, .swaps = true};
			struct opened o;

			open_it(&o, &how);
			for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
				assert_lines(&o, &cases[i]);
			close_it(&o);
		}
	}
}

/* Code that no relocation places is nobody's. */
static void without_relocations_there_are_no_lines(void **state)
{
	const struct fake_zebin how = {.dwarf = 4, .drop_relocations = 100};
	const struct line_case none = {"first", 0, 0, 0, 0};
	struct opened o;

	(void)state;
	open_it(&o, &how);
	assert_lines(&o, &none);
	close_it(&o);
}

/* ---- SPIR-V ---- */

static void put_words(uint8_t *to, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < 4 * n; i++)
		to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

static void spirv_says_whether_it_has_lines(void **state)
{
	static const uint32_t head[] = {0x07230203, 0x10000, 0, 10, 0};
	static const struct {
		uint32_t words[8];
		size_t len;
		bool has_lines;
	} cases[] = {
		{{2u << 16 | 17, 6}, 2, false},                       /* OpCapability */
		{{2u << 16 | 17, 6, 4u << 16 | 8, 1, 2, 3}, 6, true}, /* OpLine */
		/* OpExtInstImport "OpenCL.std", "X.DebugInfo" */
		{{5u << 16 | 11, 1, 0x6e65704f, 0x732e4c43, 0x00006474}, 5, false},
		{{5u << 16 | 11, 1, 0x65442e58, 0x49677562, 0x006f666e}, 5, true},
		{{5u << 16 | 11, 1, 0x65442e58, 0x49677562, 0x006f666e}, 4, false}, /* cut */
		{{5u << 16 | 11, 1, 0x65442e58, 0x49677562, 0x6f6f666e},
		 5,
		 false},            /* without an end */
		{{8, 0}, 2, false}, /* no words at all: it would never end */
		{{0}, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		size_t n = sizeof(head) + 4 * cases[i].len;
		uint8_t *bytes = malloc(n);

		assert_non_null(bytes);
		put_words(bytes, head, AIF_ARRAY_LEN(head));
		put_words(bytes + sizeof(head), cases[i].words, cases[i].len);
		assert_int_equal(aif_spirv_has_lines(bytes, n), cases[i].has_lines);
		bytes[0] ^= 1;
		assert_false(aif_spirv_has_lines(bytes, n));
		free(bytes);
	}
}

/* ---- what is broken ---- */

static void ask_everything(const uint8_t *bytes, size_t n)
{
	struct aif_device_object *object;
	struct aif_device_level levels[8];
	const struct aif_device_elf *elf;
	uint8_t *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	if (aif_device_object_new(copy, n, &object) < 0)
		return;
	elf = aif_device_object_elf(object);
	for (size_t i = 0; i < AIF_MIN(elf->functions_len, (size_t)16); i++) {
		const struct aif_device_function *f = &elf->functions[i];

		for (uint64_t pc = 0; pc < 300; pc += 20)
			aif_device_object_resolve(object, f->symbol, pc, levels, 8);
	}
	aif_device_object_free(object);
}

/* A file cut anywhere, and one in which any byte is another: no answer is wrong to give, none may crash. */
static void broken_zebins_are_survived(void **state)
{
	const struct fake_zebin how = {.dwarf = 5, .has_two = true, .family = 1271};
	struct aif_buf b = {0};

	(void)state;
	fake_zebin(&b, &how);
	for (size_t n = 0; n < b.len; n += n < 80 ? 1 : 37)
		ask_everything(b.data, n);
	for (size_t i = 0; i < b.len; i++) {
		uint8_t old = b.data[i];

		b.data[i] ^= 1 << i % 8;
		ask_everything(b.data, b.len);
		b.data[i] = 0xff;
		ask_everything(b.data, b.len);
		b.data[i] = old;
	}
	aif_buf_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_are_sections_with_a_symbol),
		cmocka_unit_test(without_symbols_sections_tell),
		cmocka_unit_test(the_family_is_named),
		cmocka_unit_test(other_files_are_told_apart),
		cmocka_unit_test(lines_and_inlined_functions),
		cmocka_unit_test(without_relocations_there_are_no_lines),
		cmocka_unit_test(spirv_says_whether_it_has_lines),
		cmocka_unit_test(broken_zebins_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
