/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cubin.h"
#include "symbolize/cubin_lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
/* after those */
#include <cmocka.h>

#include "fixture_cubin.h"

/* Functions and lines of NVIDIA's device code: kernels.cu and python_sm80.ptx as compiled, then hand-made
 * images. Lines are those of the sources in tests/golden/cubin. */

#define SOURCE "/src/aiflame/kernels.cu"
#define CHAIN  "_Z5chainPfPKfi"
#define CALLS  "_Z5callsPfPKfi"
#define SHARED "_Z10shared_sumPfPKf"
#define APART  "_Z5apartfi"

struct opened {
	struct aif_buf bytes;
	struct aif_cubin cubin;
	struct aif_cubin_lines *lines;
};

static void open_golden(struct opened *o, const char *name)
{
	*o = (struct opened){0};
	golden_cubin(name, &o->bytes);
	assert_int_equal(aif_cubin_init(&o->cubin, o->bytes.data, o->bytes.len), 0);
	assert_int_equal(aif_cubin_lines_new(&o->cubin, &o->lines), 0);
}

static void close_all(struct opened *o)
{
	aif_cubin_lines_free(o->lines);
	aif_cubin_finish(&o->cubin);
	aif_buf_finish(&o->bytes);
}

static void assert_name(const struct aif_device_function *f, const char *name)
{
	assert_non_null(f);
	assert_int_equal(f->name_len, strlen(name));
	assert_memory_equal(f->name, name, f->name_len);
}

/* ---- functions ---- */

static void test_kernels(void **state)
{
	static const struct {
		const char *file, *arch;
		unsigned sm, functions;
		uint64_t chain, calls, apart; /* sizes, as readelf says */
		uint32_t symbol;              /* of chain */
		uint64_t inside;              /* where apart begins in calls */
	} cases[] = {
		{"kernels_sm75", "sm_75", 75, 4, 256, 1280, 1104, 20, 0xb0},
		{"kernels_sm90a", "sm_90", 90, 4, 512, 1408, 1216, 19, 0xc0},
		{"kernels_sm100a", "sm_100", 100, 3, 512, 1408, 1216, 15, 0xc0},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const struct aif_device_function *chain, *calls, *apart;
		uint64_t offset;
		struct opened o;

		open_golden(&o, cases[i].file);
		assert_int_equal(o.cubin.sm, cases[i].sm);
		assert_string_equal(o.cubin.arch, cases[i].arch);
		assert_int_equal(o.cubin.elf.functions_len, cases[i].functions);

		chain = aif_device_elf_by_name(&o.cubin.elf, CHAIN);
		assert_name(chain, CHAIN);
		assert_true(chain->kernel);
		assert_int_equal(chain->symbol, cases[i].symbol);
		assert_int_equal(chain->start, 0);
		assert_int_equal(chain->size, cases[i].chain);
		assert_ptr_equal(aif_device_elf_by_symbol(&o.cubin.elf, cases[i].symbol), chain);

		calls = aif_device_elf_by_name(&o.cubin.elf, CALLS);
		apart = aif_device_elf_by_name(&o.cubin.elf, APART);
		assert_name(apart, APART);
		assert_false(apart->kernel);
		assert_int_equal(calls->size, cases[i].calls);
		assert_int_equal(apart->size, cases[i].apart);
		assert_int_equal(apart->start, cases[i].inside);
		assert_int_equal(apart->section, calls->section);

		/* the kernel to its last byte before the function that it calls, then that one */
		assert_ptr_equal(aif_device_elf_find(&o.cubin.elf, calls->symbol, 0, &offset),
				 calls);
		assert_int_equal(offset, 0);
		assert_ptr_equal(
			aif_device_elf_find(&o.cubin.elf, calls->symbol, apart->start - 1, &offset),
			calls);
		assert_int_equal(offset, apart->start - 1);
		assert_ptr_equal(
			aif_device_elf_find(&o.cubin.elf, calls->symbol, apart->start, &offset),
			apart);
		assert_int_equal(offset, 0);
		assert_ptr_equal(
			aif_device_elf_find(&o.cubin.elf, calls->symbol, calls->size - 1, NULL),
			apart);
		assert_null(aif_device_elf_find(&o.cubin.elf, calls->symbol, calls->size, NULL));
		assert_ptr_equal(aif_device_elf_find(&o.cubin.elf, apart->symbol, 16, &offset),
				 apart);
		assert_int_equal(offset, 16);

		assert_null(aif_device_elf_by_symbol(&o.cubin.elf, 0));
		assert_null(aif_device_elf_by_symbol(&o.cubin.elf, 1));
		assert_null(aif_device_elf_by_symbol(&o.cubin.elf, UINT32_MAX));
		assert_null(aif_device_elf_by_name(&o.cubin.elf, "_Z5chain"));
		assert_null(aif_device_elf_by_name(&o.cubin.elf, CHAIN "i"));
		assert_null(aif_device_elf_by_name(&o.cubin.elf, ""));
		close_all(&o);
	}
}

/* What a function's bytes are, by the end of each: EXIT, then a branch to itself, then nothing. */
static void test_code(void **state)
{
	static const char *const files[] = {"kernels_sm75", "kernels_sm90a", "kernels_sm100a"};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
		const uint8_t *code, *other;
		unsigned exits = 0;
		struct opened o;
		size_t n, m;

		open_golden(&o, files[i]);
		code = aif_device_elf_code(&o.cubin.elf,
					   aif_device_elf_by_name(&o.cubin.elf, CHAIN), &n);
		assert_int_equal(n % 128, 0);
		for (size_t at = 0; at < n; at += 16)
			exits += (code[at] | (code[at + 1] & 15) << 8) == 0x94d;
		assert_int_equal(exits, 2); /* if (i < n) and the end */
		other = aif_device_elf_code(&o.cubin.elf,
					    aif_device_elf_by_name(&o.cubin.elf, APART), &m);
		code = aif_device_elf_code(&o.cubin.elf,
					   aif_device_elf_by_name(&o.cubin.elf, CALLS), &n);
		assert_ptr_equal(code + (n - m), other);
		close_all(&o);
	}
}

/* CUDA before 12.8 has the sm in the lowest byte of the flags. */
static void test_old_abi(void **state)
{
	struct aif_cubin c;
	struct aif_buf b = {0};

	(void)state;
	golden_cubin("kernels_sm75", &b);
	b.data[EI_OSABI] = 51;
	b.data[EI_ABIVERSION] = 7;
	((Elf64_Ehdr *)(void *)b.data)->e_flags = 0x500556;
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(c.sm, 0x56);
	assert_string_equal(c.arch, "sm_86");
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
}

static void test_not_a_cubin(void **state)
{
	struct aif_cubin c;
	struct aif_buf b = {0};
	static const size_t headers[] = {0,
					 EI_CLASS,
					 EI_DATA,
					 offsetof(Elf64_Ehdr, e_machine),
					 offsetof(Elf64_Ehdr, e_shentsize),
					 offsetof(Elf64_Ehdr, e_shoff) + 7};

	(void)state;
	golden_cubin("kernels_sm75", &b);
	for (size_t i = 0; i < AIF_ARRAY_LEN(headers); i++) {
		b.data[headers[i]] ^= 3;
		assert_int_equal(aif_cubin_init(&c, b.data, b.len), -ENOEXEC);
		aif_cubin_finish(&c);
		b.data[headers[i]] ^= 3;
	}
	/* a cut is no cubin (the section table stands at the end), and never read beyond */
	for (size_t n = 0; n < b.len; n += n < 100 ? 1 : 977) {
		uint8_t *part = malloc(n + 1);

		assert_non_null(part);
		memcpy(part, b.data, n);
		if (aif_cubin_init(&c, part, n) == 0)
			aif_cubin_finish(&c);
		else
			assert_int_equal(c.elf.functions_len, 0);
		free(part);
	}
	assert_int_equal(aif_cubin_init(&c, "", 0), -ENOEXEC);
	aif_buf_finish(&b);
}

/* Functions that nest, overlap, begin together or are none. */
static void test_layout(void **state)
{
	static const uint8_t code[256];
	static const struct fake_section sections[] = {
		{".text.k", SHT_PROGBITS, 0, code, 256},
		{".text.l", SHT_PROGBITS, 0, code, 128},
		{".text.z", SHT_NOBITS, 0, code, 0},
		{".text.m", SHT_PROGBITS, 0, code, 64},
	};
	enum { K = FAKE_FIRST, L, Z, M };
	static const struct fake_function functions[] = {
		{"k", K, 0, 256, STT_FUNC, 0x10},             /* 1 */
		{"$k$a", K, 64, 128, STT_FUNC, 0},            /* 2: in k */
		{"$__internal_0_$b", K, 96, 32, STT_FUNC, 0}, /* 3: in a */
		{"$k$over", K, 160, 64, STT_FUNC, 0}, /* 4: begins in a, cut where it ends */
		{"l", L, 0, 1000, STT_FUNC, 0x10},    /* 5: cut at its section's end */
		{"$l$same", L, 0, 16, STT_FUNC, 0},   /* 6: begins where l does */
		{"label", L, 32, 0, STT_FUNC, 0},     /* 7: empty */
		{"object", L, 48, 16, STT_OBJECT, 0}, /* 8: no function */
		{"beyond", L, 128, 16, STT_FUNC, 0},  /* 9 */
		{"undefined", SHN_UNDEF, 0, 16, STT_FUNC, 0}, /* 10 */
		{"absolute", SHN_ABS, 0, 16, STT_FUNC, 0},    /* 11 */
		{"nowhere", 31, 0, 16, STT_FUNC, 0},          /* 12 */
		{"nothing", Z, 0, 16, STT_FUNC, 0},           /* 13 */
		{"$l$", L, 100, 8, STT_FUNC, 0},              /* 14 */
		{"k", L, 110, 8, STT_FUNC, 0},                /* 15: k again, no kernel */
		{"$k$next", K, 192, 16, STT_FUNC, 0},         /* 16: where a ends */
		{"m", M, 0, 32, STT_FUNC, 0x10},              /* 17 */
		{"out", M, 16, 48, STT_FUNC, 0},              /* 18: runs out of m */
	};
	static const struct {
		uint32_t section, at;
		uint32_t symbol;
	} expect[] = {{K, 0, 1},    {K, 63, 1},   {K, 64, 2},  {K, 95, 2},   {K, 96, 3},
		      {K, 127, 3},  {K, 128, 2},  {K, 159, 2}, {K, 160, 4},  {K, 191, 4},
		      {K, 192, 16}, {K, 207, 16}, {K, 208, 1}, {K, 255, 1},  {K, 256, 0},
		      {L, 0, 6},    {L, 15, 6},   {L, 16, 5},  {L, 40, 5},   {L, 99, 5},
		      {L, 100, 14}, {L, 107, 14}, {L, 108, 5}, {L, 112, 15}, {L, 127, 5},
		      {L, 128, 0}};
	const struct aif_device_function *f;
	struct aif_buf b = {0};
	struct aif_cubin c;
	uint64_t offset;
	size_t n;

	(void)state;
	fake_cubin(&b, sections, AIF_ARRAY_LEN(sections), functions, AIF_ARRAY_LEN(functions));
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(c.elf.functions_len, 11);
	for (size_t i = 0; i < AIF_ARRAY_LEN(expect); i++) {
		f = aif_device_elf_find(&c.elf, expect[i].section == K ? 1 : 5, expect[i].at, NULL);
		assert_int_equal(f ? f->symbol : 0, expect[i].symbol);
	}
	assert_int_equal(aif_device_elf_find(&c.elf, 17, 31, NULL)->symbol, 18);
	assert_int_equal(aif_device_elf_find(&c.elf, 18, 40, &offset)->symbol, 18);
	assert_int_equal(offset, 40);
	assert_name(aif_device_elf_by_symbol(&c.elf, 2), "a");
	assert_name(aif_device_elf_by_symbol(&c.elf, 3), "b");
	assert_name(aif_device_elf_by_symbol(&c.elf, 14), "$l$");
	assert_null(aif_device_elf_find(&c.elf, 3, 64, NULL)); /* behind b, where another one is */
	f = aif_device_elf_by_name(&c.elf, "k");               /* the kernel of the two */
	assert_int_equal(f->symbol, 1);
	f = aif_device_elf_by_symbol(&c.elf, 5);
	assert_int_equal(f->size, 128);
	assert_int_equal(aif_device_elf_code(&c.elf, f, &n) - b.data,
			 c.elf.sections[L].bytes - b.data);
	assert_int_equal(n, 128);
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
}

/* A table whose names are each the rest of the table would take for ever to compare. */
static void test_overlapping_names(void **state)
{
	enum { N = 2000, LENGTH = 4000 };
	static const uint8_t code[16];
	static const struct fake_section text = {".text.k", SHT_PROGBITS, 0, code, 16};
	struct fake_function *functions = calloc(N, sizeof(*functions));
	static char name[LENGTH];
	struct aif_buf b = {0};
	struct aif_cubin c;
	size_t sum = 0;
	Elf64_Sym *s;

	(void)state;
	assert_non_null(functions);
	memset(name, 'x', LENGTH - 1);
	for (size_t i = 0; i < N; i++)
		functions[i] =
			(struct fake_function){i ? "" : name, FAKE_FIRST, 0, 16, STT_FUNC, 0};
	fake_cubin(&b, &text, 1, functions, N);
	s = (Elf64_Sym *)(void *)(b.data + sizeof(Elf64_Ehdr));
	for (size_t i = 1; i <= N; i++)
		s[i].st_name = 1;
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(c.elf.functions_len, N);
	for (size_t i = 0; i < N; i++)
		sum += c.elf.functions[i].name_len;
	assert_true(sum >= LENGTH - 1 && sum <= 3 * LENGTH);
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
	free(functions);
}

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
static void test_inlined(void **state)
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
static void test_each_machine(void **state)
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

static void test_python_lines(void **state)
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
static void test_little_room(void **state)
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

static void test_no_lines(void **state)
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
	const uint64_t relocation[3] = {offset, (uint64_t)1 << 32 | 2, 0};
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

static void test_version_5(void **state)
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
static void test_false_headers(void **state)
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

/* Sections that claim more than the file has, or to have what takes no space in it. */
static void test_false_sizes(void **state)
{
	struct aif_device_level l[8];
	struct aif_buf b = {0};
	struct aif_cubin c;
	Elf64_Shdr *h;
	size_t n;

	(void)state;
	golden_cubin("kernels_sm75", &b);
	h = (Elf64_Shdr *)(void *)(b.data + ((Elf64_Ehdr *)(void *)b.data)->e_shoff);
	for (unsigned i = 0; i < ((Elf64_Ehdr *)(void *)b.data)->e_shnum; i++)
		h[i].sh_size = UINT64_MAX - 100;
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	for (size_t i = 0; i < c.elf.sections_len; i++) {
		if (!c.elf.sections[i].bytes)
			continue;
		assert_true(c.elf.sections[i].size <= b.len &&
			    c.elf.sections[i].bytes + c.elf.sections[i].size <= b.data + b.len);
	}
	for (size_t i = 0; i < c.elf.functions_len; i++) {
		const uint8_t *code = aif_device_elf_code(&c.elf, &c.elf.functions[i], &n);

		assert_true(code >= b.data && code + n <= b.data + b.len);
	}
	{
		struct aif_cubin_lines *lines;

		if (aif_cubin_lines_new(&c, &lines) == 0) {
			aif_cubin_lines_resolve(lines, c.elf.functions[0].symbol, 0, l, 8);
			aif_cubin_lines_free(lines);
		}
	}
	for (unsigned i = 0; i < ((Elf64_Ehdr *)(void *)b.data)->e_shnum; i++)
		if (h[i].sh_flags & SHF_EXECINSTR)
			h[i].sh_type = SHT_NOBITS;
	aif_cubin_finish(&c);
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(c.elf.functions_len, 0);
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
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

static void test_false_programs(void **state)
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
static void test_addresses(void **state)
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
		cmocka_unit_test(test_kernels),        cmocka_unit_test(test_code),
		cmocka_unit_test(test_old_abi),        cmocka_unit_test(test_not_a_cubin),
		cmocka_unit_test(test_layout),         cmocka_unit_test(test_overlapping_names),
		cmocka_unit_test(test_inlined),        cmocka_unit_test(test_each_machine),
		cmocka_unit_test(test_python_lines),   cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_no_lines),       cmocka_unit_test(test_version_5),
		cmocka_unit_test(test_false_programs), cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_false_headers),  cmocka_unit_test(test_false_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
