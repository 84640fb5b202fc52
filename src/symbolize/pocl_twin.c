/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/pocl_twin.h"

#include "base/buf.h"
#include "isa/x86_vector.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>

/* The alignment takes a byte for each pair of instructions: 16 MB. Kernels are some hundreds long. */
#define MAX_INSTRUCTIONS 4096
/* Less in common is not the same code: unrelated kernels have a third to a half. */
#define LEAST_COMMON 0.75

struct instruction {
	uint64_t address, twin; /* twin: 0 if it has none */
	uint32_t opcode;
};
struct list {
	struct instruction *at;
	size_t len, cap;
};
struct aif_pocl_twin {
	struct list list;
	uint64_t end; /* of what decodes */
};

/* Returns the next instruction's id, by its encoding if capstone does not know it; 0 if nothing
 * does. */
static uint32_t next(csh handle, bool is_x86, cs_insn *insn, const struct aif_pocl_code *code,
		     size_t at, size_t *ret_size)
{
	const uint8_t *p = code->bytes + at;
	uint64_t address = code->address + at;
	size_t n = code->n - at;
	struct aif_x86_vector v;

	if (cs_disasm_iter(handle, &p, &n, &address, insn)) {
		*ret_size = insn->size;
		return insn->id;
	}
	if (!is_x86 || aif_x86_vector(code->bytes + at, code->n - at, &v) < 0)
		return 0;
	*ret_size = v.size;
	return aif_x86_vector_id(&v);
}

static int decode(csh handle, bool is_x86, const struct aif_pocl_code *code, struct list *ret,
		  uint64_t *ret_end)
{
	cs_insn *insn = cs_malloc(handle);
	size_t at = 0, size;
	int r = insn ? 0 : -ENOMEM;

	while (!r && at < code->n) {
		uint32_t opcode = next(handle, is_x86, insn, code, at, &size);

		if (!opcode)
			break;
		if (ret->len == MAX_INSTRUCTIONS)
			r = -E2BIG;
		else
			r = aif_grow(&ret->at, &ret->cap, ret->len + 1, sizeof(*ret->at));
		if (!r)
			ret->at[ret->len++] = (struct instruction){code->address + at, 0, opcode};
		at += size;
	}
	if (insn)
		cs_free(insn, 1);
	*ret_end = code->address + at;
	return r;
}

enum step { BOTH, CODE, TWIN };

/* The longest common subsequence of opcodes, from the end; steps[i * twins + j]: what to do at
 * code i and twin j. Returns its length. */
static size_t common(const struct list *code, const struct list *twin, uint8_t *steps,
		     uint16_t *lengths)
{
	uint16_t *below = lengths, *here = lengths + twin->len + 1;

	for (size_t j = 0; j <= twin->len; j++)
		below[j] = 0;
	for (size_t i = code->len; i-- > 0;) {
		uint16_t *swap;

		here[twin->len] = 0;
		for (size_t j = twin->len; j-- > 0;) {
			uint8_t *step = &steps[i * twin->len + j];

			if (code->at[i].opcode == twin->at[j].opcode) {
				*step = BOTH;
				here[j] = (uint16_t)(below[j + 1] + 1);
			} else if (below[j] >= here[j + 1]) {
				*step = CODE;
				here[j] = below[j];
			} else {
				*step = TWIN;
				here[j] = here[j + 1];
			}
		}
		swap = below;
		below = here;
		here = swap;
	}
	return below[0];
}

static int align(struct list *code, const struct list *twin)
{
	uint8_t *steps = malloc(code->len * twin->len + 1);
	uint16_t *lengths = calloc(2 * (twin->len + 1), sizeof(*lengths));
	size_t i = 0, j = 0;
	int r = steps && lengths ? 0 : -ENOMEM;

	if (!r && (double)common(code, twin, steps, lengths) <
			  LEAST_COMMON * (double)AIF_MAX(code->len, twin->len))
		r = -ENOENT;
	while (!r && i < code->len && j < twin->len) {
		uint8_t step = steps[i * twin->len + j];

		if (step == BOTH)
			code->at[i].twin = twin->at[j].address;
		i += step != TWIN;
		j += step != CODE;
	}
	free(steps);
	free(lengths);
	return r;
}

static int align_with(csh handle, bool is_x86, const struct aif_pocl_code *code,
		      const struct aif_pocl_code *twin, struct aif_pocl_twin *ret)
{
	struct list twins = {0};
	uint64_t end;
	int r = decode(handle, is_x86, code, &ret->list, &ret->end);

	if (!r)
		r = decode(handle, is_x86, twin, &twins, &end);
	if (!r)
		r = ret->list.len && twins.len ? align(&ret->list, &twins) : -ENOENT;
	free(twins.at);
	return r;
}

int aif_pocl_twin_new(uint16_t machine, const struct aif_pocl_code *code,
		      const struct aif_pocl_code *twin, struct aif_pocl_twin **ret)
{
	struct aif_pocl_twin *t;
	csh handle;
	int r;

	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return -ENOTSUP;
	if (cs_open(machine == EM_X86_64 ? CS_ARCH_X86 : CS_ARCH_ARM64,
		    machine == EM_X86_64 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN,
		    &handle) != CS_ERR_OK)
		return -ENOTSUP;
	t = calloc(1, sizeof(*t));
	r = t ? align_with(handle, machine == EM_X86_64, code, twin, t) : -ENOMEM;
	cs_close(&handle);
	if (r < 0) {
		aif_pocl_twin_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void aif_pocl_twin_free(struct aif_pocl_twin *t)
{
	if (!t)
		return;
	free(t->list.at);
	free(t);
}

uint64_t aif_pocl_twin_of(const struct aif_pocl_twin *t, uint64_t address)
{
	size_t lo;

	if (address >= t->end)
		return 0;
	lo = AIF_BISECT(mid, 0, t->list.len, t->list.at[mid].address <= address);
	return lo ? t->list.at[lo - 1].twin : 0;
}
