/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/*
 * CUPTI copies the name of the function that a sample is in, and where it knows none it ends the program: it calls
 * strdup(NULL) inside cuptiPCSamplingGetData(). That was met where several processes share a GPU, in 13.0 once in some 200 s
 * of sampling (bench/results/h100-survive.md). So, preloaded, this is everybody's strdup(), which differs in that one case:
 * CUPTI's code without a name has an empty one.
 *
 * CUPTI may hold its lock then, and who is loading a library the loader's, and be about to ask CUPTI. So the loader is not
 * asked here who calls.
 *
 * Called by anybody else it is the C library's, and ends the program where that does.
 */

AIF_PUBLIC char *strdup(const char *s);
/* glibc's own other name of it. musl has none, which loads us into programs in which we do nothing else. */
extern char *__strdup(const char *s) __attribute__((weak));

/* As any C library's. */
static char *copy_text(const char *s)
{
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	size_t n = strlen(s) + 1;
	char *copy = allocate ? allocate(n) : NULL;

	return copy ? memcpy(copy, s, n) : NULL;
}

char *strdup(const char *s)
{
	const char *volatile from = s;

	if (!from && aif_cuda_is_cupti(__builtin_return_address(0)))
		from = "";
	return __strdup ? __strdup(from) : copy_text(from);
}

/* ---- is it CUPTI's, too? ---- */

/* Of what libcupti calls: strdup(), and what it will have called before it can be asked for samples. We are where it finds
 * them, unless it was opened for its own dependencies first (RTLD_DEEPBIND, as Julia does) or in a namespace of its own. */
static const char *const names[] = {"strdup", "dlsym", "dlclose"};

struct imports {
	const struct aif_cuda *cuda;
	uintptr_t first[AIF_ARRAY_LEN(names)]; /* what everybody finds */
	bool are_others;
};

static bool is_inside(const struct aif_cuda *cuda, uintptr_t at)
{
	return at >= cuda->lo && at < cuda->hi;
}

/* A function that is not bound yet leads back into the library. */
static bool is_others(const struct imports *m, const char *name, uintptr_t bound)
{
	for (unsigned i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return bound && !is_inside(m->cuda, bound) && bound != m->first[i];
	return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *user)
{
	struct imports *m = user;
	uintptr_t at[DT_NUM] = {0};
	const ElfW(Dyn) *d = NULL;
	const ElfW(Rela) * r;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (!d || !is_inside(m->cuda, (uintptr_t)d))
		return 0;
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag > 0 && d->d_tag < DT_NUM)
			at[d->d_tag] = d->d_un.d_ptr;
	if (at[DT_PLTREL] != DT_RELA || !is_inside(m->cuda, at[DT_JMPREL]) ||
	    !is_inside(m->cuda, at[DT_SYMTAB]) || !is_inside(m->cuda, at[DT_STRTAB]))
		return 1;
	r = (const void *)at[DT_JMPREL];
	for (size_t i = 0; i < at[DT_PLTRELSZ] / sizeof(*r); i++) {
		const ElfW(Sym) *s = (const ElfW(Sym) *)at[DT_SYMTAB] + ELF64_R_SYM(r[i].r_info);
		const uintptr_t *slot = (const void *)(info->dlpi_addr + r[i].r_offset);

		m->are_others |= is_others(m, (const char *)at[DT_STRTAB] + s->st_name, *slot);
	}
	return 1;
}

static bool is_ours(void)
{
	Dl_info theirs, ours;
	void *first = dlsym(RTLD_DEFAULT, "strdup");

	return first && dladdr(first, &theirs) && dladdr((void *)aif_cuda_names_are_safe, &ours) &&
	       theirs.dli_fbase == ours.dli_fbase;
}

bool aif_cuda_names_are_safe(void)
{
	struct imports m = {.cuda = CUDA};

	if (!m.cuda || !is_ours())
		return false;
	/* Before: it holds a lock of the loader's, for which dlsym() would wait with another. */
	for (unsigned i = 0; i < AIF_ARRAY_LEN(names); i++)
		m.first[i] = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
	dl_iterate_phdr(look, &m);
	return !m.are_others;
}
