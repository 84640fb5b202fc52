/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/ehframe.h"

#include <stdlib.h>
#include <string.h>

/*
 * Unwind tables of any bytes. No read outside of them (the address sanitizer watches: they fill a heap
 * block to the last byte), no endless program, always a row of a known kind.
 *
 * The first byte chooses. Even: the rest is the whole module, .eh_frame_hdr first. Odd: the rest is split
 * into the programs of one CIE and one FDE, with sound tables around them, so that the interpreter is
 * reached without luck.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUNCTION = 1 << 20, FUNCTION_LEN = 1 << 16 }; /* where the code pretends to be */

static void look_up(const struct aif_ehframe *e, uint64_t pc)
{
	uint64_t row = aif_ehframe_row(e, pc);

	if (aif_row_kind(row) >= AIF_ROW_KIND_COUNT)
		abort();
	/* pure: the same again */
	if (aif_ehframe_row(e, pc) != row)
		abort();
}

static uint8_t *put(uint8_t *p, const void *from, size_t n)
{
	memcpy(p, from, n);
	return p + n;
}

static uint8_t *put32(uint8_t *p, uint64_t v)
{
	uint32_t low = (uint32_t)v;

	return put(p, &low, sizeof(low));
}

static void whole_module(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + !size);
	struct aif_span span = {bytes, bytes + size};
	struct aif_ehframe e;

	if (!bytes)
		return;
	if (size)
		memcpy(bytes, data, size);
	if (aif_ehframe_init(&e, bytes, size, &span, 1) == 0) {
		uint64_t base = (uint64_t)(uintptr_t)bytes;

		for (size_t i = 0; e.table && i < e.table_len && i < 8; i++) {
			int32_t start;

			memcpy(&start, e.table + i * 8, sizeof(start));
			for (uint64_t k = 0; k < 64; k += 9)
				look_up(&e, base + (uint64_t)(int64_t)start + k);
		}
		for (uint64_t k = 0; k < 16; k++)
			look_up(&e, base + k * 61);
		look_up(&e, 0);
		look_up(&e, UINT64_MAX);
	}
	free(bytes);
}

static void programs(const uint8_t *data, size_t size)
{
	const uint8_t *cie_program, *fde_program;
	size_t signal, first, cie_len, fde_len, len;
	uint8_t *bytes, *p, *cie, *fde;
	struct aif_ehframe e;

	if (size < 2)
		return;
	signal = data[0] & 1;
	first = data[1] % (size - 1);
	cie_program = data + 2;
	fde_program = cie_program + first;
	fde_len = size - 2 - first;
	cie_len = 4 + 1 + 3 + signal + 3 + 2 + first;
	len = 20 + 4 + cie_len + 4 + 13 + fde_len;
	p = bytes = malloc(len);
	if (!bytes)
		return;
	cie = bytes + 20;
	fde = cie + 4 + cie_len;
	p = put(p, "\x01\x1b\x03\x3b", 4);
	p = put32(p, (uint64_t)(cie - (bytes + 4)));
	p = put32(p, 1);
	p = put32(p, FUNCTION);
	p = put32(p, (uint64_t)(fde - bytes));
	p = put32(p, cie_len);
	p = put32(p, 0);
	p = put(p, signal ? "\x01zRS" : "\x01zR", 4 + signal);
	p = put(p, "\x01\x78\x10\x01\x1b", 5);
	p = put(p, cie_program, first);
	p = put32(p, 13 + fde_len);
	p = put32(p, (uint64_t)(p - cie));
	p = put32(p, (uint64_t)(bytes + FUNCTION - p));
	p = put32(p, FUNCTION_LEN);
	p = put(p, "", 1);
	p = put(p, fde_program, fde_len);
	if (p != bytes + len)
		abort();

	struct aif_span span = {bytes, bytes + len};

	if (aif_ehframe_init(&e, bytes, 20, &span, 1))
		abort();
	for (uint64_t pc = 0; pc < FUNCTION_LEN; pc = pc * 2 + 1)
		look_up(&e, (uint64_t)(uintptr_t)bytes + FUNCTION + pc);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		programs(data + 1, size - 1);
	else
		whole_module(data + 1, size - 1);
	return 0;
}
