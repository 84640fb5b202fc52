/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sqlite_hostile.h"

#include "base/buf.h"

void aif_sqlite_harden(sqlite3 *db, const struct aif_sqlite_limits *l)
{
	static const int off[] = {
		SQLITE_DBCONFIG_ENABLE_TRIGGER,  SQLITE_DBCONFIG_ENABLE_VIEW,
		SQLITE_DBCONFIG_TRUSTED_SCHEMA,  SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
		SQLITE_DBCONFIG_WRITABLE_SCHEMA, SQLITE_DBCONFIG_DQS_DDL,
		SQLITE_DBCONFIG_DQS_DML};
	const int limits[][2] = {
		{SQLITE_LIMIT_LENGTH, l->value},
		{SQLITE_LIMIT_SQL_LENGTH, l->sql},
		{SQLITE_LIMIT_COLUMN, l->columns},
		{SQLITE_LIMIT_EXPR_DEPTH, 50},
		{SQLITE_LIMIT_COMPOUND_SELECT, 5},
		{SQLITE_LIMIT_VDBE_OP, 25000},
		{SQLITE_LIMIT_FUNCTION_ARG, 8},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, l->pattern},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 100},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(off); i++)
		sqlite3_db_config(db, off[i], 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	for (size_t i = 0; i < AIF_ARRAY_LEN(limits); i++)
		sqlite3_limit(db, limits[i][0], limits[i][1]);
}

char *aif_sqlite_immutable_uri(const char *path)
{
	struct aif_buf b = {0};

	aif_buf_puts(&b, path[0] == '/' ? "file:" : "file:./");
	for (const char *s = path; *s; s++)
		if (*s == '%' || *s == '?' || *s == '#')
			aif_buf_printf(&b, "%%%02x", (unsigned char)*s);
		else
			aif_buf_putc(&b, *s);
	aif_buf_puts(&b, "?immutable=1");
	aif_buf_str(&b);
	if (aif_buf_failed(&b))
		aif_buf_finish(&b);
	return (char *)b.data;
}
