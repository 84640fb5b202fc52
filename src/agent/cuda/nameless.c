/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/nameless.h"

#include "agent/cuda/cuda.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * CUPTI copies the name of the function that a sample is in, and where it knows none it ends the program: it calls
 * strdup(NULL) inside cuptiPCSamplingGetData(). 13.0 did so in 3 of 89 sampled recordings of processes that
 * share a GPU (bench/results/h100-survive.md). So, before it is first asked to sample, the entry of strdup() in libcupti's
 * table of imported functions becomes ours, which gives it an empty name where it has none. No other library's
 * changes.
 */

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT  R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT  R_AARCH64_GLOB_DAT
#endif

static char *copy_name(const char *s)
{
	return strdup(s ? s : "");
}

struct library {
	const struct aif_cuda *cuda;
	uintptr_t base, relro, relro_end; /* what became read-only after relocation */
	const ElfW(Sym) * symbols;
	const char *strings;
	unsigned entries; /* that are ours now */
	bool failed;
};

static bool is_inside(const struct library *l, uintptr_t at)
{
	return at >= l->cuda->lo && at < l->cuda->hi;
}

static uintptr_t page_of(uintptr_t at)
{
	return at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static void take(struct library *l, uintptr_t at)
{
	_Atomic uintptr_t *entry = (void *)at;
	uintptr_t page = page_of(at);
	bool locked = at >= l->relro && at < l->relro_end;
	const size_t size = at + sizeof(*entry) - page;

	if (atomic_load(entry) != (uintptr_t)copy_name) {
		if (locked && mprotect((void *)page, size, PROT_READ | PROT_WRITE) < 0) {
			l->failed = true;
			return;
		}
		atomic_store(entry, (uintptr_t)copy_name);
		if (locked)
			(void)mprotect((void *)page, size, PROT_READ);
	}
	l->entries++;
}

static void take_entries(struct library *l, uintptr_t table, size_t bytes)
{
	const ElfW(Rela) *r = (const void *)table;

	if (!is_inside(l, table) || bytes > l->cuda->hi - table)
		return;
	for (size_t i = 0; i < bytes / sizeof(*r); i++) {
		const ElfW(Sym) *s = l->symbols + ELF64_R_SYM(r[i].r_info);
		unsigned type = (unsigned)ELF64_R_TYPE(r[i].r_info);

		if ((type == JUMP_SLOT || type == GLOB_DAT) &&
		    !strcmp(l->strings + s->st_name, "strdup"))
			take(l, l->base + r[i].r_offset);
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
	struct library *l = user;
	uintptr_t at[DT_NUM] = {0};
	const ElfW(Dyn) *d = NULL;

	(void)size;
	l->relro = l->relro_end = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + p->p_vaddr);
		if (p->p_type == PT_GNU_RELRO) {
			/* Whole pages, as the loader has it: the last one is written to. */
			l->relro = page_of(info->dlpi_addr + p->p_vaddr);
			l->relro_end = page_of(info->dlpi_addr + p->p_vaddr + p->p_memsz);
		}
	}
	if (!d || !is_inside(l, (uintptr_t)d))
		return 0;
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag > 0 && d->d_tag < DT_NUM)
			at[d->d_tag] = d->d_un.d_ptr;
	if (!is_inside(l, at[DT_SYMTAB]) || !is_inside(l, at[DT_STRTAB]))
		return 1;
	l->base = info->dlpi_addr;
	l->symbols = (const void *)at[DT_SYMTAB];
	l->strings = (const void *)at[DT_STRTAB];
	if (at[DT_PLTREL] == DT_RELA)
		take_entries(l, at[DT_JMPREL], at[DT_PLTRELSZ]);
	take_entries(l, at[DT_RELA], at[DT_RELASZ]);
	return 1;
}

bool aif_cuda_nameless_guard(void)
{
	struct library l = {.cuda = CUDA};

	if (!l.cuda || !l.cuda->hi)
		return false;
	dl_iterate_phdr(visit, &l);
	return l.entries && !l.failed;
}
