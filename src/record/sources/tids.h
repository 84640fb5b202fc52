/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers of threads of a process that may be in another pid namespace: its agent lists those of its own. */

/* True if the process's thread numbers are those that we see. */
bool aif_tids_are_ours(int pid);
/* Returns the number of a thread, which we call `tid`, in its innermost namespace; 0: it is not known. */
uint32_t aif_tids_inner(int pid, uint32_t tid);
