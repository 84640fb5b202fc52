/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Mounts that a user serves: FUSE with another user_id than 0, or in a mount namespace of another user namespace than ours. A read of such a file, or of memory that maps it, waits for
 * that user's program, and once the request was taken not even SIGKILL ends the wait. So who may look at other users'
 * processes reads neither. (The kernel itself reads no such memory for the cmdline and environ of /proc.) FUSE that root mounted for itself, and NFS, are read.
 *
 * The mounts are those of the process and ours, read at most once a second for a mount namespace. A file of neither is not
 * read, but for those of block devices, which users cannot mount, of memfd and shared memory, and rings of io_setup(2). A user who mounts within
 * that second, or maps within a tenth of one (longer for maps that take long to read), is not seen, nor is an overlay on FUSE in a mount
 * namespace of the user's own.
 */
struct aif_mount {
	uint64_t id, device; /* device: major << 32 | minor */
	bool is_fuse, is_users;
	uint32_t user;
};
struct aif_mounts {
	struct aif_mount *at;
	size_t len, cap;
	bool any_users;
};
#define AIF_MOUNT_DEVICE(major, minor) ((uint64_t)(major) << 32 | (uint32_t)(minor))
/* Without a user_id that can be read. */
#define AIF_MOUNT_NOBODY UINT32_MAX

/* Appends the mounts of a text of /proc/PID/mountinfo; lines that are none are left out. 0 or -ENOMEM. */
int aif_mounts_parse(const char *text, struct aif_mounts *ret);
void aif_mounts_finish(struct aif_mounts *m);
/* Returns whether a file of that device, on the mount of that number (0: not known), may be read. */
bool aif_mounts_allow(const struct aif_mounts *m, uint64_t device, uint64_t id);

/* Error of what is not read. */
#define AIF_MOUNTS_REFUSED (-EREMOTE)

/* True if what the descriptor, which may be of O_PATH, stands for may be read of process `pid`. Asks no file system. */
bool aif_mounts_allow_handle(int pid, int handle);
/* True if a user serves one of the mounts. */
bool aif_mounts_any_users(int pid);
/* Returns how many of n bytes of the memory of `pid` at `at` come before what may not be read. */
size_t aif_mounts_readable(int pid, uint64_t at, size_t n);
