/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/* The machine code that a profile keeps, by place. */
struct aif_code_index {
	const struct aif_profile *p;
	uint32_t *sorted; /* of p->codes, in order of module and address */
};

/* The profile must outlive it. 0 or -ENOMEM. */
int aif_code_index_init(struct aif_code_index *c, const struct aif_profile *p);
void aif_code_index_finish(struct aif_code_index *c); /* a zeroed struct is allowed */

/* Returns the code that holds the address, or NULL. */
const struct aif_code *aif_code_index_find(const struct aif_code_index *c, uint32_t module,
					   uint64_t address);

/* A kernel of which there is no code, as imports have them: a name at a place in it is the instruction's, or the kernel's
 * own where nothing else was told. NULL: it is not that. */
const char *aif_code_index_name(const struct aif_code_index *c, uint32_t frame);
