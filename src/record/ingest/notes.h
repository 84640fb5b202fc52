/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"

/* Counts what an agent says is missing, and why (base/reasons.def). Needs the store's lock. */
void aif_notes_record(struct aif_ingest *in, const struct aif_wire_note *r);
