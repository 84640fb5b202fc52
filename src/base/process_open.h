/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/rights.h"

/*
 * Opens what another process names: the one way to do so.
 *
 * Such a path is the process's choice. It is opened for it as it could do so itself: with its rights (rights.h), in its
 * root directory and mount namespace, and only if it is a regular file (open_regular.h); within bounds of time, too
 * (bounded.h). Of a process that has ended it is opened in ours, with the rights that it was last seen with, unless it
 * had another root directory or mount namespace: there the path meant something else.
 */
/* A root directory and a mount namespace; those with the same bytes are one. */
struct aif_process_home {
	uint64_t mounts, device, inode;
};

struct aif_process_files {
	int pid;
	bool is_known;     /* it was seen: the rest is of then */
	bool is_elsewhere; /* in another root directory or mount namespace than ours */
	struct aif_process_home home;
	struct aif_rights rights;
};

/* Sees the process, while it lives. */
void aif_process_files_init(struct aif_process_files *f, int pid);

/* Opens a path of the process for reading; `flags`: 0 or O_NOFOLLOW. A descriptor, or -errno: -EINVAL if it is no regular
 * file, -ETIMEDOUT if the process has kept us waiting, -EREMOTE if a user serves it (mounts.h). */
int aif_process_open(struct aif_process_files *f, const char *path, int flags);

/* Opens the file that it has mapped at [lo, hi): of a deleted one nothing but that is left. */
int aif_process_open_mapped(struct aif_process_files *f, uint64_t lo, uint64_t hi);

/* Opens the program that it runs, also a deleted one. */
int aif_process_open_exe(struct aif_process_files *f);

/* Opens a directory of the process by its path, which may not be a link itself, with our own rights: to be looked at. */
int aif_process_open_dir(int pid, const char *path);

/* True if the process has another root directory or mount namespace than this one. False also if that cannot be seen. */
bool aif_process_is_elsewhere(int pid);
