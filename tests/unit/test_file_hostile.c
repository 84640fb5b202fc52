/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles that somebody made, or broke, on purpose. Opening one either fails with one line of plain
 * text, or gives tables and rows in which nothing points anywhere else; then reading everything and
 * attributing it ends, soon, and nothing that lies in the file has been run.
 */
#include "fixture_profile.h"

#include "base/map.h"
#include "profile/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "see_profile.h"

enum { PAGE = 4096, ROWS = 100, FLIPS = 10000, PATIENCE_S = 20 };

static const char *const files[] = {"p", "p-journal", "victim", "canary"};

/* Millions of small allocations: a quarter of the time is spent on remembering who made them. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=4:quarantine_size_mb=16";
}

static int enter_directory(void **state)
{
	/* In memory where there is such a place: reading may write a cache, with a flush. */
	char *dir = strdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/aiflame-test-XXXXXX"
							 : "/tmp/aiflame-test-XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++)
		unlink(files[i]);
	if (chdir("/") < 0 || rmdir(*state) < 0)
		return -1;
	free(*state);
	return 0;
}

static void remove_files(void)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++)
		unlink(files[i]);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct aif_writer *begin_profile(const struct aif_profile *p)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	remove_files();
	assert_ok(aif_writer_new("p", p->start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, p, &err), &err);
	return w;
}

static void write_fixture(void)
{
	struct aif_launch_row l[ROWS];
	struct aif_exec_row x[ROWS];
	struct aif_sample_row s[ROWS];
	struct aif_window_row windows[1] = {fixture_window(0)};
	struct aif_profile p;
	struct aif_err err = {0};
	struct aif_writer *w;

	memset(l, 0, sizeof(l));
	for (uint64_t i = 0; i < ROWS; i++) {
		l[i] = fixture_launch(i);
		x[i] = fixture_exec(i);
		s[i] = fixture_sample(i);
	}
	fixture_profile(&p);
	w = begin_profile(&p);
	assert_ok(aif_writer_launches(w, l, ROWS, &err), &err);
	assert_ok(aif_writer_execs(w, x, ROWS, &err), &err);
	assert_ok(aif_writer_samples(w, s, ROWS, &err), &err);
	assert_ok(aif_writer_windows(w, windows, 1, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
}

/* ---- reading all of it ----------------------------------------------------------------------- */

/* One line that a terminal shows as it is. */
static void assert_plain(const char *text)
{
	size_t n = strlen(text);

	assert_in_range(n, 1, 400);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			fail_msg("a control character in: %s", text);
}

/* 0, or why "p" is refused; *ret_err (may be NULL) says it in words. */
static int try(struct aif_err *ret_err, struct seen *ret_seen)
{
	struct aif_profile p, untouched;
	struct aif_err err = {0};
	struct seen seen = {0};
	int r;

	memset(&p, 0x5a, sizeof(p));
	untouched = p;
	alarm(PATIENCE_S); /* what never ends kills this program */
	r = aif_profile_open("p", &p, &err);
	if (r == 0) {
		see_everything(&p, &seen);
		aif_profile_finish(&p);
	} else {
		assert_true(r < 0 && err.code == r);
		assert_plain(err.text);
		assert_memory_equal(&p, &untouched, sizeof(p));
	}
	alarm(0);
	if (ret_err)
		*ret_err = err;
	if (ret_seen)
		*ret_seen = seen;
	return r;
}

static void assert_refused(int code, const char *why)
{
	struct aif_err err;

	if (try(&err, NULL) != code || !strstr(err.text, why))
		fail_msg("%d \"%s\", not %d \"%s\"", err.code, err.text, code, why);
}

static void assert_read(size_t rows)
{
	struct aif_err err;
	struct seen seen;

	assert_ok(try(&err, &seen), &err);
	assert_int_equal(seen.rows, rows);
}

/* ---- not a profile --------------------------------------------------------------------------- */

static void put_be32(size_t at, uint32_t v)
{
	uint8_t b[] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
	int fd = open("p", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, b, 4, (off_t)at), 4);
	close(fd);
}

static void test_not_a_profile(void **state)
{
	char text[5000];

	(void)state;
	remove_files();
	assert_refused(-ENOENT, "aiflame record");
	write_file("p", "", 0);
	assert_refused(-EBADMSG, "is empty");
	memset(text, 'x', sizeof(text));
	write_file("p", text, sizeof(text));
	assert_refused(-EBADMSG, "is not an aiflame profile");
	write_file("p", "SQLite format 3", 16);
	assert_refused(-EBADMSG, "is not an aiflame profile");
	unlink("p");
	run_sql("p", "CREATE TABLE chunk(id)");
	assert_refused(-EBADMSG, "another program's database");
	run_sql("p", "PRAGMA application_id=1097418289"); /* AiF1: and nothing in it */
	assert_refused(-EBADMSG, "is damaged: recording");
	unlink("p");
	assert_int_equal(mkdir("p", 0700), 0);
	assert_refused(-EISDIR, "cannot read p");
	assert_int_equal(rmdir("p"), 0);
	assert_int_equal(mkfifo("p", 0600), 0);
	assert_refused(-EINVAL, "cannot read p");
	unlink("p");
}

static void test_other_versions(void **state)
{
	(void)state;
	write_fixture();
	run_sql("p", "PRAGMA user_version=1");
	assert_refused(-EPROTONOSUPPORT, "upgrade aiflame");
	run_sql("p", "PRAGMA user_version=-1");
	assert_refused(-EPROTONOSUPPORT, "upgrade aiflame");
	run_sql("p", "PRAGMA user_version=0; PRAGMA application_id=-1");
	assert_refused(-EBADMSG, "another program's database");
	write_fixture();
	put_be32(18, 0x02020000); /* WAL: reading it would make files */
	assert_refused(-EBADMSG, "journal mode");
	assert_int_not_equal(access("p-wal", F_OK), 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void test_truncated(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	m = read_image("p");
	for (size_t n = 0; n < m.len; n += n < 200 ? 1 : n % 512 ? 512 - n % 512 : 511) {
		write_file("p", m.bytes, n);
		/* What the last page lost, SQLite takes for zeros. */
		if (try(NULL, NULL) == 0)
			assert_true(n / PAGE == (m.len - 1) / PAGE);
		unlink("p-journal");
	}
	write_file("p", m.bytes, m.len);
	assert_read(3 * ROWS + 1);
	free(m.bytes);
}

/* Half of the damage where something is written, half anywhere. */
static size_t place(const struct image *m, uint64_t *rng)
{
	size_t at = (size_t)(aif_mix64(++*rng) % m->len);

	for (int i = 0; i < 64 && *rng % 2 && !m->bytes[at]; i++)
		at = (size_t)(aif_mix64(*rng + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15)) %
			      m->len);
	return at;
}

/* Flips a bit, or puts another byte, at `places` places, two to a file. */
static void flip(const struct image *m, int places, uint64_t seed)
{
	uint64_t rng = seed;
	size_t refused = 0, rows = 0;
	struct seen seen;

	for (int i = 0; i < places / 2; i++) {
		size_t at[2];
		uint8_t was[2];

		for (int k = 0; k < 2; k++) {
			uint64_t how;

			at[k] = place(m, &rng);
			how = aif_mix64(rng ^ UINT64_C(0x5555555555));
			was[k] = m->bytes[at[k]];
			m->bytes[at[k]] = how % 4 ? was[k] ^ (uint8_t)(1u << (how >> 8) % 8)
						  : (uint8_t)(how >> 8);
		}
		write_file("p", m->bytes, m->len);
		for (int k = 2; k-- > 0;)
			m->bytes[at[k]] = was[k];
		refused += try(NULL, &seen) < 0;
		rows += seen.rows;
	}
	/* Neither everything nor nothing is refused: the damage was where it matters. */
	assert_in_range(refused, places / 100, places * 2 / 5);
	assert_true(rows > (size_t)places / 10 * 2 * ROWS);
	write_file("p", m->bytes, m->len);
	assert_read(3 * ROWS + 1);
}

static void test_flipped(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	/* Cut short: what is computed is not kept. */
	run_sql("p", "UPDATE recording SET complete=0");
	m = read_image("p");
	flip(&m, FLIPS * 6 / 10, 1);
	free(m.bytes);
}

static void test_flipped_with_cache(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	assert_read(3 * ROWS + 1); /* fills it */
	assert_int_equal(ask_sql("SELECT count(*) FROM cache WHERE length(data) > 100"), 1);
	m = read_image("p");
	flip(&m, FLIPS * 4 / 10, 2);
	free(m.bytes);
}

static void test_first_page(void **state)
{
	struct image m;

	(void)state;
	write_fixture();
	m = read_image("p");
	for (size_t i = 0; i < 100 * 8; i++) {
		m.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		write_file("p", m.bytes, m.len);
		m.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		try(NULL, NULL);
	}
	free(m.bytes);
}

/* ---- a cache that lies ----------------------------------------------------------------------- */

static void test_forged_cache(void **state)
{
	static const char *const forged[] = {
		"UPDATE cache SET data=zeroblob(0)",
		"UPDATE cache SET data=zeroblob(100000)",
		"UPDATE cache SET data='text'",
		"UPDATE cache SET data=NULL",
		"UPDATE cache SET data=7",
		"UPDATE cache SET data=substr(data, 1, length(data) - 1)",
		"UPDATE cache SET data=data||data",
		/* A frame that says that it holds 2^63 bytes, or 64 GiB. */
		"UPDATE cache SET data=x'28b52ffde0000000000000008001000000'",
		"UPDATE cache SET data=x'28b52ffde0000000001000000001000000'",
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(forged); i++) {
		write_fixture();
		assert_read(3 * ROWS + 1);
		run_sql("p", forged[i]);
		assert_read(3 * ROWS + 1);
	}
}

/* ---- tables that are not, or contradict ------------------------------------------------------ */

struct hostile {
	const char *sql;
	int code;        /* 0: it can be read */
	const char *why; /* or what the line must have */
};

/* Each runs on a fresh fixture to which a table of canaries was added. */
static void assert_hostile(const struct hostile *h)
{
	struct image before, after;
	struct aif_err err;
	int r;

	write_fixture();
	run_sql("p", "CREATE TABLE canary(alive); INSERT INTO canary VALUES(1)");
	run_sql("p", h->sql);
	before = read_image("p");
	r = try(&err, NULL);
	if (r != h->code || (r < 0 && !strstr(err.text, h->why)))
		fail_msg("%s: %d \"%s\", not %d \"%s\"", h->sql, r, err.text, h->code, h->why);
	after = read_image("p");
	if (r == 0) /* but for the cache */
		assert_int_equal(ask_sql("SELECT count(*)=1 AND sum(alive)=1 FROM canary"), 1);
	else
		assert_true(before.len == after.len &&
			    !memcmp(before.bytes, after.bytes, before.len));
	assert_int_not_equal(access("canary", F_OK), 0);
	free(before.bytes);
	free(after.bytes);
}

#define ASSERT_ALL(list)                                         \
	do {                                                     \
		for (size_t i = 0; i < AIF_ARRAY_LEN(list); i++) \
			assert_hostile(&(list)[i]);              \
	} while (0)

#define AS_VIEW(table, select)                           \
	"ALTER TABLE " table " RENAME TO was_" table ";" \
	"CREATE VIEW " table " AS " select

static void test_views_and_triggers(void **state)
{
	static const struct hostile list[] = {
		{AS_VIEW("string", "SELECT * FROM was_string"), -EBADMSG, "not a plain table"},
		{AS_VIEW("chunk", "SELECT * FROM was_chunk"), -EBADMSG, "not a plain table"},
		{AS_VIEW("cache", "SELECT * FROM was_cache"), -EBADMSG, "not a plain table"},
		{AS_VIEW("kernel",
			 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) "
			 "SELECT i AS id, 0 AS name, 0 AS short_name, 0 AS program FROM n"),
		 -EBADMSG, "not a plain table"},
		{AS_VIEW("recording", "SELECT load_extension('./canary')"), -EBADMSG,
		 "not a plain table"},
		{"CREATE TEMP TABLE x(i); CREATE VIEW extra AS SELECT * FROM string", 0, NULL},
		{"CREATE TRIGGER t AFTER INSERT ON cache BEGIN UPDATE canary SET alive=0; END", 0,
		 NULL},
		{"CREATE TRIGGER t BEFORE INSERT ON cache BEGIN DELETE FROM canary; END", 0, NULL},
		{"CREATE TRIGGER t AFTER INSERT ON cache BEGIN DELETE FROM string; "
		 "DELETE FROM chunk; UPDATE canary SET alive=2; END",
		 0, NULL},
		{"DROP TABLE meta;"
		 "CREATE TABLE meta(id INTEGER PRIMARY KEY, key, value AS (key))",
		 -EBADMSG, "generated columns"},
		{"DROP TABLE chunk; CREATE TABLE chunk(id INTEGER PRIMARY KEY, kind AS (1), rows, "
		 "clock, process, start, end, launch_min, launch_max, total, data)",
		 -EBADMSG, "generated columns"},
		{"DROP TABLE stack", -EBADMSG, "not a plain table"},
		{"DROP TABLE dropped", -EBADMSG, "not a plain table"},
		{"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage=0, sql="
		 "'CREATE VIRTUAL TABLE string USING csv(filename=canary)' WHERE name='string'",
		 -EBADMSG, "is damaged"},
		{"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql="
		 "'CREATE TABLE string(id INTEGER PRIMARY KEY, value DEFAULT "
		 "(load_extension(''canary'')))' WHERE name='string'",
		 0, NULL},
		{"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql='nonsense' "
		 "WHERE name='string'",
		 -EBADMSG, "is damaged"},
		{"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET name='a'||char(27, 10, 7), "
		 "sql='CREATE TABLE x(' WHERE name='string'",
		 -EBADMSG, "is damaged"},
		{"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage=(SELECT rootpage "
		 "FROM sqlite_schema WHERE name='chunk') WHERE name='string'",
		 -EBADMSG, "is damaged"},
		{"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage=1000000 "
		 "WHERE name='chunk'",
		 -EBADMSG, "is damaged"},
		{"DROP TABLE cache; CREATE TABLE cache(name TEXT PRIMARY KEY, "
		 "data CHECK(length(hex(zeroblob(100000000))) < 0))",
		 0, NULL},
		{"CREATE INDEX slow ON chunk(kind, id); CREATE INDEX i ON cache(length(data))", 0,
		 NULL},
	};

	(void)state;
	ASSERT_ALL(list);
}

static void test_ids_and_types(void **state)
{
	static const struct hostile list[] = {
		{"UPDATE thread SET process=99", -EBADMSG, "thread: process"},
		{"UPDATE kernel SET name=1000000", -EBADMSG, "kernel: name"},
		{"UPDATE stack SET frame=NULL", -EBADMSG, "stack: frame"},
		{"UPDATE stack SET parent=id", -EBADMSG, "a stack before its caller's"},
		{"UPDATE stack SET parent=3 WHERE id=2; UPDATE stack SET parent=2 WHERE id=3",
		 -EBADMSG, "a stack before its caller's"},
		{"UPDATE stack SET parent=id-1 WHERE id > 0", 0, NULL},
		{"UPDATE frame SET module=-1", -EBADMSG, "frame: module"},
		{"UPDATE frame SET module=4294967295", -EBADMSG, "frame: module"},
		{"UPDATE frame SET module=4294967296", -EBADMSG, "frame: module"},
		{"UPDATE frame SET address=-1", 0, NULL},
		{"UPDATE frame SET kind=4000000000", 0, NULL},
		{"UPDATE kernel SET name='main'", -EBADMSG, "kernel: name"},
		{"UPDATE kernel SET name=1.5", -EBADMSG, "kernel: name"},
		{"UPDATE kernel SET name=x'00'", -EBADMSG, "kernel: name"},
		{"UPDATE kernel SET name=NULL, short_name=NULL, program=NULL", 0, NULL},
		{"UPDATE device SET clock=4294967295", 0, NULL},
		{"UPDATE process SET exit_status=2147483648", -EBADMSG, "process: exit_status"},
		{"UPDATE code SET bytes='text'", -EBADMSG, "code: bytes"},
		{"UPDATE code SET size=1000000000000", -EBADMSG, "code: bytes"},
		{"UPDATE code SET size=-1, bytes=NULL", 0, NULL},
		{"UPDATE string SET value=x'00'", -EBADMSG, "string: ids out of order"},
		{"UPDATE string SET value=42 WHERE id=1", 0, NULL},
		{"UPDATE string SET value=zeroblob(3000000) WHERE id=1", 0, NULL},
		{"DELETE FROM string WHERE id=2", -EBADMSG, "string: ids out of order"},
		{"DELETE FROM frame WHERE id=0", -EBADMSG, "frame: ids out of order"},
		{"UPDATE frame SET id=id-1", -EBADMSG, "frame: ids out of order"},
		{"UPDATE frame SET id=9223372036854775807 WHERE id=3", -EBADMSG,
		 "frame: ids out of order"},
		{"DELETE FROM recording", -EBADMSG, "recording: no row"},
		{"UPDATE recording SET start_ns='x', end_ns=x'ff', complete='y'", 0, NULL},
		{"UPDATE recording SET start_ns=0, end_ns=-1", 0, NULL},
		{"UPDATE recording SET start_ns=-1, end_ns=0", 0, NULL},
		{"UPDATE recording SET start_ns=9223372036854775807, end_ns=-9223372036854775808",
		 0, NULL},
		{"UPDATE loss SET reason=4000000000, count=-1", 0, NULL},
		{"UPDATE loss SET count=-1", 0, NULL},
		{"UPDATE clock_pair SET before=-1, after=-1, value=-1", 0, NULL},
		{"UPDATE clock_pair SET before=0, after=-1, value=0", 0, NULL},
		{"UPDATE clock_pair SET before=9, after=3, clock=16", 0, NULL},
		{"INSERT INTO dropped VALUES(1, -1, -1, 'x', -1)", 0, NULL},
		{"ALTER TABLE thread DROP COLUMN tid; ALTER TABLE loss DROP COLUMN detail", 0,
		 NULL},
		{"ALTER TABLE meta ADD COLUMN later DEFAULT 3", 0, NULL},
		{"ALTER TABLE stack DROP COLUMN frame", -EBADMSG, "stack: frame"},
		{"DROP TABLE string; CREATE TABLE string(id, value)", -EBADMSG, "is damaged"},
		{"DROP TABLE kernel; CREATE TABLE kernel(name, id)", -EBADMSG, "is damaged"},
		{"DROP TABLE kernel; CREATE TABLE kernel(name)", -EBADMSG, "is damaged"},
	};

	(void)state;
	ASSERT_ALL(list);
}

static void test_chunks(void **state)
{
	static const struct hostile list[] = {
		{"UPDATE chunk SET rows=4000000000000, start=-1, end=0, launch_min=-1, "
		 "launch_max=0, clock=99, process=99, total=-1",
		 0, NULL},
		{"UPDATE chunk SET rows='x', start='x', end=NULL, launch_min=x'', clock=-1", 0,
		 NULL},
		{"UPDATE chunk SET kind=5 - kind", 0, NULL},
		{"UPDATE chunk SET kind=99", 0, NULL},
		{"UPDATE chunk SET kind='x'", 0, NULL},
		{"UPDATE chunk SET kind=-1", 0, NULL},
		{"UPDATE chunk SET data='text'", 0, NULL},
		{"UPDATE chunk SET data=NULL", 0, NULL},
		{"UPDATE chunk SET data=zeroblob(0)", 0, NULL},
		{"UPDATE chunk SET data=zeroblob(1)", 0, NULL},
		{"UPDATE chunk SET data=zeroblob(1000000)", 0, NULL},
		{"UPDATE chunk SET id=id-9223372036854775807", 0, NULL},
		{"DELETE FROM chunk WHERE kind=1", 0, NULL},
		{"DELETE FROM chunk WHERE kind=2", 0, NULL},
		/* The same launches, executions and samples 40 times. */
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 40) "
		 "INSERT INTO chunk SELECT chunk.id+1000*i, kind, rows, clock, process, start, "
		 "end, launch_min, launch_max, total, data FROM chunk, n",
		 0, NULL},
	};

	(void)state;
	ASSERT_ALL(list);
}

/* Chunks that say the same 65,536 rows again and again: small to send, large to remember. */
static void test_bomb(void **state)
{
	struct aif_window_row *rows = calloc(AIF_CHUNK_MAX_ROWS, sizeof(*rows));
	struct aif_profile p;
	struct aif_err err = {0};
	struct aif_writer *w;
	struct seen seen;

	(void)state;
	assert_non_null(rows);
	fixture_profile(&p);
	w = begin_profile(&p);
	assert_ok(aif_writer_windows(w, rows, AIF_CHUNK_MAX_ROWS, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	run_sql("p", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 300) "
		     "INSERT INTO chunk SELECT id+i, kind, rows, clock, process, start, end, "
		     "launch_min, launch_max, total, data FROM chunk, n");
	assert_ok(try(&err, &seen), &err);
	assert_in_range(seen.rows, 1 << 19, 1 << 21);
	aif_profile_finish(&p);
	free(rows);
}

/* Strings may be as long as the file: what is longer lies on pages that are used more than once. Or is
 * UTF-16 that grows when it becomes UTF-8, which is easier to make. */
static void write_utf16(const char *string)
{
	struct aif_buf sql = {0};

	remove_files();
	aif_buf_printf(&sql, "PRAGMA encoding='UTF-16le'; PRAGMA application_id=%d;",
		       AIF_FILE_APPLICATION_ID);
	aif_schema_sql(&sql);
	aif_buf_printf(&sql,
		       "INSERT INTO recording VALUES(0, 1, 2, 1);"
		       "INSERT INTO string VALUES(0, replace(hex(zeroblob(1000000)), '0', '%s'))",
		       string);
	run_sql("p", aif_buf_str(&sql));
	aif_buf_finish(&sql);
}

static void test_longer_than_the_file(void **state)
{
	(void)state;
	write_utf16("z");
	assert_read(0);
	write_utf16("\xe4\xb8\x80");
	assert_refused(-EBADMSG, "longer than the file");
}

/* ---- a journal beside it --------------------------------------------------------------------- */

/* A transaction that never ended: pages in the file are new, the journal has the old ones. */
static void leave_hot_journal(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		sqlite3 *db;

		_exit(sqlite3_open("p", &db) != SQLITE_OK ||
		      sqlite3_exec(db,
				   "PRAGMA cache_size=1; PRAGMA synchronous=OFF; BEGIN;"
				   "UPDATE string SET value=zeroblob(20000);"
				   "DELETE FROM chunk; DELETE FROM recording;",
				   NULL, NULL, NULL) != SQLITE_OK);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access("p-journal", F_OK), 0);
}

/* The end of a journal may name a file "of several databases' transactions", which SQLite deletes
 * after a rollback. Offsets and the magic: SQLite's file format, "the super-journal". */
static void name_in_journal(const char *name)
{
	static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	uint32_t page = 0x40000000 / PAGE + 1, n = (uint32_t)strlen(name), sum = 0;
	int fd = open("p-journal", O_WRONLY | O_APPEND | O_CLOEXEC);
	struct aif_buf b = {0};

	for (uint32_t i = 0; i < n; i++)
		sum += (uint32_t)name[i];
	for (int shift = 24; shift >= 0; shift -= 8)
		aif_buf_putc(&b, (char)(page >> shift));
	aif_buf_append(&b, name, n);
	for (int shift = 24; shift >= 0; shift -= 8)
		aif_buf_putc(&b, (char)(n >> shift));
	for (int shift = 24; shift >= 0; shift -= 8)
		aif_buf_putc(&b, (char)(sum >> shift));
	aif_buf_append(&b, magic, sizeof(magic));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.data, b.len), b.len);
	close(fd);
	aif_buf_finish(&b);
}

static void test_hot_journal(void **state)
{
	(void)state;
	write_fixture();
	leave_hot_journal();
	assert_read(3 * ROWS + 1);
	assert_int_not_equal(access("p-journal", F_OK), 0);
}

static void test_journal_deletes_nothing(void **state)
{
	char here[200], path[300];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(path, sizeof(path), "%s/victim", here);
	write_fixture();
	leave_hot_journal();
	write_file("victim", "precious", 9);
	name_in_journal(path);
	assert_refused(-EBADMSG, "p-journal");
	assert_int_equal(access("victim", F_OK), 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { HOSTILE_ROWS = 400 };

static uint64_t next(uint64_t *r)
{
	return *r = aif_mix64(*r + UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t odd_time(uint64_t r)
{
	static const uint64_t times[] = {0,
					 1,
					 FIXTURE_START - 1,
					 FIXTURE_START,
					 FIXTURE_START + 1,
					 FIXTURE_START + 2000000000,
					 FIXTURE_START + 4000000000,
					 FIXTURE_START + 4000000001,
					 INT64_MAX,
					 UINT64_C(1) << 63,
					 UINT64_MAX - 1,
					 UINT64_MAX};

	return r % 3 ? times[r / 3 % AIF_ARRAY_LEN(times)] : FIXTURE_START + r / 3 % 4000000000;
}

static uint32_t odd_id(uint64_t r)
{
	return r % 4 ? (uint32_t)(r / 4 % 4) : r % 8 ? AIF_NONE : (uint32_t)(r >> 32);
}

static uint64_t odd_count(uint64_t r)
{
	return r % 3 == 0 ? 0 : r % 3 == 1 ? UINT64_MAX - r / 3 % 2 : r / 3 % 1000;
}

/* Rows that contradict everything, in files that are otherwise sound. */
static void write_odd_rows(uint64_t seed, unsigned which)
{
	struct aif_launch_row l[HOSTILE_ROWS];
	struct aif_exec_row x[HOSTILE_ROWS];
	struct aif_sample_row s[HOSTILE_ROWS];
	struct aif_window_row n[HOSTILE_ROWS];
	struct aif_cpu_row c[HOSTILE_ROWS];
	struct aif_op_row o[HOSTILE_ROWS];
	struct aif_counter_row v[HOSTILE_ROWS];
	struct aif_profile p;
	struct aif_err err = {0};
	struct aif_writer *w;
	uint64_t r = seed;

	for (uint64_t i = 0; i < HOSTILE_ROWS; i++) {
		l[i] = (struct aif_launch_row){
			next(&r) % 200,   odd_time(next(&r)), odd_id(next(&r)), odd_id(next(&r)),
			odd_id(next(&r)), odd_id(next(&r)),   odd_id(next(&r)), odd_id(next(&r)),
			odd_id(next(&r)), odd_count(next(&r))};
		x[i] = (struct aif_exec_row){
			next(&r) % 200,   odd_time(next(&r)),  odd_time(next(&r)), odd_id(next(&r)),
			odd_id(next(&r)), odd_id(next(&r)),    odd_id(next(&r)),   odd_id(next(&r)),
			odd_id(next(&r)), odd_count(next(&r)), odd_id(next(&r)),   odd_id(next(&r)),
			odd_id(next(&r)), odd_id(next(&r))};
		s[i] = (struct aif_sample_row){odd_time(next(&r)), odd_count(next(&r)),
					       odd_id(next(&r)),   odd_id(next(&r)),
					       odd_id(next(&r)),   odd_id(next(&r)),
					       odd_id(next(&r)),   odd_id(next(&r))};
		n[i] = (struct aif_window_row){
			odd_time(next(&r)),  odd_time(next(&r)),  odd_id(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),    odd_id(next(&r)),
			odd_count(next(&r)), odd_count(next(&r)), odd_count(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r))};
		c[i] = (struct aif_cpu_row){odd_time(next(&r)), odd_count(next(&r)),
					    odd_count(next(&r)), odd_id(next(&r)),
					    odd_id(next(&r))};
		o[i] = (struct aif_op_row){odd_time(next(&r)),  odd_time(next(&r)),
					   odd_id(next(&r)),    odd_id(next(&r)),
					   odd_id(next(&r)),    odd_id(next(&r)),
					   odd_id(next(&r)),    odd_id(next(&r)),
					   odd_count(next(&r)), (int64_t)odd_count(next(&r))};
		v[i] = (struct aif_counter_row){s[i].time,   i % 3 ? -1e300 : __builtin_nan(""),
						s[i].device, s[i].frame,
						s[i].reason, s[i].process};
		if (which & 1)
			x[i] = fixture_exec(i);
		if (which & 2)
			s[i] = fixture_sample(i);
		if (which & 4) /* good samples, but for their counts */
			s[i].count = odd_count(next(&r));
		if (which & 8)
			x[i].clock = next(&r) % 2 ? AIF_CLOCK_DEVICE : AIF_CLOCK_REALTIME;
	}
	fixture_profile(&p);
	if (which & 8)
		FIXTURE_ADD(&p, clock_pairs, .clock = AIF_CLOCK_DEVICE, .process = 0, .before = 1,
			    .after = UINT64_MAX, .value = odd_time(seed));
	w = begin_profile(&p);
	assert_ok(aif_writer_launches(w, l, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_execs(w, x, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_samples(w, s, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_windows(w, n, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_cpu(w, c, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_ops(w, o, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_counters(w, v, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
}

static void test_odd_rows(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 96; i++) {
		write_odd_rows(i, i % 16);
		assert_read(7 * HOSTILE_ROWS);
		if (i % 5 == 0) {
			run_sql("p",
				"UPDATE recording SET start_ns=0, end_ns=-1; DELETE FROM cache");
			assert_read(7 * HOSTILE_ROWS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_a_profile),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_first_page),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_flipped_with_cache),
		cmocka_unit_test(test_forged_cache),
		cmocka_unit_test(test_views_and_triggers),
		cmocka_unit_test(test_ids_and_types),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_longer_than_the_file),
		cmocka_unit_test(test_hot_journal),
		cmocka_unit_test(test_journal_deletes_nothing),
		cmocka_unit_test(test_odd_rows),
	};

	return cmocka_run_group_tests_name("file_hostile", tests, enter_directory, leave_directory);
}
