/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Opens a descriptor by which the program that a process is now can be told from what exec() makes of the process later. It
 * keeps none of the program's memory. -1: it cannot be had, for which the rights of ptrace are needed. */
int aif_program_hold(int pid);
/* The same, within bounds of time (base/bounded.h). */
int aif_program_hold_in_time(int pid);

/* Returns false once the process has ended, or become another program, the same file's included. True of -1. Waits for
 * nothing. */
bool aif_program_is_held(int fd);
