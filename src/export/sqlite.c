/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "query/print.h"

/* Writes the tables of `aiflame query` as one SQLite file. */
static int sqlite_write(const struct aif_export *x, const char *path, struct aif_err *err)
{
	struct aif_query *q = NULL;
	int r = aif_query_new(x->names, &q, err);

	if (!r)
		r = aif_query_export(q, path, x->max_bytes, x->stopped, x->scratch, err);
	aif_export_damaged(x, q ? aif_query_damaged(q) : 0);
	aif_query_free(q);
	return r;
}

const struct aif_exporter aif_exporter_sqlite = {
	.name = "sqlite",
	.output = "aiflame.sqlite",
	.suffixes = ".sqlite .sqlite3 .db",
	.takes_all = true,
	.write_path = sqlite_write,
};
