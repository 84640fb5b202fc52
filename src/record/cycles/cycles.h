/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/loop/slow_steps.h"
#include "base/err.h"
#include "base/schedule.h"

/*
 * record --schedule: a thread of the recorder's process that watches the recording (profile/live.h), and writes a profile for
 * each cycle, a second or two after its last step. What it shows of that file is the cycle; the rows around it stay, so that
 * everything adds up.
 *
 * record --snapshot-slow: the same for a step that took longer than others, with what was recorded for keep_ns before it.
 */
struct aif_cycles_opts {
	struct aif_schedule schedule;
	struct aif_slow_limit slow; /* .by: in place of a schedule */
	bool (*is_step)(void *arg,
			const char *range); /* of .slow: --slow-range; NULL: marked steps */
	void *arg;
	uint64_t keep_ns; /* of .slow */
	const char
		*profile; /* of the whole recording, whose name those of the cycles are made from */
	const char *command; /* --on-cycle, for /bin/sh; NULL: none */
	bool ends;           /* the last cycle ends the recording */
	bool quiet;          /* but for failures */
	aif_say *say;
};
struct aif_cycles;

/* *ret_watcher: for struct aif_record_opts. 0 or -errno with *err. */
int aif_cycles_start(const struct aif_cycles_opts *o, struct aif_cycles **ret, int *ret_watcher,
		     struct aif_err *err);
/* Ends what aif_cycles_start began, after the recording: writes the cycle that was under way, waits for commands, and says what was written. Frees. */
void aif_cycles_finish(struct aif_cycles *c);

/* Reads WAIT:WARMUP:ACTIVE[:REPEAT[:SKIP]]. 0 or -EINVAL. */
int aif_cycles_parse(const char *text, struct aif_schedule *ret);
/* Reads p99, FACTORx or a time. 0 or -EINVAL. */
int aif_cycles_parse_slow(const char *text, struct aif_slow_limit *ret);
