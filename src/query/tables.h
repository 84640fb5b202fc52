/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/calls/host_calls.h"
#include "analysis/launch_index.h"
#include "analysis/queue/queue.h"
#include "query/query.h"
#include "analysis/time.h"
#include "analysis/weights.h"

/* The data that tables read. Bulk rows are decoded when a table is first asked for. */
struct aif_query {
	sqlite3 *db;
	struct aif_temp_files *temp;
	const struct aif_profile *p;
	const struct aif_names *names;
	const struct aif_timeline *timeline;
	struct aif_weights *weights; /* NULL: nothing was left out */
	struct aif_attribution attribution;
#define AIF_BULK(kind, name, row, number) \
	struct row *name;                 \
	size_t name##_len, name##_cap;
#include "profile/bulk.def"
	struct aif_host_calls calls;
	struct aif_queue queue;
	struct aif_launch_index by_launch;
	struct aif_launch_index by_exec; /* the first execution of it */
	struct {
		uint64_t launch;
		const struct aif_launch_row *row;
		bool is_set;
	} last; /* what was looked up last: several columns of a row ask for one launch */
	struct aif_query_extents { /* as text; "" where there is none */
		char grid[36], block[36];
	} * extents;         /* by shape */
	uint32_t *same_exec; /* index -> that of the launch's next, or AIF_NONE */
	unsigned loaded;     /* enum aif_query_needs */
	uint64_t damaged;
};

enum aif_query_needs {
#define AIF_BULK(kind, name, row, number) NEEDS_##kind = 1 << (number),
#include "profile/bulk.def"
	NEEDS_ATTRIBUTION = 1 << 16,
	NEEDS_WEIGHTS = 1 << 17,
	NEEDS_CALLS = 1 << 18,
	NEEDS_QUEUE = 1 << 19,
};

/* Keys in the first column. Joins use them: without it each would be a scan in a scan. */
enum aif_query_key {
	AIF_KEY_OTHER = 0,
	AIF_KEY_ROW,    /* the number of the row */
	AIF_KEY_LAUNCH, /* a launch: of `launches` itself */
	AIF_KEY_EXEC,   /* a launch: the executions of it */
};

struct aif_query_table {
	const char *name, *columns; /* "a, b, c" */
	unsigned needs;
	size_t (*rows)(const struct aif_query *q);
	/* Row `row` exists? A table over a wider one leaves rows out; NULL: all. */
	bool (*has)(const struct aif_query *q, size_t row);
	void (*column)(struct aif_query *q, size_t row, int column, sqlite3_context *ctx);
	enum aif_query_key key;
};

extern const struct aif_query_table aif_query_tables[]; /* ends with a NULL name */

/* definitions.c: the tables that the others name rows of. */
#define AIF_QUERY_DEFINITION(table)                                                  \
	size_t aif_query_##table##_rows(const struct aif_query *q);                  \
	void aif_query_##table##_column(struct aif_query *q, size_t row, int column, \
					sqlite3_context *ctx);
AIF_QUERY_DEFINITION(strings)
AIF_QUERY_DEFINITION(frames)
AIF_QUERY_DEFINITION(frame_names)
AIF_QUERY_DEFINITION(stacks)
AIF_QUERY_DEFINITION(kernels)
AIF_QUERY_DEFINITION(modules)
AIF_QUERY_DEFINITION(processes)
AIF_QUERY_DEFINITION(threads)
AIF_QUERY_DEFINITION(devices)
AIF_QUERY_DEFINITION(clocks)
AIF_QUERY_DEFINITION(graph_nodes)
AIF_QUERY_DEFINITION(collectives)
AIF_QUERY_DEFINITION(durations)
AIF_QUERY_DEFINITION(losses)
AIF_QUERY_DEFINITION(meta)
AIF_QUERY_DEFINITION(programs)
AIF_QUERY_DEFINITION(codes)
#undef AIF_QUERY_DEFINITION
