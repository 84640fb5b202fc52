/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"
#include "base/map.h"

/*
 * Wakers: who ended sleeps of launching threads, where record --ebpf --off-cpu has seen it, and what that thread did meanwhile: it is what
 * the sleep waited for.
 *
 *   a timer    ended a wait with a limit that the thread began again at once: the later wait's waker counts
 *   U          woke T. If U slept itself for half of T's time or more, until V woke it, T waited for V: AIF_IDLE_WAKER_HOPS at most
 *   meanwhile  U's sleeps and CPU samples in T's time; most of it says what U did. Else the stack from which U woke T
 */
#define AIF_IDLE_WAKER_HOPS 3
/* A wait that goes on after a timer ended it begins again within this time. */
#define AIF_IDLE_WAIT_AGAIN_NS 200000

/* A time off CPU, of whichever thread. Times are ns since the recording's start. */
struct aif_idle_off_cpu {
	int64_t from, to;
	uint32_t thread, stack;
	uint32_t waker_thread, waker; /* as in struct aif_cpu_row */
};
struct aif_idle_sample { /* a CPU sample */
	int64_t at;
	uint64_t weight;
	uint32_t thread, stack;
};

/* Sleeps in a share of idle time (blaming.h) that one waker ended. */
struct aif_idle_woken {
	enum aif_idle_waker kind;
	uint32_t thread, stack; /* who; the stack from which it woke */
	uint32_t meanwhile; /* the stack of most of what it was seen to do; AIF_NONE: nothing was */
	uint64_t most;      /* ns of .meanwhile */
	double ns;
	uint64_t next; /* 1 + the next one of the share, 0: none */
};

struct aif_idle_wakers {
	const struct aif_profile *p;
	struct aif_idle_off_cpu *sleeps; /* by thread, then end */
	size_t sleeps_len, sleeps_cap;
	struct aif_idle_sample *samples; /* of threads that woke others; by thread, then time */
	size_t samples_len, samples_cap;
	struct aif_map is_waker; /* by thread, of those that woke others */
	struct aif_idle_woken *woken;
	size_t woken_len, woken_cap;
	struct aif_map first_of; /* share -> 1 + its first */
	struct aif_map
		number_of; /* kind << 32 | thread, or the frame of a name -> dense number of who */
	struct aif_map woken_of; /* share << 32 | number of who -> woken */
	struct aif_map did;      /* woken << 32 | stack -> ns */
};

/* Reads sleeps and samples, if any sleep has a waker: else *ret stays empty. *ret is finished by the caller, also after a
 * failure. 0 or -errno. */
int aif_idle_wakers_read(const struct aif_profile *p, struct aif_idle_wakers *ret,
			 uint64_t *ret_damaged);
void aif_idle_wakers_finish(struct aif_idle_wakers *w);
/* Adds `ns` of the sleep that `row` is, which ended at `end`, to a share of idle time. 0 or -ENOMEM. */
int aif_idle_wakers_add(struct aif_idle_wakers *w, uint64_t share, uint32_t thread, int64_t at,
			int64_t end, double ns);
/* Adds what woke a share's sleeps to a row of the blame that has `part` of the share's time. 0 or -ENOMEM. */
int aif_idle_wakers_to_row(const struct aif_idle_wakers *w, uint64_t share, uint64_t row,
			   double part, struct aif_idle_blame *to);
/* Puts the blame's wakes in the order that aif_idle_wakes_of() needs. */
void aif_idle_wakers_sort(struct aif_idle_blame *b);
