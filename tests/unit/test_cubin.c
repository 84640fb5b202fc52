/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of NVIDIA's device code: kernels.cu as compiled, then hand-made images. Lines: test_cubin_lines.c. */
#include "fixture_cubin_lines.h"

#include <errno.h>

static void assert_name(const struct aif_device_function *f, const char *name)
{
	assert_non_null(f);
	assert_int_equal(f->name_len, strlen(name));
	assert_memory_equal(f->name, name, f->name_len);
}

/* ---- functions ---- */

static void functions_are_those_of_readelf(void **state)
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

/* Checks each function's bytes by their end: EXIT, then a branch to itself, then nothing. */
static void code_of_a_function_ends_where_it_ends(void **state)
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
static void flags_of_older_cuda_give_the_architecture(void **state)
{
	struct aif_cubin c;
	struct aif_buf b = {0};

	(void)state;
	golden_cubin("kernels_sm75", &b);
	b.data[EI_OSABI] = 51;
	b.data[EI_ABIVERSION] = 7;
	((Elf64_Ehdr *)(void *)b.data)->e_flags = htole32(0x500556);
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
static void functions_that_nest_or_overlap_are_cut(void **state)
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
static void names_that_overlap_are_read_in_bounded_time(void **state)
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
		s[i].st_name = htole32(1);
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(c.elf.functions_len, N);
	for (size_t i = 0; i < N; i++)
		sum += c.elf.functions[i].name_len;
	assert_true(sum >= LENGTH - 1 && sum <= 3 * LENGTH);
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
	free(functions);
}

/* Sections that claim more than the file has, or to have what takes no space in it. */
static void sections_larger_than_the_file_are_refused(void **state)
{
	struct aif_device_level l[8];
	struct aif_buf b = {0};
	struct aif_cubin c;
	Elf64_Ehdr e;
	Elf64_Shdr *h;
	size_t n;

	(void)state;
	golden_cubin("kernels_sm75", &b);
	memcpy(&e, b.data, sizeof(e));
	elf_le_header(&e);
	h = (Elf64_Shdr *)(void *)(b.data + e.e_shoff);
	for (unsigned i = 0; i < e.e_shnum; i++)
		h[i].sh_size = htole64(UINT64_MAX - 100);
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
	for (unsigned i = 0; i < e.e_shnum; i++)
		if (h[i].sh_flags & htole64(SHF_EXECINSTR))
			h[i].sh_type = htole32(SHT_NOBITS);
	aif_cubin_finish(&c);
	assert_int_equal(aif_cubin_init(&c, b.data, b.len), 0);
	assert_int_equal(c.elf.functions_len, 0);
	aif_cubin_finish(&c);
	aif_buf_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_those_of_readelf),
		cmocka_unit_test(code_of_a_function_ends_where_it_ends),
		cmocka_unit_test(flags_of_older_cuda_give_the_architecture),
		cmocka_unit_test(test_not_a_cubin),
		cmocka_unit_test(functions_that_nest_or_overlap_are_cut),
		cmocka_unit_test(names_that_overlap_are_read_in_bounded_time),
		cmocka_unit_test(sections_larger_than_the_file_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
