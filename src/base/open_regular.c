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
#ifndef RESOLVE_CACHED /* Linux 5.12; an older one says EINVAL */
#define RESOLVE_CACHED 0x20
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

int aif_open_beside(int dirfd, const char *path, int flags)
{
	int fd;

#ifdef SYS_openat2
	struct open_how how = {.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
			       .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};

	fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd < 0 ? -errno : fd;
#endif
	fd = openat(dirfd, path, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int aif_open_regular_beside(int dirfd, const char *path, int access)
{
	return aif_open_handle(aif_open_beside(dirfd, path, O_PATH), access);
}

/* -ENOSYS before Linux 5.6, -EPERM where a filter of system calls does not know it. */
static int handle_in(int root, const char *path, int flags, uint64_t resolve)
{
#ifdef SYS_openat2
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT | resolve};
	long handle = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return handle < 0 ? -errno : (int)handle;
#else
	(void)root, (void)path, (void)flags, (void)resolve;
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

enum { REWRITES_MAX = 200 };

/* Writes the path that is left to walk where `name`, in the directory `before` of the root, is a link, "." or "..". */
static int rewrite(char path[PATH_MAX], size_t before, const char *link, const char *rest)
{
	char joined[PATH_MAX];
	size_t keep = *link == '/' ? 0 : before;
	int n;

	if (!strcmp(link, "..")) {
		while (keep && path[keep - 1] == '/')
			keep--;
		while (keep && path[keep - 1] != '/')
			keep--;
	}
	if (*link == '.' && (!link[1] || !strcmp(link, "..")))
		link = "";
	n = snprintf(joined, sizeof(joined), "%.*s/%s/%s", (int)keep, path, link, rest);
	if (n < 0 || (size_t)n >= sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(path, joined, (size_t)n + 1);
	return 0;
}

static int dup_handle(int handle)
{
	int fd = fcntl(handle, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* Finds the path directory by directory. Links, which could lead out of the root, are followed as texts. */
static int walk_in(int root, const char *whole, int flags, const struct aif_open_guard *guard)
{
	char path[PATH_MAX], name[NAME_MAX + 1], target[PATH_MAX];
	unsigned rewrites = 0;
	size_t i = 0;
	int at = dup_handle(root), next, e;

	if (strlen(whole) >= sizeof(path))
		e = -ENAMETOOLONG;
	else
		e = at < 0 ? at : guard->may(guard->arg, at) ? 0 : -EREMOTE;
	if (!e)
		memcpy(path, whole, strlen(whole) + 1);
	while (!e) {
		size_t from = i + strspn(path + i, "/"), len = strcspn(path + from, "/");
		ssize_t n = -1;

		if (!len)
			return at;
		i = from + len;
		if (len >= sizeof(name)) {
			e = -ENAMETOOLONG;
			break;
		}
		memcpy(name, path + from, len);
		name[len] = '\0';
		if (!strcmp(name, ".") || !strcmp(name, "..")) {
			n = snprintf(target, sizeof(target), "%s", name);
			next = dup_handle(root);
		} else {
			next = handle_at(at, name, O_NOFOLLOW);
			if (next >= 0 && !guard->may(guard->arg, next)) {
				close(next);
				next = -EREMOTE;
			}
			if (next >= 0 && (path[i] || !(flags & O_NOFOLLOW)))
				n = readlinkat(next, "", target, sizeof(target) - 1);
		}
		close(at);
		at = next;
		if (next < 0)
			return next;
		if (n < 0)
			continue;
		target[n] = '\0';
		close(at);
		at = dup_handle(root);
		e = at < 0                      ? at
		    : ++rewrites > REWRITES_MAX ? -ELOOP
						: rewrite(path, from, target, path + i);
		i = 0;
	}
	if (at >= 0)
		close(at);
	return e;
}

static int find_in(int root, const char *path, int flags, const struct aif_open_guard *guard)
{
	int handle =
		handle_in(root, path, flags & O_NOFOLLOW, guard->is_strict ? RESOLVE_CACHED : 0);

	if (handle == -ENOSYS || handle == -EPERM ||
	    (guard->is_strict && (handle == -EAGAIN || handle == -EINVAL)))
		handle = walk_in(root, path, flags, guard);
	if (handle >= 0 && !guard->may(guard->arg, handle)) {
		close(handle);
		return -EREMOTE;
	}
	return handle;
}

int aif_open_regular_in(int root, const char *path, int flags, const struct aif_open_guard *guard)
{
	return aif_open_handle(find_in(root, path, flags, guard), O_RDONLY);
}

int aif_open_dir_in(int root, const char *path, const struct aif_open_guard *guard)
{
	int handle = find_in(root, path, O_NOFOLLOW, guard), fd;
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
