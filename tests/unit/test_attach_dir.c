/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/attach.h"
#include "record/attach/attach_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/prctl.h>

#include <cmocka.h>

#include "temp_dir.h"

static unsigned long long field_of_stat(int n)
{
	char text[4096] = "";
	FILE *f = fopen("/proc/self/stat", "re");
	char *at;

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	at = strrchr(text, ')') + 2;
	for (int i = 3; i < n; i++)
		at = strchr(at, ' ') + 1;
	return strtoull(at, NULL, 10);
}

/* Says that the environment of this process is `bytes` of an empty mapping, which takes no memory. 0 or -errno. */
static int claim_environment(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct prctl_mm_map map = {.start_code = field_of_stat(26),
				   .end_code = field_of_stat(27),
				   .start_data = field_of_stat(45),
				   .end_data = field_of_stat(46),
				   .start_brk = field_of_stat(47),
				   .brk = (uintptr_t)sbrk(0),
				   .start_stack = field_of_stat(28),
				   .arg_start = field_of_stat(48),
				   .arg_end = field_of_stat(49),
				   .env_start = (uintptr_t)at,
				   .env_end = (uintptr_t)at + bytes,
				   .exe_fd = (uint32_t)-1};

	if (at == MAP_FAILED ||
	    prctl(PR_SET_MM, PR_SET_MM_MAP, (uintptr_t)&map, sizeof(map), 0) < 0)
		return -errno;
	return 0;
}

/* Makes a process that has such an environment. Returns its pid, or 0 where the kernel refuses it. */
static pid_t process_of(size_t bytes)
{
	int ends[2], said = 0;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		said = claim_environment(bytes);
		if (write(ends[1], &said, sizeof(said)) != sizeof(said))
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &said, sizeof(said)), sizeof(said));
	close(ends[0]);
	close(ends[1]);
	if (!said)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/* An emulator of another processor has an environment of its own, and the kernel knows no other. */
static bool is_emulated(void)
{
	static char text[65536];
	FILE *f = fopen("/proc/self/environ", "re");
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		fclose(f);
	return !memmem(text, n, "AIF_TEST_GIVEN=a=b", sizeof("AIF_TEST_GIVEN=a=b"));
}

static void a_variable_of_a_process_is_found(void **state)
{
	char value[64];

	(void)state;
	if (is_emulated())
		skip();
	assert_int_equal(aif_standby_environment(getpid(), "AIF_TEST_NONE", value, sizeof(value)),
			 -ENOENT);
	assert_int_equal(aif_standby_environment(getpid(), "PATH", value, 0), -ENOENT);
	assert_int_equal(aif_standby_environment(getpid(), "AIF_TEST_GIVEN", value, sizeof(value)),
			 0);
	assert_string_equal(value, "a=b");
}

/* 64 GiB of environment would be read for a minute, and by root of any user's process. */
static void an_environment_that_no_exec_made_is_not_read(void **state)
{
	char value[64];
	pid_t pid;

	(void)state;
	if (is_emulated())
		skip();
	pid = process_of((size_t)64 << 30);
	if (!pid)
		skip(); /* this kernel lets nobody say where an environment is */
	assert_int_equal(aif_standby_environment(pid, "PATH", value, sizeof(value)), -EFBIG);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = process_of((size_t)1 << 20);
	assert_true(pid > 0);
	assert_int_equal(aif_standby_environment(pid, "PATH", value, sizeof(value)), -ENOENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Makes files that look like pages of a process of another namespace, which nobody takes away. */
static void make_pages(const char *dir, unsigned n)
{
	const struct aif_standby_page page = {
		.magic = AIF_STANDBY_MAGIC, .wire_version = AIF_WIRE_VERSION, .pid = 1};
	char path[128], first[128];
	FILE *f;

	snprintf(first, sizeof(first), "%s/0-0-0" AIF_STANDBY_SUFFIX, dir);
	f = fopen(first, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(&page, sizeof(page), 1, f), 1);
	fclose(f);
	for (unsigned i = 1; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%u-0-0" AIF_STANDBY_SUFFIX, dir, i);
		assert_int_equal(link(first, path), 0);
	}
}

static void remove_pages(const char *dir, unsigned n)
{
	char path[128];

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%u-0-0" AIF_STANDBY_SUFFIX, dir, i);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static bool count_page(void *arg, struct aif_standby_entry *e)
{
	(void)e;
	++*(unsigned *)arg;
	return true;
}

/* The owner of a directory can fill it: 60,000 files took a recorder 5 s a look. */
static void a_directory_that_is_full_is_looked_at_in_part(void **state)
{
	enum { MORE = 100, ALL = AIF_STANDBY_PAGES_MAX + MORE };
	char dir[64];
	unsigned seen = 0;
	int fd;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/aif-test-XXXXXX", temp_dir());
	assert_non_null(mkdtemp(dir));
	make_pages(dir, ALL);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(aif_standby_pages(fd, NULL, 0, count_page, &seen), MORE);
	assert_int_equal(seen, AIF_STANDBY_PAGES_MAX);
	close(fd);
	remove_pages(dir, ALL);
}

/* Counts the two pages of the directory when another file is mounted in the place of one. Exits with their number. */
static void count_beside_mount(const char *dir)
{
	char path[2][128];
	unsigned seen = 0;
	int fd;

	for (unsigned i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%u-0-0" AIF_STANDBY_SUFFIX, dir, i);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(path[1], path[0], NULL, MS_BIND, NULL) < 0)
		_exit(100);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	aif_standby_pages(fd, NULL, 0, count_page, &seen);
	_exit((int)seen);
}

/* Opening a file of a file system that the directory's owner has mounted there, and serves, would never end. */
static void a_page_that_is_mounted_there_is_not_opened(void **state)
{
	char dir[64];
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0 || is_emulated())
		skip(); /* root mounts; qemu has no openat2(), which finds mounts */
	snprintf(dir, sizeof(dir), "%s/aif-test-XXXXXX", temp_dir());
	assert_non_null(mkdtemp(dir));
	make_pages(dir, 2);
	child = fork();
	if (!child)
		count_beside_mount(dir);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	remove_pages(dir, 2);
	if (WEXITSTATUS(status) == 100)
		skip(); /* it may not */
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void a_directory_whose_look_was_dear_is_looked_at_seldom(void **state)
{
	struct aif_attach a = {.about = -1, .wants = AIF_WANTS_ALL, .look_ns = AIF_NS_PER_S};
	uint64_t began = UINT64_C(1000) * AIF_NS_PER_S;
	char dir[64];

	(void)state;
	snprintf(dir, sizeof(dir), "%s/aif-test-XXXXXX", temp_dir());
	assert_non_null(mkdtemp(dir));
	a.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(a.dir >= 0);
	a.looked_ns = began;
	aif_attach_look(&a, began + AIF_NS_PER_S);
	assert_int_equal(a.looked_ns, began);
	aif_attach_look(&a, began + 30 * AIF_NS_PER_S);
	assert_int_equal(a.looked_ns, began + 30 * AIF_NS_PER_S);
	a.look_ns = 0; /* an empty one is quick */
	aif_attach_look(&a, began + 31 * AIF_NS_PER_S);
	assert_int_equal(a.looked_ns, began + 31 * AIF_NS_PER_S);
	close(a.dir);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_that_is_full_is_looked_at_in_part),
		cmocka_unit_test(a_page_that_is_mounted_there_is_not_opened),
		cmocka_unit_test(a_directory_whose_look_was_dear_is_looked_at_seldom),
		cmocka_unit_test(a_variable_of_a_process_is_found),
		cmocka_unit_test(an_environment_that_no_exec_made_is_not_read),
	};

	/* The kernel keeps the environment with which a program began. */
	if (!getenv("AIF_TEST_GIVEN")) {
		setenv("AIF_TEST_GIVEN", "a=b", 1);
		execv("/proc/self/exe", argv);
	}
	(void)argc;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
