/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest.h"

/*
 * Counters of devices, as agents read them (--counters): names and values become rows. Who reads: of a device that
 * several processes use one of them, since its hardware serves one at a time; when that one ends, another. Runs under
 * the store's lock.
 */

/* A valid AIF_WIRE_COUNTER or AIF_WIRE_VALUES. */
void aif_counters_record(struct aif_ingest *in, const void *record);
/* The process has a device, by its agent's id; kind: enum aif_device_kind. */
void aif_counters_device(struct aif_drainer *d, struct aif_target *t, uint32_t device,
			 uint32_t kind);
/* Says who may. */
void aif_counters_follow(struct aif_drainer *d);
/* Its agent has told why something is missing. */
void aif_counters_note(struct aif_target *t, uint32_t reason);
/* Its last words have been heard: where there were to be counters and none came, that is said. */
void aif_counters_end(struct aif_drainer *d, struct aif_target *t);
/* So it is of a recording in which no process had a device with counters. */
void aif_counters_last(struct aif_drainer *d);
