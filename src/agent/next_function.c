/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/next_function.h"

#include "base/base.h"

#include <elf.h>
#include <link.h>
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

static uint32_t find_old(const struct tables *t, const char *name)
{
	for (uint32_t i = 1; i < t->old[1]; i++) /* all that it has */
		if (is_it(t, i, name))
			return i;
	return 0;
}

static void *find_in(uintptr_t bias, const ElfW(Dyn) * dynamic, const char *name)
{
	struct tables t;
	uint32_t i;

	tables_find(bias, dynamic, &t);
	if (!t.symbols || !t.strings)
		return NULL;
	i = t.gnu ? find_gnu(&t, name) : t.old ? find_old(&t, name) : 0;
	return i ? (void *)(bias + t.symbols[i].st_value) : NULL;
}

/* The first of all modules. */
static const struct link_map *modules(void)
{
	const ElfW(Phdr) *p = (const void *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	const ElfW(Dyn) *d = NULL;
	uintptr_t bias = 0;

	for (size_t i = 0; p && i < n; i++)
		if (p[i].p_type == PT_PHDR)
			bias = (uintptr_t)p - p[i].p_vaddr;
	for (size_t i = 0; p && i < n; i++)
		if (p[i].p_type == PT_DYNAMIC)
			d = (const void *)(bias + p[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return ((const struct r_debug *)d->d_un.d_ptr)->r_map;
	return NULL;
}

/* C libraries that have dlsym in two versions have one function for both. */
void *aif_next_function(const char *name)
{
	const struct link_map *all = modules();
	void *found = NULL;
	bool behind = false;

	for (const struct link_map *m = all; m && !found; m = m->l_next) {
		if (behind)
			found = find_in(m->l_addr, m->l_ld, name);
		behind |= m->l_ld == _DYNAMIC;
	}
	for (const struct link_map *m = all; m && !found; m = m->l_next)
		if (m->l_ld != _DYNAMIC)
			found = find_in(m->l_addr, m->l_ld, name);
	return found;
}

void *aif_module_function(const struct dl_phdr_info *module, const char *name)
{
	for (unsigned i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return find_in(
				module->dlpi_addr,
				(const void *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr),
				name);
	return NULL;
}
