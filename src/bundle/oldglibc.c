/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that today's objects ask for and glibc 2.28 does not have. They are linked into the
 * bundle's binaries only, from an archive that stands where libc_nonshared.a does
 * (scripts/bundle/glibc-stubs), each hidden, so that neither the application nor a driver ever sees
 * them. A new name belongs here when the bundle's link says that it is undefined; it must work on
 * every kernel that 2.28 runs on.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct stat;

/* Functions since 2.33; inline ones before, around __xstat. x86-64's kernel fills glibc's struct. */
HIDDEN int fstatat(int dir, const char *path, struct stat *to, int flags);
HIDDEN int stat(const char *path, struct stat *to);
HIDDEN int lstat(const char *path, struct stat *to);
HIDDEN int fstat(int fd, struct stat *to);

int fstatat(int dir, const char *path, struct stat *to, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, path, to, flags);
}

int stat(const char *path, struct stat *to)
{
	return fstatat(AT_FDCWD, path, to, 0);
}

int lstat(const char *path, struct stat *to)
{
	return fstatat(AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *to)
{
	return (int)syscall(SYS_fstat, fd, to);
}

extern __typeof__(fstatat) fstatat64 __attribute__((alias("fstatat"))) HIDDEN;
extern __typeof__(stat) stat64 __attribute__((alias("stat"))) HIDDEN;
extern __typeof__(lstat) lstat64 __attribute__((alias("lstat"))) HIDDEN;
extern __typeof__(fstat) fstat64 __attribute__((alias("fstat"))) HIDDEN;
