/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Sleep of a thread, by the function of the C library that stands innermost on its stack (sleeps.def). A thread that waits in a
 * runtime's library waits for the device: it is ASLEEP, whatever the function.
 */
enum aif_idle_sleep {
	AIF_IDLE_SLEEP_NONE,  /* the stack is not known to be a sleep */
	AIF_IDLE_SLEEP_READY, /* the thread could run, and has no CPU */
	AIF_IDLE_SLEEP_GIL,   /* another thread has Python's global interpreter lock */
	AIF_IDLE_SLEEP_ASLEEP,
	AIF_IDLE_SLEEP_PEER,
	AIF_IDLE_SLEEP_HANDED,
	AIF_IDLE_SLEEP_OUTSIDE,
	AIF_IDLE_SLEEP_SERVE,
};

/* Functions without a name in the C library, which threads were in below one of sleeps.def: a stripped library calls its
 * one wait for a futex from functions that have no name, either. */
struct aif_idle_sleeping {
	bool *is_frame; /* by frame */
};

/* *ret is finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_idle_sleeping_init(struct aif_idle_sleeping *ret, const struct aif_profile *p);
void aif_idle_sleeping_finish(struct aif_idle_sleeping *s);

/* True if a module is a runtime's, in which a wait is for a device or for its peers. */
bool aif_idle_is_runtime(const struct aif_profile *p, uint32_t module);
enum aif_idle_sleep aif_idle_sleep_of(const struct aif_profile *p,
				      const struct aif_idle_sleeping *s, uint32_t stack);
/* Returns the function of the C library that a stack's innermost other code called, without leading underscores: "nanosleep",
 * "pthread_cond_wait". "" where the stack does not end in the C library, or its functions have no names. */
const char *aif_idle_sleep_call(const struct aif_profile *p, uint32_t stack);
