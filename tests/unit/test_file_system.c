/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in the file system: places and long names, other processes, kills, full disks. */
#include "fixture_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
	/* A file of somebody's stays, in either place. */
	unlink("mine");
	keep_text("mine", "mine");
	assert_int_equal(aif_profile_check_place("mine", &err), -EEXIST);
	assert_int_equal(aif_writer_new("mine", 1, &w, &err), -EEXIST);
	assert_non_null(strstr(err.text, "it exists and is no aiflame profile"));
	assert_int_equal(rename("mine", "p.old"), 0);
	assert_int_equal(aif_writer_new("p", 1, &w, &err), -EEXIST);
	assert_non_null(strstr(err.text, "it would become p.old"));
	assert_ok(aif_profile_open("p", &got, &err), &err);
	aif_profile_finish(&got);
	unlink("p.old");
	assert_int_equal(aif_profile_check_place("-", &err), -EINVAL);
	assert_int_equal(aif_profile_check_place("p", &err), 0);
}

static void places_that_cannot_be_written_are_refused(void **state)
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

static void a_killed_writer_leaves_a_file_that_opens(void **state)
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

static void a_file_that_is_being_recorded_is_refused(void **state)
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
static void a_commit_that_was_cut_short_is_undone_or_told(void **state)
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

static void files_in_read_only_directories_open(void **state)
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
static void a_full_disk_is_told_and_keeps_what_was_committed(void **state)
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

static void paths_that_are_too_long_are_refused(void **state)
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
		TEST(test_old_is_kept),
		TEST(places_that_cannot_be_written_are_refused),
		TEST(paths_that_are_too_long_are_refused),
		TEST(a_killed_writer_leaves_a_file_that_opens),
		TEST(a_file_that_is_being_recorded_is_refused),
		TEST(a_commit_that_was_cut_short_is_undone_or_told),
		TEST(files_in_read_only_directories_open),
		TEST(a_full_disk_is_told_and_keeps_what_was_committed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
