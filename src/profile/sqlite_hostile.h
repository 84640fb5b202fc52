/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

/*
 * A connection to a file that may come from anywhere. SQLite is robust against damage, but a file
 * can carry code: views, triggers, functions in its schema. They are off for the connection's whole
 * life, and its limits are low.
 */
struct aif_sqlite_limits { /* what files of one kind need: bytes of a value, of a statement (their schema's too) ... */
	int value, sql, columns, pattern;
};
void aif_sqlite_harden(sqlite3 *db, const struct aif_sqlite_limits *limits);

/* "file:" URI with immutable=1, so that nothing is made beside the file; every byte of the path
 * escaped that needs it. For free(), or NULL. */
char *aif_sqlite_immutable_uri(const char *path);
