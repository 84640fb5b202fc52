/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that looks after the session while the target's threads launch: whether the recorder lives and what it
 * wants, the runtimes, samplers and Python, memory of old sessions; and on standby, recorders that ring. Once it runs,
 * sessions begin and end in it alone (session.h).
 */

#include <stdbool.h>

/* 0 or -errno. */
int aif_helper_start(void);

/* True in the helper, for which no thread of the target's waits. */
bool aif_helper_is_here(void);
