/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"
#include "record/sources/xe_stream.h"

/*
 * The xe driver's EU-stall stream (xe_stream.h) as a source: each second's counts are joined to the processes whose code
 * lies there (stall_join.h). What lies in nobody's code is of the process that worked on the card then and has defined
 * no code, where there was one such and no more. Everything needs the store's lock.
 *
 * The stream starts when an agent defines device code, and ends when there is none left. With -a it starts when
 * collection does: what no agent defines is of interest, too.
 */

/* Joins one batch. Exposed for tests and the bench. */
void aif_xe_join(struct aif_drainer *d, struct aif_xe_batch *b);
