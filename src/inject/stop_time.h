/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Counts how long a thread was kept from its own work. */
struct aif_stop_time {
	uint64_t ns; /* from its stop until it was let go */
	uint64_t
		waited_ns; /* part of it, in which it was ready to run and waited for a processor */
	/* Parts of it, waits included. seen_ns: until it was seen, at most. */
	uint64_t seen_ns, look_ns, map_ns, create_ns;
};

/* Says what it took to put the agent into a process, or to wake it there. */
struct aif_inject_times {
	bool was_there; /* the agent was woken (wire/injected.h) */
	struct aif_stop_time
		longest; /* the longest stop; its ns is 0 where the agent was there before, and no thread was stopped */
	unsigned stops;
	uint64_t load_ns; /* the loader's work and the agent's start, in a thread of its own */
};
