/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of NVIDIA's device code: kernels.cu and python_sm80.ptx as compiled, then hand-made line tables. Lines are
 * those of the sources in tests/golden/cubin. */
#include "fixture_cubin_lines.h"

#include <errno.h>

/* ---- lines ---- */

struct level {
	const char *name;
	uint32_t line;
};

static void assert_levels(struct opened *o, const char *kernel, uint64_t pc, const char *file,
			  const struct level *want, int n)
{
	struct aif_device_level got[AIF_DEVICE_MAX_LEVELS];
	uint32_t symbol = aif_device_elf_by_name(&o->cubin.elf, kernel)->symbol;

	assert_int_equal(aif_cubin_lines_resolve(o->lines, symbol, pc, got, AIF_ARRAY_LEN(got)), n);
	for (int i = 0; i < n; i++) {
		assert_string_equal(got[i].name, want[i].name);
		assert_string_equal(got[i].file, file);
		assert_int_equal(got[i].line, want[i].line);
	}
}

#define INNER  "_Z5innerPKfi"
#define MIDDLE "_Z6middlePKfi"

/* The sum in line 28, out[i] = middle(in, i): two loads, a product, a fused sum, a store. */
static void inlined_levels_have_their_lines(void **state)
{
	static const struct level first[] = {{CHAIN, 28}, {MIDDLE, 18}, {INNER, 13}},
				  second[] = {{CHAIN, 28}, {MIDDLE, 20}, {INNER, 13}},
				  sum[] = {{CHAIN, 28}, {MIDDLE, 20}}, store[] = {{CHAIN, 28}},
				  end[] = {{CHAIN, 29}}, begin[] = {{CHAIN, 23}},
				  shared1[] = {{SHARED, 45}, {MIDDLE, 18}, {INNER, 13}},
				  barrier[] = {{SHARED, 44}};
	struct opened o;

	(void)state;
	open_golden(&o, "kernels_sm90a");
	assert_levels(&o, CHAIN, 0x00, SOURCE, begin, 1);
	assert_levels(&o, CHAIN, 0x80, SOURCE, first, 3);
	assert_levels(&o, CHAIN, 0x8f, SOURCE, first, 3); /* inside the instruction */
	assert_levels(&o, CHAIN, 0xc0, SOURCE, second, 3);
	assert_levels(&o, CHAIN, 0xf0, SOURCE, second, 3);
	assert_levels(&o, CHAIN, 0x100, SOURCE, sum, 2);
	assert_levels(&o, CHAIN, 0x110, SOURCE, store, 1);
	assert_levels(&o, CHAIN, 0x120, SOURCE, end, 1);
	assert_levels(&o, CHAIN, 0x1ff, SOURCE, end, 1);
	assert_levels(&o, CHAIN, 0x200, SOURCE, NULL, 0);
	assert_levels(&o, SHARED, 0xe0, SOURCE, barrier, 1);
	assert_levels(&o, SHARED, 0x100, SOURCE, shared1, 3);
	close_all(&o);
}

/* The same source elsewhere: places differ, the levels that occur do not. */
static void levels_are_the_same_on_each_architecture(void **state)
{
	static const char *const files[] = {"kernels_sm75", "kernels_sm90a", "kernels_sm100a"};
	struct aif_device_level l[8];

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
		unsigned inner18 = 0, inner20 = 0, apart = 0, with_lines = 0;
		const struct aif_device_function *f;
		struct opened o;

		open_golden(&o, files[i]);
		f = aif_device_elf_by_name(&o.cubin.elf, CHAIN);
		for (uint64_t pc = 0; pc < f->size; pc += 16) {
			int n = aif_cubin_lines_resolve(o.lines, f->symbol, pc, l, 8);

			with_lines += n > 0 && l[0].line >= 23 && l[0].line <= 29;
			inner18 += n == 3 && l[1].line == 18 && l[2].line == 13;
			inner20 += n == 3 && l[1].line == 20 && l[2].line == 13;
		}
		assert_int_equal(with_lines, f->size / 16);
		assert_true(inner18 >= 1 && inner20 >= 1);

		/* a function that was not inlined is the first level itself */
		f = aif_device_elf_by_name(&o.cubin.elf, CALLS);
		for (uint64_t pc = 0; pc < f->size; pc += 16) {
			int n = aif_cubin_lines_resolve(o.lines, f->symbol, pc, l, 8);
			bool in = aif_device_elf_find(&o.cubin.elf, f->symbol, pc, NULL) != f;

			assert_int_equal(n, 1);
			assert_string_equal(l[0].name, in ? APART : CALLS);
			apart += in && l[0].line == 7; /* x = x * x + 1 */
			assert_true(in ? l[0].line >= 4 && l[0].line <= 9
				       : l[0].line >= 31 && l[0].line <= 36);
		}
		assert_true(apart >= 8); /* unrolled */
		close_all(&o);
	}
}

static void triton_kernels_have_lines_of_python(void **state)
{
	static const struct level load[] = {{"softmax_kernel", 23}},
				  exp[] = {{"softmax_kernel", 24}, {"fast_exp", 11}},
				  sum[] = {{"softmax_kernel", 24}, {"fast_exp", 12}};
	struct opened o;

	(void)state;
	open_golden(&o, "python_sm80");
	assert_levels(&o, "softmax_kernel", 0x50, "/src/aiflame/softmax.py", load, 1);
	assert_levels(&o, "softmax_kernel", 0x90, "/src/aiflame/softmax.py", exp, 2);
	assert_levels(&o, "softmax_kernel", 0xb0, "/src/aiflame/softmax.py", sum, 2);
	close_all(&o);
}

/* With less room the innermost takes the last place. */
static void the_innermost_level_is_kept_where_room_ends(void **state)
{
	struct aif_device_level l[3] = {0};
	struct opened o;
	uint32_t chain;

	(void)state;
	open_golden(&o, "kernels_sm90a");
	chain = aif_device_elf_by_name(&o.cubin.elf, CHAIN)->symbol;
	assert_int_equal(aif_cubin_lines_resolve(o.lines, chain, 0xc0, l, 2), 2);
	assert_string_equal(l[0].name, CHAIN);
	assert_string_equal(l[1].name, INNER);
	assert_int_equal(l[1].line, 13);
	assert_null(l[2].name);
	assert_int_equal(aif_cubin_lines_resolve(o.lines, chain, 0xc0, l, 1), 1);
	assert_string_equal(l[0].name, INNER);
	assert_int_equal(aif_cubin_lines_resolve(o.lines, chain, 0xc0, l, 0), 0);
	assert_int_equal(aif_cubin_lines_resolve(o.lines, 1, 0, l, 1), 0);
	close_all(&o);
}

static void code_without_lines_is_told(void **state)
{
	struct aif_cubin_lines *l = NULL;
	struct aif_buf b = {0};
	struct aif_cubin c;

	(void)state;
	golden_cubin("operations_sm90a", &b);
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(aif_cubin_lines_new(&c, &l), -ENODATA);
	assert_null(l);
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
}

/* ---- line tables of other versions, and false ones ---- */

/* Kernels k and l (symbols 1 and 2), and a line program with a relocation at `offset`, to k. */
static int open_program(struct opened *o, const void *lines, size_t n, uint64_t offset, bool rela)
{
	static const uint8_t code[256];
	static const char str[] = "\0inlined\0dir\0file.cu", line_str[] = "/top\0sub\0one.cu";
	const uint64_t relocation[3] = {htole64(offset), htole64((uint64_t)1 << 32 | 2), 0};
	const struct fake_section sections[] = {
		{".text.k", SHT_PROGBITS, 0, code, 256},
		{".debug_line", SHT_PROGBITS, 0, lines, n},
		{".debug_str", SHT_PROGBITS, 0, str, sizeof(str)},
		{".debug_line_str", SHT_PROGBITS, 0, line_str, sizeof(line_str)},
		{rela ? ".rela.debug_line" : ".rel.debug_line", rela ? SHT_RELA : SHT_REL, 0,
		 relocation, rela ? 24 : 16},
		{".text.l", SHT_PROGBITS, 0, code, 256},
	};
	static const struct fake_function functions[] = {
		{"k", FAKE_FIRST, 0, 256, STT_FUNC, 0x10},
		{"l", FAKE_FIRST + 5, 0, 256, STT_FUNC, 0x10}};

	*o = (struct opened){0};
	fake_cubin(&o->bytes, sections, AIF_ARRAY_LEN(sections), functions, 2);
	assert_int_equal(aif_cubin_init(&o->cubin, o->bytes.data, o->bytes.len), 0);
	return aif_cubin_lines_new(&o->cubin, &o->lines);
}

/* DWARF 5: described tables, numbers from 0, texts in .debug_line_str and .debug_str. */
#define HEADER5_LEN 51
static const uint8_t version5[] = {
	/* length, version, address size, segment size, header length */
	78, 0, 0, 0, 5, 0, 8, 0, HEADER5_LEN - 12, 0, 0, 0,
	/* instruction 1, operations 1, statement, line base -5, range 14, opcode base 10, operands */
	1, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1,
	/* directories: path as line_strp: /top, sub */
	1, 1, 0x1f, 2, 0, 0, 0, 0, 5, 0, 0, 0,
	/* files: path as strp, directory as udata: file.cu in sub, file.cu in /top */
	2, 1, 0x0e, 2, 0x0f, 2, 13, 0, 0, 0, 1, 13, 0, 0, 0, 0,
	/* set address 0 */
	0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0,
	/* file 0, line + 9, row 1; context 1 "inlined", file 1, + 16 and line + 4: row 2; + 240, end */
	4, 0, 3, 9, 1, 0, 3, 0x90, 1, 1, 4, 1, 0xf3, 2, 0xf0, 1, 0, 1, 1};

static void dwarf_5_tables_are_read(void **state)
{
	struct aif_device_level l[4];
	struct opened o;
	uint8_t bytes[sizeof(version5)];
	/* the described part began at byte 12, with 15 bytes of machine, 12 of directories, 16 of files */
	const size_t program = 12 + 15 + 12 + 16;

	(void)state;
	memcpy(bytes, version5, sizeof(bytes));
	bytes[0] = sizeof(bytes) - 4;
	bytes[8] = program - 12;
	for (int rela = 0; rela < 2; rela++) {
		assert_int_equal(open_program(&o, bytes, sizeof(bytes), program + 3, rela), 0);
		assert_int_equal(aif_cubin_lines_resolve(o.lines, 1, 0, l, 4), 1);
		assert_string_equal(l[0].name, "k");
		assert_string_equal(l[0].file, "/top/sub/file.cu");
		assert_int_equal(l[0].line, 10);
		assert_int_equal(aif_cubin_lines_resolve(o.lines, 1, 255, l, 4), 2);
		assert_string_equal(l[0].name, "k");
		assert_int_equal(l[0].line, 10);
		assert_string_equal(l[1].name, "inlined");
		assert_string_equal(l[1].file, "/top/file.cu");
		assert_int_equal(l[1].line, 14);
		assert_int_equal(aif_cubin_lines_resolve(o.lines, 2, 0, l, 4), 0);
		close_all(&o);
	}
	/* directory 0 is where relative ones begin, itself relative or not */
	bytes[31] = 5;
	assert_int_equal(open_program(&o, bytes, sizeof(bytes), program + 3, true), 0);
	assert_int_equal(aif_cubin_lines_resolve(o.lines, 1, 255, l, 4), 2);
	assert_string_equal(l[0].file, "sub/sub/file.cu");
	assert_string_equal(l[1].file, "sub/file.cu");
	close_all(&o);
	bytes[31] = 0;
	/* without a relocation there is nobody that the sequence belongs to */
	assert_int_equal(open_program(&o, bytes, sizeof(bytes), program + 4, true), -ENODATA);
	close_all(&o);
	/* an entry of unknown form, a version of the future, a range to be divided by */
	for (unsigned i = 0; i < 3; i++) {
		static const size_t at[] = {29, 4, 16};
		static const uint8_t value[] = {0x7f, 6, 0};
		uint8_t was = bytes[at[i]];

		bytes[at[i]] = value[i];
		assert_int_equal(open_program(&o, bytes, sizeof(bytes), program + 3, true),
				 -ENODATA);
		close_all(&o);
		bytes[at[i]] = was;
	}
}

/* A table whose entries take no bytes has as many as it likes; a version that is not known yet. */
static void damaged_headers_are_refused(void **state)
{
	static const uint8_t program[] = {0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 16, 0, 1, 1};
	static const uint8_t empty[] = {51, 0,  0, 0, 5, 0, 8, 0, 22, 0, 0, 0, 1, 1, 1, 0xfb,
					14, 10, 0, 1, 1, 1, 1, 0, 0,  0, 1, 0, 0, 0, 0},
			     many[] = {54, 0, 0, 0,    5,    0,    8, 0, 25, 0, 0, 0,
				       1,  1, 1, 0xfb, 14,   10,   0, 1, 1,  1, 1, 0,
				       0,  0, 1, 0,    0xff, 0xff, 1, 0, 0,  0},
			     later[] = {49, 0, 0, 0, 6, 0, 22, 0, 0, 0, 1, 1, 1, 0xfb, 14,
					10, 0, 1, 1, 1, 1, 0,  0, 0, 1, 0, 0, 0, 0};
	static const struct {
		const uint8_t *header;
		size_t n;
		int result;
	} cases[] = {{empty, sizeof(empty), 0},
		     {many, sizeof(many), -ENODATA},
		     {later, sizeof(later), -ENODATA}};
	struct opened o;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		uint8_t bytes[128];

		memcpy(bytes, cases[i].header, cases[i].n);
		memcpy(bytes + cases[i].n, program, sizeof(program));
		bytes[0] = (uint8_t)(cases[i].n + sizeof(program) - 4);
		bytes[i == 2 ? 6 : 8] = (uint8_t)(cases[i].n - (i == 2 ? 10 : 12));
		assert_int_equal(
			open_program(&o, bytes, cases[i].n + sizeof(program), cases[i].n + 3, true),
			cases[i].result);
		close_all(&o);
	}
}

/* DWARF 2 with a program of the test's. */
static int open_version_2(struct opened *o, const uint8_t *program, size_t n)
{
	static const uint8_t header[] = {0, 0, 0, 0, 2, 0, 24, 0, 0, 0, 1, 1, 0xfb, 14, 10, 0, 1, 1,
					 1, 1, 0, 0, 0, 1, 'd', 0, 0, 'f', 0, 1, 0, 0, 0, 0,
					 /* set address */
					 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0};
	uint8_t bytes[256];

	memcpy(bytes, header, sizeof(header));
	memcpy(bytes + sizeof(header), program, n);
	bytes[0] = (uint8_t)(sizeof(header) + n - 4);
	return open_program(o, bytes, sizeof(header) + n, sizeof(header) - 8, true);
}

static void damaged_line_programs_end(void **state)
{
	/* rows: row 1 says it was called at row 2, row 2 at itself, row 3 at row 1 */
	static const uint8_t
		circles[] = {0, 3, 0x90, 2, 1, 1,    0, 3,  0x90, 2, 1, 0xf3,
			     0, 3, 0x90, 1, 1, 0xf3, 2, 16, 0,    1, 1},
		no_end[] = {1, 2, 16, 1}, no_rows[] = {2, 16, 0, 1, 1},
		/* a second set address, which goes back */
		backwards[] = {2, 32, 1, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 16, 0, 1, 1},
		/* a name and a file that there are not; an unknown extended opcode before */
		nameless[] = {0,    4,    0x80, 1, 2, 3,    1, 0,  5, 0x90, 1,
			      0xff, 0xff, 3,    4, 2, 0xf3, 2, 16, 0, 1,    1},
		cut[] = {1, 2, 16, 0, 100, 1},
		/* the end before the row */
		early[] = {2, 32, 1, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
	struct aif_device_level l[AIF_DEVICE_MAX_LEVELS];
	struct opened o;

	(void)state;
	assert_int_equal(open_version_2(&o, circles, sizeof(circles)), 0);
	for (uint64_t pc = 0; pc < 48; pc += 16) {
		int n = aif_cubin_lines_resolve(o.lines, 1, pc, l, AIF_DEVICE_MAX_LEVELS);

		assert_int_equal(n, pc == 32 ? 2 : 1);
		assert_string_equal(l[0].name, "inlined");
		assert_string_equal(l[0].file, "d/f");
	}
	close_all(&o);

	assert_int_equal(open_version_2(&o, no_end, sizeof(no_end)), -ENODATA);
	close_all(&o);
	assert_int_equal(open_version_2(&o, no_rows, sizeof(no_rows)), -ENODATA);
	close_all(&o);
	assert_int_equal(open_version_2(&o, backwards, sizeof(backwards)), -ENODATA);
	close_all(&o);
	assert_int_equal(open_version_2(&o, cut, sizeof(cut)), -ENODATA);
	close_all(&o);
	assert_int_equal(open_version_2(&o, early, sizeof(early)), -ENODATA);
	close_all(&o);

	assert_int_equal(open_version_2(&o, nameless, sizeof(nameless)), 0);
	assert_int_equal(aif_cubin_lines_resolve(o.lines, 1, 16, l, 4), 2);
	assert_string_equal(l[0].name, "k");
	assert_null(l[1].name);
	assert_null(l[1].file);
	assert_int_equal(aif_cubin_lines_resolve(o.lines, 1, 32, l, 4), 0); /* behind its end */
	close_all(&o);
}

/* Each standard opcode moves the address as DWARF says. */
static void standard_opcodes_move_the_address(void **state)
{
	/* row at 0; const_add_pc: (255 - 10) / 14 = 17; fixed: 300 - 256 = 44; special 0xff: 17, line + 2 */
	static const uint8_t all[] = {1, 8, 3, 0x7f, 1, 9,  44, 0, 1, 0xff,
				      7, 6, 5, 3,    2, 20, 0,  1, 1};
	static const struct {
		uint64_t pc;
		int n;
		uint32_t line;
	} expect[] = {{0, 1, 1},  {16, 1, 1}, {17, 1, 0}, {60, 1, 0}, {61, 1, 0},
		      {77, 1, 0}, {78, 1, 2}, {97, 1, 2}, {98, 0, 0}};
	struct aif_device_level l[2];
	struct opened o;

	(void)state;
	assert_int_equal(open_version_2(&o, all, sizeof(all)), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(expect); i++) {
		int n = aif_cubin_lines_resolve(o.lines, 1, expect[i].pc, l, 2);

		assert_int_equal(n, expect[i].n);
		if (n)
			assert_int_equal(l[0].line, expect[i].line);
	}
	close_all(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_levels_have_their_lines),
		cmocka_unit_test(levels_are_the_same_on_each_architecture),
		cmocka_unit_test(triton_kernels_have_lines_of_python),
		cmocka_unit_test(the_innermost_level_is_kept_where_room_ends),
		cmocka_unit_test(code_without_lines_is_told),
		cmocka_unit_test(dwarf_5_tables_are_read),
		cmocka_unit_test(damaged_line_programs_end),
		cmocka_unit_test(standard_opcodes_move_the_address),
		cmocka_unit_test(damaged_headers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
