/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/elf_peek.h"

#include "base/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_at(int fd, void *to, size_t n, uint64_t at)
{
	ssize_t r = at > INT64_MAX ? -1 : pread(fd, to, n, (off_t)at);

	return r < 0 ? -EIO : (size_t)r == n ? 0 : -ENOEXEC;
}

static void read_build_id(int fd, const Elf64_Phdr *ph, struct aif_elf_peek *e)
{
	uint8_t notes[4096];
	size_t len = AIF_MIN(sizeof(notes), ph->p_filesz);

	if (read_at(fd, notes, len, ph->p_offset) == 0)
		aif_build_id_text(notes, len, AIF_IS_BIG, e->build_id, sizeof(e->build_id));
}

int aif_elf_peek(int fd, struct aif_elf_peek *ret)
{
	struct aif_elf_peek e = {0};
	Elf64_Ehdr eh;
	int r;

	r = read_at(fd, &eh, sizeof(eh), 0);
	if (r < 0)
		return r;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != (AIF_IS_BIG ? ELFDATA2MSB : ELFDATA2LSB) ||
	    eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > 256)
		return -ENOEXEC;
	e.is_shared = eh.e_type == ET_DYN;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		r = read_at(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph));
		if (r < 0)
			return r;
		if (ph.p_type == PT_INTERP && ph.p_filesz && ph.p_filesz < sizeof(e.interp)) {
			if (read_at(fd, e.interp, ph.p_filesz, ph.p_offset) < 0)
				e.interp[0] = '\0';
		} else if (ph.p_type == PT_NOTE && !e.build_id[0]) {
			read_build_id(fd, &ph, &e);
		} else if (ph.p_type == PT_DYNAMIC) {
			e.dynamic_at = ph.p_offset;
			e.dynamic_size = ph.p_filesz;
		} else if (ph.p_type == PT_LOAD && e.loads_len < AIF_ARRAY_LEN(e.loads)) {
			e.loads[e.loads_len].offset = ph.p_offset;
			e.loads[e.loads_len].filesz = ph.p_filesz;
			e.loads[e.loads_len].vaddr = ph.p_vaddr;
			e.loads[e.loads_len++].exec = ph.p_flags & PF_X;
		}
	}
	e.interp[sizeof(e.interp) - 1] = '\0';
	*ret = e;
	return 0;
}

/* The place in the file of what lies at `vaddr`; UINT64_MAX: it has none. */
static uint64_t offset_of(const struct aif_elf_peek *e, uint64_t vaddr)
{
	for (unsigned i = 0; i < e->loads_len; i++)
		if (vaddr >= e->loads[i].vaddr && vaddr - e->loads[i].vaddr < e->loads[i].filesz)
			return e->loads[i].offset + (vaddr - e->loads[i].vaddr);
	return UINT64_MAX;
}

bool aif_elf_needs(int fd, const struct aif_elf_peek *e, const char *name)
{
	Elf64_Dyn dyn[512];
	size_t n = AIF_MIN(e->dynamic_size, sizeof(dyn)) / sizeof(dyn[0]), len = strlen(name);
	uint64_t strings = UINT64_MAX;
	char text[64];

	if (!n || len > sizeof(text) || read_at(fd, dyn, n * sizeof(dyn[0]), e->dynamic_at) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (dyn[i].d_tag == DT_STRTAB)
			strings = offset_of(e, dyn[i].d_un.d_ptr);
	for (size_t i = 0; i < n && strings != UINT64_MAX; i++)
		if (dyn[i].d_tag == DT_NEEDED && dyn[i].d_un.d_val <= UINT64_MAX - strings &&
		    read_at(fd, text, len, strings + dyn[i].d_un.d_val) == 0 &&
		    !memcmp(text, name, len))
			return true;
	return false;
}

bool aif_elf_bias(const struct aif_elf_peek *e, uint64_t start, uint64_t offset, uint64_t *ret)
{
	/* A mapping may begin inside a segment (one was split by mprotect), never before its page. */
	for (unsigned i = 0; i < e->loads_len; i++) {
		uint64_t first = e->loads[i].offset & ~UINT64_C(0xfff);

		if (offset < first || offset >= e->loads[i].offset + e->loads[i].filesz)
			continue;
		*ret = start - (e->loads[i].vaddr - e->loads[i].offset + offset);
		return true;
	}
	return false;
}
