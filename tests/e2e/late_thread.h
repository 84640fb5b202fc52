/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Delays threads as a busy machine does, though seldom. LATE=start: each begins a second after it was made.
 * LATE=missed: it begins when the program says so. LATE=maker: who has made one goes on once a session has begun.
 */

/* LATE=missed: lets the threads begin. */
__attribute__((visibility("default"))) extern atomic_bool late_may_begin;

/* Returns whether the process has a recorder's memory. */
__attribute__((visibility("default"))) bool late_has_session(void);
__attribute__((visibility("default"))) void late_sleep(long ns);
