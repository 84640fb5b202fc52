/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file_writer.h"

#include "base/clock.h"
#include "profile/sqlite_error.h"
#include "profile/sqlite_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages that are copied before the clock is asked: 1 MiB, a millisecond. */
#define STEP_PAGES 256

struct aif_snapshot {
	sqlite3 *db;
	sqlite3_backup *backup;
	char *path;
	int fd; /* the file, whatever its name is by now */
};

static int fail(const struct aif_snapshot *s, int code, struct aif_err *err)
{
	return aif_err_set(err, code, "cannot write %s: %s; free space, or record elsewhere (-o)",
			   s->path, code == -ENOSPC ? "the disk is full" : strerror(-code));
}

static int fail_db(const struct aif_snapshot *s, struct aif_err *err)
{
	int code = aif_sqlite_errno(s->db);

	return fail(s, code < 0 ? code : -EIO, err);
}

void aif_snapshot_free(struct aif_snapshot *s)
{
	if (!s)
		return;
	sqlite3_backup_finish(s->backup);
	sqlite3_close(s->db);
	if (s->fd >= 0) {
		close(s->fd);
		unlink(s->path);
	}
	free(s->path);
	free(s);
}

static int open_copy(struct aif_snapshot *s, struct aif_writer *w, struct aif_err *err)
{
	struct stat named, made;

	/* Exclusively: another user's link in that place leads nowhere. What a recorder of that number has left when it was killed goes. */
	s->fd = open(s->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd < 0 && errno == EEXIST && unlink(s->path) == 0)
		s->fd = open(s->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return fail(s, -errno, err);
	errno = 0; /* aif_sqlite_errno() looks at it */
	if (sqlite3_open_v2(s->path, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX |
				    SQLITE_OPEN_EXRESCODE,
			    aif_sqlite_vfs(w->has_locks)) != SQLITE_OK ||
	    /* A copy that is not whole is nobody's. */
	    sqlite3_exec(s->db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL,
			 NULL) != SQLITE_OK)
		return fail_db(s, err);
	/* SQLite has opened it by its name. */
	if (lstat(s->path, &named) < 0 || fstat(s->fd, &made) < 0 || named.st_ino != made.st_ino ||
	    named.st_dev != made.st_dev)
		return fail(s, -ESTALE, err);
	s->backup = sqlite3_backup_init(s->db, "main", w->db, "main");
	return s->backup ? 0 : fail_db(s, err);
}

int aif_writer_snapshot(struct aif_writer *w, struct aif_snapshot **ret, struct aif_err *err)
{
	struct aif_snapshot *s;
	int r;

	if (!w->db)
		return aif_err_set(err, -ENOENT, "the recording has no file");
	s = calloc(1, sizeof(*s));
	if (!s || asprintf(&s->path, "%s.snapshot%d", w->path, (int)getpid()) < 0) {
		free(s);
		return aif_err_set(err, -ENOMEM, "out of memory");
	}
	r = open_copy(s, w, err);
	if (r < 0) {
		aif_snapshot_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int aif_snapshot_step(struct aif_snapshot *s, uint64_t ns, struct aif_err *err)
{
	uint64_t until = aif_now_ns() + ns;
	int r;

	errno = 0;
	do
		r = sqlite3_backup_step(s->backup, STEP_PAGES);
	while (r == SQLITE_OK && aif_now_ns() < until);
	if (r == SQLITE_OK || r == SQLITE_BUSY)
		return 0;
	if (r != SQLITE_DONE) {
		int code = (r & 0xff) == SQLITE_FULL    ? -ENOSPC
			   : (r & 0xff) == SQLITE_NOMEM ? -ENOMEM
			   : errno                      ? -errno
							: -EIO;

		return fail(s, code, err);
	}
	sqlite3_backup_finish(s->backup);
	s->backup = NULL;
	if (sqlite3_exec(s->db, "UPDATE recording SET complete=1", NULL, NULL, NULL) != SQLITE_OK)
		return fail_db(s, err);
	return 1;
}

int aif_snapshot_finish(struct aif_snapshot *s)
{
	int fd = s->fd;

	s->fd = -1;
	unlink(s->path);
	aif_snapshot_free(s);
	return fd;
}
