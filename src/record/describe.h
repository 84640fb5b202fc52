/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/proc.h"
#include "record/drain.h"

/* Describes a recording in the profile's table `meta`; how the command ended: ending.h. */

/* Describes the command, the machine and the options, when the recording begins. Takes the store's lock. */
void aif_describe_recording(struct aif_store *s, const struct aif_record_opts *o);
/* Describes the instant of --activate, as it was given, at which collecting began, `now` by the wall clock. Takes the store's lock. */
void aif_describe_activation(struct aif_store *s, const char *activate, uint64_t due, uint64_t now);
/* Describes who sampled and what the recording has cost, when it ends. Takes the store's lock. */
void aif_describe_costs(struct aif_store *s, const struct aif_record_opts *o,
			const struct aif_drain_stats *st);

struct aif_proc_cpus aif_describe_cpus(void);
/* Describes which part of the CPUs' time since `begin` a hypervisor gave to other machines, where that can be known. Takes the
 * store's lock. */
void aif_describe_stolen(struct aif_store *s, const struct aif_proc_cpus *begin);
