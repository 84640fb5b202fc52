/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sqlite_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

/* SQLite's own are at 0x40000000 and the 511 bytes behind it. */
#define LOCK_AT 0x3fffffff

/* A recording commits each second, which removes its journal. */
#define WATCHES  30
#define WATCH_NS (100 * 1000 * 1000)

bool aif_sqlite_has_locks(int fd)
{
	struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1};

	return fcntl(fd, F_SETLK, &l) == 0 ||
	       (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP);
}

const char *aif_sqlite_vfs(bool has_locks)
{
	return has_locks ? NULL : "unix-none";
}

static bool look(const char *journal, struct stat *ret)
{
	return stat(journal, ret) == 0 && ret->st_size > 0;
}

bool aif_sqlite_journal_lives(const char *path)
{
	struct stat first, now;
	bool lives = false;
	char *journal;

	if (asprintf(&journal, "%s-journal", path) < 0)
		return false;
	if (look(journal, &first))
		for (int i = 0; i < WATCHES && !lives; i++) {
			nanosleep(&(struct timespec){.tv_nsec = WATCH_NS}, NULL);
			lives = !look(journal, &now) || now.st_ino != first.st_ino ||
				now.st_size != first.st_size ||
				now.st_mtim.tv_sec != first.st_mtim.tv_sec ||
				now.st_mtim.tv_nsec != first.st_mtim.tv_nsec;
		}
	free(journal);
	return lives;
}
