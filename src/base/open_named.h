/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdio.h>

/*
 * Opens files that the user named, for reading. Opening never waits, as it does at a FIFO until somebody writes, and is no
 * act on a device: what the path leads to is opened only if it is a regular file (base/open_regular.h).
 */

/* Returns a descriptor, which the caller closes, or -errno with a sentence in *err: -EINVAL for a device or a FIFO, -EISDIR
 * for a directory. */
int aif_open_named(const char *path, struct aif_err *err);

/* Does the same for what is read once, from begin to end: takes a pipe, too, if a process has it open for writing or has
 * written to it, as the shell's <(COMMAND) does. */
int aif_open_named_or_pipe(const char *path, struct aif_err *err);

/* Opens a regular file as a stream; NULL with errno and a sentence in *err. */
FILE *aif_fopen_named(const char *path, struct aif_err *err);

/* Sets the sentence for what is no regular file; returns -EINVAL or -EISDIR. */
int aif_not_regular(const char *path, unsigned mode, struct aif_err *err);
