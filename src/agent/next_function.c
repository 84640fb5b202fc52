/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/next_function.h"

#include "base/auxv.h"
#include "base/base.h"
#include "unwind/module_function.h"

#include <elf.h>
#include <link.h>
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

/* C libraries that have dlsym in two versions have one function for both. */
void *aif_next_function(const char *name)
{
	const struct link_map *all = aif_modules();
	void *found = NULL;
	bool behind = false;

	for (const struct link_map *m = all; m && !found; m = m->l_next) {
		if (behind)
			found = aif_function_of(m, name);
		behind |= m->l_ld == _DYNAMIC;
	}
	for (const struct link_map *m = all; m && !found; m = m->l_next)
		found = aif_function_of(m, name);
	return found;
}
