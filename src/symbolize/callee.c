/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/callee.h"

#include <string.h>

/* Bytes of a caller that are looked at. */
#define MOST_CODE 4096
/* Times as long as each other function that is called. */
#define LONGER 2

/* gc_collect_with_callback() until CPython 3.12, gc_collect_main() from then on. */
static const struct {
	const char *file, *caller, *name;
} known[] = {
	{"python", "PyGC_Collect", "gc_collect (called by PyGC_Collect)"},
	{"libpython", "PyGC_Collect", "gc_collect (called by PyGC_Collect)"},
};

static const struct aif_elf_function *function_called(const struct aif_elf_symbols *s,
						      const char *wanted)
{
	char name[64];

	for (size_t i = 0; i < s->functions_len; i++)
		if (aif_elf_symbols_name(s, &s->functions[i], name, sizeof(name)) > 0 &&
		    !strcmp(name, wanted))
			return &s->functions[i];
	return NULL;
}

/* Returns what the direct call at `code`, of `address`, calls; 0: there is none. */
static uint64_t call_target(const struct aif_elf *elf, const uint8_t *code, uint64_t address)
{
	uint32_t word;
	int32_t by;

	if (elf->machine == EM_X86_64 && code[0] == 0xe8) {
		memcpy(&word, code + 1, sizeof(word));
		return address + 5 + (uint64_t)(int64_t)(int32_t)le32toh(word);
	}
	memcpy(&word, code, sizeof(word));
	word = le32toh(word);
	if (elf->machine == EM_AARCH64 && address % 4 == 0 && word >> 26 == 0x25) {
		by = (int32_t)(word << 6) >> 4; /* 26 bits, in instructions */
		return address + (uint64_t)(int64_t)by;
	}
	return 0;
}

/* Returns the function without a symbol that is called there; of several the one that is LONGER than each other, which set and
 * get an error, or NULL. Bytes that only look like a call do not lead to the beginning of a function. */
static const struct aif_fde *unnamed_callee(const struct aif_elf *elf,
					    const struct aif_elf_symbols *symbols,
					    const struct aif_fdes *fdes,
					    const struct aif_elf_function *caller)
{
	size_t size = AIF_MIN(caller->end - caller->start, MOST_CODE);
	const struct aif_fde *found = NULL;
	uint64_t longest = 0, next = 0;
	uint8_t code[MOST_CODE];

	if (aif_elf_read_at(elf, caller->start, code, size) < 0)
		return NULL;
	for (size_t i = 0; i + 5 <= size; i++) {
		uint64_t target = call_target(elf, code + i, caller->start + i), length;
		const struct aif_fde *fde = target ? aif_fdes_find(fdes, target) : NULL;

		if (!fde || fde->start != target || fde == found ||
		    aif_elf_symbols_find(symbols, target))
			continue;
		length = fde->end - fde->start;
		next = AIF_MAX(next, AIF_MIN(length, longest));
		if (length > longest) {
			found = fde;
			longest = length;
		}
	}
	return longest / LONGER >= next ? found : NULL;
}

void aif_callee_find(const struct aif_elf *elf, const char *file, size_t len,
		     const struct aif_elf_symbols *symbols, const struct aif_fdes *fdes,
		     struct aif_callee *ret)
{
	*ret = (struct aif_callee){0};
	for (size_t i = 0; i < AIF_ARRAY_LEN(known) && !ret->end; i++) {
		const struct aif_elf_function *caller;
		const struct aif_fde *fde;

		if (len < strlen(known[i].file) ||
		    strncmp(file, known[i].file, strlen(known[i].file)) != 0)
			continue;
		caller = function_called(symbols, known[i].caller);
		fde = caller ? unnamed_callee(elf, symbols, fdes, caller) : NULL;
		if (fde)
			*ret = (struct aif_callee){fde->start, fde->end, known[i].name};
	}
}
