/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"
#include "record/xe_stream.h"

/*
 * Whose EU-stall samples are: each second's counts, by the places of device code (places.h), become windows and sample
 * rows of the processes, as if their devices had told them (device_samples.h). For the drain thread, under the store's
 * lock.
 *
 * An address that several processes have code at, or one process had different code at within the second, is shared by
 * the time that each of them executed it then, equally if that is not known; those samples lie in a window of their own,
 * AIF_HELD_AMBIGUOUS, and are counted. What lies in nobody's code is a row without frame; of the process that worked on
 * the card then and had told of no code, where there was one such and no more, else without process.
 */

/* A process has told of a place: the source starts, if there is a card that it works with. */
void aif_xe_wanted(struct aif_drainer *d);
/* Takes what the source has, some time after it came: until then the places are there. With -a the source starts when
 * collection does: what no agent tells of is of interest, too. */
void aif_xe_follow(struct aif_drainer *d, uint64_t now, bool collects);
/* The recording ends: the source, too. */
void aif_xe_last(struct aif_drainer *d);
/* One batch. Exposed for tests and the bench. */
void aif_xe_join(struct aif_drainer *d, const struct aif_xe_batch *b);
