/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Events other than CPU time that start CPU samples: `record -e`. A sample is one overflow, and weighs the period: so many
 * events happened in user code since the last one. Its place is where the interrupt came: mostly some instructions behind
 * the one that made the event (skid), since the thread unwinds itself and does not see what the hardware would have noted.
 */
struct aif_cpu_event {
	const char *name;
	uint32_t type; /* of linux/perf_event.h */
	uint64_t config, period;
	uint64_t also; /* another `config`, whose events count, too; 0: none */
};

/* Returns the event of that name, or NULL. */
const struct aif_cpu_event *aif_cpu_event_find(const char *name);
/* Sets *err to "WHAT: names that there are" and returns -EINVAL. */
int aif_cpu_event_unknown(const char *name, struct aif_err *err);
/* Sets *err to why the event cannot be sampled here and what to do; error is -errno of perf_event_open, which it returns. */
int aif_cpu_event_refused(const struct aif_cpu_event *e, int error, struct aif_err *err);
