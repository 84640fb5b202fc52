/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "unwind/module_function.h"

#include "base/auxv.h"

#include <elf.h>
#include <sys/auxv.h>

static bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* A module's tables, as its dynamic section names them: glibc has made them addresses, musl has not. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu, *old;
};

static void tables_find(uintptr_t bias, const ElfW(Dyn) * d, struct tables *ret)
{
	*ret = (struct tables){0};
	for (; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = d->d_un.d_ptr;

		if (at < bias)
			at += bias;
		if (d->d_tag == DT_SYMTAB)
			ret->symbols = (const void *)at;
		else if (d->d_tag == DT_STRTAB)
			ret->strings = (const char *)at;
		else if (d->d_tag == DT_GNU_HASH)
			ret->gnu = (const void *)at;
		else if (d->d_tag == DT_HASH)
			ret->old = (const void *)at;
	}
}

static bool is_it(const struct tables *t, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[i];

	return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
	       same(t->strings + s->st_name, name);
}

static uint32_t find_gnu(const struct tables *t, const char *name)
{
	const uint32_t buckets = t->gnu[0], first = t->gnu[1], words = t->gnu[2];
	const uint32_t *bucket = t->gnu + 4 + words * (sizeof(ElfW(Addr)) / 4),
		       *chain = bucket + buckets;
	uint32_t h = gnu_hash(name), i = buckets ? bucket[h % buckets] : 0;

	for (; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (h | 1) && is_it(t, i, name))
			return i;
		if (chain[i - first] & 1)
			break;
	}
	return 0;
}

static uint32_t old_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

static uint32_t find_old(const struct tables *t, const char *name)
{
	const uint32_t buckets = t->old[0], symbols = t->old[1];
	const uint32_t *bucket = t->old + 2, *chain = bucket + buckets;
	uint32_t i = buckets ? bucket[old_hash(name) % buckets] : 0;

	for (uint32_t n = 0; i && i < symbols && n < symbols; i = chain[i], n++)
		if (is_it(t, i, name))
			return i;
	return 0;
}

void *aif_function_in(uintptr_t bias, const ElfW(Dyn) * dynamic, const char *name)
{
	struct tables t;
	uint32_t i;

	tables_find(bias, dynamic, &t);
	if (!t.symbols || !t.strings)
		return NULL;
	i = t.gnu ? find_gnu(&t, name) : t.old ? find_old(&t, name) : 0;
	return i ? (void *)(bias + t.symbols[i].st_value) : NULL;
}

void *aif_module_function(const struct dl_phdr_info *module, const char *name)
{
	for (unsigned i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return aif_function_in(
				module->dlpi_addr,
				(const void *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr),
				name);
	return NULL;
}

struct search {
	const char *name;
	bool found;
};

static int look(struct dl_phdr_info *module, size_t size, void *arg)
{
	/* The kernel's own, which before Linux 3.16 has addresses that the loader does not make real ones. */
	uintptr_t vdso = (uintptr_t)aif_auxv(AT_SYSINFO_EHDR);
	struct search *s = arg;

	(void)size;
	if (vdso && (uintptr_t)module->dlpi_phdr - vdso < 4096)
		return 0;
	s->found = aif_module_function(module, s->name) != NULL;
	return s->found;
}

bool aif_is_function_anywhere(const char *name)
{
	struct search s = {.name = name};

	dl_iterate_phdr(look, &s);
	return s.found;
}
