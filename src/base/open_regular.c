/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

/* The profile, its journal and its directory; a connection, its memory and its process; a file
 * of /proc. */
#define KEPT_DESCRIPTORS 12

#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif

/* Returns true for the kernel's own file systems, whose files are no storage: reading one asks the
 * kernel something, or takes it away from another. */
static bool is_of_the_kernel(int fd)
{
	static const unsigned long kernels[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,      DEBUGFS_MAGIC,
						TRACEFS_MAGIC,    SECURITYFS_MAGIC, CONFIGFS_MAGIC};
	struct statfs s;

	if (fstatfs(fd, &s) < 0)
		return true;
	for (size_t i = 0; i < AIF_ARRAY_LEN(kernels); i++)
		if ((unsigned long)s.f_type == kernels[i])
			return true;
	return false;
}

int aif_open_handle(int handle, int access)
{
	char path[32];
	struct stat st;
	int fd;

	if (handle < 0)
		return handle;
	if (fstat(handle, &st) < 0) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode) || is_of_the_kernel(handle)) {
		fd = -EINVAL;
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
		fd = open(path, access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(handle);
	return fd;
}

static int handle_at(int dirfd, const char *path, int flags)
{
	int handle = openat(dirfd, path, O_PATH | O_CLOEXEC | flags);

	return handle < 0 ? -errno : handle;
}

int aif_open_regular(int dirfd, const char *path, int flags)
{
	return aif_open_handle(handle_at(dirfd, path, flags & O_NOFOLLOW), flags & O_ACCMODE);
}

/* -ENOSYS before Linux 5.6, -EPERM where a filter of system calls does not know it. */
static int handle_in(int root, const char *path, int flags)
{
#ifdef SYS_openat2
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT};
	long handle = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return handle < 0 ? -errno : (int)handle;
#else
	(void)root, (void)path, (void)flags;
	return -ENOSYS;
#endif
}

int aif_open_root_of(int pid)
{
	char name[32];
	int root;

	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

/* Finds the path without following links, which could lead out of the root. */
static int walk_in(int root, const char *path)
{
	int at = fcntl(root, F_DUPFD_CLOEXEC, 0), next;
	char name[NAME_MAX + 1];

	if (at < 0)
		return -errno;
	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t len = strcspn(path, "/");

		if (len >= sizeof(name) || (len == 2 && !memcmp(path, "..", 2))) {
			close(at);
			return len == 2 ? -ELOOP : -ENAMETOOLONG;
		}
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		next = handle_at(at, name, O_NOFOLLOW);
		close(at);
		if (next < 0)
			return next;
		at = next;
	}
	return at;
}

static int find_in(int root, const char *path, int flags)
{
	int handle = handle_in(root, path, flags & O_NOFOLLOW);

	return handle == -ENOSYS || handle == -EPERM ? walk_in(root, path) : handle;
}

int aif_open_regular_in(int root, const char *path, int flags)
{
	return aif_open_handle(find_in(root, path, flags), O_RDONLY);
}

int aif_open_dir_in(int root, const char *path)
{
	int handle = find_in(root, path, O_NOFOLLOW), fd;
	char name[32];
	struct stat st;

	if (handle < 0)
		return handle;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", handle);
	fd = fstat(handle, &st) < 0 || !S_ISDIR(st.st_mode)
		     ? -1
		     : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -ENOTDIR : fd;
	close(handle);
	return fd;
}

int aif_open_spare(int fd)
{
	struct rlimit limit;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    (rlim_t)fd + KEPT_DESCRIPTORS < limit.rlim_cur)
		return fd;
	close(fd);
	return -EMFILE;
}

bool aif_open_lacks_descriptors(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

int aif_read_regular(int fd, uint64_t size, struct aif_buf *ret)
{
	char *to = aif_buf_reserve(ret, size);

	if (!to)
		return -ENOMEM;
	for (uint64_t n = 0; n < size;) {
		ssize_t k = pread(fd, to + n, size - n, (off_t)n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? -errno : -ENODATA;
		n += (uint64_t)k;
		ret->len += (size_t)k;
	}
	return 0;
}
