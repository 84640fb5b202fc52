/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers of threads of a process that may be in another pid namespace: its agent lists those of its own. */

/* True if the process's thread numbers are those that we see. */
bool aif_tids_are_ours(int pid);
/* Calls with each thread of a process: with what we call it, and its number in its innermost namespace. Reads a file of each. */
void aif_tids_each(int pid, void (*with)(void *arg, uint32_t outer, uint32_t inner), void *arg);
