/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <signal.h>

/*
 * Files in the making, which a program that is ended by a signal must not leave behind: whoever
 * makes one puts its name here and takes it away again when it is whole or gone. The signal's
 * handler removes what is there.
 */
enum { AIF_SCRATCH_MAX = 48, AIF_SCRATCH_PATH = 4096 };

struct aif_scratch {
	char paths[AIF_SCRATCH_MAX][AIF_SCRATCH_PATH];
	volatile sig_atomic_t is_used[AIF_SCRATCH_MAX];
};

/* A file's name, or a directory's, which is removed if nothing else is in it then; s may be
 * NULL. A name that there is no room for is not kept. */
void aif_scratch_put(struct aif_scratch *s, const char *path);
void aif_scratch_take(struct aif_scratch *s, const char *path);

/* Removes what is there, the newest first. Async-signal-safe. */
void aif_scratch_remove(struct aif_scratch *s);
