/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Sleep of a thread, by the function of the C library that stands innermost on its stack (sleeps.def). A thread that waits in a
 * runtime's library waits for the device: it is ASLEEP, whatever the function.
 */
enum aif_idle_sleep {
	AIF_IDLE_SLEEP_NONE, /* the stack is not known to be a sleep */
	AIF_IDLE_SLEEP_ASLEEP,
	AIF_IDLE_SLEEP_HANDED,
	AIF_IDLE_SLEEP_OUTSIDE,
	AIF_IDLE_SLEEP_SERVE,
};

enum aif_idle_sleep aif_idle_sleep_of(const struct aif_profile *p, uint32_t stack);
