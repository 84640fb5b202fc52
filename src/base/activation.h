/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The instant at which a recording begins to collect, by the wall clock, so that recorders on many hosts begin together: the next multiple
 * of a time, or a time of the day. Wall clocks are set while one waits: each look at the clock judges anew.
 */
struct aif_activation {
	uint64_t every_ns; /* multiples of it since 1970, UTC; 0: none */
	uint64_t at_ns;    /* CLOCK_REALTIME; 0: none */
};

/* Lateness of more than this makes a recorder that begins at multiples wait for the next one: the clock was set, or it had no CPU. */
#define AIF_ACTIVATION_LATE_NS AIF_NS_PER_S

static inline bool aif_activation_is_set(const struct aif_activation *a)
{
	return a->every_ns || a->at_ns;
}

/* Parses "/10s", "14:05", "14:05:00" (the next such time, local) or "@SECONDS" since 1970. `now`: CLOCK_REALTIME. 0; -EINVAL: not
 * understood; -ERANGE: the time is over. */
int aif_activation_parse(const char *text, uint64_t now, struct aif_activation *ret);

/* Returns the time until an instant, 0 behind it. */
static inline uint64_t aif_activation_left(uint64_t due, uint64_t now)
{
	return due > now ? due - now : 0;
}

/* Looks whether it is time. *due: the instant that is waited for, which is found if it is 0, and found anew where the clock was set.
 * *ret_is_new: *due has changed. */
bool aif_activation_look(const struct aif_activation *a, uint64_t now, uint64_t *due,
			 bool *ret_is_new);
