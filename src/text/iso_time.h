/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends the time of day after ISO 8601, in UTC: "2026-02-13T13:30:07.815063+00:00". */
void aif_iso_time_now(struct aif_buf *out);
