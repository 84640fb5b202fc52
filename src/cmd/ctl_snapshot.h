/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * `aiflame ctl snapshot`: the recorder answers with a copy of its file that has no name; it is given one here, with the
 * rights of who asked.
 */

/* Names a snapshot of the recording `name` by the time of day: "aiflame.data" -> "aiflame-20250131-140502.data", in the
 * working directory. */
void aif_snapshot_name(const char *name, char *ret, size_t size);

/* Writes what `fd` has to `path`, whole or not at all; a profile that is there becomes path.old. 0 or -errno with *err. */
int aif_snapshot_save(int fd, const char *path, struct aif_err *err);
