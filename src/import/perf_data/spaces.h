/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/* The address spaces of processes as they change: which object lies where. */
struct aif_perf_range {
	uint64_t start, end, offset; /* offset: in the object's file, of `start` */
	uint32_t object;
};
struct aif_perf_spaces {
	struct aif_map by_pid;
	AIF_TABLE(aif_perf_space, spaces);
	uint64_t epochs, left_out; /* left_out: mappings beyond all bounds */
	size_t ranges;
	bool is_memory;
};
void aif_perf_spaces_finish(struct aif_perf_spaces *s);

/* Maps a range over whatever lies there. */
void aif_perf_spaces_map(struct aif_perf_spaces *s, uint32_t pid, const struct aif_perf_range *r);
void aif_perf_spaces_fork(struct aif_perf_spaces *s, uint32_t pid, uint32_t from);
void aif_perf_spaces_exec(struct aif_perf_spaces *s, uint32_t pid);
/* Returns what lies there, or NULL; valid until the next change. */
const struct aif_perf_range *aif_perf_spaces_find(const struct aif_perf_spaces *s, uint32_t pid,
						  uint64_t address);
/* Returns the number of a process's mappings as they are, which no others have; 0: nothing is mapped. */
uint64_t aif_perf_spaces_epoch(const struct aif_perf_spaces *s, uint32_t pid);
