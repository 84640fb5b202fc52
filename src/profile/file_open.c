/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a profile that may come from anywhere. SQLite is robust against damaged files, but a file
 * can also carry code: views, triggers, generated columns, virtual tables that stand where a table
 * is expected. Nothing of that may run:
 *
 *   - the header is read by us first: not SQLite, not ours, newer, or in WAL mode (which would create
 *     files beside it) never reach SQLite;
 *   - nor does a journal beside it that names another file, which SQLite would delete;
 *   - views, triggers and schema functions are switched off for the connection's whole life, and all
 *     limits are lowered;
 *   - each table must be a plain table, without hidden or generated columns, and is read by a scan;
 *   - ids must be dense, and what they point to must exist.
 */
#include "base/open_named.h"
#include "profile/code_pack.h"
#include "profile/file_internal.h"
#include "profile/schema.h"
#include "profile/sqlite_hostile.h"
#include "profile/sqlite_locks.h"
#include "profile/sqlite_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest string or chunk: sources and device code are megabytes at most. */
#define MAX_VALUE (256 << 20)

/* Rows of one kind: of recordings a byte of the file holds a seventh of one, as times are noise
 * that does not shrink. A million rows may be as regular as they like; more than one a byte
 * beyond that are a bomb. */
#define MIN_ROWS          (UINT64_C(1) << 20)
#define MAX_ROWS_PER_BYTE 1

/* A view writes 100 KB into the cache at once; a busy disk takes a second for that. */
#define OTHERS_MS 3000

static int damaged(const char *path, const char *what, const char *why, struct aif_err *err)
{
	return aif_err_set(err, -EBADMSG, "%s is damaged: %s: %s", path, what, why);
}

static int is_recorded(const char *path, struct aif_err *err)
{
	return aif_err_set(err, -EBUSY,
			   "cannot open %s: it is being recorded; wait until the recording has "
			   "ended, or stop it",
			   path);
}

static int sqlite_failed(sqlite3 *db, const char *path, struct aif_err *err)
{
	int code = aif_sqlite_errno(db);

	if (code == -EBUSY)
		return is_recorded(path, err);
	/* EINVAL: SQL of ours that does not fit the tables. */
	if (code == -EBADMSG || code == -EINVAL)
		return damaged(path, "database", sqlite3_errmsg(db), err);
	return aif_err_set(err, code, "cannot open %s: %s", path, aif_sqlite_why(db));
}

/* ---- before SQLite sees it ------------------------------------------------------------------- */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int check_header(const char *path, const uint8_t *h, ssize_t n, struct aif_err *err)
{
	/* Offsets: SQLite's file format, "the database header". */
	if (n == 0)
		return aif_err_set(err, -EBADMSG, "%s is empty: nothing was recorded", path);
	if (n < 100 || memcmp(h, "SQLite format 3", 16) != 0)
		return aif_err_set(err, -EBADMSG, "%s is not an aiflame profile", path);
	if (be32(h + 68) != AIF_FILE_APPLICATION_ID)
		return aif_err_set(err, -EBADMSG,
				   "%s is not an aiflame profile: it is another program's database",
				   path);
	if (be32(h + 60) > AIF_FILE_VERSION)
		return aif_err_set(
			err, -EPROTONOSUPPORT,
			"cannot read %s: it was made by a newer aiflame (format %u, this "
			"one reads up to %u); upgrade aiflame",
			path, be32(h + 60), (unsigned)AIF_FILE_VERSION);
	if (h[18] != 1 || h[19] != 1)
		return damaged(path, "header", "journal mode", err);
	return 0;
}

static int check_file(const char *path, uint64_t *ret_size, bool *ret_has_locks,
		      struct aif_err *err)
{
	int fd = aif_open_named(path, err), e;
	uint8_t header[100];
	struct stat st;
	ssize_t n = -1;

	if (fd == -EINVAL || fd == -EISDIR)
		return fd;
	if (fd < 0)
		return aif_err_set(err, fd, "cannot open %s: %s%s", path, strerror(-fd),
				   fd == -ENOENT ? "; make one with: aiflame record COMMAND" : "");
	if (fstat(fd, &st) == 0)
		n = pread(fd, header, sizeof(header), 0);
	e = errno;
	*ret_has_locks = aif_sqlite_has_locks(fd);
	close(fd);
	if (n < 0)
		return aif_err_set(err, -e, "cannot read %s: %s", path, strerror(e));
	*ret_size = (uint64_t)st.st_size;
	return check_header(path, header, n, err);
}

/* The magic with which journals begin. At the end of one it says that the name of a "super-journal"
 * lies before it: of a transaction over several databases, which our recorder never makes. After
 * rolling back, SQLite deletes the file of that name, whatever it is. */
static int check_journal(const char *path, struct aif_err *err)
{
	static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	uint8_t end[sizeof(magic)];
	struct aif_err why = {0};
	struct stat st;
	bool bad = false;
	char *name;
	int fd;

	if (asprintf(&name, "%s-journal", path) < 0)
		return aif_err_set(err, -ENOMEM, "cannot open %s: out of memory", path);
	/* SQLite opens a journal whatever it is, and would wait for a FIFO's writer. */
	fd = aif_open_named(name, &why);
	free(name);
	if (fd == -EINVAL || fd == -EISDIR)
		return aif_err_set(err, fd, "%s", why.text);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(end) &&
	    pread(fd, end, sizeof(end), st.st_size - (off_t)sizeof(end)) == (ssize_t)sizeof(end))
		bad = memcmp(end, magic, sizeof(magic)) == 0;
	close(fd);
	return bad ? aif_err_set(
			     err, -EBADMSG,
			     "cannot open %s: %s-journal beside it is not of aiflame, and would "
			     "have a file deleted; move it away",
			     path, path)
		   : 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

static const struct aif_sqlite_limits limits = {
	.value = MAX_VALUE, .sql = 100000, .columns = 100, .pattern = 50};

static int connect(const char *path, bool immutable, bool has_locks, sqlite3 **ret)
{
	char *name = NULL;
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE, r;

	if (immutable) {
		name = aif_sqlite_immutable_uri(path);
		flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
	} else {
		/* Writable where it can be: a killed recorder's journal must be rolled back. */
		if (asprintf(&name, "%s%s", path[0] == '/' ? "" : "./", path) < 0)
			name = NULL;
		flags |= SQLITE_OPEN_READWRITE;
	}
	if (!name)
		return SQLITE_NOMEM;
	r = sqlite3_open_v2(name, ret, flags, aif_sqlite_vfs(has_locks));
	free(name);
	if (r != SQLITE_OK)
		return r;
	aif_sqlite_harden(*ret, &limits);
	/* Reads the first page: everything that can fail at opening fails here. All tables are
	 * read in one transaction, as looking for a journal at each of them takes a third of the
	 * time. */
	return sqlite3_exec(*ret,
			    "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON;"
			    "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1",
			    NULL, NULL, NULL);
}

static int open_file(const char *path, bool has_locks, struct aif_profile *p, struct aif_err *err)
{
	struct aif_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return aif_err_set(err, -ENOMEM, "cannot open %s: out of memory", path);
	p->file = f;
	r = connect(path, false, has_locks, &f->db);
	if (r == SQLITE_OK)
		return 0;
	/* A journal in a directory that we cannot write to. */
	if ((r & 0xff) == SQLITE_READONLY || (r & 0xff) == SQLITE_CANTOPEN) {
		sqlite3_close(f->db);
		f->db = NULL;
		p->notes |= AIF_NOTE_NO_ROLLBACK;
		r = connect(path, true, has_locks, &f->db);
	}
	return r == SQLITE_OK ? 0 : sqlite_failed(f->db, path, err);
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct loader {
	sqlite3 *db;
	sqlite3_stmt *is_plain, *columns_of;
	const char *path;
	struct aif_profile *p;
	struct aif_err *err;
	/* Strings and code are as long as the file at most: it may share pages. */
	uint64_t bytes_left;
	uint64_t unpacked_left; /* bytes of code that was compressed */
};

static int no_memory(const struct loader *l)
{
	return aif_err_set(l->err, -ENOMEM, "cannot open %s: out of memory", l->path);
}

static int prepare(const struct loader *l, const char *sql, sqlite3_stmt **ret)
{
	*ret = NULL;
	return sqlite3_prepare_v2(l->db, sql, -1, ret, NULL) == SQLITE_OK
		       ? 0
		       : sqlite_failed(l->db, l->path, l->err);
}

/* Asked of each table, and compiled once. */
static int prepare_questions(struct loader *l)
{
	int r = prepare(
		l,
		"SELECT count(*)=1 AND sum(type='table' AND rootpage>0 AND sql LIKE "
		"'CREATE TABLE %')=1, count(*) FROM sqlite_schema WHERE name=?1 COLLATE NOCASE",
		&l->is_plain);

	if (r == 0)
		r = prepare(l, "SELECT name, hidden FROM pragma_table_xinfo(?1, 'main')",
			    &l->columns_of);
	return r;
}

/* Finds which of `names` are columns of `table`, which must be a plain table. */
static int find_columns(const struct loader *l, const char *table, const char *const *names,
			size_t n, bool *ret_present)
{
	sqlite3_stmt *s = l->is_plain;
	bool plain = false, generated = false;
	int step, r;

	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	plain = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0);
	sqlite3_reset(s);
	if (!plain)
		return damaged(l->path, table, "not a plain table", l->err);
	s = l->columns_of;
	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);

		generated = generated || sqlite3_column_int(s, 1) != 0;
		for (size_t i = 0; i < n && name; i++)
			if (!strcmp(names[i], name))
				ret_present[i] = true;
	}
	r = step == SQLITE_DONE ? 0 : sqlite_failed(l->db, l->path, l->err);
	sqlite3_reset(s);
	if (r == 0 && generated)
		r = damaged(l->path, table, "generated columns", l->err);
	return r;
}

/* SELECT id, and each of `names`, NULL for those that this file does not have. */
static int select_columns(const struct loader *l, const char *table, const char *const *names,
			  size_t n, sqlite3_stmt **ret)
{
	bool present[32] = {0};
	struct aif_buf sql = {0};
	int r = find_columns(l, table, names, n, present);

	if (r < 0)
		return r;
	aif_buf_puts(&sql, "SELECT id");
	for (size_t i = 0; i < n; i++)
		aif_buf_printf(&sql, present[i] ? ", \"%s\"" : ", NULL /* %s */", names[i]);
	aif_buf_printf(&sql, " FROM main.\"%s\" NOT INDEXED ORDER BY id", table);
	aif_buf_str(&sql);
	r = aif_buf_failed(&sql) ? no_memory(l) : prepare(l, (const char *)sql.data, ret);
	aif_buf_finish(&sql);
	return r;
}

static const void *value_bytes(sqlite3_stmt *s, int at, size_t *ret_len)
{
	/* TEXT is asked for as text: the file's encoding may be UTF-16. */
	const void *p = sqlite3_column_type(s, at) == SQLITE_TEXT ? sqlite3_column_text(s, at)
								  : sqlite3_column_blob(s, at);

	*ret_len = (size_t)sqlite3_column_bytes(s, at);
	return p ? p : "";
}

static int load_strings(struct loader *l)
{
	static const char *const names[] = {"value"};
	struct aif_strset *set = &l->p->strings;
	uint64_t *left = &l->bytes_left;
	sqlite3_stmt *s;
	int step, r = select_columns(l, "string", names, 1, &s);

	if (r < 0)
		return r;
	while (r == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
		uint32_t want = (uint32_t)set->len, got;
		size_t n;
		const void *p = value_bytes(s, 1, &n);

		if (n > *left) {
			r = damaged(l->path, "string", "longer than the file", l->err);
			break;
		}
		*left -= n;
		got = aif_strset_put(set, p, n);
		if (got == AIF_STR_NONE)
			r = no_memory(l);
		else if (got != want || sqlite3_column_int64(s, 0) != want)
			r = damaged(l->path, "string", "ids out of order, or one twice", l->err);
	}
	if (r == 0 && step != SQLITE_DONE)
		r = sqlite_failed(l->db, l->path, l->err);
	sqlite3_finalize(s);
	return r;
}

/* Copies compressed code of the current row, and unpacks it unless it is a whole binary. */
static bool load_packed(sqlite3_stmt *s, int at, struct aif_code *code, struct loader *l)
{
	size_t n = (size_t)sqlite3_column_bytes(s, at);
	const void *from = sqlite3_column_blob(s, at);
	uint8_t *packed;

	if (sqlite3_column_type(s, at) == SQLITE_NULL || n == 0)
		return true;
	if (sqlite3_column_type(s, at) != SQLITE_BLOB || code->bytes || !from || n > l->bytes_left)
		return false;
	l->bytes_left -= n;
	packed = malloc(n);
	if (!packed)
		return false;
	memcpy(packed, from, n);
	code->packed = packed;
	code->packed_size = n;
	return aif_code_load(code, aif_profile_str(l->p, code->arch), &l->unpacked_left) == 0;
}

/* Puts value `at` of the current row into the field. False if it cannot be one. */
static bool load_value(struct loader *l, sqlite3_stmt *s, int at, const struct aif_schema_column *c,
		       uint8_t *row)
{
	uint64_t *bytes_left = &l->bytes_left;
	int type = sqlite3_column_type(s, at);
	int64_t v = sqlite3_column_int64(s, at);
	uint32_t narrow;

	if (c->type == AIF_TYPE_BYTES) {
		struct aif_code *code = (struct aif_code *)(void *)row;
		size_t n = (size_t)sqlite3_column_bytes(s, at);
		const void *from = sqlite3_column_blob(s, at);
		uint8_t *bytes;

		if (type == SQLITE_NULL || n == 0)
			return true;
		if (type != SQLITE_BLOB || n != code->size || !from || n > *bytes_left)
			return false;
		*bytes_left -= n;
		bytes = malloc(n);
		if (!bytes)
			return false;
		memcpy(bytes, from, n);
		code->bytes = bytes;
		return true;
	}
	if (c->type == AIF_TYPE_PACKED)
		return load_packed(s, at, (struct aif_code *)(void *)row, l);
	if (type == SQLITE_NULL) {
		/* A none, or a column that an older aiflame did not write. */
		narrow = c->type == AIF_TYPE_REF ? AIF_NONE : 0;
		memcpy(row + c->offset, &narrow, sizeof(narrow));
		return !c->must;
	}
	if (type != SQLITE_INTEGER)
		return false;
	if (c->type == AIF_TYPE_U64) {
		memcpy(row + c->offset, &v, sizeof(v));
		return true;
	}
	if (c->type == AIF_TYPE_I32 ? v < INT32_MIN || v > INT32_MAX : v < 0 || v > UINT32_MAX)
		return false;
	if (c->type == AIF_TYPE_REF && v == AIF_NONE)
		return false;
	narrow = (uint32_t)v;
	memcpy(row + c->offset, &narrow, sizeof(narrow));
	return true;
}

/* True if the file has nothing of that name, as one that is older than the table. */
static bool is_absent(const struct loader *l, const char *name)
{
	sqlite3_stmt *s = l->is_plain;
	bool absent;

	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	absent = sqlite3_step(s) == SQLITE_ROW && !sqlite3_column_int(s, 1);
	sqlite3_reset(s);
	return absent;
}

static int load_table(struct loader *l, const struct aif_schema_table *t)
{
	const char *names[32];
	uint8_t **rows = (uint8_t **)((char *)l->p + t->rows_at);
	size_t *len = aif_schema_len(l->p, t), *cap = (size_t *)((char *)l->p + t->cap_at);
	sqlite3_stmt *s;
	int step, r;

	if (t->added && is_absent(l, t->name))
		return 0;
	for (size_t c = 0; c < t->columns_len; c++)
		names[c] = t->columns[c].name;
	r = select_columns(l, t->name, names, t->columns_len, &s);
	if (r < 0)
		return r;
	while (r == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
		uint8_t *row;

		if (*len >= AIF_NONE - 1 || sqlite3_column_int64(s, 0) != (int64_t)*len) {
			r = damaged(l->path, t->name, "ids out of order", l->err);
			break;
		}
		if (aif_grow(rows, cap, *len + 1, t->row_size) < 0) {
			r = no_memory(l);
			break;
		}
		row = *rows + *len * t->row_size;
		memset(row, 0, t->row_size);
		++*len;
		for (size_t c = 0; c < t->columns_len && r == 0; c++)
			if (!load_value(l, s, (int)c + 1, &t->columns[c], row))
				r = damaged(l->path, t->name, t->columns[c].name, l->err);
	}
	if (r == 0 && step != SQLITE_DONE)
		r = sqlite_failed(l->db, l->path, l->err);
	sqlite3_finalize(s);
	return r;
}

/* ---- the rules that are not a column's ------------------------------------------------------- */

/* The longest recording, ns: 73 years. Differences of times within it, and before it, do not overflow. */
#define LENGTH_MAX (UINT64_C(1) << 61)

static int load_recording(const struct loader *l)
{
	static const char *const names[] = {"start_ns", "end_ns", "complete"};
	sqlite3_stmt *s;
	uint64_t end;
	int r = select_columns(l, "recording", names, 3, &s);

	if (r < 0)
		return r;
	if (sqlite3_step(s) != SQLITE_ROW) {
		sqlite3_finalize(s);
		return damaged(l->path, "recording", "no row", l->err);
	}
	l->p->start_ns = (uint64_t)sqlite3_column_int64(s, 1);
	end = AIF_MAX((uint64_t)sqlite3_column_int64(s, 2), l->p->start_ns);
	l->p->end_ns = l->p->start_ns + AIF_MIN(end - l->p->start_ns, LENGTH_MAX);
	l->p->kept_ns = l->p->start_ns;
	if (!sqlite3_column_int(s, 3))
		l->p->notes |= AIF_NOTE_CUT_SHORT;
	sqlite3_finalize(s);
	return 0;
}

/* Dropped rows are a loss like any other. */
static int load_dropped(const struct loader *l)
{
	static const char *const names[] = {"rows", "until", "id"};
	struct aif_loss loss = {AIF_REASON_MAX_SIZE, AIF_NONE, AIF_NONE, AIF_NONE, 0};
	struct aif_profile *p = l->p;
	sqlite3_stmt *s;
	int step, r = select_columns(l, "dropped", names, 3, &s);

	if (r < 0)
		return r;
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t until = (uint64_t)sqlite3_column_int64(s, 2);

		loss.count += (uint64_t)sqlite3_column_int64(s, 1);
		if (sqlite3_column_int(s, 3) == AIF_CHUNK_LAUNCHES)
			p->dropped_launches = (uint64_t)sqlite3_column_int64(s, 1);
		p->kept_ns = AIF_MAX(p->kept_ns, AIF_MIN(until, p->end_ns));
	}
	r = step == SQLITE_DONE ? 0 : sqlite_failed(l->db, l->path, l->err);
	sqlite3_finalize(s);
	if (r < 0 || !loss.count)
		return r;
	p->notes |= AIF_NOTE_TRIMMED;
	if (aif_grow(&p->losses, &p->losses_cap, p->losses_len + 1, sizeof(loss)) < 0)
		return no_memory(l);
	p->losses[p->losses_len++] = loss;
	return 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint32_t index_u32(sqlite3_stmt *s, int at)
{
	int64_t v = sqlite3_column_int64(s, at);

	return sqlite3_column_type(s, at) == SQLITE_INTEGER && v >= 0 && v < UINT32_MAX
		       ? (uint32_t)v
		       : AIF_NONE;
}

static int load_chunks(const struct loader *l)
{
	static const char *const names[] = {"kind",  "rows", "clock",      "process",
					    "start", "end",  "launch_min", "launch_max"};
	struct aif_file *f = l->p->file;
	sqlite3_stmt *s;
	int step, r = select_columns(l, "chunk", names, AIF_ARRAY_LEN(names), &s);

	if (r < 0)
		return r;
	while (r == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
		uint32_t kind = index_u32(s, 1);
		struct aif_file_chunks *k;

		/* Kinds that a newer aiflame added are not for us. */
		if (kind == 0 || kind >= AIF_CHUNK_KIND_COUNT)
			continue;
		k = &f->kinds[kind];
		if (aif_grow(&k->chunk, &k->cap, k->len + 1, sizeof(*k->chunk)) < 0) {
			r = no_memory(l);
			break;
		}
		k->chunk[k->len++] = (struct aif_file_chunk){
			.id = sqlite3_column_int64(s, 0),
			.rows = index_u32(s, 2),
			.clock = index_u32(s, 3),
			.process = index_u32(s, 4),
			.start = (uint64_t)sqlite3_column_int64(s, 5),
			.end = (uint64_t)sqlite3_column_int64(s, 6),
			.launch_min = (uint64_t)sqlite3_column_int64(s, 7),
			.launch_max = (uint64_t)sqlite3_column_int64(s, 8),
		};
	}
	if (r == 0 && step != SQLITE_DONE)
		r = sqlite_failed(l->db, l->path, l->err);
	sqlite3_finalize(s);
	if (r == 0)
		r = prepare(l, "SELECT data FROM main.chunk NOT INDEXED WHERE id=?", &f->get_chunk);
	return r;
}

int aif_profile_open(const char *path, struct aif_profile *ret, struct aif_err *err)
{
	struct aif_profile p = {0};
	struct loader l = {.path = path, .p = &p, .err = err};
	uint64_t size = 0;
	bool has_locks = true;
	int r = check_file(path, &size, &has_locks, err);

	if (r < 0)
		return r;
	r = aif_sqlite_path_check(path, "open", "move it to a directory with a shorter name", err);
	if (!r)
		r = check_journal(path, err);
	if (!r && !has_locks && aif_sqlite_journal_lives(path))
		r = is_recorded(path, err);
	if (r < 0)
		return r;
	if (!has_locks)
		p.notes |= AIF_NOTE_NO_LOCKS;
	r = open_file(path, has_locks, &p, err);
	l.db = p.file ? p.file->db : NULL;
	l.bytes_left = size;
	l.unpacked_left = AIF_CODE_ALL_MAX;
	if (p.file)
		p.file->max_rows = MIN_ROWS + size * MAX_ROWS_PER_BYTE;
	if (r == 0)
		r = prepare_questions(&l);
	if (r == 0)
		r = load_recording(&l);
	if (r == 0)
		r = load_strings(&l);
	for (size_t i = 0; i < AIF_TABLE_COUNT && r == 0; i++)
		r = load_table(&l, &aif_schema_tables[i]);
	for (size_t i = 0; i < AIF_TABLE_COUNT && r == 0; i++) {
		const char *bad = aif_schema_bad_ref(&p, &aif_schema_tables[i]);

		if (bad)
			r = damaged(path, aif_schema_tables[i].name, bad, err);
	}
	if (r == 0 && !aif_schema_check_stacks(&p))
		r = damaged(path, "stack", "a stack before its caller's", err);
	if (r == 0)
		r = find_columns(&l, "cache", NULL, 0, NULL);
	if (r == 0)
		r = load_dropped(&l);
	if (r == 0)
		r = load_chunks(&l);
	sqlite3_finalize(l.is_plain);
	sqlite3_finalize(l.columns_of);
	if (r < 0) {
		aif_profile_finish(&p);
		return r;
	}
	sqlite3_exec(l.db, "COMMIT", NULL, NULL, NULL);
	/* No recorder has the file: who holds it is another view, for as long as it writes its cache. */
	sqlite3_busy_timeout(l.db, OTHERS_MS);
	aif_profile_settle(&p);
	*ret = p;
	return 0;
}
