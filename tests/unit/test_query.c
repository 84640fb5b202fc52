/* SPDX-License-Identifier: Apache-2.0 */
/* SQL over a profile: the contract's tables and columns, their values, and what is refused. */
#include "fixture_profile.h"

#include "query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 3000, WINDOWS = 3 };

struct opened {
	struct aif_profile p;
	struct aif_names names;
	struct aif_query *q;
	char path[64];
};

static int open_fixture(void **state)
{
	static struct aif_launch_row launches[ROWS];
	static struct aif_exec_row execs[ROWS];
	static struct aif_sample_row samples[ROWS];
	static struct aif_window_row windows[WINDOWS];
	static struct aif_op_row ops[ROWS];
	static struct aif_counter_row counters[ROWS];
	static const struct aif_memory_row memory[] = {
		{FIXTURE_START + 5, 4096, 100, 1100, 2000, 0, 0, 0, AIF_MEMORY_ALLOCATE},
		{FIXTURE_START + 9, 0, 100, AIF_MEMORY_UNKNOWN, AIF_MEMORY_UNKNOWN, 0, AIF_NONE,
		 AIF_NONE, AIF_MEMORY_RELEASE}};
	struct opened *o = calloc(1, sizeof(*o));
	struct aif_profile made;
	struct aif_writer *w;

	if (!o)
		return -1;
	snprintf(o->path, sizeof(o->path), "/tmp/aiflame-query-%d", (int)getpid());
	for (uint64_t i = 0; i < ROWS; i++) {
		launches[i] = fixture_launch(i);
		execs[i] = fixture_exec(i);
		samples[i] = fixture_sample(i);
		ops[i] = fixture_op(i, ROWS);
		counters[i] = fixture_counter(i);
	}
	for (uint64_t i = 0; i < WINDOWS; i++)
		windows[i] = fixture_window(i);
	/* A runtime that tells only afterwards how much a copy moved; what a graph's replay did is of its nodes. */
	execs[19].bytes = launches[19].bytes;
	launches[19].bytes = 0;
	execs[2].bytes = 1;
	execs[1].registers = 40;
	execs[2].registers = 255;
	execs[2].shared_bytes = 49152;
	execs[2].graph = execs[9].graph = 7; /* the second is a copy */
	execs[9].node = 3;
	fixture_profile(&made);
	if (aif_writer_new(o->path, made.start_ns, &w, NULL) < 0 ||
	    aif_writer_launches(w, launches, ROWS, NULL) < 0 ||
	    aif_writer_execs(w, execs, ROWS, NULL) < 0 ||
	    aif_writer_samples(w, samples, ROWS, NULL) < 0 ||
	    aif_writer_windows(w, windows, WINDOWS, NULL) < 0 ||
	    aif_writer_ops(w, ops, ROWS, NULL) < 0 ||
	    aif_writer_counters(w, counters, ROWS, NULL) < 0 ||
	    aif_writer_memory(w, memory, AIF_ARRAY_LEN(memory), NULL) < 0 ||
	    aif_writer_tables(w, &made, NULL) < 0 || aif_writer_finish(w, made.end_ns, NULL) < 0 ||
	    aif_profile_open(o->path, &o->p, NULL) < 0 || aif_names_make(&o->names, &o->p) < 0 ||
	    aif_query_new(&o->names, &o->q, NULL) < 0)
		return -1;
	aif_profile_finish(&made);
	*state = o;
	return 0;
}

static int close_fixture(void **state)
{
	struct opened *o = *state;

	aif_query_free(o->q);
	aif_names_finish(&o->names);
	aif_profile_finish(&o->p);
	unlink(o->path);
	free(o);
	return 0;
}

/* All rows as "a|b|c\n..."; NULL is "NULL". For free(). */
static char *ask(const struct opened *o, const char *sql)
{
	struct aif_buf b = {0};
	sqlite3_stmt *s = NULL;
	char *answer;

	if (sqlite3_prepare_v2(aif_query_db(o->q), sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(aif_query_db(o->q)));
	while (sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0, n = sqlite3_column_count(s); i < n; i++) {
			const unsigned char *text = sqlite3_column_text(s, i);

			aif_buf_printf(&b, "%s%s", text ? (const char *)text : "NULL",
				       i < n - 1 ? "|" : "\n");
		}
	assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
	assert_false(aif_buf_failed(&b));
	answer = strdup(aif_buf_str(&b));
	aif_buf_finish(&b);
	return answer;
}

#define assert_answer(o, sql, answer)             \
	do {                                      \
		char *is_ = ask(o, sql);          \
		assert_string_equal(is_, answer); \
		free(is_);                        \
	} while (0)

/* DESIGN's contract: these columns, by these names, first and in this order. */
static void every_contract_table_has_its_columns(void **state)
{
	static const char *const contract[][2] = {
		{"launches",
		 "launch,time_ns,process,tid,kind,kernel,device,stream,stack,grid,block"},
		{"executions",
		 "launch,start_ns,dur_ns,process,device,stream,kernel,stack,weight,graph,"
		 "node,registers,shared_bytes"},
		{"copies", "launch,start_ns,dur_ns,process,device,stream,kind,bytes,stack"},
		{"windows", "window,start_ns,end_ns,device,process,period,held,p"},
		{"samples", "window,process,device,kernel,pc,reason,count"},
		{"attributed",
		 "window,process,device,stack,kernel,pc,reason,count,weight_ns,grade"},
		{"cpu_samples", "time_ns,process,tid,stack,weight_ns,waiting_ns"},
		{"ops", "start_ns,dur_ns,process,tid,kind,name,shapes,stack,id,sequence"},
		{"counters", "time_ns,device,name,value,unit,process"},
		{"frames", "id,kind,module,address,function,line"},
		{"frame_names", "frame,inline_depth,name,file,line"},
		{"stacks", "id,parent,frame,depth"},
		{"kernels", "id,name,short,module"},
		{"kernel_times", "name,launches,time_ns,busy_ns,share"},
		{"meta", "key,value"},
		{"strings", ""},
		{"modules", ""},
		{"processes",
		 "id,pid,ppid,exe,cmdline,host,start_ns,end_ns,agent,runtime,exit_status,cpu_ns"},
		{"threads", ""},
		{"devices", ""},
		{"clocks", ""},
		{"losses", ""},
	};
	struct opened *o = *state;

	for (size_t i = 0; i < AIF_ARRAY_LEN(contract); i++) {
		struct aif_buf names = {0};
		sqlite3_stmt *s = NULL;
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", contract[i][0]);
		assert_int_equal(sqlite3_prepare_v2(aif_query_db(o->q), sql, -1, &s, NULL),
				 SQLITE_OK);
		for (int c = 0; c < sqlite3_column_count(s); c++)
			aif_buf_printf(&names, "%s%s", c ? "," : "", sqlite3_column_name(s, c));
		sqlite3_finalize(s);
		if (strncmp(aif_buf_str(&names), contract[i][1], strlen(contract[i][1])) != 0)
			fail_msg("%s has %s", contract[i][0], aif_buf_str(&names));
		aif_buf_finish(&names);
	}
}

/* A process that signal 9 ended, and one of which it is not known. */
static void ends_are_as_a_shell_has_them(void **state)
{
	assert_answer(*state, "SELECT pid, exit_status FROM processes ORDER BY pid",
		      "100|137\n101|NULL\n");
}

static void bulk_rows_come_out_as_they_went_in(void **state)
{
	struct opened *o = *state;

	assert_answer(o, "SELECT count(*), sum(kind='kernel'), sum(bytes) FROM launches",
		      "3000|2700|1228800\n");
	assert_answer(
		o,
		"SELECT time_ns, process, tid, kind, kernel, device, stream, stack, grid, block "
		"FROM launches ORDER BY time_ns LIMIT 2",
		"1000000|0|100|kernel|0|0|0|1|1024x512x0|16x16x1\n"
		"1100000|0|100|kernel|1|0|0|2|1024x512x0|16x16x1\n");
	assert_answer(o, "SELECT start_ns, dur_ns, kernel, stack, weight FROM executions LIMIT 2",
		      "1010000|50000|0|1|1\n1110000|60000|1|2|1\n");
	assert_answer(
		o, "SELECT count(*), min(start_ns), min(kind), min(bytes), min(stack) FROM copies",
		"300|1910000|write|4096|1\n");
	assert_answer(o, "SELECT kernel, pc, reason, sum(count) FROM samples GROUP BY kernel",
		      "0|0|NULL|1000\n1|16|NULL|1000\n2|32|NULL|1000\n");
	assert_answer(o, "SELECT window, start_ns, end_ns, period, held, p, lost FROM windows",
		      "0|0|1000000000|1001001|1|1.0|0\n"
		      "1|1000000000|2000000000|1001001|1|1.0|1\n"
		      "2|2000000000|3000000000|1001001|1|1.0|2\n");
	assert_int_equal(aif_query_damaged(o->q), 0);
}

/* Unknown values are NULL; the first node of a graph is 0. */
static void graphs_and_attributes_are_told(void **state)
{
	assert_answer(*state, "SELECT graph, node, registers, shared_bytes FROM executions LIMIT 3",
		      "NULL|NULL|NULL|NULL\nNULL|NULL|40|0\n7|0|255|49152\n");
	assert_answer(*state, "SELECT graph, node FROM copies LIMIT 2", "7|3\nNULL|NULL\n");
	assert_answer(*state,
		      "SELECT graph, sum(launches), sum(time_ns) FROM attributed GROUP BY graph",
		      "NULL|2998|179880000\n7|2|120000\n");
}

/* Ops of either clock. */
static void ops_have_times_and_words(void **state)
{
	struct opened *o = *state;

	assert_answer(o, "SELECT * FROM ops LIMIT 2",
		      "997000|9000|0|100|operator|a\u2400\ufffd;\"\nz|host|1|1|NULL\n"
		      "997000|4000|0|100|range|host|NULL|NULL|NULL|0\n");
	assert_answer(o,
		      "SELECT count(*), sum(dur_ns), count(shapes), count(stack), count(id), "
		      "count(sequence), max(start_ns) FROM ops",
		      "3000|19500000|750|429|1500|2400|150897000\n");
	assert_answer(o, "SELECT kind, count(*) FROM ops GROUP BY kind",
		      "operator|600\npython|600\nrange|600\nruntime|600\nstep|600\n");
}

static void counters_have_units_and_times(void **state)
{
	struct opened *o = *state;

	assert_answer(o, "SELECT * FROM memory",
		      "5|allocate|0|100|0|100|4096|0|1100|2000\n"
		      "9|release|0|100|NULL|100|NULL|NULL|NULL|NULL\n");
	assert_answer(o, "SELECT * FROM counters LIMIT 3",
		      "0|0|a\u2400\ufffd;\"\nz|0.0|NULL|0|NULL\n"
		      "0|0|host|1600.0|h\xc3\xa4l|NULL|NULL\n"
		      "10000000|0|a\u2400\ufffd;\"\nz|0.5|NULL|NULL|NULL\n");
	assert_answer(o,
		      "SELECT name, count(*), max(value), max(time_ns) FROM counters GROUP BY name",
		      "a\u2400\ufffd;\"\nz|1500|25.0|14990000000\n"
		      "host|1500|1850.0|14990000000\n");
}

static void names_are_resolved(void **state)
{
	struct opened *o = *state;

	assert_answer(o, "SELECT id, kind, module, address, function, line FROM frames LIMIT 3",
		      "0|native|0|4096|main|12\n"
		      "1|native|0|-2130706432|inner|3\n"
		      "2|device|1|0|NULL|NULL\n");
	assert_answer(o, "SELECT frame, inline_depth, name, file, line FROM frame_names",
		      "0|0|main|app.c|12\n1|0|outer|NULL|0\n1|1|inner|app.h|3\n");
	assert_answer(o, "SELECT name, short, module FROM kernels",
		      "kernel_0|0|1\nkernel_1|1|2\nkernel_2|2|3\n");
	assert_answer(o, "SELECT name, count, process FROM losses", "RING_FULL|17|1\n");
	/* Any bytes are a value, and come out as text for everybody. */
	assert_answer(o, "SELECT value FROM meta WHERE key = 'odd'", "a\u2400\ufffd;\"\nz\n");
	assert_answer(o, "SELECT hex(bytes), size FROM codes", "909090C3|4\n|99\n");
}

static void attribution_and_its_view_add_up(void **state)
{
	struct opened *o = *state;

	/* 60 us of each 100 on average, nine in ten a kernel. */
	assert_answer(o,
		      "SELECT sum(weight_ns), (SELECT sum(dur_ns) FROM executions) + "
		      "(SELECT sum(dur_ns) FROM copies) FROM attributed",
		      "180000000|180000000\n");
	assert_answer(o, "SELECT name, launches, time_ns, busy_ns FROM kernel_times ORDER BY name",
		      "kernel_0|900|45000000|45000000\nkernel_1|900|54000000|54000000\n"
		      "kernel_2|900|63000000|63000000\n");
	assert_answer(o, "SELECT round(sum(share), 6) FROM kernel_times", "0.9\n");
	/* Executions join to their launches, row by row. */
	assert_answer(o,
		      "SELECT count(*) FROM launches JOIN executions USING (launch) "
		      "WHERE start_ns - time_ns = 10000 AND launches.kernel = executions.kernel",
		      "2700\n");
	assert_answer(
		o,
		"WITH RECURSIVE up(s, n) AS (SELECT 3, 0 UNION ALL SELECT parent, n + 1 FROM up "
		"JOIN stacks ON id = s) SELECT max(n) FROM up",
		"2\n");
}

/* A key finds the same rows as a scan. */
static void keys_find_what_scans_find(void **state)
{
	static const char *const tables[][2] = {
		{"launches", "launch"}, {"executions", "launch"}, {"copies", "launch"},
		{"frames", "id"},       {"stacks", "id"},         {"strings", "id"},
		{"processes", "id"},    {"threads", "id"},        {"modules", "id"},
	};
	struct opened *o = *state;

	for (size_t i = 0; i < AIF_ARRAY_LEN(tables); i++) {
		char sql[256];

		snprintf(
			sql, sizeof(sql),
			"SELECT count(*) - (SELECT count(*) FROM %s) FROM (SELECT DISTINCT %s AS k FROM "
			"%s) AS a JOIN %s AS b ON b.%s = a.k",
			tables[i][0], tables[i][1], tables[i][0], tables[i][0], tables[i][1]);
		assert_answer(o, sql, "0\n");
	}
	assert_answer(o, "SELECT count(*) FROM stacks WHERE id = NULL", "0\n");
	assert_answer(o, "SELECT count(*) FROM stacks WHERE id = 'x'", "0\n");
	assert_answer(o, "SELECT count(*) FROM stacks WHERE id = 1.5", "0\n");
	assert_answer(o, "SELECT count(*) FROM stacks WHERE id = -1", "0\n");
	assert_answer(o, "SELECT count(*) FROM stacks WHERE id = 99999999999", "0\n");
	assert_answer(o, "SELECT id FROM stacks WHERE id = 1 AND depth = 2", "1\n");
	assert_answer(o, "SELECT id FROM stacks WHERE id = 1.0", "1\n");
}

static void only_reading_is_allowed(void **state)
{
	static const char *const refused[] = {
		"DELETE FROM meta",
		"INSERT INTO meta VALUES('a', 'b')",
		"UPDATE meta SET value = 1",
		"CREATE TABLE t(a)",
		"CREATE TEMP VIEW v AS SELECT 1",
		"DROP VIEW kernel_times",
		"ATTACH '/tmp/aiflame-query-attached' AS a",
		"DETACH main",
		"PRAGMA journal_mode = WAL",
		"PRAGMA writable_schema = ON",
		"VACUUM INTO '/tmp/aiflame-query-attached'",
		"SELECT load_extension('x.so')",
		"BEGIN",
		"ANALYZE",
	};
	struct opened *o = *state;

	for (size_t i = 0; i < AIF_ARRAY_LEN(refused); i++) {
		sqlite3_stmt *s = NULL;

		/* Some are refused when they are read, some when they are run. */
		if (sqlite3_prepare_v2(aif_query_db(o->q), refused[i], -1, &s, NULL) == SQLITE_OK &&
		    sqlite3_step(s) != SQLITE_AUTH)
			fail_msg("%s was taken", refused[i]);
		sqlite3_finalize(s);
	}
	assert_int_equal(access("/tmp/aiflame-query-attached", F_OK), -1);
	/* The file's own tables are not in sight. */
	assert_answer(o, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'chunk%'", "0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_contract_table_has_its_columns),
		cmocka_unit_test(ends_are_as_a_shell_has_them),
		cmocka_unit_test(bulk_rows_come_out_as_they_went_in),
		cmocka_unit_test(graphs_and_attributes_are_told),
		cmocka_unit_test(ops_have_times_and_words),
		cmocka_unit_test(counters_have_units_and_times),
		cmocka_unit_test(names_are_resolved),
		cmocka_unit_test(attribution_and_its_view_add_up),
		cmocka_unit_test(keys_find_what_scans_find),
		cmocka_unit_test(only_reading_is_allowed),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
