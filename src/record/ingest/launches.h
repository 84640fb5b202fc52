/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"

/*
 * Launches, executions, and what they name: streams, programs and kernels. A definition may lie in another ring than
 * the record that names it: it was written before, but that ring may have been read too early for it. Such records are
 * deferred until all rings have been read once more; then the definition is there, or never will be. Runs under the
 * store's lock.
 */

/* Takes a valid STREAM, PROGRAM, TEXT, KERNEL, LAUNCH or EXEC record. */
void aif_launches_record(struct aif_ingest *in, const void *record);

/* Tries deferred records again; the first `old` of the target have waited long enough. */
void aif_launches_deferred(struct aif_drainer *d, struct aif_target *t, size_t old);
