/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/attach/attach_dir.h"

/* Search for the one recording that a command means. */
struct aif_recording_search {
	const char *name; /* NULL: the only one */
	uint32_t
		pid; /* the same word as a process, 0 = it is none: the recorder's, or one that is recorded */
	int dir;        /* aif_standby_open() */
	unsigned found; /* result: so many match */
	struct aif_standby_found at;
};

/* 0 with s->at; -ENOENT: there is none; -EEXIST: several; both with *err, which begins with `command`. */
int aif_recording_find(struct aif_recording_search *s, const char *command, struct aif_err *err);
