/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/scope.h"
#include "analysis/time.h"

/* Samples that a device has counted, without a time of their own, and the windows that they were
 * counted in. */

struct aif_counted_window { /* ns since the start */
	uint64_t start, end,
		before; /* before: of the windows before it in its track (exposure.h) */
	uint32_t id, process, device;
	uint32_t track;    /* index of the first window of the same process and device */
	bool is_ambiguous; /* perhaps its samples are another process's */
};

struct aif_counted {
	AIF_TABLE(aif_sample_row, samples);
	AIF_TABLE(aif_counted_window, windows);
};

/* True for a sample of a device's window, false for one with a time of its own. */
bool aif_is_counted(const struct aif_scope *s, const struct aif_sample_row *row);
/* Appends a sample. 0 or -ENOMEM. */
int aif_counted_add(struct aif_counted *c, const struct aif_sample_row *row);
/* Reads the windows after the last sample was added, keeps of the samples those of the time
 * asked for, and adds their number to *samples. *ret_bad: damaged chunks. 0 or -errno. */
int aif_counted_load_windows(struct aif_counted *c, const struct aif_scope *s,
			     const struct aif_timeline *timeline, uint64_t *samples,
			     uint64_t *ret_bad);
void aif_counted_finish(struct aif_counted *c);

/* The end of the time asked for, if one is; the last window may end behind the recording. */
static inline uint64_t aif_counted_until(const struct aif_scope *s)
{
	return s->sel->to_ns ? s->to : UINT64_MAX;
}
