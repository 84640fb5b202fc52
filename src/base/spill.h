/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Bounds the memory of views of long recordings. Their arrays have elements for each launch, of which a recording has
 * tens of millions: what does not fit into `room` bytes lies in temporary files without a name, which the kernel writes
 * out and takes from memory as it needs to.
 *
 *     malloc(), calloc(), realloc()   of AIF_SPILL_BIG bytes or more, once the room is taken: a file of its own, mapped
 *     anything else                   as ever
 *
 * The linker puts these functions before those of the C library, for all that is linked into the command (--wrap), so that
 * no view need know. A file lies where TMPDIR says, else in /var/tmp or /tmp, whichever is a disk first. Its blocks are
 * allocated before they are used, at most half of what is free, so that a full disk is no SIGBUS. Where there is no such
 * file memory is taken.
 *
 * Files count for the bound on memory (RLIMIT_DATA, cmd/profile_arg.h) as memory does: a small profile that stands for much
 * fills no disk.
 *
 * Pages that are in the kernel's cache count as the process's while they are mapped: a thread unmaps them, which loses
 * nothing, as soon as they are more than AIF_SPILL_MAPPED. It is late by as much where the CPUs are busy.
 *
 * All of it is to be at most 512 MB: the room, twice what may be mapped, and 32 MB of what is small. A page of 6.4 million
 * launches takes 469 MB so, and with a room of 384 MiB 530 to 541.
 */
#define AIF_SPILL_BIG    ((size_t)4 << 20)
#define AIF_SPILL_ROOM   ((size_t)320 << 20)
#define AIF_SPILL_MAPPED ((size_t)64 << 20)

/* Begins with it, for the rest of the process. */
void aif_spill_begin(size_t room);
/* Returns the bytes that lie in files now. */
size_t aif_spill_bytes(void);
