/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

/* Reads what of another process can keep its reader waiting, within bounds of time (bounded.h) and length. */

/* The longest texts: exec() takes 6 MiB of arguments and environment; of maps there are 65,530 lines. */
#define AIF_PROCESS_ENVIRON_MAX (8u << 20)
#define AIF_PROCESS_MAPS_MAX    (16u << 20)

/* Appends /proc/PID/NAME. 0; -EFBIG: there is more than `max` bytes, of which *ret has the first; -ETIMEDOUT: it has kept
 * us waiting, or another process of its user's does; or -errno. */
int aif_process_text(int pid, const char *name, size_t max, struct aif_buf *ret);

/* Reads memory, up to the first page that cannot be read: how many bytes were read, or -errno, as above; -EREMOTE: a user
 * serves it (mounts.h). */
ssize_t aif_process_memory(int pid, uint64_t at, void *to, size_t len);
