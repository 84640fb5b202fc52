/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest.h"

/*
 * Samples that a device has taken of itself (AIF_WIRE_CODE, REASON, WINDOW, PC, PLACE): counts of a window, by
 * instruction and reason, without a time or a launch of their own. A device function is a module; what it is
 * called and looks like, naming finds out (device_names.h). Runs under the store's lock.
 */

/* One valid record of those five. */
void aif_device_samples_record(struct aif_ingest *in, const void *record);
/* The process has ended: which kernels its sampled functions are, as far as that came late. */
void aif_device_samples_last(struct aif_drainer *d, struct aif_target *t);
/* The agent has told a reason. */
void aif_device_samples_note(struct aif_target *t, uint32_t reason);
/* Last words of the target: one that was let go before sampling began is counted. */
void aif_device_samples_end(struct aif_drainer *d, const struct aif_target *t);
