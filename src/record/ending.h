/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/drain.h"

/*
 * End of a recording's command. The profile's table `meta` has:
 *
 *     exit_status     as a shell has it
 *     end.signal      the number of the signal that ended it
 *     end.by          "--kill": record sent that signal
 *     end.oom         "1": the kernel's out-of-memory killer killed something meanwhile, "0": nothing
 *     end.in          the library in which it ended, by the kernel's log
 *     end.remembered  "libcupti": it ended in CUPTI, which is written down for the next recordings (cupti_crashes.h);
 *                     "suspected": the kernel's log does not say where
 *     cupti.use, cupti.version, cupti.id  of the process that ended so, else of the last one that had CUPTI
 */
struct aif_ending {
	bool has_ended; /* else nothing of it is known */
	int status;     /* as waitpid() tells it */
	int pid;
	bool by_kill;      /* record itself has sent the signal */
	int64_t oom_kills; /* of the machine meanwhile; negative: not known */
	int kernel_log;    /* since before it began; negative: may not be read */
};

/* Returns how often the kernel has killed for want of memory since the machine began; -1: not known. */
int64_t aif_ending_oom_kills(void);

/* For `record` to end with: the command's, or 128 and its signal. */
int aif_ending_code(const struct aif_ending *e);
/* The signal that ended it, or after which a shell ended so; 0: none of those that a program's own
 * error raises. */
int aif_ending_crash(const struct aif_ending *e);

/* Writes that into the profile, and the user's file. Takes the store's lock. */
void aif_ending_describe(const struct aif_ending *e, struct aif_store *s,
			 const struct aif_drain_stats *st);
