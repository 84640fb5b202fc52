/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/welcome.h"

/*
 * Processes that a recorded one has forked and that never call exec, as the workers of a data loader. Their
 * agent says nothing before they use a device, so the recorder finds them by their parents. Also the CPU time
 * of all processes that are listed, as of the last look at them.
 */
struct aif_family_member {
	uint32_t pid, process; /* of the store */
	bool lives;
};

struct aif_family {
	struct aif_welcome_desk *desk;
	struct aif_family_member *members; /* that were found so */
	size_t len, cap;
	struct aif_map once; /* pid and start: seen once, not listed yet */
	uint64_t next_ns;
};
void aif_family_finish(struct aif_family *f);

/* Looks again if it is time to. Takes the store's lock. */
void aif_family_look(struct aif_family *f, uint64_t now);
