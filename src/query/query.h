/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/profile_names.h"

#include <sqlite3.h>

/*
 * SQL over a profile. The database that the user's SQL sees is a new one in memory, with our tables
 * in it (tables.c) and nothing of the file: a hostile file has no view, trigger or virtual table
 * that could be run. Statements that do not read are refused. Columns: docs/FORMAT.md.
 */
struct aif_query;

/* The names and their profile stay the caller's, and must outlive the query. 0 or -errno with *err. */
int aif_query_new(const struct aif_names *names, struct aif_query **ret, struct aif_err *err);
void aif_query_free(struct aif_query *q);

/* For sqlite3_prepare_v2 and the like; do not close. */
sqlite3 *aif_query_db(struct aif_query *q);

/* Returns how many chunks could not be decoded so far, at the least: their rows are missing from what was answered. */
uint64_t aif_query_damaged(const struct aif_query *q);

/* Names of the tables, NULL at the end; for `export --format sqlite`. */
const char *aif_query_table(size_t i);

/* SQL that makes the view kernel_times over the tables; `temp`: "TEMP" or "", `in`: "" or a
 * database and ".". */
#define AIF_QUERY_VIEWS(temp, in)                                                      \
	"CREATE " temp " VIEW " in                                                     \
	"kernel_times AS SELECT k.name AS name, sum(a.launches) AS launches, "         \
	"sum(a.time_ns) AS time_ns, sum(a.weight_ns) AS busy_ns, "                     \
	"1.0 * sum(a.weight_ns) / (SELECT sum(weight_ns) FROM attributed) AS share "   \
	"FROM attributed a JOIN kernels k ON k.id = a.kernel WHERE a.kind = 'kernel' " \
	"GROUP BY k.name ORDER BY busy_ns DESC;"
