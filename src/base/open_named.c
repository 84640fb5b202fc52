/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_named.h"

#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int aif_not_regular(const char *path, unsigned mode, struct aif_err *err)
{
	if (S_ISDIR(mode))
		return aif_err_set(err, -EISDIR, "%s: is a directory; name a file", path);
	return aif_err_set(err, -EINVAL,
			   "%s: %s is no file that can be read again: give a regular one", path,
			   S_ISFIFO(mode)                   ? "a FIFO"
			   : S_ISSOCK(mode)                 ? "a socket"
			   : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
							    : "this");
}

/* Opens the file without /proc, which a chroot may lack. The path may lead elsewhere by now. */
static int open_by_path(const char *path, mode_t type, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), e = errno;

	if (fd < 0)
		return -e;
	if (fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == type)
		return fd;
	close(fd);
	return -EINVAL;
}

int aif_open_named(const char *path, struct aif_err *err)
{
	int fd = aif_open_regular(AT_FDCWD, path, O_RDONLY);
	struct stat st;

	if (fd < 0 && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return aif_not_regular(path, st.st_mode, err);
	if (fd == -ENOENT && access("/proc/self/fd", F_OK) < 0)
		fd = open_by_path(path, S_IFREG, &st);
	return fd < 0 ? aif_err_set(err, fd, "%s: %s", path, strerror(-fd)) : fd;
}

FILE *aif_fopen_named(const char *path, struct aif_err *err)
{
	int fd = aif_open_named(path, err), e;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (f)
		return f;
	e = fd < 0 ? -fd : errno;
	if (fd >= 0) {
		close(fd);
		aif_err_set(err, -e, "%s: %s", path, strerror(e));
	}
	errno = e;
	return NULL;
}

/* True if the pipe has bytes, or a process that may write some. Takes none out: tee() copies them. */
static bool has_writer(int fd)
{
	int copy[2];
	ssize_t n;

	if (pipe2(copy, O_CLOEXEC) < 0)
		return true;
	n = tee(fd, copy[1], 1, SPLICE_F_NONBLOCK);
	close(copy[0]);
	close(copy[1]);
	return n != 0;
}

int aif_open_named_or_pipe(const char *path, struct aif_err *err)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISFIFO(st.st_mode))
		return aif_open_named(path, err);
	fd = open_by_path(path, S_IFIFO, &st);
	if (fd < 0)
		return aif_err_set(err, fd, "%s: %s", path, strerror(-fd));
	if (has_writer(fd) && fcntl(fd, F_SETFL, 0) == 0)
		return fd;
	close(fd);
	return aif_err_set(
		err, -EINVAL,
		"%s: a FIFO that nobody writes to: start its writer first, or pipe it in and "
		"give -",
		path);
}
