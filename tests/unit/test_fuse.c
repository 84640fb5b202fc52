/* SPDX-License-Identifier: Apache-2.0 */
/* A file system that a user serves, who never answers a read: root asks for none. */
#include "base/open_regular.h"
#include "base/process_open.h"
#include "base/process_read.h"
#include "emulated.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fuse.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { USER = 1001, FILE_BYTES = 1 << 20, REQUEST_BYTES = 1 << 17, SECONDS = 20 };

struct answer {
	struct fuse_out_header head;
	union {
		struct fuse_init_out init;
		struct fuse_entry_out entry;
		struct fuse_attr_out attr;
		struct fuse_open_out open;
	} of;
};

static void set_attr(struct fuse_attr *a, uint64_t node)
{
	a->ino = node;
	a->mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755;
	a->nlink = 1;
	a->size = FILE_BYTES;
	a->uid = a->gid = USER;
}

/* Makes the answer to a request. Returns its length, 0: none. */
static size_t answer(const struct fuse_in_header *in, struct answer *out)
{
	size_t len = 0;

	memset(out, 0, sizeof(*out));
	out->head.unique = in->unique;
	switch (in->opcode) {
	case FUSE_INIT:
		out->of.init = (struct fuse_init_out){.major = 7, .minor = 31, .max_write = 65536};
		len = sizeof(out->of.init);
		break;
	case FUSE_LOOKUP:
		out->of.entry = (struct fuse_entry_out){
			.nodeid = 2, .attr_valid = 1000, .entry_valid = 1000};
		set_attr(&out->of.entry.attr, 2);
		len = sizeof(out->of.entry);
		break;
	case FUSE_GETATTR:
		out->of.attr.attr_valid = 1000;
		set_attr(&out->of.attr.attr, in->nodeid);
		len = sizeof(out->of.attr);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		len = sizeof(out->of.open);
		break;
	case FUSE_READ:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return 0;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		break;
	default:
		out->head.error = -ENOSYS;
	}
	return sizeof(out->head) + len;
}

static void serve(int device)
{
	static _Alignas(8) char request[REQUEST_BYTES];
	struct answer out;

	for (;;) {
		ssize_t n = read(device, request, sizeof(request));
		size_t len;

		if (n < 0 && errno == ENODEV)
			_exit(0);
		if (n <= 0)
			continue;
		len = answer((struct fuse_in_header *)request, &out);
		out.head.len = (uint32_t)len;
		if (len && write(device, &out, len) < 0 && errno == ENODEV)
			_exit(0);
	}
}

static pid_t become_user(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
	}
	return child;
}

/* Maps the file, in a process of the user's, and says where. */
static void map_file(const char *path, int to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *m = fd < 0 ? MAP_FAILED
			 : mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (m == MAP_FAILED || write(to, &m, sizeof(m)) != sizeof(m))
		_exit(1);
	for (;;)
		pause();
}

static void what_a_user_serves_is_not_read(void **state)
{
	char dir[] = "/tmp/aif-test-XXXXXX", path[64], options[128], word[8];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC), pipes[2];
	struct aif_process_files files;
	int mapped, named, directory;
	ssize_t served, own;
	pid_t server, victim;
	uint64_t at;

	(void)state;
	if (is_emulated())
		skip();
	if (device < 0 || geteuid() != 0) {
		print_message("SKIP %s: %s\n", "/dev/fuse",
			      geteuid() ? "not root" : strerror(errno));
		if (device >= 0)
			close(device);
		skip();
	}
	assert_non_null(mkdtemp(dir));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", device, USER, USER);
	if (mount("users", dir, "fuse.users", MS_NOSUID | MS_NODEV, options) < 0) {
		print_message("SKIP mount: %s\n", strerror(errno));
		rmdir(dir);
		close(device);
		skip();
	}
	assert_int_equal(pipe(pipes), 0);
	server = become_user();
	if (!server) {
		alarm(SECONDS);
		serve(device);
	}
	close(device);
	snprintf(path, sizeof(path), "%s/f", dir);
	victim = become_user();
	if (!victim) {
		alarm(SECONDS);
		map_file(path, pipes[1]);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &at, sizeof(at)), sizeof(at));
	aif_process_files_init(&files, victim);
	mapped = aif_process_open_mapped(&files, at, at + FILE_BYTES);
	named = aif_process_open(&files, path, 0);
	directory = aif_process_open_dir(victim, dir);
	served = aif_process_memory(victim, at, word, sizeof(word));
	own = aif_process_memory(victim, (uint64_t)(uintptr_t)&files, word, sizeof(word));
	kill(victim, SIGKILL);
	kill(server, SIGKILL); /* with whom all waits for an answer end */
	waitpid(server, NULL, 0);
	waitpid(victim, NULL, 0);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	assert_int_equal(mapped, -EREMOTE);
	assert_int_equal(named, -EREMOTE);
	assert_int_equal(directory, -EREMOTE);
	assert_int_equal(served, -EREMOTE);
	assert_int_equal(own, sizeof(word));
}

static bool yes(void *arg, int handle)
{
	(void)arg;
	return fcntl(handle, F_GETFD) >= 0;
}

/* Makes openat2() fail as before Linux 5.6. */
static bool forbid_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {AIF_ARRAY_LEN(code), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool opens(int root, const char *path, int flags)
{
	const struct aif_open_guard guard = {yes, NULL, true};
	int fd = aif_open_regular_in(root, path, flags, &guard);
	char word[3] = "";
	bool is_it = fd >= 0 && read(fd, word, 2) == 2 && !strcmp(word, "in");

	if (fd >= 0)
		close(fd);
	return is_it;
}

/* Returns the number of the first that is not as it should be. */
static int walk(int root)
{
	static const char *const found[] = {
		"/a/f",        "/a/./f",        "//a//b/../f",        "/../a/f", "/up/f",
		"/a/absolute", "/a/b/relative", "/a/./../a/b/.././f", "/dots/f",
	};
	static const char *const not_found[] = {"/a/g", "/loop", "/out", "/a/f/f", "/a/b/f"};

	for (unsigned i = 0; i < AIF_ARRAY_LEN(found); i++)
		if (!opens(root, found[i], 0))
			return 1 + (int)i;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(not_found); i++)
		if (opens(root, not_found[i], 0))
			return 50 + (int)i;
	return opens(root, "/a/absolute", O_NOFOLLOW) ? 100 : 0;
}

static void without_openat2_links_are_followed_within_the_root(void **state)
{
	char dir[] = "/tmp/aif-test-XXXXXX", command[400];
	int root, status;
	pid_t child;

	(void)state;
	if (is_emulated())
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p r/a/b && echo in >r/a/f && echo no >outside && ln -s a r/up && "
		 "ln -s /a/f r/a/absolute && ln -s ../f r/a/b/relative && ln -s loop r/loop && "
		 "ln -s ../outside r/out && ln -s ././../../a/b/.. r/dots && cd r",
		 dir);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/r", dir);
	root = open(command, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	child = fork();
	if (!child) {
		alarm(SECONDS);
		_exit(forbid_openat2() ? walk(root) : 200);
	}
	close(root);
	assert_int_equal(waitpid(child, &status, 0), child);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_openat2_links_are_followed_within_the_root),
		cmocka_unit_test(what_a_user_serves_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
