/* SPDX-License-Identifier: Apache-2.0 */
#include "query/temp_files.h"
#include "query/tables.h"

#include "analysis/cpu_totals.h"
#include "analysis/facts.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Virtual table module for all tables: `aux` says which. */
struct vtab {
	sqlite3_vtab base;
	struct aif_query *q;
	const struct aif_query_table *table;
};
struct cursor {
	sqlite3_vtab_cursor base;
	size_t row, rows;
	bool by_key; /* only what the key is equal to */
};
struct aux {
	struct aif_query *q;
	const struct aif_query_table *table;
};

static int connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret,
		   char **message)
{
	const struct aux *aux = arg;
	struct vtab *v = calloc(1, sizeof(*v));
	char sql[512];
	int r;

	(void)argc, (void)argv;
	if (!v)
		return SQLITE_NOMEM;
	v->q = aux->q;
	v->table = aux->table;
	snprintf(sql, sizeof(sql), "CREATE TABLE x(%s)", aux->table->columns);
	r = sqlite3_declare_vtab(db, sql);
	if (r != SQLITE_OK) {
		*message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
		free(v);
	} else {
		*ret = &v->base;
	}
	return r;
}

static int disconnect(sqlite3_vtab *v)
{
	free(v);
	return SQLITE_OK;
}

/* A question for one value of the key is answered by it, any other by a scan, and SQLite filters. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct vtab *v = (const struct vtab *)base;

	for (int i = 0; i < info->nConstraint && v->table->key != AIF_KEY_OTHER; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (!c->usable || c->iColumn != 0 || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
		info->estimatedRows = 1;
		info->estimatedCost = 1;
		return SQLITE_OK;
	}
	info->estimatedRows = v->table->needs ? 1000000 : 1000;
	info->estimatedCost = (double)info->estimatedRows;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)v;
	if (!c)
		return SQLITE_NOMEM;
	*ret = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

#define AIF_BULK(kind, name, row, number)                                                     \
	static int load_##name(void *arg, const struct row *rows, size_t n)                   \
	{                                                                                     \
		struct aif_query *q = arg;                                                    \
		if (aif_grow(&q->name, &q->name##_cap, q->name##_len + n, sizeof(*rows)) < 0) \
			return -ENOMEM;                                                       \
		memcpy(q->name + q->name##_len, rows, n * sizeof(*rows));                     \
		q->name##_len += n;                                                           \
		return 0;                                                                     \
	}
#include "profile/bulk.def"

/* Leaves out what the recorder saw from outside: it repeats times that other rows have, without their stacks. */
static void leave_out_seen(struct aif_query *q)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->cpu_len; i++)
		if (!q->cpu[i].waiting || !aif_cpu_seen(q->p, q->cpu[i].stack))
			q->cpu[kept++] = q->cpu[i];
	q->cpu_len = kept;
}

static int index_launches(struct aif_query *q)
{
	int r;

	aif_launch_index_finish(&q->by_launch);
	r = AIF_LAUNCH_INDEX_INIT(&q->by_launch, q->launches, q->launches_len);
	for (size_t i = 0; i < q->launches_len && !r; i++)
		r = aif_launch_index_put(&q->by_launch, q->launches[i].launch, (uint32_t)i);
	return r;
}

/* "64x32x1" of each shape, for as many launches as have it. */
static int extents(struct aif_query *q)
{
	size_t n = q->p->shapes_len;

	free(q->extents);
	q->extents = calloc(AIF_MAX(n, 1), sizeof(*q->extents));
	if (!q->extents)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint32_t *g = q->p->shapes[i].grid, *b = q->p->shapes[i].block;

		if (g[0])
			snprintf(q->extents[i].grid, sizeof(q->extents[i].grid),
				 "%" PRIu32 "x%" PRIu32 "x%" PRIu32, g[0], g[1], g[2]);
		if (b[0])
			snprintf(q->extents[i].block, sizeof(q->extents[i].block),
				 "%" PRIu32 "x%" PRIu32 "x%" PRIu32, b[0], b[1], b[2]);
	}
	return 0;
}

/* Chains the executions of each launch, the first found by the index. */
static int index_execs(struct aif_query *q)
{
	int r;

	aif_launch_index_finish(&q->by_exec);
	free(q->same_exec);
	q->same_exec = malloc(AIF_MAX(q->execs_len, 1) * sizeof(*q->same_exec));
	if (!q->same_exec)
		return -ENOMEM;
	r = AIF_LAUNCH_INDEX_INIT(&q->by_exec, q->execs, q->execs_len);
	for (size_t i = q->execs_len; i-- > 0 && !r;) {
		q->same_exec[i] = aif_launch_index_get(&q->by_exec, q->execs[i].launch);
		r = aif_launch_index_put(&q->by_exec, q->execs[i].launch, (uint32_t)i);
	}
	return r;
}

/* Measures queues. Lengths, which are put one after another, have none. */
static int load_queue(struct aif_query *q)
{
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	int r = 0;

	if (q->p->traits.is_lengths)
		return 0;
	r = aif_exec_timeline_get(q->p, NULL, &t);
	if (!r)
		r = aif_utilization_get(q->p, t, &u);
	if (!r)
		r = aif_queue_make(q->p, t, u, &q->queue);
	q->queue.damaged += t->damaged;
	aif_facts_put(u);
	aif_facts_put(t);
	return r;
}

/* Prepares rows of a kind that were decoded for questions. */
static int prepare(struct aif_query *q, enum aif_query_needs rows)
{
	int r = 0;

	if (rows == NEEDS_LAUNCHES) {
		r = index_launches(q);
		r = r < 0 ? r : extents(q);
	} else if (rows == NEEDS_EXECS) {
		r = index_execs(q);
	} else if (rows == NEEDS_CPU) {
		leave_out_seen(q);
	}
	return r;
}

/* Decodes what a table needs and is not there yet. A part that failed is tried again the next time. */
static int have(struct aif_query *q, unsigned needs, struct aif_err *err)
{
	uint64_t bad = 0;
	int r = 0;

	needs &= ~q->loaded;
	if (needs & NEEDS_LAUNCHES)
		q->last.is_set = false;
#define AIF_BULK(kind, name, row, number)                           \
	if (!r && (needs & NEEDS_##kind)) {                         \
		q->name##_len = 0;                                  \
		r = aif_profile_##name(q->p, load_##name, q, &bad); \
		r = r < 0 ? r : prepare(q, NEEDS_##kind);           \
		q->damaged += r < 0 ? 0 : bad;                      \
		q->loaded |= r < 0 ? 0 : NEEDS_##kind;              \
	}
#include "profile/bulk.def"
	if (!r && (needs & NEEDS_CALLS)) {
		r = aif_host_calls_read(q->p, NULL, &q->calls);
		q->loaded |= r < 0 ? 0 : NEEDS_CALLS;
		if (r < 0)
			aif_host_calls_finish(&q->calls);
	}
	if (!r && (needs & NEEDS_QUEUE)) {
		r = load_queue(q);
		q->loaded |= r < 0 ? 0 : NEEDS_QUEUE;
		if (r < 0)
			aif_queue_finish(&q->queue);
	}
	if (!r && (needs & NEEDS_WEIGHTS)) {
		r = aif_weights_new(q->p, &q->weights);
		q->loaded |= r < 0 ? 0 : NEEDS_WEIGHTS;
	}
	if (!r && (needs & NEEDS_ATTRIBUTION)) {
		r = aif_attribution_compute(q->p, NULL, &q->attribution, err);
		q->loaded |= r < 0 ? 0 : NEEDS_ATTRIBUTION;
	}
	return r;
}

static void step(struct cursor *c)
{
	const struct vtab *v = (const struct vtab *)c->base.pVtab;

	if (!c->by_key)
		c->row++;
	else if (v->table->key == AIF_KEY_EXEC && v->q->same_exec[c->row] != AIF_NONE)
		c->row = v->q->same_exec[c->row];
	else
		c->row = c->rows;
}

static void skip_absent(struct cursor *c)
{
	const struct vtab *v = (const struct vtab *)c->base.pVtab;

	while (v->table->has && c->row < c->rows && !v->table->has(v->q, c->row))
		step(c);
}

/* The first row whose key is `key`, or one that is behind all. */
static size_t find_key(const struct vtab *v, sqlite3_int64 key)
{
	switch (v->table->key) {
	case AIF_KEY_LAUNCH:
		return aif_launch_index_get(&v->q->by_launch, (uint64_t)key);
	case AIF_KEY_EXEC:
		return aif_launch_index_get(&v->q->by_exec, (uint64_t)key);
	default:
		return (uint64_t)key;
	}
}

static int filter(sqlite3_vtab_cursor *base, int index, const char *index_name, int argc,
		  sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	struct vtab *v = (struct vtab *)base->pVtab;
	struct aif_err err = {0};
	int r;

	(void)index_name;
	r = have(v->q, v->table->needs, &err);
	if (r < 0) {
		sqlite3_free(v->base.zErrMsg);
		v->base.zErrMsg = sqlite3_mprintf("%s: %s", v->table->name,
						  err.text[0] ? err.text : strerror(-r));
		return r == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
	}
	c->row = 0;
	c->rows = v->table->rows(v->q);
	c->by_key = index == 1 && argc == 1;
	/* Only a whole number can be equal to one; the others are compared by SQLite, as ever. */
	if (c->by_key && sqlite3_value_numeric_type(argv[0]) == SQLITE_INTEGER)
		c->row = AIF_MIN(find_key(v, sqlite3_value_int64(argv[0])), c->rows);
	else if (c->by_key && sqlite3_value_type(argv[0]) == SQLITE_NULL)
		c->row = c->rows;
	else
		c->by_key = false;
	skip_absent(c);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	step(c);
	skip_absent(c);
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (const struct cursor *)base;

	return c->row >= c->rows;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct vtab *v = (struct vtab *)base->pVtab;

	v->table->column(v->q, ((struct cursor *)base)->row, i, ctx);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct cursor *)base)->row;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

/* Reading is all that a query may do. */
static int authorize(void *arg, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)arg, (void)c, (void)d;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_PRAGMA: /* names of columns */
		return a && (!sqlite3_stricmp(a, "table_info") ||
			     !sqlite3_stricmp(a, "table_xinfo") ||
			     !sqlite3_stricmp(a, "table_list"))
			       ? SQLITE_OK
			       : SQLITE_DENY;
	case SQLITE_FUNCTION:
		return b && !sqlite3_stricmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

/* Makes a table, so that sqlite_master lists it with its columns. Before the authorizer, which would refuse it. */
static int make(sqlite3 *db, const struct aif_query_table *table)
{
	char sql[1024];

	snprintf(sql, sizeof(sql), "CREATE VIRTUAL TABLE %s USING %s(%s)", table->name, table->name,
		 table->columns);
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EINVAL;
}

/* SQLite makes this table when it is first named, which the authorizer would refuse. */
#define COLUMNS_OF "SELECT 1 FROM pragma_table_info('meta') LIMIT 0"

int aif_query_new(const struct aif_names *names, struct aif_query **ret, struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_query *q = calloc(1, sizeof(*q));
	int r = q ? aif_timeline_get(p, &q->timeline) : -ENOMEM;

	if (!r && !(q->temp = aif_temp_files_new()))
		r = -ENOMEM;
	if (!r && sqlite3_open_v2(":memory:", &q->db,
				  /* not _MEMORY, which what is attached to it would be, too */
				  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				  aif_temp_files_vfs(q->temp)) != SQLITE_OK)
		r = -ENOMEM;
	for (size_t i = 0; !r && aif_query_tables[i].name; i++) {
		struct aux *aux = malloc(sizeof(*aux));

		if (aux)
			*aux = (struct aux){.q = q, .table = &aif_query_tables[i]};
		/* SQLite frees aux, also when this fails. */
		if (!aux || sqlite3_create_module_v2(q->db, aif_query_tables[i].name, &module, aux,
						     free) != SQLITE_OK)
			r = -ENOMEM;
	}
	for (size_t i = 0; !r && aif_query_tables[i].name; i++)
		r = make(q->db, &aif_query_tables[i]);
	if (!r && sqlite3_exec(q->db, AIF_QUERY_VIEWS("TEMP", "") COLUMNS_OF, NULL, NULL, NULL) !=
			  SQLITE_OK)
		r = -EINVAL;
	if (r < 0) {
		aif_err_set(err, r, "query: %s", q && q->db ? sqlite3_errmsg(q->db) : strerror(-r));
		aif_query_free(q);
		return r;
	}
	if (q) {
		q->p = p;
		q->names = names;
		sqlite3_set_authorizer(q->db, authorize, NULL);
	}
	*ret = q;
	return 0;
}

void aif_query_free(struct aif_query *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	aif_temp_files_free(q->temp);
	aif_facts_put(q->timeline);
	aif_weights_free(q->weights);
	aif_attribution_finish(&q->attribution);
	aif_launch_index_finish(&q->by_launch);
	aif_launch_index_finish(&q->by_exec);
	free(q->extents);
	free(q->same_exec);
#define AIF_BULK(kind, name, row, number) free(q->name);
#include "profile/bulk.def"
	aif_host_calls_finish(&q->calls);
	aif_queue_finish(&q->queue);
	free(q);
}

uint64_t aif_query_damaged(const struct aif_query *q)
{
	/* Calls and queues are made of the same parts as other tables, which are not to be counted again. */
	return AIF_MAX(q->damaged, AIF_MAX(q->calls.damaged, q->queue.damaged));
}

sqlite3 *aif_query_db(struct aif_query *q)
{
	return q->db;
}

const char *aif_query_table(size_t i)
{
	return aif_query_tables[i].name;
}
