/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Network and cluster file systems may have no POSIX locks (ENOLCK, ENOSYS, EOPNOTSUPP). SQLite
 * neither reads nor writes there by itself. Without locks it does, and nobody is told of others who
 * use the file at the same time.
 */

/* Asks whether the file of `fd` can be locked, by locking a byte that SQLite does not use.
 * Closing fd gives up all locks that this process has on the file: ask before SQLite opens it. */
bool aif_sqlite_has_locks(int fd);

/* Returns the VFS to give to sqlite3_open_v2(); NULL: its default. */
const char *aif_sqlite_vfs(bool has_locks);

/* Without locks a journal may be of a recording that goes on, or of one that was killed. True if
 * the journal of the database at `path` changes or goes away while it is watched, which takes up
 * to 3 s; false if there is none. */
bool aif_sqlite_journal_lives(const char *path);
