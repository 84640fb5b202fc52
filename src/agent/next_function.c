/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "agent/next_function.h"

#include "base/auxv.h"
#include "base/base.h"
#include "unwind/module_function.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>

#define VDSO_MAX (64u << 10)

const struct link_map *aif_modules(void)
{
	const ElfW(Phdr) *p = (const void *)aif_auxv(AT_PHDR);
	size_t n = aif_auxv(AT_PHNUM);
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

/* True of the kernel's own, which before Linux 3.16 has addresses in its tables that the loader does not make real ones. */
static bool is_kernels(const struct link_map *m)
{
	const uintptr_t vdso = (uintptr_t)aif_auxv(AT_SYSINFO_EHDR);

	return vdso && (uintptr_t)m->l_ld - vdso < VDSO_MAX;
}

void *aif_function_of(const struct link_map *m, const char *name)
{
	return m->l_ld == _DYNAMIC || is_kernels(m) ? NULL
						    : aif_function_in(m->l_addr, m->l_ld, name);
}

/* The last module that is there from the program's start: none up to it ever goes. NULL: that is not known, as the agent came later. */
static const struct link_map *_Atomic last_at_start;
static atomic_bool is_set_up;

/* Finds a function behind the agent, up to the module `last`. */
static void *find_behind(const char *name, const struct link_map *last)
{
	bool behind = false;

	for (const struct link_map *m = aif_modules(); m; m = m->l_next) {
		void *found = behind ? aif_function_of(m, name) : NULL;

		if (found || m == last)
			return found;
		behind |= m->l_ld == _DYNAMIC;
	}
	return NULL;
}

/* C libraries that have dlsym in two versions have one function for both. */
static void *find_anywhere(const char *name)
{
	void *found = find_behind(name, NULL);

	for (const struct link_map *m = aif_modules(); m && !found; m = m->l_next)
		found = aif_function_of(m, name);
	return found;
}

/* The agent is loaded: with the program, if the C library is behind it. */
__attribute__((constructor)) static void set_up(void)
{
	const struct link_map *m = aif_modules();

	while (m && m->l_next)
		m = m->l_next;
	if (find_behind("__libc_start_main", m))
		atomic_store_explicit(&last_at_start, m, memory_order_relaxed);
	atomic_store_explicit(&is_set_up, true, memory_order_release);
}

struct search {
	const char *name;
	void *found;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)info;
	(void)size;
	s->found = find_anywhere(s->name);
	return 1;
}

void *aif_next_function(const char *name)
{
	const struct link_map *last = atomic_load_explicit(&last_at_start, memory_order_relaxed);
	struct search s = {.name = name};

	if (!atomic_load_explicit(&is_set_up, memory_order_acquire))
		return find_anywhere(name);
	if (last)
		s.found = find_behind(name, last);
	if (!s.found)
		dl_iterate_phdr(look, &s);
	return s.found;
}
