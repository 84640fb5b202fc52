/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * Keeps files of the user's apart from those of runs: AIF_RUNBOOK_MARK lists what the last run made in the directory. A run
 * removes those, and refuses a directory where other files have the names that it will write.
 */
#define AIF_RUNBOOK_MARK ".aiflame-runbook"

/* Begins a run: removes what the last one made, here and in .ck_build, and lists what this one will make for `modes`. The ledger
 * and recordings stay. 0; -EEXIST with *err where a file that no run made is in the way, and nothing was removed; another -errno
 * with *err. */
int aif_runbook_own_begin(const char *dir, const char *const *modes, size_t modes_len,
			  struct aif_err *err);
/* Removes a run directory in which a run has left nothing but its list. */
void aif_runbook_own_remove_empty(const char *dir);
