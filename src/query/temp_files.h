/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Bounds the temporary files that SQLite writes for a statement: rows that are sorted, grouped or recursed over and exceed
 * its cache. A layer over SQLite's own file system counts what they hold, all of them together; one write more is refused
 * as on a full disk.
 */
struct aif_temp_files;

/* Returns NULL if there is no memory. Nothing is bounded yet. */
struct aif_temp_files *aif_temp_files_new(void);
/* Frees it, after the last database that uses it has been closed. */
void aif_temp_files_free(struct aif_temp_files *t);

/* The name to give to sqlite3_open_v2(). */
const char *aif_temp_files_vfs(const struct aif_temp_files *t);

/* `max_bytes`: 0 = no bound. */
void aif_temp_files_bound(struct aif_temp_files *t, uint64_t max_bytes);

/* True once a write was refused. */
bool aif_temp_files_over(const struct aif_temp_files *t);
