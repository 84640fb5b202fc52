/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/*
 * The loader is ready for a tracer as soon as its first zeInit() or zeInitDrivers() has come back, and nothing can
 * have been launched before. So these two are ours, by their names, in every program and library that is linked to
 * the loader; we call the loader's and look whether it has worked.
 *
 * SYCL's and PyTorch's plug-ins, and Python's ctypes, open the loader with dlopen() and ask dlsym() for its
 * functions. They are given ours when they ask for one of the two. For this, dlsym() itself is ours: it looks at the
 * first two letters of the name and jumps on, so that the C library sees its caller as it is, on whom RTLD_NEXT and
 * namespaces depend. What else there is: wrapping dlopen() would break $ORIGIN; a
 * thread that looks for the loader from time to time would miss what is launched first, and be a thread in every
 * process; calling zeInit() ourselves would start Intel's driver in every process.
 */

enum { INIT, INIT_DRIVERS, NAMES }; /* places in the slot's vendor[], too */
static const char *const names[NAMES] = {"zeInit", "zeInitDrivers"};

/* ---- the functions that are next ------------------------------------------------------------- */

/*
 * The next function is looked for in the loader's own list of modules, as debuggers do. The list has libraries that
 * were opened for one library only, too, which RTLD_NEXT does not see: SYCL's adapters are opened so, and Level Zero's
 * loader with them. Reading it needs no dlsym(), which is itself looked for in it. The first caller of dlsym() may be a
 * sanitizer that sets itself up: so no function of libc is called here that one of them stands in for, strcmp() and
 * dl_iterate_phdr() among them.
 */

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

static void tables_find(const struct link_map *m, struct tables *ret)
{
	*ret = (struct tables){0};
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = d->d_un.d_ptr;

		if (at < m->l_addr)
			at += m->l_addr;
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

static void *find_in(const struct link_map *m, const char *name)
{
	struct tables t;
	uint32_t i;

	tables_find(m, &t);
	if (!t.symbols || !t.strings)
		return NULL;
	i = t.gnu ? find_gnu(&t, name) : t.old ? find_old(&t, name) : 0;
	return i ? (void *)(m->l_addr + t.symbols[i].st_value) : NULL;
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

/* Returns what dlsym(RTLD_NEXT) would find, or, where the agent is not preloaded, what it finds for others. C libraries
 * that have dlsym in two versions have one function for both. */
static void *next_of(const char *name)
{
	const struct link_map *all = modules();
	void *found = NULL;
	bool behind = false;

	for (const struct link_map *m = all; m && !found; m = m->l_next) {
		if (behind)
			found = find_in(m, name);
		behind |= m->l_ld == _DYNAMIC;
	}
	for (const struct link_map *m = all; m && !found; m = m->l_next)
		if (m->l_ld != _DYNAMIC)
			found = find_in(m, name);
	return found;
}

/* ---- zeInit() -------------------------------------------------------------------------------- */

AIF_PUBLIC uint32_t zeInit(uint32_t flags);
AIF_PUBLIC uint32_t zeInitDrivers(uint32_t *n, void **drivers, void *desc);

/* The loader's; NULL: there is none. */
static void *real(unsigned which)
{
	void *found = atomic_load_explicit(&L0_SLOT->vendor[which], memory_order_acquire);

	if (found)
		return found;
	found = dlsym(RTLD_NEXT, names[which]);
	if (!found)
		found = next_of(names[which]);
	if (found)
		atomic_store_explicit(&L0_SLOT->vendor[which], found, memory_order_release);
	return found;
}

uint32_t zeInit(uint32_t flags)
{
	uint32_t (*init)(uint32_t) = (uint32_t(*)(uint32_t))real(INIT);
	uint32_t r = init ? init(flags) : AIF_ZE_UNINITIALIZED;
	int saved = errno;

	if (r == AIF_ZE_SUCCESS && aif_agent.env.carrier)
		aif_ze_begin((void *)init);
	errno = saved;
	return r;
}

uint32_t zeInitDrivers(uint32_t *n, void **drivers, void *desc)
{
	uint32_t (*init)(uint32_t *, void **, void *) =
		(uint32_t(*)(uint32_t *, void **, void *))real(INIT_DRIVERS);
	uint32_t r = init ? init(n, drivers, desc) : AIF_ZE_UNINITIALIZED;
	int saved = errno;

	if (r == AIF_ZE_SUCCESS && aif_agent.env.carrier)
		aif_ze_begin((void *)init);
	errno = saved;
	return r;
}

/* ---- dlsym() --------------------------------------------------------------------------------- */

#ifdef __x86_64__

static void *ours(unsigned which)
{
	return which == INIT ? (void *)zeInit : (void *)zeInitDrivers;
}

/* glibc's only. */
extern void *dlvsym(void *handle, const char *name, const char *version) __attribute__((weak));

#define NOTHING ((void *)1)

typedef void *dlsym_function(void *handle, const char *name);

static_assert(!offsetof(struct aif_agent, real_dlsym), "dlsym.S");

/* For dlsym.S, which is everybody's dlsym(). */
__attribute__((used, visibility("hidden"))) dlsym_function *aif_ze_real_dlsym(void);
__attribute__((used, visibility("hidden"))) void *aif_ze_dlsym(void *handle, const char *name);

dlsym_function *aif_ze_real_dlsym(void)
{
	void *found = next_of("dlsym");

	/* A program that no debugger could look into. */
	if (!found && dlvsym)
		found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	aif_agent.real_dlsym = found;
	return (dlsym_function *)found;
}

/* Returns what dlsym() is to give the caller; NULL: what it gives without us; NOTHING: no function. A caller that asks
 * for RTLD_NEXT stands in front of the loader itself, as we do, and gets what is next. */
void *aif_ze_dlsym(void *handle, const char *name)
{
	void *found, *known = NULL;
	dlsym_function *next;
	unsigned which;

	for (which = 0; which < NAMES; which++)
		if (!strcmp(name, names[which]))
			break;
	if (which == NAMES || handle == RTLD_NEXT || !aif_agent.env.carrier)
		return NULL;
	next = aif_agent.real_dlsym ? (dlsym_function *)aif_agent.real_dlsym : aif_ze_real_dlsym();
	found = next ? next(handle, name) : NULL;
	/* No loader here has it: that we have is not to be noticed. */
	if (found == ours(which))
		return real(which) ? NULL : NOTHING;
	if (!found)
		return NULL;
	/* Only the first of two copies of the loader is stood in front of; callers of the other get
	 * its own function. */
	if (!atomic_compare_exchange_strong(&L0_SLOT->vendor[which], &known, found) &&
	    known != found)
		return NULL;
	return ours(which);
}

#endif
