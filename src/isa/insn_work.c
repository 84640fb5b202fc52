/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/insn_work.h"

#include "isa/insn_kind.h"

#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the bytes of a vector operand. */
static uint32_t vector_bytes(const char *operands)
{
	return strstr(operands, "zmm") ? 64 : strstr(operands, "ymm") ? 32 : 16;
}

/* Returns how many elements SSE's and AVX's arithmetic works on, whose last letters say it; 0: it is none. *ret_bytes: of an
 * element. */
static uint32_t elements(const char *m, const char *operands, uint32_t *ret_bytes)
{
	size_t len = strlen(m);

	if (len < 4 || (m[len - 2] != 'p' && m[len - 2] != 's'))
		return 0;
	*ret_bytes = m[len - 1] == 's' ? 4 : m[len - 1] == 'd' ? 8 : m[len - 1] == 'h' ? 2 : 0;
	if (!*ret_bytes)
		return 0;
	return m[len - 2] == 's' ? 1 : vector_bytes(operands) / *ret_bytes;
}

static uint32_t vector_flops(const char *m, const char *operands)
{
	static const char *const once[] = {"add", "sub", "mul",   "div",  "sqrt", "min",
					   "max", "rcp", "rsqrt", "hadd", "hsub"};
	static const char *const twice[] = {"fmadd", "fmsub", "fnmadd", "fnmsub"};
	uint32_t bytes, n;

	m += *m == 'v';
	n = elements(m, operands, &bytes);
	for (size_t i = 0; n && i < AIF_ARRAY_LEN(twice); i++)
		if (begins(m, twice[i]))
			return 2 * n;
	for (size_t i = 0; n && i < AIF_ARRAY_LEN(once); i++)
		if (begins(m, once[i]))
			return n;
	/* Products within 16 bytes, and their sum. */
	if (n && (!strcmp(m, "dpps") || !strcmp(m, "dppd")))
		return 2 * n - n * bytes / 16;
	return 0;
}

static bool is_x87(const char *m)
{
	static const char *const names[] = {"fadd",  "fsub",  "fmul",  "fdiv", "fsqrt",
					    "fiadd", "fisub", "fimul", "fidiv"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (begins(m, names[i]))
			return true;
	return false;
}

/* Returns the bytes of the operand in memory, as its text says: "ymmword ptr [rax]". */
static uint32_t memory_bytes(const char *operands)
{
	static const struct {
		const char *name;
		uint32_t bytes;
	} sizes[] = {{"zmmword ptr", 64}, {"ymmword ptr", 32}, {"xmmword ptr", 16},
		     {"tbyte ptr", 10},   {"xword ptr", 10},   {"qword ptr", 8},
		     {"dword ptr", 4},    {"byte ptr", 1},     {"word ptr", 2}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(sizes); i++)
		if (strstr(operands, sizes[i].name))
			return sizes[i].bytes;
	return 0;
}

bool aif_insn_work(const char *arch, const struct aif_insn *insn, struct aif_insn_work *ret)
{
	const char *space = strrchr(insn->mnemonic, ' '), *m = space ? space + 1 : insn->mnemonic;
	bool is_known;
	unsigned kinds = aif_insn_kinds(arch, insn, &is_known);
	uint32_t bytes;

	*ret = (struct aif_insn_work){0};
	if (!is_known || strcmp(arch, "x86_64") != 0)
		return false;
	bytes = memory_bytes(insn->operands);
	ret->flops = is_x87(m) ? 1 : vector_flops(m, insn->operands);
	if (kinds & AIF_INSN_BIT(AIF_INSN_LOAD))
		ret->load_bytes = bytes;
	if (kinds & AIF_INSN_BIT(AIF_INSN_STORE))
		ret->store_bytes = bytes;
	return true;
}
