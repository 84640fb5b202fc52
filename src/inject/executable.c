/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/executable.h"

#include "base/mounts.h"
#include "base/open_regular.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Linkers make about a dozen headers and thirty entries. */
#define HEADERS_MOST 64
#define ENTRIES_MOST 1024

static bool needs_libraries(int fd, const Elf64_Phdr *dynamic)
{
	const uint64_t n = AIF_MIN(dynamic->p_filesz / sizeof(Elf64_Dyn), ENTRIES_MOST);
	Elf64_Dyn d;

	for (uint64_t i = 0; i < n; i++) {
		if (pread(fd, &d, sizeof(d), (off_t)(dynamic->p_offset + i * sizeof(d))) !=
			    (ssize_t)sizeof(d) ||
		    d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == DT_NEEDED)
			return true;
	}
	return false;
}

static void look(int fd, struct aif_executable *x)
{
	Elf64_Phdr header;
	Elf64_Ehdr e;

	if (pread(fd, &e, sizeof(e), 0) != (ssize_t)sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	x->is_narrow = e.e_ident[EI_CLASS] == ELFCLASS32;
	if (x->is_narrow || e.e_phentsize != sizeof(header))
		return;
	for (unsigned i = 0; i < e.e_phnum && i < HEADERS_MOST; i++) {
		if (pread(fd, &header, sizeof(header), (off_t)(e.e_phoff + i * sizeof(header))) !=
		    (ssize_t)sizeof(header))
			return;
		x->has_loader |= header.p_type == PT_INTERP;
		x->needs_libraries |= header.p_type == PT_DYNAMIC && needs_libraries(fd, &header);
	}
}

void aif_executable_look(pid_t pid, struct aif_executable *ret)
{
	char path[64];
	int fd;

	*ret = (struct aif_executable){.is_narrow = false};
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && !aif_mounts_allow_handle((int)pid, fd)) {
		close(fd);
		return;
	}
	fd = aif_open_handle(fd, O_RDONLY);
	if (fd < 0)
		return;
	look(fd, ret);
	close(fd);
}
