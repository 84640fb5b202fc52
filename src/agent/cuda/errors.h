/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/thread.h"
#include "base/reasons.h"

/* Report that something of CUPTI's did not work: the application goes on, the profile says why. `error` is CUPTI's; 0:
 * none. The second uses the ring of the caller. */
void aif_cuda_report_error(enum aif_reason reason, const char *what, int error);
void aif_cuda_report_error_in(struct aif_thread *t, enum aif_reason reason, const char *what,
			      int error);
