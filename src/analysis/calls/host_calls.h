/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "base/host_calls.h"

/*
 * The calls of runtimes that can hold a thread up (base/host_calls.def), of recordings and of traces: rows of `ops` of the
 * kind AIF_OP_RUNTIME with such names. Of calls in calls of the same thread only the outermost is here, so that the time of
 * a thread's calls adds up; of calls that overlap in part, as damaged files have them, the later one begins where the
 * earlier one ends.
 */
struct aif_host_call {
	int64_t start, end;           /* ns since the recording's start; end > start */
	uint32_t thread, stack, name; /* stack AIF_NONE: not known; name: string */
	enum aif_host_call_kind kind;
};
struct aif_host_calls {
	struct aif_host_call *at; /* by thread, time */
	size_t len, cap;
	uint64_t damaged; /* chunks that could not be read */
};

/* Reads those of the processes and threads that `sel` (NULL: all) names and that begin in its time. *ret is finished by the
 * caller, also after a failure. 0 or -errno. */
int aif_host_calls_read(const struct aif_profile *p, const struct aif_selection *sel,
			struct aif_host_calls *ret);
void aif_host_calls_finish(struct aif_host_calls *c);

/* Were the calls of a device's runtime recorded, so that a time without one is a time in none? Not of traces, which may
 * lack calls. */
bool aif_host_calls_recorded(const struct aif_profile *p, uint32_t device);

/* Returns the index of the first of the thread's calls that ends behind `at`, else a later thread's, or .len. */
size_t aif_host_calls_first(const struct aif_host_calls *c, uint32_t thread, int64_t at);

/* Returns the one that waits longest in [from, to) of the last AIF_HOST_CALLS_BACK before `to`, or NULL. *ret_ns: how
 * long it does there. */
#define AIF_HOST_CALLS_BACK 64
const struct aif_host_call *aif_host_calls_longest_wait(const struct aif_host_calls *c,
							uint32_t thread, int64_t from, int64_t to,
							int64_t *ret_ns);
