/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "text/out.h"
#include "text/table.h"
#include "query/query.h"

/* Limits of a statement: CPU time, and bytes of temporary files (temp_files.h). 0 = any. */
struct aif_query_limits {
	uint64_t cpu_ns, temp_bytes;
};

/* Runs one SQL statement and writes its rows as they come. `columns`: of the terminal, for the
 * plain format; 0 = no end. -EINVAL with *err when SQLite refuses it, -ETIME or -EFBIG when it took more than `limits`. */
int aif_query_print(struct aif_query *q, const char *sql, enum aif_table_format format,
		    size_t columns, const struct aif_query_limits *limits, struct aif_out *out,
		    struct aif_err *err);

/* Writes all tables as plain tables of a new SQLite file, for any other program. "-": to
 * standard output, by way of a temporary file. max_bytes: -EFBIG beyond, 0: no end. stopped:
 * nonzero when it is to stop, may be NULL; scratch: has its files until they are whole, too. 0
 * or -errno with *err. */
int aif_query_export(struct aif_query *q, const char *path, uint64_t max_bytes,
		     const volatile sig_atomic_t *stopped, struct aif_scratch *scratch,
		     struct aif_err *err);
