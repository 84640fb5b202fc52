/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cubin.h"
#include "symbolize/cubin_lines.h"
#include "symbolize/device_cut.h"
#include "isa/sass.h"

#include <stdlib.h>
#include <string.h>

/* Device code of which a hostile process chose every byte, and every question that is asked of it. Answers
 * must lie within the image (the address sanitizer watches: it fills a heap block to the last byte), and
 * agree with each other. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t ask_code(const struct aif_cubin *c, const struct aif_device_function *f)
{
	size_t n, sum = 0, indices[16];
	const uint8_t *code = aif_device_elf_code(&c->elf, f, &n);
	char text[AIF_SASS_TEXT];
	struct aif_sass s;

	n /= AIF_SASS_BYTES;
	for (size_t i = 0; i < AIF_MIN(n, (size_t)64); i++) {
		size_t waits = aif_sass_waits_for(code, n, i, indices, AIF_ARRAY_LEN(indices));

		if (aif_sass_decode(code + i * AIF_SASS_BYTES, c->sm, &s) != (s.mnemonic != NULL))
			abort();
		aif_sass_text(&s, text);
		sum += strlen(text);
		for (size_t k = 0; k < waits; k++)
			if (indices[k] >= (k ? indices[k - 1] : i))
				abort();
	}
	return sum;
}

static size_t ask_place(const struct aif_cubin *c, struct aif_cubin_lines *l,
			const struct aif_device_function *f, uint64_t pc)
{
	struct aif_device_level levels[8];
	const struct aif_device_function *in;
	uint64_t offset = 0;
	size_t sum = 0;
	int n;

	in = aif_device_elf_find(&c->elf, f->symbol, pc, &offset);
	if (pc >= f->size ? in != NULL : !in || offset >= in->size || in->section != f->section)
		abort();
	if (!l)
		return 0;
	n = aif_cubin_lines_resolve(l, f->symbol, pc, levels, AIF_ARRAY_LEN(levels));
	for (int i = 0; i < n; i++)
		sum += (levels[i].name ? strlen(levels[i].name) : 0) +
		       (levels[i].file ? strlen(levels[i].file) : 0) + levels[i].line;
	return sum;
}

/* A cut object is read like another, has no function's code, and each piece to put back lies inside of it. */
static void cut(const struct aif_cubin *c, const struct aif_cubin_lines *l, const uint8_t *data,
		size_t size)
{
	const struct aif_device_section *lines = aif_device_elf_section(&c->elf, ".debug_line");
	struct aif_cubin again;
	uint64_t offset, n;
	uint8_t *image;

	if (aif_device_cut(&c->elf, l, data, size, &image) < 0)
		return;
	if (aif_cubin_init(&again, image, size) == 0)
		aif_cubin_finish(&again);
	for (size_t i = 0; l && i <= AIF_MIN(c->elf.functions_len, (size_t)32); i++)
		for (size_t at = 0;
		     aif_cubin_lines_next(l, i < c->elf.functions_len ? &c->elf.functions[i] : NULL,
					  &at, &offset, &n);)
			if (!n || offset > lines->size || n > lines->size - offset)
				abort();
	free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_cubin_lines *l = NULL;
	struct aif_cubin c;
	size_t sum = 0;

	if (aif_cubin_init(&c, data, size) < 0)
		return 0;
	if (aif_cubin_lines_new(&c, &l) < 0)
		l = NULL;
	for (size_t i = 0; i < AIF_MIN(c.elf.functions_len, (size_t)32); i++) {
		const struct aif_device_function *f = &c.elf.functions[i];

		if (aif_device_elf_by_symbol(&c.elf, f->symbol) != f)
			abort();
		sum += ask_code(&c, f);
		for (uint64_t pc = 0; pc < 512; pc += 13)
			sum += ask_place(&c, l, f, pc);
		sum += ask_place(&c, l, f, f->size - 1) + ask_place(&c, l, f, f->size);
	}
	cut(&c, l, data, size);
	aif_cubin_lines_free(l);
	aif_cubin_finish(&c);
	return sum == SIZE_MAX;
}
