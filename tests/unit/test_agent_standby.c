/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "temp_dir.h"

/* Stands in front of the C library's: counts how often is asked whether a process lives. */
static unsigned asked;
int kill(pid_t pid, int signal);
int kill(pid_t pid, int signal)
{
	(void)signal;
	asked++;
	if (pid == 1)
		return 0;
	errno = ESRCH;
	return -1;
}

static unsigned long namespace_here(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
	return st.st_ino;
}

static void make_dir(char dir[64])
{
	snprintf(dir, 64, "%s/aiflame-standby-XXXXXX", temp_dir());
	assert_non_null(mkdtemp(dir));
}

static void page_path(char *path, size_t size, const char *dir, unsigned pid, unsigned started)
{
	snprintf(path, size, "%s/%u-%u-%lu%s", dir, pid, started, namespace_here(),
		 AIF_STANDBY_SUFFIX);
}

static void page_put(const char *dir, unsigned pid, unsigned started)
{
	char path[128];
	int fd;

	page_path(path, sizeof(path), dir, pid, started);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void test_removes_pages_of_ended_processes(void **state)
{
	char dir[64], path[128];
	struct aif_standby s;

	(void)state;
	make_dir(dir);
	for (unsigned i = 0; i < 100; i++)
		page_put(dir, 1000000 + i, 1);
	page_put(dir, 1, 1);
	asked = 0;
	assert_int_equal(aif_standby_show(&s, dir, AIF_LEVEL_OFF, ""), 0);
	assert_int_equal(asked, 101);
	aif_standby_hide(&s, dir);
	/* Leaves that of process 1, which lives. */
	page_path(path, sizeof(path), dir, 1, 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A directory may be full of pages, of whomever: a process that starts looks at some of them. */
static void test_looks_at_few_of_many_pages(void **state)
{
	const unsigned many = 20000;
	char dir[64], path[128];
	struct aif_standby s;

	(void)state;
	make_dir(dir);
	for (unsigned i = 0; i < many; i++)
		page_put(dir, 1, i + 1);
	asked = 0;
	assert_int_equal(aif_standby_show(&s, dir, AIF_LEVEL_OFF, ""), 0);
	assert_in_range(asked, 1000, 5000);
	aif_standby_hide(&s, dir);
	for (unsigned i = 0; i < many; i++) {
		page_path(path, sizeof(path), dir, 1, i + 1);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_removes_pages_of_ended_processes),
		cmocka_unit_test(test_looks_at_few_of_many_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
