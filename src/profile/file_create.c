/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file_writer.h"

#include "profile/sqlite_locks.h"
#include "profile/sqlite_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite's locks are POSIX locks on these bytes (its file format, "pending byte"). */
#define LOCK_AT  0x40000000
#define LOCK_LEN 512

static char *join(const char *path, const char *suffix)
{
	char *s;

	return asprintf(&s, "%s%s", path, suffix) < 0 ? NULL : s;
}

/* The process that writes this file as an SQLite database, 0 if none. */
static pid_t file_writer(const char *path)
{
	struct flock l = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = LOCK_LEN};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	pid_t pid = 0;

	if (fd < 0)
		return 0;
	if (fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_WRLCK)
		pid = l.l_pid > 0 ? l.l_pid : 1;
	close(fd);
	return pid;
}

#define OLD ".old"

/* Refuses a path where something other than a profile lies: it is neither moved nor, at the
 * next time, lost as .old. A recording that was killed right after its start left an empty
 * file, or a profile's header. A link to nothing points to nobody's file. */
static int check_is_ours(const char *path, struct aif_err *err)
{
	static const uint8_t id[] = {
		AIF_FILE_APPLICATION_ID >> 24, AIF_FILE_APPLICATION_ID >> 16 & 0xff,
		AIF_FILE_APPLICATION_ID >> 8 & 0xff, AIF_FILE_APPLICATION_ID & 0xff};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), e = errno;
	uint8_t head
		[72]; /* SQLite's file format, "the database header": 68 is the application's id */
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0) {
		n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, head, sizeof(head), 0)
							       : -1;
		close(fd);
	} else if (e == ENOENT) {
		return 0;
	} else {
		return aif_err_set(err, -e,
				   "cannot write %s: it exists and cannot be read: %s; "
				   "choose another name with -o",
				   path, strerror(e));
	}
	if (!n || (n == sizeof(head) && !memcmp(head, "SQLite format 3", 16) &&
		   !memcmp(head + 68, id, sizeof(id))))
		return 0;
	return aif_err_set(err, -EEXIST,
			   "cannot write %s: it exists and is no aiflame profile; choose "
			   "another name with -o, or move it away",
			   path);
}

int aif_profile_check_place(const char *path, struct aif_err *err)
{
	char *old;
	struct stat st;
	int r;

	if (!strcmp(path, "-"))
		return aif_err_set(err, -EINVAL,
				   "-o: a profile cannot go to standard output; name a file");
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : aif_err_set(err, -errno, "cannot write %s: %s", path,
						     strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return aif_err_set(err, -EINVAL,
				   "cannot write %s: it is not a file; choose another name with -o",
				   path);
	r = check_is_ours(path, err);
	if (r < 0)
		return r;
	old = join(path, OLD);
	r = old ? check_is_ours(old, err) : -ENOMEM;
	if (r < 0)
		aif_err_set(err, r,
			    "cannot write %s: it would become %s.old, which is no aiflame profile; "
			    "choose another name with -o",
			    path, path);
	free(old);
	return r;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || errno != ENOENT;
}

/* path -> path.old, with the journal of a recording that was killed: without it the old file
 * could not be repaired, and with it the new one would be "repaired" with the old one's pages. */
int aif_profile_move_away(const char *path, struct aif_err *err)
{
	static const char *const suffixes[][2] = {{"-journal", OLD "-journal"}, {"", OLD}};
	int r = aif_profile_check_place(path, err);
	pid_t pid;

	if (r < 0)
		return r;
	pid = file_writer(path);
	if (pid)
		return aif_err_set(
			err, -EBUSY,
			"cannot write %s: process %d is recording into it; choose another "
			"name with -o",
			path, (int)pid);
	for (size_t i = 0; i < AIF_ARRAY_LEN(suffixes); i++) {
		char *from = join(path, suffixes[i][0]), *to = join(path, suffixes[i][1]);
		int e;

		r = from && to ? rename(from, to) : -1;
		e = from && to ? errno : ENOMEM;

		/* No journal: that of an older .old must not stay beside the new .old. */
		if (r < 0 && e == ENOENT && to)
			unlink(to);
		/* A file system that may not be written says so even of what it does not have. */
		if (r < 0 && from && !is_there(from))
			e = ENOENT;
		free(from);
		free(to);
		if (r < 0 && e != ENOENT)
			return aif_err_set(
				err, -e,
				"cannot move %s to %s.old: %s; choose another name with -o", path,
				path, strerror(e));
	}
	return 0;
}

static int create(struct aif_writer *w, struct aif_err *err)
{
	int fd = open(w->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600), e = errno;

	if (fd < 0)
		return aif_err_set(err, -e, "cannot write %s: %s; choose a writable place with -o",
				   w->path, strerror(e));
	w->is_there = true;
	w->has_locks = aif_sqlite_has_locks(fd);
	close(fd);
	/* Makes SQLite take the name as a path, not as ":memory:" or a URI. */
	if (w->path[0] != '/') {
		char *there = join("./", w->path);

		if (!there)
			return aif_err_set(err, -ENOMEM, "cannot write %s: out of memory", w->path);
		free(w->path);
		w->path = there;
	}
	if (sqlite3_open_v2(w->path, &w->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX |
				    SQLITE_OPEN_EXRESCODE,
			    aif_sqlite_vfs(w->has_locks)) != SQLITE_OK)
		return aif_writer_fail(w, err);
	return 0;
}

static int make_tables(struct aif_writer *w, struct aif_err *err)
{
	struct aif_buf sql = {0};
	int r;

	/*
	 * Exclusive: no shared memory, no locks that network file systems get wrong, and readers
	 * are told that the file is being written. synchronous=OFF: survives the death of a
	 * process, not of the machine, and costs no disk flush. Pages of 4 KiB: each chunk wastes
	 * half a page, which at 16 KiB is 2 MB a minute.
	 */
	aif_buf_printf(
		&sql,
		"PRAGMA page_size=4096; PRAGMA locking_mode=EXCLUSIVE;"
		"PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;"
		"BEGIN EXCLUSIVE; PRAGMA application_id=%d; PRAGMA user_version=%d;",
		AIF_FILE_APPLICATION_ID, AIF_FILE_VERSION);
	aif_schema_sql(&sql);
	aif_buf_printf(&sql, "INSERT INTO recording VALUES(0, %lld, 0, 0); COMMIT;",
		       (long long)w->start_ns);
	if (aif_buf_failed(&sql))
		r = aif_writer_fail_with(w, -ENOMEM, err);
	else if (sqlite3_exec(w->db, aif_buf_str(&sql), NULL, NULL, NULL) != SQLITE_OK)
		r = aif_writer_fail(w, err);
	else
		r = 0;
	aif_buf_finish(&sql);
	return r;
}

/* No half a profile under the final name, nor a journal of it, which SQLite leaves where it
 * cannot read it. */
static void remove_half(struct aif_writer *w)
{
	char *journal = w->is_there ? join(w->path, "-journal") : NULL;

	if (w->is_there)
		unlink(w->path);
	sqlite3_close(w->db);
	w->db = NULL;
	if (journal)
		unlink(journal);
	free(journal);
}

int aif_writer_new_without_file(uint64_t start_ns, struct aif_writer **ret)
{
	struct aif_writer *w = calloc(1, sizeof(*w));

	if (w) {
		w->path = strdup("a recording in memory");
		w->encoder = aif_chunk_encoder_new();
	}
	if (!w || !w->path || !w->encoder) {
		aif_writer_free(w);
		return -ENOMEM;
	}
	w->has_locks = true;
	w->start_ns = w->end_ns = start_ns;
	*ret = w;
	return 0;
}

int aif_writer_new(const char *path, uint64_t start_ns, struct aif_writer **ret,
		   struct aif_err *err)
{
	struct aif_writer *w;
	/* The name must still be short enough with .old behind it. */
	int r = aif_sqlite_path_check_new(path, OLD, "choose a shorter one with -o", err);

	if (!r)
		r = aif_profile_move_away(path, err);
	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (w) {
		w->path = strdup(path);
		w->encoder = aif_chunk_encoder_new();
	}
	if (!w || !w->path || !w->encoder) {
		aif_writer_free(w);
		return aif_err_set(err, -ENOMEM, "cannot write %s: out of memory", path);
	}
	w->start_ns = w->end_ns = start_ns;
	r = create(w, err);
	if (r == 0) {
		r = make_tables(w, err);
		w->is_made = r == 0;
	}
	if (r < 0) {
		remove_half(w);
		aif_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}
