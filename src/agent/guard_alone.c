/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/next_function.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A program that looks how many entries /proc/self/task has makes sure that it is alone, mostly since it is about to give
 * itself away (Chromium's zygote, before its sandbox): the agent's threads end for good. The agent stands in front of the
 * functions that say it by the number of links, under all names that the C library has had for them, but for those of
 * lstat(): who goes through a path one name after the other asks for no number.
 *
 * One that lists the directory may do so to make sure, or to reach each thread by a signal, or to show them: the agent's
 * threads are away until it closes the directory. Not beside a device, whose driver has threads in the process, too, and may
 * keep ours for long.
 */

/* A program that shows its threads, again and again, sees those of the agent's after so many times. */
#define LISTS_MAX 64

/* Skips one of the names that the calling process has below /proc. NULL: it is none. */
static const char *skip_own_name(const char *path)
{
	static const char self[] = "self";
	int pid = 0;

	if (!strncmp(path, self, sizeof(self) - 1))
		return path + sizeof(self) - 1;
	for (; *path >= '0' && *path <= '9' && pid < INT32_MAX / 10 - 1; path++)
		pid = pid * 10 + *path - '0';
	return pid && *path == '/' && pid == getpid() ? path : NULL;
}

/* Returns true if the path is that of the process's threads. */
static bool is_of_threads(const char *path)
{
	static const char start[] = "/proc/", task[] = "/task";

	if (*path != 's' && *path != '/' && (*path < '1' || *path > '9'))
		return false;
	if (!strncmp(path, start, sizeof(start) - 1))
		path += sizeof(start) - 1;
	path = skip_own_name(path);
	if (!path || strncmp(path, task, sizeof(task) - 1))
		return false;
	path += sizeof(task) - 1;
	return strspn(path, "/.") == strlen(path);
}

static void report_end(void)
{
	struct aif_shm *shm = aif_session_memory();

	if (shm)
		atomic_store(&shm->helper_gone, 1);
}

/* Returns true if the path is that of the process's threads, and they are the program's alone now. */
static bool makes_alone(const char *path)
{
	if (!is_of_threads(path) || !aif_own_threads_leave())
		return false;
	aif_own_threads_stay_away();
	report_end();
	return true;
}

/* Defines a function that looks at a file. The headers may have one name for two functions. */
#define LOOKS(name, parameters, arguments, counts)                                               \
	AIF_PUBLIC int look_##name parameters __asm__(#name);                                    \
	int look_##name parameters                                                               \
	{                                                                                        \
		static _Atomic(void *) next;                                                     \
		int(*real) parameters = (int(*) parameters)aif_next_function_once(&next, #name); \
		int r;                                                                           \
                                                                                                 \
		if (!real) {                                                                     \
			errno = ENOSYS;                                                          \
			return -1;                                                               \
		}                                                                                \
		/* The kernel could read the path: so can we. */                                 \
		r = real arguments;                                                              \
		return r == 0 && (counts) && makes_alone(path) ? real arguments : r;             \
	}

LOOKS(stat, (const char *path, struct stat *ret), (path, ret), true)
LOOKS(fstatat, (int dir, const char *path, struct stat *ret, int flags), (dir, path, ret, flags),
      true)
LOOKS(statx, (int dir, const char *path, int flags, unsigned mask, struct statx *ret),
      (dir, path, flags, mask, ret), (mask & STATX_NLINK) && !(flags & AT_SYMLINK_NOFOLLOW) && path)
/* For 64-bit offsets. */
LOOKS(stat64, (const char *path, struct stat64 *ret), (path, ret), true)
LOOKS(fstatat64, (int dir, const char *path, struct stat64 *ret, int flags),
      (dir, path, ret, flags), true)
/* Before glibc 2.33. */
LOOKS(__xstat, (int version, const char *path, struct stat *ret), (version, path, ret), true)
LOOKS(__xstat64, (int version, const char *path, struct stat64 *ret), (version, path, ret), true)
LOOKS(__fxstatat, (int version, int dir, const char *path, struct stat *ret, int flags),
      (version, dir, path, ret, flags), true)
LOOKS(__fxstatat64, (int version, int dir, const char *path, struct stat64 *ret, int flags),
      (version, dir, path, ret, flags), true)

/* Keeps in mind that threads have made way for a list. False: for too many at once. */
static bool keep(DIR *list)
{
	struct aif_own_threads *own = &aif_agent.own;

	for (unsigned i = 0; i < AIF_ARRAY_LEN(own->lists); i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong(&own->lists[i], &none, list))
			return true;
	}
	return false;
}

/* Returns true if they have. In a child of a fork the lists are the parent's. */
static bool forget(DIR *list)
{
	struct aif_own_threads *own = &aif_agent.own;

	for (unsigned i = 0; list && i < AIF_ARRAY_LEN(own->lists); i++) {
		void *is = list;

		if (atomic_load_explicit(&own->lists[i], memory_order_relaxed) == list &&
		    atomic_load(&own->pid) == getpid() &&
		    atomic_compare_exchange_strong(&own->lists[i], &is, NULL))
			return true;
	}
	return false;
}

static void go_on(void)
{
	if (aif_own_threads_return() < 0)
		report_end();
}

static void make_way_for(DIR *list)
{
	struct aif_own_threads *own = &aif_agent.own;

	if (atomic_fetch_add_explicit(&own->listed, 1, memory_order_relaxed) >= LISTS_MAX ||
	    !aif_own_threads_leave())
		return;
	atomic_fetch_sub(&own->leaves, 1); /* that is the number of calls which change a user */
	if (!keep(list))
		go_on();
}

AIF_PUBLIC DIR *opendir(const char *path);
DIR *opendir(const char *path)
{
	static _Atomic(void *) next;
	DIR *(*real)(const char *) =
		(DIR * (*)(const char *)) aif_next_function_once(&next, "opendir");
	DIR *list;

	if (!real) {
		errno = ENOSYS;
		return NULL;
	}
	list = real(path);
	if (list && is_of_threads(path) && !aif_agent.session.runtimes)
		make_way_for(list);
	return list;
}

AIF_PUBLIC int closedir(DIR *list);
int closedir(DIR *list)
{
	static _Atomic(void *) next;
	int (*real)(DIR *) = (int (*)(DIR *))aif_next_function_once(&next, "closedir");
	bool was_kept;
	int r;

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	was_kept = forget(list); /* before its memory can be another's */
	r = real(list);
	if (was_kept)
		go_on();
	return r;
}
