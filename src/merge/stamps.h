/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/time.h"
#include "base/map.h"

/*
 * Times of a file's executions, ns since its beginning. A narrow counter of a device shows each of its stamps once a turn: an
 * execution begins after its launch was called and ends after it began, so that launches are read first.
 */
struct aif_merge_stamps {
	const struct aif_timeline *timeline;
	struct aif_map called; /* by launch: when, ns since the file's beginning */
	uint64_t start_ns;
	bool wants_launches; /* the file has clocks of devices */
};

/* 0 or -ENOMEM. */
int aif_merge_stamps_init(struct aif_merge_stamps *s, const struct aif_profile *p);
/* Takes launches, if any are wanted. 0 or -ENOMEM. */
int aif_merge_stamps_launches(struct aif_merge_stamps *s, const struct aif_launch_row *rows,
			      size_t n);
void aif_merge_stamps_exec(const struct aif_merge_stamps *s, const struct aif_exec_row *x,
			   int64_t *ret_start, int64_t *ret_end);
/* Maps a stamp that is not before `after`. */
int64_t aif_merge_stamps_map(const struct aif_merge_stamps *s, uint32_t clock, uint32_t process,
			     uint64_t raw, int64_t after);
void aif_merge_stamps_finish(struct aif_merge_stamps *s);
