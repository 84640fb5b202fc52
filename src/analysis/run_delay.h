/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "base/buf.h"

/*
 * Time that threads could have run and had no CPU: others had them all, or the quota of a cgroup was used up. Of threads that
 * launch, as the recorder saw from outside (record/asleep/sleeps.c), or of all (record --cpu; record --ebpf --off-cpu).
 */
struct aif_run_delay {
	uint64_t waited_ns, ran_ns; /* for a CPU; CPU time of the same threads, by their samples */
	size_t threads;             /* that waited */
	uint64_t lived_ns;          /* sum over these threads: last row - first row, ns */
	/* The same of the thread that could have run for longest. */
	uint64_t most_waited_ns, most_ran_ns;
	uint64_t damaged; /* chunks that could not be read */
};

/* The machine was busy if threads waited for so much of the time that they could have run, in 1/1,000,000, and for so much of
 * the time at hand. */
#define AIF_RUN_DELAY_PPM 50000
#define AIF_RUN_DELAY_OF  100

/* Sums up [from, to), ns since the recording's start, of the processes and threads that `sel` (NULL: all) names. 0 or -errno. */
int aif_run_delay_measure(const struct aif_profile *p, const struct aif_selection *sel,
			  int64_t from, int64_t to, struct aif_run_delay *ret);
/* Returns the part of the time that those threads could have run in which they waited, in 1/1,000,000. */
uint64_t aif_run_delay_share_ppm(const struct aif_run_delay *d);
/* True if so much was waited that it says something about the part of `ns`. */
bool aif_run_delay_is_busy(const struct aif_run_delay *d, uint64_t ns);
/* Appends "3 threads waited 1.2 s for a CPU, 34 % of the time that they could have run". */
void aif_run_delay_say(const struct aif_run_delay *d, struct aif_buf *out);
