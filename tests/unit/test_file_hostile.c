/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that somebody made on purpose: tables that are not what they say, and rows that contradict each other. */
#include "fixture_hostile.h"

#include "profile/chunk.h"

#include <errno.h>

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
		{"UPDATE code SET packed='text'", -EBADMSG, "code: packed"},
		{"UPDATE code SET packed=x'00'", -EBADMSG, "code: packed"},
		{"UPDATE code SET bytes=NULL, packed=x'00'", -EBADMSG, "code: packed"},
		{"UPDATE code SET bytes=NULL, packed=zeroblob(100)", -EBADMSG, "code: packed"},
		/* A frame that says 100 zeros, of which the code has 99. */
		{"UPDATE code SET size=99, bytes=NULL, "
		 "packed=x'28b52ffd20644500001000000100a3a901'",
		 -EBADMSG, "code: packed"},
		{"UPDATE code SET size=100, bytes=NULL, "
		 "packed=x'28b52ffd2064450000'",
		 -EBADMSG, "code: packed"},
		/* A frame that says 2^40 bytes. */
		{"UPDATE code SET size=1 << 40, bytes=NULL, "
		 "packed=x'28b52ffde00000000000010000010000'",
		 -EBADMSG, "code: packed"},
		{"UPDATE code SET bytes=NULL, packed=x''", 0, NULL},
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

static void hostile_chunks_are_read_in_bounded_memory(void **state)
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
static void rows_beyond_what_the_file_can_hold_are_left_out(void **state)
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
static void write_odd_rows(uint64_t seed, unsigned sel)
{
	struct aif_launch_row l[HOSTILE_ROWS];
	struct aif_exec_row x[HOSTILE_ROWS];
	struct aif_sample_row s[HOSTILE_ROWS];
	struct aif_window_row n[HOSTILE_ROWS];
	struct aif_cpu_row c[HOSTILE_ROWS];
	struct aif_op_row o[HOSTILE_ROWS];
	struct aif_counter_row v[HOSTILE_ROWS];
	struct aif_memory_row m[HOSTILE_ROWS];
	struct aif_step_sum_row sums[HOSTILE_ROWS];
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
			next(&r) % 200,      odd_time(next(&r)), odd_time(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),   odd_id(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),   odd_id(next(&r)),
			odd_count(next(&r)), odd_id(next(&r)),   odd_id(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),   odd_id(next(&r)),
			odd_id(next(&r))};
		s[i] = (struct aif_sample_row){odd_time(next(&r)), odd_count(next(&r)),
					       odd_id(next(&r)),   odd_id(next(&r)),
					       odd_id(next(&r)),   odd_id(next(&r)),
					       odd_id(next(&r)),   odd_id(next(&r))};
		n[i] = (struct aif_window_row){
			odd_time(next(&r)),  odd_time(next(&r)),  odd_id(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),    odd_id(next(&r)),
			odd_count(next(&r)), odd_count(next(&r)), odd_count(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r))};
		c[i] = (struct aif_cpu_row){
			odd_time(next(&r)), odd_count(next(&r)), odd_count(next(&r)),
			odd_id(next(&r)),   odd_id(next(&r)),    odd_id(next(&r)),
			odd_id(next(&r)),   odd_id(next(&r)),    0};
		o[i] = (struct aif_op_row){odd_time(next(&r)),
					   odd_time(next(&r)),
					   odd_id(next(&r)),
					   odd_id(next(&r)),
					   odd_id(next(&r)),
					   odd_id(next(&r)),
					   odd_id(next(&r)),
					   odd_id(next(&r)),
					   odd_id(next(&r)),
					   odd_count(next(&r)),
					   (int64_t)odd_count(next(&r))};
		v[i] = (struct aif_counter_row){s[i].time,   i % 3 ? -1e300 : __builtin_nan(""),
						s[i].device, s[i].frame,
						s[i].reason, s[i].process,
						s[i].time};
		m[i] = (struct aif_memory_row){
			o[i].start,          next(&r) % 8,        odd_count(next(&r)),
			odd_count(next(&r)), odd_count(next(&r)), odd_id(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),    (uint32_t)(next(&r) % 4)};
		sums[i] = (struct aif_step_sum_row){
			odd_time(next(&r)),  odd_time(next(&r)),  odd_count(next(&r)),
			odd_count(next(&r)), odd_count(next(&r)), odd_id(next(&r)),
			odd_id(next(&r)),    odd_id(next(&r)),    (uint32_t)(next(&r) % 5),
			odd_id(next(&r)),    odd_id(next(&r)),    odd_id(next(&r)),
			odd_id(next(&r))};
		if (sel & 1)
			x[i] = fixture_exec(i);
		if (sel & 2)
			s[i] = fixture_sample(i);
		if (sel & 4) /* good samples, but for their counts */
			s[i].count = odd_count(next(&r));
		if (sel & 8)
			x[i].clock = next(&r) % 2 ? AIF_CLOCK_DEVICE : AIF_CLOCK_REALTIME;
	}
	fixture_profile(&p);
	if (sel & 8)
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
	assert_ok(aif_writer_memory(w, m, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_step_sums(w, sums, HOSTILE_ROWS, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
}

static void odd_values_in_rows_are_survived(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 96; i += stride() | 1) {
		write_odd_rows(i, i % 16);
		assert_read(9 * HOSTILE_ROWS);
		if (i % 5 == 0) {
			run_sql("p",
				"UPDATE recording SET start_ns=0, end_ns=-1; DELETE FROM cache");
			assert_read(9 * HOSTILE_ROWS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_and_triggers),
		cmocka_unit_test(test_ids_and_types),
		cmocka_unit_test(hostile_chunks_are_read_in_bounded_memory),
		cmocka_unit_test(rows_beyond_what_the_file_can_hold_are_left_out),
		cmocka_unit_test(test_longer_than_the_file),
		cmocka_unit_test(odd_values_in_rows_are_survived),
	};

	return cmocka_run_group_tests_name("file_hostile", tests, enter_directory, leave_directory);
}
