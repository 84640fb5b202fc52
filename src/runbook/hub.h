/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends the hub's tables: functions, the CPU's slots, instructions, roofs and the ledger, each with what the directory's files
 * have of it, or why there is none. */
void aif_runbook_hub_tables(const char *dir, struct aif_buf *out);
