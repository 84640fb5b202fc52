/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/listener.h"

/*
 * Processes that a recorded one has forked and that never call exec, as the workers of a data loader. Their
 * agent says nothing before they use a device (but for --children), so the recorder finds them by their parents. Also the CPU time
 * of all processes that are listed, as of the last look at them, since the recording's begin.
 */
struct aif_family_member {
	uint32_t pid, process; /* of the store */
	bool lives;
};

struct aif_family {
	struct aif_listener *listener;
	struct aif_family_member *members; /* that were found so */
	size_t len, cap;
	size_t members_max;  /* at a time; others are counted, not listed */
	struct aif_map once; /* pid and start: seen once, not listed yet, or never */
	/* CPU time, ns, at the first look, of processes of the store that are older than the recording */
	struct aif_map before;
	struct aif_map last; /* pid and start -> CPU time, ns, at the last look */
	uint64_t begin_ns;   /* of the recording, CLOCK_BOOTTIME */
	uint64_t next_ns;
};
#define AIF_FAMILY_MEMBERS 4096
void aif_family_init(struct aif_family *f, struct aif_listener *listener);
void aif_family_finish(struct aif_family *f);

/* Looks again if it is time to. Takes the store's lock. */
void aif_family_look(struct aif_family *f, uint64_t now);
