/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Opens files whose paths somebody else chose: a recorded program, a file of such a program,
 * whoever writes to a directory that others can write to.
 *
 * Opening a path can be an act. It blocks at a FIFO, makes a terminal the opener's controlling
 * terminal, arms a watchdog; reading a file of tracefs or procfs can take away what another reads.
 * So the path is resolved with O_PATH, which opens nothing, and what it leads to is opened only if
 * it is a regular file of a file system that stores files. No later change of the path can lead
 * elsewhere.
 */

/* Opens `path`, relative to `dirfd` as openat() has it. `flags`: O_RDONLY or O_RDWR, and
 * O_NOFOLLOW if it may not be a symbolic link. Returns a descriptor, which the caller closes, or
 * -errno; -EINVAL: it is not a regular file. */
int aif_open_regular(int dirfd, const char *path, int flags);

/* Opens what is in a directory itself, as openat() does: through no link, and no other file system that somebody has mounted
 * there, whose server could keep the caller waiting. -EXDEV: it is such a one. */
int aif_open_beside(int dirfd, const char *path, int flags);
/* The same of a regular file, which is opened as above. */
int aif_open_regular_beside(int dirfd, const char *path, int access);

/* Opens what an O_PATH descriptor stands for, as above. Takes the descriptor; of -errno returns that. */
int aif_open_handle(int handle, int access);

/* The root directory of a process, to open in it: a descriptor of O_PATH or -errno. For process_open.h only. */
int aif_open_root_of(int pid);

/* Says of each directory on the way, and of what the path leads to, whether it may be looked into: a lookup or an open asks the
 * file system. */
struct aif_open_guard {
	bool (*may)(void *arg, int handle);
	void *arg;
	bool is_strict; /* some directories may not: each is asked about, unless the kernel knows the way without asking */
};

/* Opens for reading what the absolute `path` is where `root` is the root directory: absolute symbolic links are that
 * one's, not ours. `flags`: 0 or O_NOFOLLOW. -EREMOTE: the guard refuses it. For
 * process_open.h only. */
int aif_open_regular_in(int root, const char *path, int flags, const struct aif_open_guard *guard);

/* Opens a directory there, which may not be a link itself. */
int aif_open_dir_in(int root, const char *path, const struct aif_open_guard *guard);

/* Appends the first `size` bytes of the file. 0; -ENODATA: it is shorter by now; else -errno, with *ret longer by
 * what was read. */
int aif_read_regular(int fd, uint64_t size, struct aif_buf *ret);

/* Keeps the last descriptors of the limit for what a recording cannot do without. Returns `fd`; or
 * closes it and returns -EMFILE if it is one of those. An error, < 0, is returned as it is. */
int aif_open_spare(int fd);

/* True for -EMFILE and -ENFILE: it is descriptors that are missing. */
bool aif_open_lacks_descriptors(int error);
