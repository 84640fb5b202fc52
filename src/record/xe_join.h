/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"
#include "record/xe_stream.h"

/*
 * The xe driver's EU-stall stream (xe_stream.h) as a source of the drain thread's: each second's counts are joined to
 * the processes whose code lies there (stall_join.h). What lies in nobody's code is of the process that worked on the
 * card then and had told of no code, where there was one such and no more. Under the store's lock.
 */

/* A process has told of a place: the source starts, if there is a card that it works with. */
void aif_xe_wanted(struct aif_drainer *d);
/* Takes what the source has, some time after it came: until then the places are there. With -a the source starts when
 * collection does: what no agent tells of is of interest, too. */
void aif_xe_follow(struct aif_drainer *d, uint64_t now, bool collects);
/* The recording ends: the source, too. */
void aif_xe_last(struct aif_drainer *d);
/* One batch. Exposed for tests and the bench. */
void aif_xe_join(struct aif_drainer *d, struct aif_xe_batch *b);
