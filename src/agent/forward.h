/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <signal.h>
#include <stdatomic.h>

/*
 * Handlers of the program's for the signal of CPU samples. Sampling ends when one is set, but not at once: the recorder
 * closes its events when it has a CPU, a timer may be made by a thread that begins at this moment, and a signal may be on
 * its way. So the kernel is given one of the agent's entries (forward_entry.S), which ends the signals that are the
 * agent's and goes on, by a jump, to the program's handler with all others. The entry stands for what the program has
 * set: sigaction() shows that.
 *
 * An entry, once given out, stays what it is. So nothing locks, and children of vfork(), which share the memory, and have
 * handlers of their own, may set some, too. Only the last one is shared by all handlers that come when there is no other.
 */
#define AIF_FORWARD_ENTRIES 32 /* forward_entry.S has as many */

struct aif_forward {
	struct aif_forward_entry {
		_Atomic uint64_t to;  /* the handler, and two bits: forward.c; 0 = free */
		atomic_bool has_come; /* the signal, to a handler that is reset by it */
	} at[AIF_FORWARD_ENTRIES];
};

/* Replaces a handler of the program's in *sa, if it is one, by an entry. */
void aif_forward_wrap(struct sigaction *sa);
/* Replaces an entry in *sa by the handler of the program's that it stands for. */
void aif_forward_unwrap(struct sigaction *sa);
