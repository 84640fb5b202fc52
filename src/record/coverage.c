/* SPDX-License-Identifier: Apache-2.0 */
#include "record/coverage.h"

#include "base/open_regular.h"
#include "base/reasons.h"
#include "record/ingest/elf_peek.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that execvp would run; false if none. */
static bool find_command(const char *command, char *file, size_t size)
{
	const char *path = getenv("PATH");

	if (strchr(command, '/')) {
		snprintf(file, size, "%s", command);
		return access(file, X_OK) == 0;
	}
	for (const char *end; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(file, size, "%.*s/%s", (int)(end - path), path, command);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* The program of a script's first line, which is put into `file`. `env NAME` means NAME. */
static bool interpreter_of(int fd, char *file, size_t size)
{
	char line[512], *save, *word;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &save);
	if (word && strrchr(word, '/') && !strcmp(strrchr(word, '/'), "/env"))
		do
			word = strtok_r(NULL, " \t", &save);
		while (word && word[0] == '-');
	return word && find_command(word, file, size);
}

static bool is_32bit(int fd)
{
	char ident[EI_CLASS + 1];

	return pread(fd, ident, sizeof(ident), 0) == (ssize_t)sizeof(ident) &&
	       !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
}

/* A sanitizer that ends the program if another library was loaded before it, as a preloaded one is. */
static bool has_jealous_sanitizer(int fd, const struct aif_elf_peek *elf)
{
	const char *options = getenv("ASAN_OPTIONS");

	return !(options && strstr(options, "verify_asan_link_order=0")) &&
	       (aif_elf_needs(fd, elf, "libasan.so") || aif_elf_needs(fd, elf, "libclang_rt.asan"));
}

/* True of glibc's loader, which is linked statically itself and loads the agent into the program that it is given. */
static bool is_loader(const char *file)
{
	const char *name = strrchr(file, '/');

	name = name ? name + 1 : file;
	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5) ||
	       !strcmp(name, "ld.so");
}

int aif_coverage_check(const char *command, char *file, size_t size)
{
	struct aif_elf_peek elf;
	struct stat st;
	int fd, r;

	if (!find_command(command, file, size))
		return 0; /* exec will say what is wrong */
	fd = aif_open_regular(AT_FDCWD, file, O_RDONLY);
	if (fd >= 0 && interpreter_of(fd, file, size)) {
		close(fd);
		fd = aif_open_regular(AT_FDCWD, file, O_RDONLY);
	}
	if (fd < 0)
		return 0;
	r = aif_elf_peek(fd, &elf);
	if (r < 0 && is_32bit(fd))
		r = AIF_REASON_NOT_COVERED_32BIT;
	else if (r == 0 && fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) &&
		 geteuid() != 0)
		r = AIF_REASON_NOT_COVERED_SECURE;
	else if (r == 0 && !elf.interp[0])
		r = is_loader(file) ? 0 : AIF_REASON_NOT_COVERED_STATIC;
	else if (r == 0 && !strstr(elf.interp, "/ld-linux"))
		r = AIF_REASON_NOT_COVERED_LIBC;
	else if (r == 0 && has_jealous_sanitizer(fd, &elf))
		r = AIF_REASON_NOT_COVERED_ASAN;
	close(fd);
	return r < 0 ? 0 : r;
}
