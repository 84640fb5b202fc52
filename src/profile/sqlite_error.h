/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

/* A negative errno for what SQLite said last, and words for it. */
int aif_sqlite_errno(sqlite3 *db);
const char *aif_sqlite_why(sqlite3 *db);
