/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a profile and reading it back: round trips, kills, full disks. What hostile files do is in
 * test_file_hostile.c, what is dropped in test_trim.c. */
#include "fixture_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_rows(const struct aif_profile *p, enum aif_chunk_kind kind, const void *want,
			size_t n)
{
	struct all_rows all = read_all(p, kind);

	assert_int_equal(all.len, n);
	if (n)
		assert_memory_equal(all.rows, want, n * all.row_size);
	free(all.rows);
}

static void write_rows(struct aif_writer *w, struct aif_err *err)
{
	assert_ok(aif_writer_launches(w, launches, ROWS, err), err);
	assert_ok(aif_writer_execs(w, execs, ROWS, err), err);
	assert_ok(aif_writer_samples(w, samples, ROWS, err), err);
	assert_ok(aif_writer_windows(w, windows, WINDOWS, err), err);
}

static void write_profile(const char *path, const struct aif_profile *p)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	assert_ok(aif_writer_new(path, p->start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, p, &err), &err);
	write_rows(w, &err);
	assert_ok(aif_writer_commit(w, &err), &err);
	assert_true(aif_writer_size(w) > 4096);
	assert_ok(aif_writer_finish(w, p->end_ns, &err), &err);
}

/* Every field of every table, found through the schema; the bytes of code apart. */
static void assert_tables_equal(const struct aif_profile *a, const struct aif_profile *b)
{
	assert_int_equal(a->strings.len, b->strings.len);
	for (uint32_t i = 0; i < a->strings.len; i++) {
		size_t n, m;
		const char *s = aif_strset_get(&a->strings, i, &n);
		const char *t = aif_strset_get(&b->strings, i, &m);

		assert_int_equal(n, m);
		assert_memory_equal(s, t, n);
	}
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++) {
		const struct aif_schema_table *t = &aif_schema_tables[i];
		size_t n = *aif_schema_len(a, t);

		if (n == 0)
			fail_msg("the fixture has no row in %s", t->name);
		assert_int_equal(n, *aif_schema_len(b, t));
		for (size_t row = 0; row < n; row++)
			for (size_t c = 0; c < t->columns_len; c++) {
				size_t at = row * t->row_size + t->columns[c].offset;
				size_t size = t->columns[c].type == AIF_TYPE_U64 ? 8 : 4;

				if (t->columns[c].type == AIF_TYPE_BYTES)
					continue;
				assert_memory_equal((uint8_t *)aif_schema_rows(a, t) + at,
						    (uint8_t *)aif_schema_rows(b, t) + at, size);
			}
	}
	for (size_t i = 0; i < a->codes_len; i++) {
		assert_int_equal(!a->codes[i].bytes, !b->codes[i].bytes);
		if (a->codes[i].bytes)
			assert_memory_equal(a->codes[i].bytes, b->codes[i].bytes, a->codes[i].size);
	}
	for (size_t i = 0; i < a->stacks_len; i++)
		assert_int_equal(a->stacks[i].depth, b->stacks[i].depth);
}

static void test_round_trip(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct stat st;

	(void)state;
	fixture_profile(&p);
	write_profile("p", &p);
	assert_int_equal(stat("p", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_not_equal(access("p-journal", F_OK), 0);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.notes, 0);
	assert_int_equal(got.start_ns, p.start_ns);
	assert_int_equal(got.end_ns, p.end_ns);
	assert_tables_equal(&p, &got);
	assert_string_equal(aif_profile_meta(&got, "host"), "h\xc3\xa4l");
	assert_string_equal(aif_profile_meta(&got, "none"), "");
	assert_rows(&got, AIF_CHUNK_LAUNCHES, launches, ROWS);
	assert_rows(&got, AIF_CHUNK_EXECS, execs, ROWS);
	assert_rows(&got, AIF_CHUNK_SAMPLES, samples, ROWS);
	assert_rows(&got, AIF_CHUNK_WINDOWS, windows, WINDOWS);
	assert_rows(&got, AIF_CHUNK_OPS, NULL, 0);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* However they come: by clock, then by time, and of the same time in their order. */
static void test_ops(void **state)
{
	static struct aif_op_row ops[ROWS], given[ROWS];
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++)
		ops[i] = fixture_op(i, ROWS);
	for (size_t i = 0; i < ROWS; i += 2)
		memcpy(&given[i], &ops[ROWS - 2 - i], 2 * sizeof(*ops));
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_ops(w, given, ROWS, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_int_equal(sql_number("SELECT count(*) FROM chunk WHERE kind = 6"), 2);
	assert_int_equal(sql_number("SELECT sum(rows) FROM chunk WHERE clock = 2"), ROWS / 2);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_rows(&got, AIF_CHUNK_OPS, ops, ROWS);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* In the order of their times; whose device or name is not there is of none. */
static void test_counters(void **state)
{
	static struct aif_counter_row counters[ROWS], given[ROWS];
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++)
		counters[i] = fixture_counter(i);
	counters[ROWS - 1].value = -0.0;
	counters[ROWS - 2].value = 1e308;
	for (size_t i = 0; i < ROWS; i += 2)
		memcpy(&given[i], &counters[ROWS - 2 - i], 2 * sizeof(*counters));
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_counters(w, given, ROWS, &err), &err);
	given[0] = counters[ROWS - 1];
	given[0].time++;
	given[0].device = given[0].name = given[0].unit = given[0].process = 1000000;
	assert_ok(aif_writer_counters(w, given, 1, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_int_equal(sql_number("SELECT sum(total) FROM chunk WHERE kind = 7"), ROWS + 1);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	{
		struct all_rows all = read_all(&got, AIF_CHUNK_COUNTERS);
		const struct aif_counter_row *last = (const void *)(all.rows + ROWS * all.row_size);

		assert_int_equal(all.len, ROWS + 1);
		assert_memory_equal(all.rows, counters, sizeof(counters));
		assert_int_equal(last->device, AIF_NONE);
		assert_int_equal(last->name, AIF_NONE);
		assert_int_equal(last->unit, AIF_NONE);
		assert_int_equal(last->process, AIF_NONE);
		free(all.rows);
	}
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void test_empty(void **state)
{
	struct aif_profile p = {.start_ns = 7, .end_ns = 9}, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	assert_ok(aif_writer_new("p", 7, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_launches(w, NULL, 0, &err), &err);
	assert_ok(aif_writer_finish(w, 9, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.strings.len, 0);
	assert_int_equal(got.end_ns, 9);
	assert_rows(&got, AIF_CHUNK_LAUNCHES, NULL, 0);
	aif_profile_finish(&got);
}

/* Rows of several threads and clocks, mixed, more than a chunk holds. */
static void test_sorted_and_cut(void **state)
{
	enum { N = 3 * 30000 };
	struct aif_launch_row *l = calloc(N, sizeof(*l));
	struct aif_exec_row *x = calloc(N, sizeof(*x));
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;
	struct all_rows all;

	(void)state;
	assert_non_null(l);
	assert_non_null(x);
	fixture_profile(&p);
	for (uint64_t i = 0; i < N; i++) {
		l[i] = fixture_launch(i);
		x[i] = fixture_exec(i);
		l[i].launch = x[i].launch = (i % 3) << 40 | (i / 3);
		x[i].clock = i % 2 ? AIF_CLOCK_DEVICE : AIF_CLOCK_MONOTONIC;
	}
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_launches(w, l, N, &err), &err);
	assert_ok(aif_writer_execs(w, x, N, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	/* 3 counters: 3 chunks of launches; of 2 clocks each for executions. */
	assert_int_equal(got.file->kinds[AIF_CHUNK_LAUNCHES].len, 3);
	assert_int_equal(got.file->kinds[AIF_CHUNK_EXECS].len, 6);
	all = read_all(&got, AIF_CHUNK_LAUNCHES);
	assert_int_equal(all.len, N);
	for (size_t i = 0; i < N; i++) {
		const struct aif_launch_row *row = (const void *)(all.rows + i * sizeof(*l));
		uint64_t was = (row->launch & 0xffffffff) * 3 + (row->launch >> 40);

		assert_true(i == 0 || row->launch > row[-1].launch);
		assert_memory_equal(row, &l[was], sizeof(*row));
	}
	free(all.rows);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
	free(l);
	free(x);
}

/* Rows that change after they were written, and tables that grow from commit to commit. */
static void test_rewritten_rows(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	for (int i = 0; i < 3; i++) {
		p.processes[0].end_ns = FIXTURE_START + (uint64_t)i;
		p.losses[0].count += 5;
		FIXTURE_ADD(&p, threads, .process = 0, .tid = (uint32_t)i, .name = 0);
		aif_strset_puts(&p.strings, i == 0 ? "first" : i == 1 ? "second" : "third");
		assert_ok(aif_writer_tables(w, &p, &err), &err);
		assert_ok(aif_writer_commit(w, &err), &err);
	}
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_tables_equal(&p, &got);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void test_names_are_sorted(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};

	(void)state;
	fixture_profile(&p);
	FIXTURE_ADD(&p, frame_names, .frame = 0, .inline_depth = 1, .name = 0, .file = 0,
		    .line = 1);
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	for (size_t i = 1; i < got.frame_names_len; i++) {
		const struct aif_frame_name *a = &got.frame_names[i - 1], *b = a + 1;

		assert_true(a->frame < b->frame ||
			    (a->frame == b->frame && a->inline_depth < b->inline_depth));
	}
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void keep_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_old_is_kept(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	int fd = open("p", O_CREAT | O_WRONLY, 0644);
	struct aif_writer *w;

	(void)state;
	assert_true(fd >= 0); /* of a recording that was killed at once */
	close(fd);
	fd = open("p-journal", O_CREAT | O_WRONLY, 0644);
	assert_true(fd >= 0);
	close(fd);
	fixture_profile(&p);
	write_profile("p", &p);
	assert_int_equal(access("p.old-journal", F_OK), 0);
	assert_int_equal(aif_profile_open("p.old", &got, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "p.old is empty"));
	write_profile("p", &p);
	assert_int_not_equal(access("p.old-journal", F_OK), 0);
	assert_ok(aif_profile_open("p.old", &got, &err), &err);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
	/* What is somebody's stays his, in either place. */
	unlink("mine");
	keep_text("mine", "mine");
	assert_int_equal(aif_profile_check_place("mine", &err), -EEXIST);
	assert_int_equal(aif_writer_new("mine", 1, &w, &err), -EEXIST);
	assert_non_null(strstr(err.text, "it is there and no aiflame profile"));
	assert_int_equal(rename("mine", "p.old"), 0);
	assert_int_equal(aif_writer_new("p", 1, &w, &err), -EEXIST);
	assert_non_null(strstr(err.text, "it would become p.old"));
	assert_ok(aif_profile_open("p", &got, &err), &err);
	aif_profile_finish(&got);
	unlink("p.old");
	assert_int_equal(aif_profile_check_place("-", &err), -EINVAL);
	assert_int_equal(aif_profile_check_place("p", &err), 0);
}

static void test_unwritable(void **state)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	assert_int_equal(aif_writer_new("no/such/place", 1, &w, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no/such/place"));
	assert_int_equal(aif_writer_new("/dev", 1, &w, &err), -EINVAL);
	assert_int_equal(mkdir("p", 0700), 0);
	assert_int_equal(aif_writer_new("p", 1, &w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a file"));
	assert_int_equal(rmdir("p"), 0);
}

/* ---- other processes ------------------------------------------------------------------------- */

/* A child that commits ROWS launches again and again and tells of each commit. */
static pid_t start_recorder(int *ret_pipe)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct aif_profile p;
		struct aif_writer *w;

		/* A test that fails leaves it behind, stopped. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fixture_profile(&p);
		if (aif_writer_new("p", p.start_ns, &w, NULL) < 0)
			_exit(1);
		for (uint8_t commits = 1; commits; commits++) {
			char name[32];

			FIXTURE_ADD(&p, frames, .kind = AIF_FRAME_NATIVE, .module = 0,
				    .address = 0x2000 + commits);
			for (int i = 0; i < 50; i++) {
				snprintf(name, sizeof(name), "name %u.%d", commits, i);
				FIXTURE_ADD(&p, frame_names, .frame = (uint32_t)p.frames_len - 1,
					    .inline_depth = (uint32_t)i,
					    .name = aif_strset_puts(&p.strings, name));
			}
			p.processes[0].end_ns++;
			if (aif_writer_tables(w, &p, NULL) < 0 ||
			    aif_writer_launches(w, launches, ROWS, NULL) < 0 ||
			    aif_writer_commit(w, NULL) < 0 || write(fds[1], &commits, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	*ret_pipe = fds[0];
	return pid;
}

/* Reads what the recorder told until `commits` or its end; the number of commits told. */
static uint8_t commits_told(int fd, uint8_t commits)
{
	uint8_t told = 0, next;

	while (told < commits && read(fd, &next, 1) == 1)
		told = next;
	return told;
}

/* The outermost of a frame's names are kept, however many there are, and all of the others'. */
static void test_deep_names(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;
	char name[32];

	(void)state;
	fixture_profile(&p);
	p.frame_names_len = 0;
	for (uint32_t i = AIF_FRAME_NAMES_MAX + 10; i--;) /* in any order */
		for (uint32_t frame = 0; frame < 3; frame++) {
			snprintf(name, sizeof(name), "name %u.%u", frame, i);
			FIXTURE_ADD(&p, frame_names, .frame = frame, .inline_depth = i,
				    .name = aif_strset_puts(&p.strings, name), .file = AIF_NONE);
		}
	unlink("p");
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.notes, AIF_NOTE_DEEP_NAMES);
	assert_int_equal(got.frame_names_len, 3 * AIF_FRAME_NAMES_MAX);
	for (uint32_t i = 0; i < got.frame_names_len; i++) {
		assert_int_equal(got.frame_names[i].frame, i / AIF_FRAME_NAMES_MAX);
		assert_int_equal(got.frame_names[i].inline_depth, i % AIF_FRAME_NAMES_MAX);
	}
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void test_killed(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct aif_profile got;
		struct aif_err err = {0};
		struct all_rows all;
		int fd, status;
		pid_t pid = start_recorder(&fd);
		uint8_t told = commits_told(fd, (uint8_t)(1 + round % 4)), later;

		usleep((useconds_t)(round * 311 % 4000));
		kill(pid, SIGKILL);
		later = commits_told(fd, 255);
		told = AIF_MAX(told, later);
		close(fd);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) || told == 255);
		assert_ok(aif_profile_open("p", &got, &err), &err);
		assert_int_equal(got.notes, AIF_NOTE_CUT_SHORT);
		all = read_all(&got, AIF_CHUNK_LAUNCHES);
		/* The commit that was not told may have been done. */
		assert_in_range(all.len / ROWS, told, told + 1);
		assert_int_equal(all.len % ROWS, 0);
		assert_int_equal(got.frame_names_len, 3 + all.len / ROWS * 50);
		assert_int_equal(got.end_ns, launches[ROWS - 1].time);
		free(all.rows);
		aif_profile_finish(&got);
	}
}

static void test_busy(void **state)
{
	struct aif_profile got;
	struct aif_err err = {0};
	struct aif_writer *w;
	int fd;
	pid_t pid = start_recorder(&fd);

	(void)state;
	assert_int_equal(commits_told(fd, 1), 1);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_int_equal(aif_profile_open("p", &got, &err), -EBUSY);
	assert_non_null(strstr(err.text, "p: it is being recorded"));
	assert_int_equal(aif_writer_new("p", 1, &w, &err), -EBUSY);
	assert_non_null(strstr(err.text, "is recording into it"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
}

/* A commit is cut short by a kill while its journal is there: undone where we can write, refused or
 * read as it is, but said, where we cannot. */
static void test_hot_journal(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	pid_t pid;
	int status;

	(void)state;
	fixture_profile(&p);
	write_profile("p", &p);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		sqlite3 *db;

		/* The cache is too small for the change, so that it reaches the file. */
		if (sqlite3_open("p", &db) != SQLITE_OK ||
		    sqlite3_exec(db,
				 "PRAGMA cache_size=2; PRAGMA synchronous=OFF; BEGIN; "
				 "UPDATE recording SET end_ns=0; UPDATE string SET value='x';"
				 "DELETE FROM frame; UPDATE chunk SET data=zeroblob(300000)",
				 NULL, NULL, NULL) != SQLITE_OK)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access("p-journal", F_OK), 0);
	if (getuid() == 0) {
		/* Not root, in a directory of root's. */
		assert_int_equal(chmod(".", 0755), 0);
		assert_int_equal(chmod("p", 0644) | chmod("p-journal", 0644), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			int r;

			if (setuid(65534) < 0)
				_exit(1);
			r = aif_profile_open("p", &got, &err);
			if (r == 0 && !(got.notes & AIF_NOTE_NO_ROLLBACK))
				_exit(2);
			if (r < 0 && !strstr(err.text, "p is damaged"))
				_exit(3);
			if (r == 0)
				aif_profile_finish(&got);
			aif_profile_finish(&p);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.notes, 0);
	assert_tables_equal(&p, &got);
	assert_rows(&got, AIF_CHUNK_LAUNCHES, launches, ROWS);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void test_read_only(void **state)
{
	int status;
	pid_t pid;
	struct aif_profile p;

	(void)state;
	fixture_profile(&p);
	write_profile("p", &p);
	assert_int_equal(chmod("p", 0444) | chmod(".", 0555), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct aif_profile got;

		if (getuid() == 0 && setuid(65534) < 0)
			_exit(1);
		if (aif_profile_open("p", &got, NULL) < 0)
			_exit(2);
		if (got.notes || got.frames_len != p.frames_len)
			_exit(3);
		if (aif_profile_cache_put(&got, "x", "y", 1) == 0)
			_exit(4);
		aif_profile_finish(&got);
		aif_profile_finish(&p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(".", 0755), 0);
	aif_profile_finish(&p);
}

/* No room: one clear error, again from each later call; what was committed before opens. */
static void test_disk_full(void **state)
{
	int status;
	pid_t pid = fork();
	struct aif_profile got;
	struct aif_err err = {0};

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {300000, 300000};
		struct aif_profile p;
		struct aif_writer *w;
		int r;

		signal(SIGXFSZ, SIG_IGN);
		fixture_profile(&p);
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0 ||
		    aif_writer_new("p", p.start_ns, &w, NULL) < 0 ||
		    aif_writer_tables(w, &p, NULL) < 0 || aif_writer_commit(w, NULL) < 0)
			_exit(1);
		for (int i = 0; (r = aif_writer_launches(w, launches, ROWS, &err)) == 0; i++) {
			r = aif_writer_commit(w, &err);
			if (r < 0)
				break;
			if (i == 1000)
				_exit(2);
		}
		if (r != -EFBIG && r != -ENOSPC)
			_exit(3);
		if (!strstr(err.text, "cannot write ./p: ") || !strstr(err.text, "free space"))
			_exit(4);
		err.code = 0;
		if (aif_writer_execs(w, execs, ROWS, &err) != r || err.code != r)
			_exit(5);
		if (aif_writer_finish(w, p.end_ns, &err) != r)
			_exit(6);
		aif_profile_finish(&p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_true(got.file->kinds[AIF_CHUNK_LAUNCHES].len > 1);
	aif_profile_finish(&got);
}

static void test_cache(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_buf b = {0};

	(void)state;
	fixture_profile(&p);
	assert_int_equal(aif_profile_cache_get(&p, "a", &b), -ENOENT);
	assert_int_equal(aif_profile_cache_put(&p, "a", "x", 1), -ENOENT);
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(aif_profile_cache_get(&got, "a", &b), -ENOENT);
	assert_int_equal(aif_profile_cache_put(&got, "a", "xyz", 3), 0);
	assert_int_equal(aif_profile_cache_put(&got, "a", "uv", 2), 0);
	aif_profile_finish(&got);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(aif_profile_cache_get(&got, "a", &b), 0);
	assert_int_equal(b.len, 2);
	assert_memory_equal(b.data, "uv", 2);
	aif_buf_finish(&b);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static int stop_at_once(void *arg, const struct aif_exec_row *rows, size_t n)
{
	(void)arg;
	(void)rows;
	return (int)n;
}

static void test_stop_and_ids(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};

	(void)state;
	fixture_profile(&p);
	p.kernels_len = 1; /* rows use three */
	p.modules_len = 2;
	p.frames_len = 3;
	p.stacks_len = 1;
	p.frame_names_len = 1;
	p.codes_len = 1;
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(aif_profile_execs(&got, stop_at_once, NULL, NULL), ROWS);
	for (enum aif_chunk_kind kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		struct all_rows all = read_all(&got, kind);

		for (size_t i = 0; i < all.len && kind == AIF_CHUNK_LAUNCHES; i++) {
			const struct aif_launch_row *row =
				(const void *)(all.rows + i * all.row_size);

			assert_int_equal(row->kernel,
					 launches[i].kernel ? AIF_NONE : launches[i].kernel);
			assert_int_equal(row->stack, AIF_NONE);
		}
		free(all.rows);
	}
	aif_profile_finish(&got);
	p.codes_len = 2;
	aif_profile_finish(&p);
}

/* In directories with names of 100 bytes, as many as it takes. */
static void long_name(char *ret, size_t size, size_t len)
{
	size_t n;

	assert_non_null(getcwd(ret, size));
	while (strlen(ret) + 200 < len) {
		n = strlen(ret);
		snprintf(ret + n, size - n, "/%0100d", 0);
		assert_true(mkdir(ret, 0700) == 0 || errno == EEXIST);
	}
	n = strlen(ret);
	snprintf(ret + n, size - n, "/%0*d", (int)(len - n - 1), 1);
	assert_int_equal(strlen(ret), len);
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void test_long_names(void **state)
{
	struct aif_profile p = {0}, got;
	char path[4000], old[4100], text[16];
	struct aif_err err = {0};
	struct aif_writer *w;
	FILE *f;

	(void)state;
	/* With ".old" behind it, it opens. */
	long_name(path, sizeof(path), 500);
	write_profile(path, &p);
	write_profile(path, &p);
	snprintf(old, sizeof(old), "%s.old", path);
	assert_ok(aif_profile_open(old, &got, &err), &err);
	aif_profile_finish(&got);
	for (size_t len = 501; len < 4000; len = len < 530 ? len + 1 : len + 1000) {
		long_name(path, sizeof(path), len);
		keep_text(path, "theirs");
		assert_int_equal(aif_writer_new(path, 1, &w, &err), -ENAMETOOLONG);
		assert_non_null(strstr(err.text, "longer than 500 bytes"));
		assert_non_null(strstr(err.text, "; choose a shorter one with -o"));
		snprintf(old, sizeof(old), "%s.old", path);
		assert_int_not_equal(access(old, F_OK), 0);
		f = fopen(path, "r");
		assert_non_null(f);
		assert_non_null(fgets(text, sizeof(text), f));
		fclose(f);
		assert_string_equal(text, "theirs");
		if (len <= 504)
			continue;
		unlink(path);
		write_profile("short", &p);
		assert_int_equal(rename("short", path), 0);
		assert_int_equal(aif_profile_open(path, &got, &err), -ENAMETOOLONG);
		assert_non_null(strstr(err.text, "longer than 504 bytes"));
	}
	snprintf(path, sizeof(path), "%0244d", 0);
	assert_int_equal(aif_writer_new(path, 1, &w, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "name is longer than 243 bytes"));
	snprintf(path, sizeof(path), "%0100d", 0);
	assert_int_equal(nftw(path, take_away, 8, FTW_DEPTH | FTW_PHYS), 0);
	unlink("short.old");
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, enter_directory, leave_directory)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_ops),
		TEST(test_counters),
		TEST(test_empty),
		TEST(test_sorted_and_cut),
		TEST(test_rewritten_rows),
		TEST(test_names_are_sorted),
		TEST(test_old_is_kept),
		TEST(test_unwritable),
		TEST(test_long_names),
		TEST(test_deep_names),
		TEST(test_killed),
		TEST(test_busy),
		TEST(test_hot_journal),
		TEST(test_read_only),
		TEST(test_disk_full),
		TEST(test_cache),
		TEST(test_stop_and_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
