/* SPDX-License-Identifier: Apache-2.0 */
/* Device objects without what functions have for themselves, and what puts it back. */
#include "fixture_cubin_lines.h"

#include "symbolize/device_cut.h"
#include "symbolize/device_object.h"

#include <errno.h>
#include <stdlib.h>

static struct aif_device_object *open_object(const struct aif_buf *bytes)
{
	uint8_t *copy = malloc(bytes->len);
	struct aif_device_object *o = NULL;

	assert_non_null(copy);
	memcpy(copy, bytes->data, bytes->len);
	assert_int_equal(aif_device_object_new(copy, bytes->len, &o), 0);
	return o;
}

/* Gives the section its contents back, as a reader does. */
static void set_type(uint8_t *image, uint32_t section, uint32_t type)
{
	Elf64_Ehdr e;

	memcpy(&e, image, sizeof(e));
	type = htole32(type);
	memcpy(image + le64toh(e.e_shoff) + section * sizeof(Elf64_Shdr) +
		       offsetof(Elf64_Shdr, sh_type),
	       &type, sizeof(type));
}

static uint32_t type_of(const uint8_t *image, uint32_t section)
{
	Elf64_Ehdr e;
	Elf64_Shdr s;

	memcpy(&e, image, sizeof(e));
	memcpy(&s, image + le64toh(e.e_shoff) + section * sizeof(s), sizeof(s));
	return le32toh(s.sh_type);
}

/* Puts a function's code and lines back into the image. */
static void put_back(const struct aif_device_object *o, const struct aif_device_function *f,
		     uint8_t *image)
{
	struct aif_device_piece piece;
	size_t n, at = 0;
	const uint8_t *code = aif_device_elf_code(aif_device_object_elf(o), f, &n);

	memcpy(image + aif_device_object_offset(o, f), code, n);
	set_type(image, f->section, SHT_PROGBITS);
	while (aif_device_object_lines_next(o, f, &at, &piece))
		memcpy(image + piece.offset, piece.bytes, piece.size);
}

/* The header, names and symbols of the whole; of code and lines nothing. */
static void a_cut_object_has_no_code_and_no_lines(void **state)
{
	static const char *const files[] = {"kernels_sm75", "kernels_sm90a", "kernels_sm100a"};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
		struct aif_buf bytes = {0};
		struct aif_device_object *o;
		const struct aif_device_elf *e;
		struct aif_cubin_lines *lines;
		struct aif_cubin cut;
		uint8_t *image;
		size_t n;

		golden_cubin(files[i], &bytes);
		o = open_object(&bytes);
		e = aif_device_object_elf(o);
		assert_int_equal(aif_device_object_cut(o, &image, &n), 0);
		assert_int_equal(n, bytes.len);
		assert_int_equal(aif_cubin_init(&cut, image, n), 0);
		assert_int_equal(cut.elf.sections_len, e->sections_len);
		assert_int_equal(cut.elf.symbols_len, e->symbols_len);
		assert_memory_equal(cut.elf.symbols, e->symbols,
				    e->symbols_len * sizeof(Elf64_Sym));
		assert_int_equal(cut.elf.functions_len, 0); /* no section of theirs has contents */
		assert_true(e->functions_len > 2);
		for (size_t k = 0; k < e->functions_len; k++) {
			const struct aif_device_function *f = &e->functions[k];
			const uint8_t *at = image + aif_device_object_offset(o, f);

			assert_int_equal(type_of(image, f->section), SHT_NOBITS);
			for (size_t byte = 0; byte < f->size; byte++)
				assert_int_equal(at[byte], 0);
		}
		assert_int_equal(aif_cubin_lines_new(&cut, &lines), -ENODATA);
		aif_cubin_finish(&cut);
		free(image);
		aif_device_object_free(o);
		aif_buf_finish(&bytes);
	}
}

static void one_function_comes_back_alone(void **state)
{
	struct aif_device_level levels[8];
	struct aif_buf bytes = {0};
	struct aif_device_object *o;
	const struct aif_device_function *f, *other;
	struct aif_cubin_lines *lines;
	struct aif_cubin cut;
	uint8_t *image;
	size_t n;

	(void)state;
	golden_cubin("kernels_sm90a", &bytes);
	o = open_object(&bytes);
	assert_int_equal(aif_device_object_cut(o, &image, &n), 0);
	f = aif_device_elf_by_name(aif_device_object_elf(o), CHAIN);
	other = aif_device_elf_by_name(aif_device_object_elf(o), SHARED);
	put_back(o, f, image);
	assert_int_equal(aif_cubin_init(&cut, image, n), 0);
	assert_int_equal(cut.elf.functions_len, 1);
	assert_int_equal(aif_cubin_lines_new(&cut, &lines), 0);
	assert_int_equal(aif_cubin_lines_resolve(lines, f->symbol, 0xc0, levels, 8), 3);
	assert_int_equal(levels[1].line, 20);
	assert_int_equal(aif_cubin_lines_resolve(lines, other->symbol, 0x100, levels, 8), 0);
	aif_cubin_lines_free(lines);
	aif_cubin_finish(&cut);
	free(image);
	aif_device_object_free(o);
	aif_buf_finish(&bytes);
}

static void all_functions_together_are_the_object(void **state)
{
	static const char *const files[] = {"kernels_sm75",    "kernels_sm90a",    "kernels_sm100a",
					    "operations_sm75", "operations_sm90a", "python_sm80"};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
		struct aif_buf bytes = {0};
		struct aif_device_object *o;
		const struct aif_device_elf *e;
		uint8_t *image;
		size_t n;

		golden_cubin(files[i], &bytes);
		o = open_object(&bytes);
		e = aif_device_object_elf(o);
		assert_int_equal(aif_device_object_cut(o, &image, &n), 0);
		for (size_t k = 0; k < e->functions_len; k++)
			put_back(o, &e->functions[k], image);
		assert_int_equal(n, bytes.len);
		assert_memory_equal(image, bytes.data, n);
		free(image);
		aif_device_object_free(o);
		aif_buf_finish(&bytes);
	}
}

/* Constants and notes stay, sources and tables of megabytes do not. */
static void large_data_goes_small_data_stays(void **state)
{
	enum { LARGE = 100000 };
	static uint8_t data[LARGE];
	const struct fake_section sections[] = {{".text.k", SHT_PROGBITS, 0, data, 64},
						{".nv.constant0.k", SHT_PROGBITS, 0, data, 400},
						{".nv_debug_ptx_txt", SHT_PROGBITS, 0, data, LARGE},
						{".nv.global.init", SHT_PROGBITS, 0, data, LARGE},
						{".debug_str", SHT_PROGBITS, 0, data, LARGE},
						{".rela.text.k", SHT_RELA, 0, data, LARGE}};
	const struct fake_function functions[] = {{"k", FAKE_FIRST, 0, 64, STT_FUNC, 0x10}};
	static const uint32_t types[] = {SHT_NOBITS, SHT_PROGBITS, SHT_NOBITS,
					 SHT_NOBITS, SHT_PROGBITS, SHT_RELA};
	struct aif_buf bytes = {0};
	struct aif_device_object *o;
	uint8_t *image;
	size_t n;

	(void)state;
	memset(data, 0x5a, sizeof(data));
	fake_cubin(&bytes, sections, AIF_ARRAY_LEN(sections), functions, 1);
	o = open_object(&bytes);
	assert_int_equal(aif_device_object_cut(o, &image, &n), 0);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(types); i++) {
		const struct aif_device_section *s =
			&aif_device_object_elf(o)->sections[FAKE_FIRST + i];
		/* The object's own bytes lie where `code` does. */
		uint64_t at = aif_device_object_offset(o, &aif_device_object_elf(o)->functions[0]);

		for (uint32_t k = 0; k < i; k++)
			at += sections[k].n;
		assert_int_equal(type_of(image, FAKE_FIRST + i), types[i]);
		for (size_t k = 0; k < s->size; k++)
			assert_int_equal(image[at + k], types[i] == SHT_NOBITS ? 0 : 0x5a);
	}
	free(image);
	aif_device_object_free(o);
	aif_buf_finish(&bytes);
}

/* Each of 65,000 sections claims to be the whole file of 6 MB: copying each would be 400 GB. */
static void sections_that_overlap_are_not_copied_for_ever(void **state)
{
	enum { SECTIONS = 65000 };
	size_t n = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr) + (2 << 20), got;
	uint8_t *bytes = calloc(n, 1), *image;
	struct aif_device_object *o;
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8},
			.e_machine = 190,
			.e_shoff = sizeof(e),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = SECTIONS};

	(void)state;
	assert_non_null(bytes);
	elf_le_header(&e);
	memcpy(bytes, &e, sizeof(e));
	for (size_t i = 1; i < SECTIONS; i++) {
		Elf64_Shdr s = {.sh_type = SHT_STRTAB, .sh_size = UINT64_MAX, .sh_offset = i};

		elf_le_section(&s);
		memcpy(bytes + sizeof(e) + i * sizeof(s), &s, sizeof(s));
	}
	assert_int_equal(aif_device_object_new(bytes, n, &o), 0);
	assert_int_equal(aif_device_object_cut(o, &image, &got), 0);
	assert_int_equal(got, n);
	assert_memory_equal(image, &e, sizeof(e));
	free(image);
	aif_device_object_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_object_has_no_code_and_no_lines),
		cmocka_unit_test(one_function_comes_back_alone),
		cmocka_unit_test(all_functions_together_are_the_object),
		cmocka_unit_test(large_data_goes_small_data_stays),
		cmocka_unit_test(sections_that_overlap_are_not_copied_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
