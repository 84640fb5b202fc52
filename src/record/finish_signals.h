/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Listens to Ctrl-C, and whatever else asks for the end, while a recording is being finished: names are looked up,
 * the last rows are written. A file that takes long to read, a disk that does not answer may keep that up.
 *
 * The second signal of a recording gives up what is not needed for a valid profile, which is the names that are
 * still missing. The next one ends the recorder at once, as it would have without a handler: what was committed
 * is valid.
 */
struct aif_finish_signals {
	int signals, over; /* the session's signalfd; an eventfd: there is no more to listen to */
	const char *dir;   /* removed before the recorder ends at once */
	unsigned interrupts;
	atomic_bool is_impatient; /* no names any more */
	pthread_t thread;
	bool is_listening;
};

/* interrupts: signals that have come before. `signals` and `dir` stay the caller's until aif_finish_signals_end().
 * Without memory for a thread nobody listens, as if no signal came. */
void aif_finish_signals_begin(struct aif_finish_signals *f, int signals, unsigned interrupts,
			      const char *dir);
void aif_finish_signals_end(struct aif_finish_signals *f);
