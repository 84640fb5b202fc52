/* SPDX-License-Identifier: Apache-2.0 */
/* Text of the program's own source: which lines and which files are kept. */
#include "record/source_texts.h"

#include "temp_dir.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct aif_store s;
	struct aif_source_reader reader;
	char dir[64], path[128];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || aif_store_init(&f->s, aif_now_ns()) < 0)
		return -1;
	snprintf(f->dir, sizeof(f->dir), "%s/source-texts-XXXXXX", temp_dir());
	if (!mkdtemp(f->dir))
		return -1;
	aif_source_reader_add(&f->reader, getuid(), getgid());
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	DIR *dir = opendir(f->dir);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(f->dir);
	aif_store_finish(&f->s);
	free(f);
	return 0;
}

/* Writes a file that is a minute older than the recording. */
static const char *write_file(struct fixture *f, const char *name, const char *text, size_t len)
{
	struct timespec old[2];
	FILE *file;

	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
	file = fopen(f->path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
	clock_gettime(CLOCK_REALTIME, &old[0]);
	old[0].tv_sec -= 60;
	old[1] = old[0];
	assert_int_equal(utimensat(AT_FDCWD, f->path, old, 0), 0);
	f->s.p.start_ns = aif_now_ns();
	return f->path;
}

/* Makes a frame of a Python function that stands on that line. */
static void stand_on(struct fixture *f, const char *path, uint32_t line)
{
	uint32_t module = aif_store_module(&f->s, AIF_MODULE_SOURCE, path, strlen(path), "", 0);
	struct aif_frame_name name = {
		.frame = aif_store_frame(&f->s, AIF_FRAME_PYTHON, module, line),
		.name = aif_store_puts(&f->s, "f"),
		.file = aif_store_puts(&f->s, path),
		.line = line,
	};

	aif_store_name(&f->s, &name);
}

/* Returns what was kept of the file, NULL: nothing. */
static const char *kept(struct fixture *f, const char *path)
{
	atomic_bool is_impatient = false;
	const struct aif_profile *p = &f->s.p;

	aif_source_texts_add(&f->s, &f->reader, &is_impatient);
	for (size_t i = 0; i < p->programs_len; i++)
		if (!strcmp(aif_profile_str(p, p->programs[i].source_name), path))
			return aif_profile_str(p, p->programs[i].source);
	return NULL;
}

/* Starts a process that sees the file `other` under `path`, and waits for its end. 0: that is not to be had here. */
static pid_t start_container(const char *path, const char *other)
{
	int pipes[2];
	pid_t child;
	char c = 0;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		close(pipes[0]);
		if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount(other, path, NULL, MS_BIND, NULL) < 0 || write(pipes[1], "1", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	(void)!read(pipes[0], &c, 1);
	close(pipes[0]);
	if (!c)
		waitpid(child, NULL, 0);
	return c ? child : 0;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Makes a frame as above, of a process. */
static void stand_on_of(struct fixture *f, pid_t pid, const char *path)
{
	struct aif_process_files files;

	aif_process_files_init(&files, pid);
	aif_homes_note(&f->s.homes,
		       aif_store_module(&f->s, AIF_MODULE_SOURCE, path, strlen(path), "", 0),
		       &files);
	stand_on(f, path, 1);
}

/* The same of a container, and `also` of a process of the host. What is kept: the first line of the file. */
static void check_container(struct fixture *f, bool has_ended, bool also, const char *want)
{
	char path[128], other[128];
	const char *text;
	pid_t child;

	snprintf(other, sizeof(other), "%s", write_file(f, "other.py", "the container's\n", 16));
	snprintf(path, sizeof(path), "%s", write_file(f, "a.py", "the host's\n", 11));
	child = start_container(path, other);
	if (!child)
		skip();
	stand_on_of(f, child, path);
	if (also)
		stand_on_of(f, getpid(), path);
	if (has_ended)
		end(child);
	text = kept(f, path);
	if (!has_ended)
		end(child);
	if (want)
		assert_string_equal(text, want);
	else
		assert_null(text);
}

/* Returns what the last file that was left out is counted as. */
static const char *lost(struct fixture *f)
{
	const struct aif_profile *p = &f->s.p;

	return p->losses_len ? aif_profile_str(p, p->losses[p->losses_len - 1].detail) : "";
}

static void a_containers_text_is_its_own(void **state)
{
	check_container(*state, false, false, "the container's\n");
}

static void a_container_that_has_ended_has_no_text(void **state)
{
	check_container(*state, true, false, NULL);
	assert_non_null(strstr(lost(*state), "containers whose processes have ended"));
}

static void a_path_of_container_and_host_has_no_text(void **state)
{
	check_container(*state, false, true, NULL);
	assert_non_null(strstr(lost(*state), "several files"));
}

static void a_path_of_the_host_has_the_hosts_text(void **state)
{
	struct fixture *f = *state;
	const char *path = write_file(f, "a.py", "the host's\n", 11);

	stand_on_of(f, getpid(), path);
	assert_string_equal(kept(f, path), "the host's\n");
}

static void lines_and_their_neighbours(void **state)
{
	struct fixture *f = *state;
	char text[4096] = "", want[4096] = "", line[32];
	const char *path;

	for (int i = 1; i <= 60; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		strcat(text, line);
		if (i >= 46)
			continue;
		/* of the lines 10, 13 and 40 */
		strcat(want, (i >= 5 && i <= 18) || i >= 35 ? line : "\n");
	}
	path = write_file(f, "a.py", text, strlen(text));
	stand_on(f, path, 13);
	stand_on(f, path, 40);
	stand_on(f, path, 10);
	stand_on(f, path, 40);
	assert_string_equal(kept(f, path), want);
}

static void at_the_ends_of_a_file(void **state)
{
	struct fixture *f = *state;
	const char *path = write_file(f, "b.py", "one\ntwo", 7);

	stand_on(f, path, 1);
	stand_on(f, path, 2);
	stand_on(f, path, UINT32_MAX); /* which it does not have */
	assert_string_equal(kept(f, path), "one\ntwo\n");
}

static void long_lines_are_cut(void **state)
{
	struct fixture *f = *state;
	static char text[5000];
	const char *path;

	memset(text, 'x', sizeof(text));
	path = write_file(f, "c.py", text, sizeof(text));
	stand_on(f, path, 1);
	assert_int_equal(strlen(kept(f, path)), AIF_SOURCE_TEXT_LINE_MAX + 1);
}

static void beginnings_of_blocks_are_kept(void **state)
{
	struct fixture *f = *state;
	char text[4096] = "def train():\n    for x in y:\n";
	const char *path, *at;

	for (int i = 3; i < 40; i++)
		strcat(text, "        print(x)\n");
	strcat(text, "        step(x)\n");
	path = write_file(f, "d.py", text, strlen(text));
	stand_on(f, path, 40);
	at = kept(f, path);
	assert_memory_equal(at, "def train():\n    for x in y:\n\n\n", 31);
	assert_non_null(strstr(at, "step(x)"));
}

static void a_source_that_changed_since_is_not_kept(void **state)
{
	struct fixture *f = *state;
	struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	const char *path = write_file(f, "d.py", "one\n", 4);

	stand_on(f, path, 1);
	usleep(20000);
	assert_int_equal(utimensat(AT_FDCWD, path, now, 0), 0);
	assert_null(kept(f, path));
}

/* A program that replaces a file may give it the old one's time. */
static void changed_since_with_an_old_time(void **state)
{
	struct fixture *f = *state;
	const char *path = write_file(f, "i.py", "one\n", 4);
	uint64_t start_ns = f->s.p.start_ns;

	stand_on(f, path, 1);
	usleep(20000);
	write_file(f, "i.py", "two\n", 4);
	f->s.p.start_ns = start_ns;
	assert_null(kept(f, path));
}

static void files_that_are_no_source_are_not_kept(void **state)
{
	struct fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s", write_file(f, "e.py", "one\0two\n", 8));
	stand_on(f, path, 1);
	assert_null(kept(f, path));
	stand_on(f, "relative.py", 1);
	assert_null(kept(f, "relative.py"));
	stand_on(f, "/proc/self/status", 1);
	assert_null(kept(f, "/proc/self/status"));
	stand_on(f, f->dir, 1);
	assert_null(kept(f, f->dir));
	snprintf(path, sizeof(path), "%s/fifo", f->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	stand_on(f, path, 1);
	assert_null(kept(f, path));
}

static void what_is_kept_whole(void **state)
{
	struct fixture *f = *state;
	const char *path = write_file(f, "g.py", "one\ntwo\n", 8);
	struct aif_program row = {.process = AIF_NONE,
				  .options = aif_store_puts(&f->s, ""),
				  .source = aif_store_puts(&f->s, "whole"),
				  .source_name = aif_store_puts(&f->s, path)};

	aif_store_program(&f->s, &row);
	stand_on(f, path, 1);
	assert_string_equal(kept(f, path), "whole");
	assert_int_equal(f->s.p.programs_len, 1);
}

/* Line tables are the program's, and say what they like: root reads what the program's user may read. */
static void root_reads_as_the_user(void **state)
{
	struct fixture *f = *state;
	const char *path = write_file(f, "secret", "one\n", 4);

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(chmod(path, 0600), 0);
	f->s.p.start_ns = aif_now_ns();
	stand_on(f, path, 1);
	f->reader = (struct aif_source_reader){0};
	assert_null(kept(f, path)); /* nobody is known */
	aif_source_reader_add(&f->reader, 1234, 1234);
	assert_null(kept(f, path));
	assert_int_equal(chown(path, 1234, 1234), 0);
	f->s.p.start_ns = aif_now_ns();
	assert_non_null(kept(f, path));
	/* The thread that asked has its rights as before. */
	assert_int_equal(access(path, R_OK | W_OK), 0);
}

static void several_users_are_nobody(void **state)
{
	struct aif_source_reader r = {0};

	(void)state;
	aif_source_reader_add(&r, 1, 2);
	aif_source_reader_add(&r, 1, 2);
	assert_true(r.is_known && r.uid == 1 && r.gid == 2);
	aif_source_reader_add(&r, 3, 2);
	assert_false(r.is_known);
	aif_source_reader_add(&r, 1, 2);
	assert_false(r.is_known);
}

static void impatience_keeps_nothing(void **state)
{
	struct fixture *f = *state;
	atomic_bool is_impatient = true;
	const char *path = write_file(f, "h.py", "one\n", 4);

	stand_on(f, path, 1);
	aif_source_texts_add(&f->s, &f->reader, &is_impatient);
	assert_int_equal(f->s.p.programs_len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_and_their_neighbours, setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_ends_of_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(long_lines_are_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(beginnings_of_blocks_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(a_source_that_changed_since_is_not_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(changed_since_with_an_old_time, setup, teardown),
		cmocka_unit_test_setup_teardown(files_that_are_no_source_are_not_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_kept_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(root_reads_as_the_user, setup, teardown),
		cmocka_unit_test(several_users_are_nobody),
		cmocka_unit_test_setup_teardown(a_containers_text_is_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(a_container_that_has_ended_has_no_text, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_path_of_container_and_host_has_no_text, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_path_of_the_host_has_the_hosts_text, setup,
						teardown),
		cmocka_unit_test_setup_teardown(impatience_keeps_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
