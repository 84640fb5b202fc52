/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"
#include "record/sources/code_map.h"

/*
 * Finds whose the samples are that a device reports by address, for all processes together: each stretch of time's
 * counts, by the places of device code (code_map.h), become windows and sample rows of the processes, as if their
 * devices had told them (device_samples.h). For the drain thread, under the store's lock.
 *
 * An address that several processes have code at, or one process had different code at meanwhile, is shared by the time
 * that each of them executed it then, equally if that is not known; those samples lie in a window of their own,
 * AIF_HELD_AMBIGUOUS, and are counted. What lies in nobody's code is a row without frame.
 */

/* Places and executions are in rings until the drain thread has looked at them: every 20 ms, if it gets a CPU. */
#define AIF_STALLS_SETTLE_NS (200 * 1000 * 1000)
/* Processes and their devices; of more than that the rest goes without windows, which costs them precision only. */
#define AIF_STALL_USERS   256
#define AIF_STALL_REASONS 32

/* Samples of a device over a stretch of time. */
struct aif_stall_window {
	uint32_t pci; /* wire.h; 0 = not known */
	uint64_t period_ns;
	/* Process that read the samples off, and which of its devices it is; AIF_NONE = no process
	 * did. */
	uint32_t process, device;
	bool tiles;        /* its process's other devices may be parts of it */
	uint32_t stranger; /* whose process what lies in nobody's code is; AIF_NONE = not known */
};

struct aif_stall_join {
	struct aif_drainer *d;
	struct aif_code_map *map;
	uint64_t start, end;
	struct aif_stall_window w;
	struct aif_stall_user { /* a process on a device */
		uint32_t process, device;
		uint32_t sure, ambiguous; /* windows, AIF_NONE = none yet */
	} users[AIF_STALL_USERS];
	unsigned users_len;
	uint64_t ambiguous;
	const struct aif_code_range *last; /* that was put, for sure: in */
	uint32_t last_window;
};

void aif_stall_join_begin(struct aif_stall_join *j, struct aif_drainer *d, uint64_t start,
			  uint64_t end);
/* Begins a device's window: the samples that follow are in it. */
void aif_stall_join_window(struct aif_stall_join *j, const struct aif_stall_window *w);
/* The only place that has code there, or NULL; and up to which address, exclusive, that is so. */
const struct aif_code_range *aif_stall_join_find(struct aif_stall_join *j,
						 enum aif_code_map_space space, uint64_t address,
						 uint64_t *ret_until);
/* Prefetches what aif_stall_join_put() needs for that address. */
void aif_stall_join_fetch(struct aif_stall_join *j, enum aif_code_map_space space, uint64_t address,
			  const struct aif_code_range *only);
/* only: of aif_stall_join_find(), or NULL. At most AIF_STALL_REASONS, strings of the store, and as many counts. */
void aif_stall_join_put(struct aif_stall_join *j, enum aif_code_map_space space, uint64_t address,
			const struct aif_code_range *only, const uint32_t *reasons,
			const uint32_t *counts, unsigned n);
void aif_stall_join_end(struct aif_stall_join *j);
