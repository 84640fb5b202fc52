/* SPDX-License-Identifier: Apache-2.0 */
/* A program that deceives whoever looks at its memory map: inject_lies MODE FILE. It waits until its standard input ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOW ((void *)0x10000000) /* below each library */

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(99);
}

/* Maps the whole file, as programs do that read symbols. */
static char *map(const char *name, int rights)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(name);
	p = mmap(LOW, (size_t)st.st_size, rights, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		fail("mmap");
	close(fd);
	return p;
}

/* Has the headers and tables say what no linker writes. */
static void lie(char *elf, unsigned seed)
{
	const ElfW(Ehdr) *eh = (void *)elf;
	ElfW(Phdr) *ph = (void *)(elf + eh->e_phoff);

	srand(seed);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		ElfW(Dyn) *d = (void *)(elf + ph[i].p_offset);

		if (ph[i].p_type != PT_DYNAMIC)
			continue;
		for (; d->d_tag != DT_NULL; d++) {
			if (rand() % 3 == 0)
				d->d_un.d_val = (uint64_t)rand() << (rand() % 33);
			if (d->d_tag == DT_GNU_HASH && rand() % 2)
				memset(elf + d->d_un.d_ptr % 65536, 0xff, 16);
		}
	}
	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (rand() % 4 == 0)
			ph[i].p_memsz = ph[i].p_vaddr = (uint64_t)rand() << (rand() % 33);
}

int main(int argc, char **argv)
{
	char c;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "reads"))
		map(argv[2], PROT_READ);
	else if (!strcmp(argv[1], "executes"))
		map(argv[2], PROT_READ | PROT_EXEC);
	else if (!strcmp(argv[1], "lies"))
		lie(map(argv[2], PROT_READ | PROT_WRITE | PROT_EXEC),
		    (unsigned)atoi(argc > 3 ? argv[3] : "1"));
	else if (!strcmp(argv[1], "loads") && !dlopen(argv[2], RTLD_NOW))
		fail(dlerror());
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 42;
}
