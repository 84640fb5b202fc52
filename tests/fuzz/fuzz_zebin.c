/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/device_object.h"
#include "symbolize/zebin.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#include "../unit/fixture_zebin.h"

/* Intel's device code of which a hostile process chose every byte, and every question that is asked of it. An input is
 * either the file, or changes to one that is sound: a byte that says which, then offsets and what is there instead. Answers
 * must lie within the image and agree with each other. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t ask_place(struct aif_device_object *o, const struct aif_device_function *f,
			uint64_t pc)
{
	const struct aif_device_elf *elf = aif_device_object_elf(o);
	const struct aif_device_function *in;
	struct aif_device_level levels[8];
	uint64_t offset = 0;
	size_t sum = 0;
	int n;

	in = aif_device_elf_find(elf, f->symbol, pc, &offset);
	if (pc >= f->size ? in != NULL : !in || offset >= in->size || in->section != f->section)
		abort();
	n = aif_device_object_resolve(o, f->symbol, pc, levels, AIF_ARRAY_LEN(levels));
	if (n > 0 && pc >= f->size)
		abort();
	for (int i = 0; i < n; i++)
		sum += (levels[i].name ? strlen(levels[i].name) : 0) +
		       (levels[i].file ? strlen(levels[i].file) : 0) + levels[i].line;
	return sum;
}

static size_t ask(uint8_t *bytes, size_t n)
{
	struct aif_device_object *o;
	const struct aif_device_elf *elf;
	size_t sum = 0;

	if (aif_device_object_new(bytes, n, &o) < 0)
		return 0;
	elf = aif_device_object_elf(o);
	for (size_t i = 0; i < AIF_MIN(elf->functions_len, (size_t)16); i++) {
		const struct aif_device_function *f = &elf->functions[i];
		size_t len;
		const uint8_t *code = aif_device_elf_code(elf, f, &len);

		if (aif_device_elf_by_symbol(elf, f->symbol) != f || len != f->size)
			abort();
		sum += code[0] + code[len - 1];
		for (uint64_t pc = 0; pc < 260; pc += 13)
			sum += ask_place(o, f, pc);
		sum += ask_place(o, f, f->size - 1) + ask_place(o, f, f->size);
	}
	aif_device_object_free(o);
	return sum;
}

static size_t ask_changed(const uint8_t *data, size_t size)
{
	const struct fake_zebin how = {.dwarf = 4 + (data[0] >> 1 & 1),
				       .is_rel = data[0] >> 2 & 1,
				       .has_two = data[0] >> 3 & 1,
				       .is_stripped = data[0] >> 4 & 1,
				       .family = 1271};
	struct aif_buf b = {0};

	fake_zebin(&b, &how);
	for (size_t i = 1; i + 2 < size; i += 3)
		b.data[(data[i] | (size_t)data[i + 1] << 8) % b.len] = data[i + 2];
	return ask(b.data, b.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size && data[0] & 1 && data[0] != 0x7f)
		return ask_changed(data, size) == SIZE_MAX;
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	return ask(copy, size) == SIZE_MAX;
}
