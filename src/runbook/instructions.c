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

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* Reads the instructions of a function's code, of which places[0] is the first place in it. Returns how many places are in it. */
static size_t read_code(const struct aif_code *c, const char *arch, struct aif_disasm *d,
			const struct place *places, size_t len, uint8_t *ret)
{
	struct aif_insn insn;
	size_t at = 0;

	for (uint64_t o = 0; o < c->size && at < len && places[at].module == places[0].module;
	     o += insn.size) {
		uint64_t end;
		bool is_known;
		unsigned kinds;

		aif_disasm_one(d, c->bytes + o, c->size - o, c->address + o, &insn);
		end = c->address + o + insn.size;
		if (places[at].address >= end)
			continue;
		kinds = aif_insn_kinds(arch, &insn, &is_known);
		for (;
		     at < len && places[at].module == places[0].module && places[at].address < end;
		     at++)
			ret[places[at].leaf] = is_known ? (uint8_t)kinds : AIF_RUNBOOK_NO_KINDS;
	}
	return at;
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
			n = read_code(c, aif_profile_str(p, c->arch), d, places + i, len - i, ret);
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
