/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

#include <sys/syscall.h>
#include <unistd.h>

/*
 * fstat() for older C libraries, see unwind/oldglibc.h. Which of the two names a caller uses depends on the
 * file offset size; on 64-bit machines both mean the kernel's own struct stat. Hidden, so nobody but
 * the agent meets them. Declared by symbol name, because the header redirects one to the other.
 */
int aif_fstat(int fd, void *st) __asm__("fstat");
int aif_fstat64(int fd, void *st) __asm__("fstat64");

int aif_fstat(int fd, void *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int aif_fstat64(int fd, void *st)
{
	return aif_fstat(fd, st);
}
