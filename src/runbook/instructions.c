/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of instructions at which CPU samples were. */
#include "runbook/instructions.h"

#include "isa/insn_kind.h"
#include "names/code_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static_assert(AIF_INSN_KINDS < 8, "all kinds and AIF_RUNBOOK_NO_KINDS are bytes");

struct place {
	uint64_t address;
	uint32_t module;
	size_t leaf;
};

static int by_place(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	return AIF_ORDER(a->module, b->module) ?: AIF_ORDER(a->address, b->address);
}

/* Marks where branches of a function's code lead to in it. Returns a bit a byte of code, for free(); NULL: no memory. */
static uint8_t *targets_of(const struct aif_code *c, struct aif_disasm *d)
{
	uint8_t *bits = calloc(c->size / 8 + 1, 1);
	struct aif_insn insn;

	for (uint64_t o = 0; o < c->size && bits; o += insn.size) {
		uint64_t to;

		aif_disasm_one(d, c->bytes + o, c->size - o, c->address + o, &insn);
		to = insn.target - c->address;
		if (insn.has_target && to < c->size)
			bits[to / 8] |= (uint8_t)(1 << to % 8);
	}
	return bits;
}

/* Reads the instructions of a function's code, of which places[0] is the first place in it. An interrupt is taken behind the
 * instruction that took the time: it is the one before the place, unless that is a branch, or branches lead to the place.
 * *ret_len: how many places are in the code. 0 or -ENOMEM. */
static int read_code(const struct aif_code *c, const char *arch, struct aif_disasm *d,
		     const struct place *places, size_t len, uint8_t *ret, size_t *ret_len)
{
	uint8_t *targets = targets_of(c, d), kinds, before = AIF_RUNBOOK_NO_KINDS;
	struct aif_insn insn;
	size_t at = 0;

	if (!targets)
		return -ENOMEM;
	for (uint64_t o = 0; o < c->size && at < len && places[at].module == places[0].module;
	     o += insn.size, before = kinds) {
		bool is_known, is_after;

		aif_disasm_one(d, c->bytes + o, c->size - o, c->address + o, &insn);
		kinds = (uint8_t)aif_insn_kinds(arch, &insn, &is_known);
		kinds = is_known ? kinds : AIF_RUNBOOK_NO_KINDS;
		is_after = before != AIF_RUNBOOK_NO_KINDS &&
			   !(before & AIF_INSN_BIT(AIF_INSN_BRANCH)) &&
			   !(targets[o / 8] >> o % 8 & 1);
		for (; at < len && places[at].module == places[0].module &&
		       places[at].address < c->address + o + insn.size;
		     at++)
			ret[places[at].leaf] = is_after ? before : kinds;
	}
	free(targets);
	*ret_len = at;
	return 0;
}

static int read_all(const struct aif_profile *p, const struct place *places, size_t len,
		    uint8_t *ret)
{
	struct aif_code_index codes = {0};
	int e = aif_code_index_init(&codes, p);

	for (size_t i = 0, n; i < len && !e; i += AIF_MAX(n, (size_t)1)) {
		const struct aif_code *c =
			aif_code_index_find(&codes, places[i].module, places[i].address);
		struct aif_disasm *d = NULL;

		n = 1;
		if (!c || !c->bytes)
			continue;
		e = aif_disasm_new(aif_profile_str(p, c->arch), &d);
		if (!e)
			e = read_code(c, aif_profile_str(p, c->arch), d, places + i, len - i, ret,
				      &n);
		else if (e == -ENOTSUP)
			e = 0;
		aif_disasm_free(d);
	}
	aif_code_index_finish(&codes);
	return e;
}

int aif_runbook_instructions_find(const struct aif_profile *p, const struct aif_cpu_functions *f,
				  uint8_t *ret)
{
	struct place *places = malloc((f->leaves_len + 1) * sizeof(*places));
	size_t len = 0;
	int e;

	if (!places)
		return -ENOMEM;
	memset(ret, AIF_RUNBOOK_NO_KINDS, f->leaves_len);
	for (size_t i = 0; i < f->leaves_len; i++) {
		const struct aif_frame *frame;

		if (f->leaves[i].frame >= p->frames_len)
			continue;
		frame = &p->frames[f->leaves[i].frame];
		if (frame->module < p->modules_len)
			places[len++] = (struct place){frame->address, frame->module, i};
	}
	qsort(places, len, sizeof(*places), by_place);
	e = read_all(p, places, len, ret);
	free(places);
	return e;
}
