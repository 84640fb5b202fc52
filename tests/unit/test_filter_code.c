/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a process has mapped as code are looked through for code that can install a filter: many at once. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/sources/filter_code.h"

#include "emulated.h"
#include "fixture_code_elf.h"

#define CODE_BYTES 8
/* mov eax, 317; syscall; ret: seccomp() */
static const uint8_t filters[CODE_BYTES] = {0xb8, 0x3d, 1, 0, 0, 0x0f, 0x05, 0xc3};
/* mov rax, rdi; syscall; ret: any call */
static const uint8_t calls[CODE_BYTES] = {0x48, 0x89, 0xf8, 0x0f, 0x05, 0xc3, 0xcc, 0xcc};

/* Writes an ELF file of `size` bytes, all of it code but for the head: zeros, which the file system need not keep, and at the
 * end `code`, if any, behind padding. Of the file of a program, or of a library. */
static void write_code(const char *path, size_t size, const uint8_t *code, bool is_program)
{
	uint8_t tail[64 + CODE_BYTES];
	struct code_elf f;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	code_elf_init(&f, EM_X86_64, size - sizeof(f));
	f.head.e_phentsize = sizeof(Elf64_Phdr);
	if (is_program)
		f.head.e_type = ET_EXEC;
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	memset(tail, 0xcc, sizeof(tail));
	if (code) {
		memcpy(tail + 64, code, CODE_BYTES);
		assert_int_equal(pwrite(fd, tail, sizeof(tail), (off_t)(size - sizeof(tail))),
				 sizeof(tail));
	}
	close(fd);
}

/* Starts a process that has mapped these files as code, the first of them lowest in memory, as the program is. */
static pid_t start(const char *dir, unsigned n)
{
	const size_t room = 1 << 16;
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		uint8_t *at = (uint8_t *)UINT64_C(0x10000000);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < n; i++) {
			char path[4096];
			int fd;

			snprintf(path, sizeof(path), "%s/%u.so", dir, i);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd < 0 || mmap(at + i * room, 4096, PROT_READ | PROT_EXEC,
					   MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
				_exit(1);
			close(fd);
		}
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* Looks until `done`, each time as if it were due. */
static enum aif_filter_code_verdict
look_until(struct aif_filter_code *c, struct aif_filter_code_target *t, pid_t pid,
	   bool (*done)(const struct aif_filter_code_target *, enum aif_filter_code_verdict))
{
	struct aif_process_files files;
	enum aif_filter_code_verdict v;
	bool is_first = true;

	aif_process_files_init(&files, pid);
	do {
		/* Only the first is due: nothing more is mapped later. */
		v = aif_filter_code_look(c, t, &files, is_first);
		is_first = false;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	} while (!done(t, v));
	return v;
}

static bool is_found(const struct aif_filter_code_target *t, enum aif_filter_code_verdict v)
{
	(void)t;
	return v == AIF_FILTER_CODE_HAS;
}

/* All mapped files are asked for, besides this program's own. */
#define FILES 200
static bool are_all_asked(const struct aif_filter_code_target *t, enum aif_filter_code_verdict v)
{
	return v == AIF_FILTER_CODE_HAS || (t->files_len > FILES && t->asked == t->files_len);
}

/* Looks through a process that has mapped FILES files of `size` bytes, of which the one with this number has `code`. */
static enum aif_filter_code_verdict
look_through(size_t size, unsigned number, const uint8_t *code, char ret_place[280],
	     bool (*done)(const struct aif_filter_code_target *, enum aif_filter_code_verdict))
{
	struct aif_filter_code *c = aif_filter_code_new();
	struct aif_filter_code_target t = {0};
	char dir[] = "/tmp/aif-filter-code-XXXXXX", path[4096];
	enum aif_filter_code_verdict v;
	pid_t pid;

	assert_non_null(c);
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%u.so", dir, i);
		write_code(path, size, i == number ? code : NULL, !i);
	}
	pid = start(dir, FILES);
	v = look_until(c, &t, pid, done);
	snprintf(ret_place, 280, "%s", t.place);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	aif_filter_code_target_finish(&t);
	aif_filter_code_free(c);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%u.so", dir, i);
		unlink(path);
	}
	rmdir(dir);
	return v;
}

/* More files than may wait for the thread: none is left out, the last one neither. */
static void many_files(void **state)
{
	char place[280];

	(void)state;
	if (is_emulated())
		skip();
	assert_int_equal(look_through((1 << 20) + 4096, FILES - 1, filters, place, is_found),
			 AIF_FILTER_CODE_HAS);
	assert_non_null(strstr(place, "/199.so+0x"));
}

/* Small files are read within the look, for as long as that may take. The rest is for the thread. */
static void many_small_files(void **state)
{
	char place[280];

	(void)state;
	if (is_emulated())
		skip();
	assert_int_equal(look_through(1 << 20, 0, NULL, place, are_all_asked),
			 AIF_FILTER_CODE_NONE);
	assert_string_equal(place, "");
	assert_int_equal(look_through(1 << 20, FILES - 1, filters, place, is_found),
			 AIF_FILTER_CODE_HAS);
	assert_non_null(strstr(place, "/199.so+0x"));
}

/* A program that makes calls of any number may install a filter; a library that does is like many. */
static void calls_of_any_number(void **state)
{
	char place[280];

	(void)state;
	if (is_emulated())
		skip();
	assert_int_equal(look_through(1 << 20, FILES - 1, calls, place, are_all_asked),
			 AIF_FILTER_CODE_NONE);
	assert_int_equal(look_through((1 << 20) + 4096, 1, calls, place, are_all_asked),
			 AIF_FILTER_CODE_NONE);
	assert_int_equal(look_through(1 << 20, 0, calls, place, is_found), AIF_FILTER_CODE_HAS);
	assert_non_null(strstr(place, "/0.so+0x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_files),
		cmocka_unit_test(many_small_files),
		cmocka_unit_test(calls_of_any_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
