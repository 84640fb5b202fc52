/* SPDX-License-Identifier: Apache-2.0 */
#include "text/out.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/test_out.XXXXXX";
static char path[64], other[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/out.svg", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

static unsigned files_here(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* . and .. */
}

static void assert_content(const char *name, const char *text)
{
	char got[64] = "";
	int fd = open(name, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
	close(fd);
}

static int write_all(const char *name, const char *text)
{
	struct aif_out o;
	struct aif_err err;

	assert_int_equal(aif_out_open(&o, name, &err), 0);
	aif_buf_puts(aif_out_buf(&o), text);
	return aif_out_commit(&o, &err);
}

static void test_commit_and_abort(void **state)
{
	struct aif_out o;
	struct aif_err err;
	struct stat st;

	(void)state;
	umask(027);
	assert_int_equal(aif_out_open(&o, path, &err), 0);
	aif_buf_puts(aif_out_buf(&o), "half");
	assert_int_equal(access(path, F_OK), -1); /* not before it is whole */
	aif_out_abort(&o);
	aif_out_abort(&o);
	assert_int_equal(files_here(), 0);
	assert_int_equal(write_all(path, "one"), 0);
	assert_content(path, "one");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(files_here(), 1);

	assert_int_equal(aif_out_open(&o, path, &err), 0);
	aif_buf_puts(aif_out_buf(&o), "two");
	assert_content(path, "one"); /* what was there stays until then */
	assert_int_equal(chmod(path, 0600), 0);
	aif_out_abort(&o);
	assert_content(path, "one");
	assert_int_equal(write_all(path, "two"), 0);
	assert_content(path, "two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600); /* the file's mode is kept */
	assert_int_equal(files_here(), 1);
}

static void test_links(void **state)
{
	struct stat st;

	(void)state;
	unlink(path);
	assert_int_equal(write_all(other, "old"), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(write_all(path, "new"), 0);
	assert_content(other, "new");
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(other);
	unlink(path);
}

static void test_what_is_no_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(write_all("/dev/null", "x"), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(write_all("/dev/full", "x"), -ENOSPC);
}

static void test_errors_say_what_to_do(void **state)
{
	char bad[64];
	struct aif_out o;
	struct aif_err err;

	(void)state;
	snprintf(bad, sizeof(bad), "%s/no/out.svg", dir);
	assert_int_equal(aif_out_open(&o, bad, &err), -ENOENT);
	assert_non_null(strstr(err.text, "directory does not exist"));
	assert_int_equal(aif_out_open(&o, dir, &err), -EISDIR);
	assert_int_equal(aif_out_open(&o, "/dev/full", &err), 0);
	aif_buf_puts(aif_out_buf(&o), "x");
	assert_int_equal(aif_out_commit(&o, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "/dev/full: the disk is full; "));
}

static void test_large(void **state)
{
	struct aif_out o;
	struct aif_err err;
	struct stat st;

	(void)state;
	assert_int_equal(aif_out_open(&o, path, &err), 0);
	for (unsigned i = 0; i < 100000; i++) {
		aif_buf_puts(aif_out_buf(&o), "0123456789");
		aif_out_flush_if_full(&o);
		assert_true(o.buf.cap <= 1 << 20);
	}
	assert_int_equal(aif_out_commit(&o, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 1000000);
}

static void write_bounded(uint64_t max, bool is_gzip, int wanted)
{
	struct aif_out o;
	struct aif_err err;
	int r;

	unlink(path);
	assert_int_equal(aif_out_open(&o, path, &err), 0);
	o.max = max;
	if (is_gzip)
		assert_int_equal(aif_out_gzip(&o), 0);
	for (unsigned i = 0; i < 100000; i++) {
		aif_buf_puts(aif_out_buf(&o), "0123456789");
		aif_out_flush_if_full(&o);
	}
	r = aif_out_commit(&o, &err);
	assert_int_equal(r, wanted);
	assert_int_equal(access(path, F_OK), r ? -1 : 0);
	if (r)
		assert_non_null(strstr(err.text, "larger than 976.6 KiB; select a part"));
	assert_int_equal(files_here(), r ? 0 : 1);
}

static void test_bound(void **state)
{
	(void)state;
	write_bounded(999999, false, -EFBIG);
	write_bounded(999999, true, -EFBIG); /* it is of what comes out of it again */
	write_bounded(1000000, false, 0);
	write_bounded(1000000, true, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commit_and_abort),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_what_is_no_file),
		cmocka_unit_test(test_errors_say_what_to_do),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
