/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/attach/attach.h"
#include "record/drain.h"
#include "record/record.h"

/* Reports named processes that have become another program, ends what was recorded of the program before, and notes what is not recorded
 * of the one that follows. Takes the store's lock. `o` may be NULL. */
void aif_report_became(struct aif_attach *a, struct aif_drain_thread *drain,
		       struct aif_store *store, const struct aif_record_observer *o);
