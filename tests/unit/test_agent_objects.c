/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of device code, as they are left beside a recorder's socket. */
#include "agent/objects.h"

#include "agent/agent.h"
#include "wire/handshake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct aif_agent aif_agent;

static char dir[64];

static int set_up(void **state)
{
	(void)state;
	memset(&aif_agent, 0, sizeof(aif_agent));
	strcpy(dir, "/tmp/aiflame-objects-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(aif_agent.session.met.call.path, sizeof(aif_agent.session.met.call.path),
		 "%s/agent", dir);
	return 0;
}

static void path_of(char path[512], const char *name)
{
	snprintf(path, 512, "%s/%s", dir, name);
}

/* The files, which are removed. */
static unsigned files(void)
{
	const struct dirent *d;
	char path[512];
	unsigned n = 0;
	DIR *at = opendir(dir);

	assert_non_null(at);
	while ((d = readdir(at)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		path_of(path, d->d_name);
		assert_int_equal(unlink(path), 0);
		n++;
	}
	closedir(at);
	return n;
}

static int tear_down(void **state)
{
	(void)state;
	(void)files();
	return rmdir(dir);
}

static void each_is_left_once_and_whole(void **state)
{
	static const char bytes[] = "code";
	char path[512], got[sizeof(bytes)] = "";
	struct stat st;
	int fd;

	(void)state;
	errno = 77;
	assert_true(aif_object_keep(0xabc, bytes, sizeof(bytes)));
	assert_true(aif_object_keep(0xabc, bytes, sizeof(bytes)));
	assert_int_equal(errno, 77);
	assert_int_equal(aif_agent.objects_bytes, sizeof(bytes));
	path_of(path, "0000000000000abc.object");
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, sizeof(bytes));
	assert_int_equal(read(fd, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, bytes, sizeof(got));
	close(fd);
	assert_int_equal(files(), 1);
}

static void what_is_too_much_leaves_room_for_less(void **state)
{
	static const char bytes[200];

	(void)state;
	aif_agent.objects_bytes = AIF_OBJECTS_MAX - 150;
	assert_false(aif_object_keep(1, bytes, 200));
	assert_true(aif_object_keep(2, bytes, 100));
	assert_false(aif_object_keep(3, bytes, 100));
	assert_true(aif_object_keep(4, bytes, 50));
	assert_false(aif_object_keep(5, bytes, 0));
	assert_false(aif_object_keep(0, bytes, 1));
	assert_int_equal(files(), 2);
}

/* A thread of another container, which has our number, is at it; or was when it was killed. */
static void others_of_our_number_are_not_in_the_way(void **state)
{
	static const char bytes[] = "code";
	char path[512], name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), AIF_OBJECT_NAME ".%ld" AIF_OBJECT_PART, UINT64_C(1),
		 syscall(SYS_gettid));
	path_of(path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_true(aif_object_keep(2, bytes, sizeof(bytes)));
	/* The very same one: that other has it. */
	assert_false(aif_object_keep(1, bytes, sizeof(bytes)));
	assert_int_equal(aif_agent.objects_bytes, sizeof(bytes));
	assert_int_equal(files(), 2);
}

static void without_a_directory_nothing_is_left(void **state)
{
	(void)state;
	snprintf(aif_agent.session.met.call.path, sizeof(aif_agent.session.met.call.path),
		 "%s/none/agent", dir);
	assert_false(aif_object_keep(1, "x", 1));
	*aif_agent.session.met.call.path = '\0';
	assert_false(aif_object_keep(1, "x", 1));
	assert_int_equal(files(), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_is_left_once_and_whole),
		TEST(what_is_too_much_leaves_room_for_less),
		TEST(others_of_our_number_are_not_in_the_way),
		TEST(without_a_directory_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
