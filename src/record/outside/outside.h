/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/opts.h"

/* Decides whether processes without the agent are sampled from outside, if the options ask for CPU samples: sets o->outside, or
 * o->outside_refused where perf_event is refused for a process that is named. */
void aif_outside_check(struct aif_record_opts *o);
