/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * Finds the start of the instruction that covers an address of a GPU's code: a sample's address may
 * lie inside an instruction, and decoding from there gives another one. Addresses of CPU samples
 * are starts.
 */
struct aif_insn_starts {      /* a zeroed struct is ready */
	struct aif_map codes; /* of the profile -> first word of theirs */
	uint64_t *bits; /* Intel's: one for each place where one may begin, set where one does */
	size_t bits_len, bits_cap;
};
void aif_insn_starts_finish(struct aif_insn_starts *s);

/* Both are offsets in `c`, one of p->codes; without memory, or without the code's bytes, `offset` itself. */
uint64_t aif_insn_start(struct aif_insn_starts *s, const struct aif_profile *p,
			const struct aif_code *c, uint64_t offset);
