/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_regular.h"

#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
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

/* Opens what an O_PATH descriptor stands for, if it is a regular file. Takes the descriptor, or
 * -errno. */
static int open_handle(int handle, int access)
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
	return open_handle(handle_at(dirfd, path, flags & O_NOFOLLOW), flags & O_ACCMODE);
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

/* In the root directory of the process, with our own rights: its own may not lead there. */
static int root_of(int pid)
{
	char name[32];
	int root;

	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

int aif_open_regular_of(int pid, const char *path, int flags)
{
	struct aif_rights_before before;
	struct aif_rights rights;
	int root = root_of(pid), fd, r;

	if (root < 0)
		return root;
	r = aif_rights_of(pid, &rights);
	if (r == 0)
		r = aif_rights_take(&rights, &before);
	if (r < 0) {
		close(root);
		return r;
	}
	fd = handle_in(root, path, flags & O_NOFOLLOW);
	if (fd == -ENOSYS || fd == -EPERM)
		fd = handle_at(root, path + strspn(path, "/"), flags & O_NOFOLLOW);
	fd = open_handle(fd, O_RDONLY);
	aif_rights_give_back(&before);
	close(root);
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
