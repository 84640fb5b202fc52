/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The lines that `perf script` prints: one for each sample, its frames below it, the innermost first, and an empty line.
 *
 *     python3  4711/4712 [003]  1165.644359:   10101010 cpu-clock:pppH:
 *                 1141 inner+0x18 (/usr/bin/spin)
 *
 * pid, [cpu], the time or the event, and the period may be missing; a sample without callers has its one frame in its own
 * line. Without a time the command begins its line. Layout: perf's own manual (perf-script, "FIELDS") and what 3.2 to 6.1
 * write.
 */
struct aif_perf_text {
	const char *p;
	size_t len;
};

struct aif_perf_header {
	struct aif_perf_text comm,
		event; /* event: without what it is modified by; empty: not printed */
	uint64_t pid, tid, time, period; /* time: ns */
	bool has_pid, has_period, has_time;
	bool is_record;            /* of something else than a sample: PERF_RECORD_... */
	struct aif_perf_text rest; /* behind the event: the frame of a sample without callers */
};

struct aif_perf_frame {
	uint64_t ip;
	struct aif_perf_text name, module; /* empty: not known */
};

/* Lines without their ends. False: it is none. */
bool aif_perf_header(struct aif_perf_text line, struct aif_perf_header *ret);
bool aif_perf_frame(struct aif_perf_text line, struct aif_perf_frame *ret);
/* "cpu_core/cycles/ppp", "cycles:u" are "cycles". */
struct aif_perf_text aif_perf_event_base(struct aif_perf_text event);
bool aif_perf_is(struct aif_perf_text t, const char *text);

static inline bool aif_perf_blank(char c)
{
	return c == ' ' || c == '\t';
}
