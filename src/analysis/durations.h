/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/file.h"

/*
 * Counts of executions by how long they took (base/duration_bucket.h), process, device and kernel, of all steps: a reduced profile's
 * views know p50 and p99 of a kernel from these, not from the few executions that are kept. Merged profiles have those of each process
 * beside each other, which adding up makes no less exact.
 */
struct aif_durations {
	struct aif_duration *rows;
	size_t len, cap;
	struct aif_map known; /* hash of what a row is of -> its number */
};
void aif_durations_finish(struct aif_durations *d);

/* Counts an execution that took so long. 0 or -ENOMEM. */
int aif_durations_add(struct aif_durations *d, const struct aif_exec_row *x, uint64_t ns);

/* Fills p->durations from p's executions; chunks that cannot be read are counted in *bad. 0 or -errno. */
int aif_durations_count(struct aif_profile *p, uint64_t *bad);
