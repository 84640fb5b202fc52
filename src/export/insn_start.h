/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * Where the instruction begins that covers an address of a GPU's code: a sample's address may be inside of one, and what
 * would be decoded from there is another. A CPU's is where one begins.
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
