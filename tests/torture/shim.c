/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the n-th allocation or the n-th system call of a program fail: a library for LD_PRELOAD. What it counts begins with
 * main() and comes by way of the C library's functions, from the program and from the libraries that it uses.
 *
 *   TORTURE_WHAT    alloc: an allocation has no memory
 *                   call:  a system call fails, with an error that it may have
 *                   soft:  a system call is interrupted (EINTR), or reads or writes the first half only
 *   TORTURE_FROM    the first that fails, 1 and up; 0: none does
 *   TORTURE_TO      the last that fails
 *   TORTURE_RESULT  a file in which `struct result` is written
 *   TORTURE_LATER   where it is set, counting begins with torture_begin(), which the program calls
 *   TORTURE_TRACE   where it is set, the stack of the first failure goes to standard error
 */
/* open() and open64() are two functions here. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Read by torture.py. */
struct result {
	_Atomic uint64_t count;  /* of what may fail */
	_Atomic uint64_t failed; /* of what did */
	char name[16];           /* the first function that did */
};

enum what { ALLOC, CALL, SOFT };

static struct result nowhere, *result = &nowhere;
static enum what what;
static uint64_t from, to;
static bool is_traced;
static _Atomic bool is_on;

/* The next definition of a function, which this library's stands before. */
#define NEXT(name)                     \
	static __typeof__(&name) next; \
	if (!next)                     \
		next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

static void trace(void)
{
	void *at[40];

	atomic_store(&is_on, false);
	backtrace_symbols_fd(at, backtrace(at, 40), 2);
	atomic_store(&is_on, true);
}

static bool fails(enum what kind, const char *name)
{
	uint64_t n;

	if (!atomic_load(&is_on) || kind != what)
		return false;
	n = atomic_fetch_add(&result->count, 1) + 1;
	if (n < from || n > to || !from)
		return false;
	if (atomic_fetch_add(&result->failed, 1) == 0) {
		strncpy(result->name, name, sizeof(result->name) - 1);
		if (is_traced)
			trace();
	}
	return true;
}

static bool no_memory(const char *name)
{
	if (!fails(ALLOC, name))
		return false;
	errno = ENOMEM;
	return true;
}

/* A call that fails with one of two errors, in turn; `soft` if it may be interrupted, too. */
static bool call_fails(const char *name, int error, int other, bool soft)
{
	if (fails(CALL, name)) {
		errno = atomic_load(&result->count) % 2 ? error : other;
		return true;
	}
	if (soft && fails(SOFT, name)) {
		errno = EINTR;
		return true;
	}
	return false;
}

/* A transfer that fails, is interrupted, or (then *n is less) is short. */
static bool transfer_fails(const char *name, int error, int other, size_t *n)
{
	if (what != SOFT)
		return call_fails(name, error, other, false);
	if (!fails(SOFT, name))
		return false;
	if (*n > 1 && atomic_load(&result->count) % 2) {
		*n /= 2;
		return false;
	}
	errno = EINTR;
	return true;
}

/* ---- allocations ----------------------------------------------------------------------------- */

void *malloc(size_t n)
{
	NEXT(malloc)
	return no_memory(__func__) ? NULL : next(n);
}

void *calloc(size_t n, size_t size)
{
	NEXT(calloc)
	return no_memory(__func__) ? NULL : next(n, size);
}

void *realloc(void *p, size_t n)
{
	NEXT(realloc)
	return no_memory(__func__) ? NULL : next(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	NEXT(reallocarray)
	return no_memory(__func__) ? NULL : next(p, n, size);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
	NEXT(posix_memalign)
	return fails(ALLOC, __func__) ? ENOMEM : next(p, alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
	NEXT(aligned_alloc)
	return no_memory(__func__) ? NULL : next(alignment, n);
}

/* strdup() and its like allocate by malloc(), which is this one. */

/* ---- system calls ---------------------------------------------------------------------------- */

static bool mapping_fails(const char *name, int flags)
{
	return flags & MAP_ANONYMOUS ? no_memory(name) : call_fails(name, ENOMEM, ENODEV, false);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	NEXT(mmap)
	return mapping_fails(__func__, flags) ? MAP_FAILED : next(at, n, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t offset)
{
	NEXT(mmap64)
	return mapping_fails(__func__, flags) ? MAP_FAILED : next(at, n, prot, flags, fd, offset);
}

#define OPENS(name)                                                                       \
	int name(const char *path, int flags, ...)                                        \
	{                                                                                 \
		mode_t mode = 0;                                                          \
		NEXT(name)                                                                \
		if (flags & (O_CREAT | __O_TMPFILE)) {                                    \
			va_list ap;                                                       \
			va_start(ap, flags);                                              \
			mode = va_arg(ap, mode_t);                                        \
			va_end(ap);                                                       \
		}                                                                         \
		return call_fails(__func__, EMFILE, flags & O_CREAT ? ENOSPC : EIO, true) \
			       ? -1                                                       \
			       : next(path, flags, mode);                                 \
	}
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                            \
	int name(int dir, const char *path, int flags, ...)                                       \
	{                                                                                         \
		mode_t mode = 0;                                                                  \
		NEXT(name)                                                                        \
		if (flags & (O_CREAT | __O_TMPFILE)) {                                            \
			va_list ap;                                                               \
			va_start(ap, flags);                                                      \
			mode = va_arg(ap, mode_t);                                                \
			va_end(ap);                                                               \
		}                                                                                 \
		return call_fails(__func__, EMFILE, ENOMEM, true) ? -1                            \
								  : next(dir, path, flags, mode); \
	}
OPENS_AT(openat)
OPENS_AT(openat64)

ssize_t read(int fd, void *p, size_t n)
{
	NEXT(read)
	return transfer_fails(__func__, EIO, EIO, &n) ? -1 : next(fd, p, n);
}

ssize_t write(int fd, const void *p, size_t n)
{
	NEXT(write)
	return transfer_fails(__func__, ENOSPC, EIO, &n) ? -1 : next(fd, p, n);
}

#define TRANSFERS(name, pointer, offset, error, other)                                       \
	ssize_t name(int fd, pointer p, size_t n, offset at)                                 \
	{                                                                                    \
		NEXT(name)                                                                   \
		return transfer_fails(__func__, error, other, &n) ? -1 : next(fd, p, n, at); \
	}
/* EIO would say that the medium is damaged, which SQLite takes for a damaged file. */
TRANSFERS(pread, void *, off_t, ESTALE, ENOMEM)
TRANSFERS(pread64, void *, off64_t, ESTALE, ENOMEM)
TRANSFERS(pwrite, const void *, off_t, ENOSPC, EIO)
TRANSFERS(pwrite64, const void *, off64_t, ENOSPC, EIO)

/* DECLARATION, (NAMES), its errors, whether it may be interrupted. */
#define CALLS(name, parameters, names, error, other, soft)                         \
	int name parameters                                                        \
	{                                                                          \
		NEXT(name)                                                         \
		return call_fails(__func__, error, other, soft) ? -1 : next names; \
	}
CALLS(ftruncate, (int fd, off_t n), (fd, n), ENOSPC, EIO, true)
CALLS(ftruncate64, (int fd, off64_t n), (fd, n), ENOSPC, EIO, true)
CALLS(fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), ENOSPC, EIO, true)
CALLS(fsync, (int fd), (fd), EIO, ENOSPC, true)
CALLS(fdatasync, (int fd), (fd), EIO, ENOSPC, true)
CALLS(rename, (const char *a, const char *b), (a, b), EIO, ENOSPC, false)
CALLS(unlink, (const char *path), (path), EIO, EPERM, false)
CALLS(rmdir, (const char *path), (path), EIO, EPERM, false)
CALLS(mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, EIO, false)
CALLS(stat, (const char *path, struct stat *s), (path, s), EIO, ENOMEM, false)
CALLS(lstat, (const char *path, struct stat *s), (path, s), EIO, ENOMEM, false)
CALLS(fstat, (int fd, struct stat *s), (fd, s), EIO, ENOMEM, false)
CALLS(stat64, (const char *path, struct stat64 *s), (path, s), EIO, ENOMEM, false)
CALLS(lstat64, (const char *path, struct stat64 *s), (path, s), EIO, ENOMEM, false)
CALLS(fstat64, (int fd, struct stat64 *s), (fd, s), EIO, ENOMEM, false)
CALLS(pipe2, (int fds[2], int flags), (fds, flags), EMFILE, ENFILE, false)
CALLS(dup, (int fd), (fd), EMFILE, EMFILE, false)

/* The locks of SQLite. */
static int fcntl_fails(const char *name, int command)
{
	return (command == F_SETLK || command == F_GETLK) && call_fails(name, EIO, ENOLCK, true);
}

int fcntl64(int fd, int command, ...)
{
	void *p;
	va_list ap;
	NEXT(fcntl64)

	va_start(ap, command);
	p = va_arg(ap, void *);
	va_end(ap);
	return fcntl_fails(__func__, command) ? -1 : next(fd, command, p);
}

int fcntl(int fd, int command, ...)
{
	void *p;
	va_list ap;
	NEXT(fcntl)

	va_start(ap, command);
	p = va_arg(ap, void *);
	va_end(ap);
	return fcntl_fails(__func__, command) ? -1 : next(fd, command, p);
}

/* ---- from main() on -------------------------------------------------------------------------- */

static int (*real_main)(int, char **, char **);

static uint64_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static void settle(void)
{
	const char *kind = getenv("TORTURE_WHAT"), *path = getenv("TORTURE_RESULT");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *shared, *at[1];

	if (!kind || fd < 0 || ftruncate(fd, sizeof(*result)) < 0)
		return;
	shared = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		return;
	result = shared;
	what = !strcmp(kind, "alloc") ? ALLOC : !strcmp(kind, "call") ? CALL : SOFT;
	from = number("TORTURE_FROM");
	to = number("TORTURE_TO");
	is_traced = getenv("TORTURE_TRACE");
	if (is_traced)
		backtrace(at, 1); /* which loads a library */
	/* Programs that this one runs are not tortured. */
	unsetenv("LD_PRELOAD");
	atomic_store(&is_on, !getenv("TORTURE_LATER"));
}

/* With TORTURE_LATER the program says itself where it begins. */
void torture_begin(void);
void torture_begin(void)
{
	atomic_store(&is_on, true);
}

static int main_of_torture(int argc, char **argv, char **env)
{
	settle();
	return real_main(argc, argv, env);
}

int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
		      void (*)(void), void *);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	NEXT(__libc_start_main)
	real_main = main;
	return next(main_of_torture, argc, argv, init, fini, rtld_fini, stack_end);
}
