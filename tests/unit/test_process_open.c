/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bounded.h"
#include "base/process_open.h"
#include "base/process_read.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Starts a process with these rights, which waits for its end. */
static pid_t start_with(uid_t uid, gid_t gid, gid_t group, bool without_capabilities)
{
	struct __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	int pipes[2];
	char c;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		if (setgroups(1, &group) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
		    (without_capabilities && syscall(SYS_capset, &self, none)) ||
		    write(pipes[1], "1", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	close(pipes[0]);
	return child;
}

static void root_opens_for_a_process_what_it_may_read(void **state)
{
	static const struct {
		uid_t uid;
		gid_t gid, group;
		bool without_capabilities;
		int want[4]; /* of the files below */
	} rows[] = {
		{0, 0, 0, false, {0, 0, 0, 0}},
		{0, 0, 0, true, {0, -EACCES, -EACCES, 0}},
		{1001, 1001, 1001, false, {-EACCES, 0, -EACCES, 0}},
		{1002, 1002, 1003, false, {-EACCES, -EACCES, 0, 0}},
		{1002, 1003, 1002, false, {-EACCES, -EACCES, 0, 0}},
		{1002, 1002, 1002, false, {-EACCES, -EACCES, -EACCES, 0}},
	};
	static const struct {
		const char *name;
		uid_t uid;
		gid_t gid;
		mode_t mode;
	} files[] = {{"roots", 0, 0, 0600},
		     {"ones", 1001, 1001, 0600},
		     {"groups", 1001, 1003, 0040},
		     {"all", 0, 0, 0644}};
	char dir[] = "/tmp/aif-test-XXXXXX", path[64];
	struct aif_process_files files_of;

	(void)state;
	if (geteuid() != 0 || access("/proc/self/root", F_OK))
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(fchown(fd, files[i].uid, files[i].gid), 0);
		assert_int_equal(fchmod(fd, files[i].mode), 0);
		close(fd);
	}
	for (size_t r = 0; r < AIF_ARRAY_LEN(rows); r++) {
		pid_t child = start_with(rows[r].uid, rows[r].gid, rows[r].group,
					 rows[r].without_capabilities);

		for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
			int fd;

			snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
			aif_process_files_init(&files_of, child);
			fd = aif_process_open(&files_of, path, 0);
			if (AIF_MIN(fd, 0) != rows[r].want[i])
				fail_msg("row %zu, %s: %d", r, files[i].name, fd);
			if (fd >= 0)
				close(fd);
		}
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	/* The thread has its own rights again. */
	for (size_t i = 0; i < AIF_ARRAY_LEN(files); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		close(fd);
		unlink(path);
	}
	rmdir(dir);
}

/* ---- where a process sees another root ----------------------------------------------------------- */

static void write_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Reads what the process has there; "": nothing. */
static void read_of(struct aif_process_files *f, const char *path, char text[32])
{
	int fd = aif_process_open(f, path, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 31);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Starts a process that calls begin(arg), then sends what that returned and waits for its end. */
static pid_t start_that(long (*begin)(void *arg), void *arg, long *ret)
{
	int pipes[2];
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		long said = begin(arg);

		if (write(pipes[1], &said, sizeof(said)) != sizeof(said))
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], ret, sizeof(*ret)), sizeof(*ret));
	close(pipes[0]);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static long enter_root(void *dir)
{
	return chroot(dir) || chdir("/") ? -errno : 0;
}

static long unshare_mounts(void *arg)
{
	(void)arg;
	return unshare(CLONE_NEWNS) ? -errno : 0;
}

static void absolute_links_are_those_of_the_process(void **state)
{
	char dir[] = "/tmp/aif-test-XXXXXX", path[128], outside[64], text[32];
	struct aif_process_files f;
	struct stat st;
	pid_t child;
	long said;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(outside, sizeof(outside), "%s.outside", dir);
	assert_int_equal(mkdir(outside, 0700), 0);
	write_file(outside, "secret", "the host's", 0600);
	snprintf(path, sizeof(path), "%s%s", dir, "/tmp");
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(outside, path), 0);
	child = start_that(enter_root, dir, &said);
	assert_int_equal(said, 0);
	aif_process_files_init(&f, child);
	assert_true(f.is_elsewhere);
	assert_true(aif_process_is_elsewhere(child));
	read_of(&f, "/link/secret", text);
	assert_string_equal(text, "");
	assert_int_equal(aif_process_open_dir(child, "/link/made"), -ENOENT);
	assert_int_equal(aif_process_open_dir(child, "/link"), -ENOTDIR);
	/* The same path, once the process has it as well. */
	snprintf(path, sizeof(path), "%s%s", dir, outside);
	assert_int_equal(mkdir(path, 0755), 0);
	write_file(path, "secret", "its own", 0600);
	read_of(&f, "/link/secret", text);
	assert_string_equal(text, "its own");
	fd = aif_process_open_dir(child, outside);
	assert_true(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0755);
	close(fd);
	end(child);
	/* Then that path means nothing: the host's is another file. */
	assert_int_equal(aif_process_open(&f, path, 0), -ESRCH);
	snprintf(path, sizeof(path), "rm -r %s %s", dir, outside);
	assert_int_equal(system(path), 0); /* NOLINT */
	assert_false(aif_process_is_elsewhere(getpid()));
}

static void a_process_with_mounts_of_its_own_is_elsewhere(void **state)
{
	struct aif_process_files f;
	pid_t child;
	long said;

	(void)state;
	child = start_that(unshare_mounts, NULL, &said);
	aif_process_files_init(&f, child);
	end(child);
	if (said < 0)
		skip();
	assert_true(f.is_elsewhere);
	assert_int_equal(aif_process_open(&f, "/etc/passwd", 0), -ESRCH);
}

static void of_a_process_that_has_ended_its_rights_are_left(void **state)
{
	char dir[] = "/tmp/aif-test-XXXXXX", path[64], text[32];
	struct aif_process_files f;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	write_file(dir, "roots", "roots", 0600);
	write_file(dir, "all", "all", 0644);
	for (int is_seen = 0; is_seen < 2; is_seen++) {
		child = start_with(1001, 1001, 1001, false);
		if (!is_seen)
			end(child);
		aif_process_files_init(&f, child);
		if (is_seen)
			end(child);
		snprintf(path, sizeof(path), "%s/roots", dir);
		assert_int_equal(aif_process_open(&f, path, 0), -EACCES);
		snprintf(path, sizeof(path), "%s/all", dir);
		read_of(&f, path, text);
		assert_string_equal(text, "all");
	}
	child = start_with(0, 0, 0, false);
	aif_process_files_init(&f, child);
	end(child);
	snprintf(path, sizeof(path), "%s/roots", dir);
	read_of(&f, path, text);
	assert_string_equal(text, "roots");
	snprintf(path, sizeof(path), "rm -r %s", dir);
	assert_int_equal(system(path), 0); /* NOLINT */
}

static long stay(void *arg)
{
	(void)arg;
	return 0;
}

/* A process that ends gives up its root directory before its namespaces: looked at in between it is not elsewhere. */
static void a_process_that_is_ending_is_where_it_was(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		char root[64];
		long said;
		pid_t child = start_that(stay, NULL, &said);

		kill(child, SIGKILL);
		snprintf(root, sizeof(root), "/proc/%d/root", child);
		do {
			struct aif_process_files f;

			aif_process_files_init(&f, child);
			assert_false(f.is_elsewhere);
			assert_false(aif_process_is_elsewhere(child));
		} while (access(root, F_OK) == 0);
		waitpid(child, NULL, 0);
	}
}

static void a_process_that_has_not_been_waited_for_is_where_it_was(void **state)
{
	struct aif_process_files f;
	siginfo_t info;
	pid_t child;
	long said;

	(void)state;
	child = start_that(unshare_mounts, NULL, &said);
	aif_process_files_init(&f, child);
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	if (said == 0) {
		assert_int_equal(aif_process_open(&f, "/etc/passwd", 0), -ESRCH);
		assert_true(f.is_elsewhere);
	}
	waitpid(child, NULL, 0);
	if (said < 0)
		skip();
}

/* ---- mapped files -------------------------------------------------------------------------------- */

struct mapping {
	const char *path;
	uid_t uid;
};

static long map_and_drop(void *arg)
{
	const struct mapping *m = arg;
	int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd < 0 || at == MAP_FAILED || setgroups(0, NULL) || setresgid(m->uid, m->uid, m->uid) ||
	    setresuid(m->uid, m->uid, m->uid))
		return -errno;
	return (long)at;
}

static void a_mapped_file_is_opened_if_the_process_may_read_it(void **state)
{
	char dir[] = "/tmp/aif-test-XXXXXX", path[64];
	static const mode_t modes[] = {0644, 0600};

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 2; i++) {
		struct mapping m = {path, 1001};
		struct aif_process_files f;
		pid_t child;
		long at;
		int fd;

		write_file(dir, "mapped", "text", modes[i]);
		snprintf(path, sizeof(path), "%s/mapped", dir);
		child = start_that(map_and_drop, &m, &at);
		assert_true(at > 0);
		unlink(path); /* its mapping is all that leads to it */
		aif_process_files_init(&f, child);
		fd = aif_process_open_mapped(&f, (uint64_t)at, (uint64_t)at + 4096);
		end(child);
		if (fd == -EPERM)
			skip(); /* this kernel lets nobody do that here */
		if (i)
			assert_int_equal(fd, -EACCES);
		else if (fd < 0)
			fail_msg("%d", fd);
		if (fd >= 0)
			close(fd);
	}
	rmdir(dir);
}

/* ---- reads that do not end ----------------------------------------------------------------------- */

/* Maps memory that nobody delivers, as another user. Returns where, or -errno. */
static long map_what_never_comes(void *arg)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uid_t uid = *(uid_t *)arg;

	if (fd < 0 || at == MAP_FAILED || ioctl(fd, UFFDIO_API, &api))
		return -errno;
	range.range.start = (uintptr_t)at;
	range.range.len = 4096;
	if (ioctl(fd, UFFDIO_REGISTER, &range) || setresuid(uid, uid, uid))
		return -errno;
	return (long)at;
}

static long change_user(void *arg)
{
	uid_t uid = *(uid_t *)arg;

	return setresuid(uid, uid, uid) ? -errno : 0;
}

static void who_keeps_a_reader_waiting_is_left(void **state)
{
	uid_t uid = 1001, other = 1002;
	pid_t stuck, same, another;
	struct aif_buf text = {0};
	uint8_t byte[8];
	long at, said;

	(void)state;
	if (geteuid() != 0)
		skip();
	stuck = start_that(map_what_never_comes, &uid, &at);
	same = start_that(change_user, &uid, &said);
	another = start_that(change_user, &other, &said);
	if (at <= 0) {
		end(stuck);
		end(same);
		end(another);
		skip(); /* this kernel has no userfaultfd */
	}
	assert_int_equal(aif_process_memory(stuck, (uint64_t)at, byte, sizeof(byte)), -ETIMEDOUT);
	/* Not again, nor of others of that user; of other users nothing is missing. */
	assert_int_equal(aif_process_memory(stuck, (uint64_t)(uintptr_t)&other, byte, 4),
			 -ETIMEDOUT);
	assert_int_equal(aif_process_text(same, "maps", 1 << 20, &text), -ETIMEDOUT);
	assert_int_equal(aif_process_text(another, "maps", 1 << 20, &text), 0);
	assert_true(text.len > 0);
	assert_int_equal(aif_process_memory(another, (uint64_t)(uintptr_t)&other, byte, 4), 4);
	end(stuck);
	/* The wait ends with the process; then that user is as before. */
	while (aif_process_text(same, "maps", 1 << 20, &text) == -ETIMEDOUT)
		sched_yield();
	assert_int_equal(aif_process_text(same, "maps", 1 << 20, &text), 0);
	assert_int_equal(aif_process_text(same, "maps", 10, &text), -EFBIG);
	end(same);
	end(another);
	assert_int_equal(aif_process_text(same, "maps", 1 << 20, &text), -ESRCH);
	aif_buf_finish(&text);
}

/* Stops this process, as a debugger or a shell does, in the middle of the call. */
static void be_stopped(void *arg, const atomic_bool *is_abandoned)
{
	(void)arg, (void)is_abandoned;
	kill(getpid(), SIGSTOP);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void release_nothing(void *arg)
{
	(void)arg;
}

static void a_stop_of_the_reader_is_no_wait_for_the_process(void **state)
{
	static const struct aif_bounded call = {be_stopped, release_nothing};
	int status;
	pid_t reader;

	(void)state;
	if (geteuid() != 0)
		skip(); /* then no thread makes the call */
	reader = fork();
	if (!reader)
		_exit(aif_bounded_call(&call, NULL, getppid(), false) == 0 ? 0 : 1);
	assert_true(reader > 0);
	assert_int_equal(waitpid(reader, &status, WUNTRACED), reader);
	assert_true(WIFSTOPPED(status));
	/* Longer than any wait. */
	nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 500000000}, NULL);
	assert_int_equal(kill(reader, SIGCONT), 0);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_of_the_reader_is_no_wait_for_the_process),
		cmocka_unit_test(root_opens_for_a_process_what_it_may_read),
		cmocka_unit_test(absolute_links_are_those_of_the_process),
		cmocka_unit_test(a_process_with_mounts_of_its_own_is_elsewhere),
		cmocka_unit_test(of_a_process_that_has_ended_its_rights_are_left),
		cmocka_unit_test(a_process_that_is_ending_is_where_it_was),
		cmocka_unit_test(a_process_that_has_not_been_waited_for_is_where_it_was),
		cmocka_unit_test(a_mapped_file_is_opened_if_the_process_may_read_it),
		cmocka_unit_test(who_keeps_a_reader_waiting_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
