/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_DEFAULT */
#endif
#include "unwind/modules.h"

#include "unwind/module_function.h"
#include "unwind/oldglibc.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

/*
 * Two readers of the loader's list
 * ================================
 *
 * _dl_find_object gives a module's mapped range, but not its program headers, which are needed to
 * stay within its segments: between these there may be holes that fault. They nearly always follow
 * the ELF header on the first page of the mapping, which is checked (magic, sizes, that the first
 * segment really maps the file's start there). Tools that rewrite binaries may move them; then the
 * snapshot knows.
 *
 * The snapshot is a pair of lists, written in turns. `snapshot` counts; its low bit says which list
 * is in use. A reader notes the count, reads, and looks again: the list that it read is rewritten
 * only after the count has moved on. Nothing is ever freed, so a reader that was overtaken reads
 * stale words but never bad memory, and tries again.
 */

/* Layout of what _dl_find_object fills in (glibc's <dlfcn.h> since 2.35; x86-64). Declared here
 * because the build machine's glibc may be older than the target's. */
struct aif_dl_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

static_assert(sizeof(struct aif_dl_object) == 96, "glibc's ABI");

/* The first page is mapped for sure, and a header table that begins on it mostly ends on it: room
 * for 72 entries, the longest seen has 17. */
#define FIRST_PAGE 4096

/* Readable segments per module; linkers make 2 to 4, tools that rewrite binaries add one or two. */
#define MAX_SPANS 16

#define PAGE_MASK (~UINT64_C(4095))

static const ElfW(Phdr) * phdr_at(const struct aif_module *module, unsigned i)
{
	return (const ElfW(Phdr) *)module->phdrs + i;
}

/* Fills in the rest of *module from the ELF header at module->lo. */
static bool headers_at_start(struct aif_module *module)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)(uintptr_t)module->lo;

	if (module->hi - module->lo < FIRST_PAGE || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
	    elf->e_phoff % _Alignof(ElfW(Phdr)) || elf->e_phoff > FIRST_PAGE ||
	    elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > FIRST_PAGE)
		return false;
	module->phdrs = (const char *)elf + elf->e_phoff;
	module->phnum = elf->e_phnum;
	for (unsigned i = 0; i < module->phnum; i++) {
		const ElfW(Phdr) *p = phdr_at(module, i);

		if (p->p_type == PT_LOAD) /* the first one: is it this page? */
			return p->p_offset < FIRST_PAGE &&
			       module->base + (p->p_vaddr & PAGE_MASK) == module->lo;
	}
	return false;
}

/* Extends a module to the end of its segments. For modules that the kernel mapped, the main
 * program and the loader, glibc returns the code's end if the segments do not touch (aarch64:
 * they begin at multiples of 64 KB). The loader's tables lie before that; a program's need
 * not. */
static void extend_to_segments(struct aif_module *module)
{
	for (unsigned i = 0; i < module->phnum; i++) {
		const ElfW(Phdr) *p = phdr_at(module, i);

		if (p->p_type == PT_LOAD)
			module->hi = AIF_MAX(module->hi, module->base + p->p_vaddr + p->p_memsz);
	}
}

static bool find_in_snapshot(const struct aif_modules *m, uint64_t pc, struct aif_module *ret)
{
	/* Each retry means that two refreshes happened meanwhile. */
	for (int tries = 0; tries < 4; tries++) {
		uint32_t snapshot = atomic_load_explicit(&m->snapshot, memory_order_acquire);
		const struct aif_module_list *list = &m->lists[snapshot & 1];
		uint32_t len = atomic_load_explicit(&list->len, memory_order_acquire);
		struct aif_module found = {0};
		bool any = false;

		for (uint32_t i = 0; i < AIF_MIN(len, AIF_MODULES_MAX) && !any; i++) {
#define GET(field) atomic_load_explicit(&list->at[i].field, memory_order_acquire)
			found.lo = GET(lo);
			found.hi = GET(hi);
			if (pc < found.lo || pc >= found.hi)
				continue;
			found.base = GET(base);
			found.path = (const char *)(uintptr_t)GET(path);
			found.phdrs = (const void *)(uintptr_t)GET(phdrs);
			found.phnum = (unsigned)GET(phnum);
			any = true;
#undef GET
		}
		if (atomic_load_explicit(&m->snapshot, memory_order_relaxed) != snapshot)
			continue;
		if (any)
			*ret = found;
		return any;
	}
	return false;
}

bool aif_modules_find(const struct aif_modules *m, uint64_t pc, struct aif_module *ret)
{
	struct aif_module module;
	struct aif_dl_object o;

	if (!m->find_object)
		return find_in_snapshot(m, pc, ret);
	if (m->find_object((void *)(uintptr_t)pc, &o))
		return false;
	module = (struct aif_module){
		.lo = (uint64_t)(uintptr_t)o.map_start,
		.hi = (uint64_t)(uintptr_t)o.map_end,
		.base = (uint64_t)o.link_map->l_addr,
		.path = o.link_map->l_name,
	};
	if (!headers_at_start(&module) &&
	    (!find_in_snapshot(m, pc, &module) || module.base != (uint64_t)o.link_map->l_addr))
		return false;
	if (module.path[0] == '\0')
		extend_to_segments(&module);
	*ret = module;
	return true;
}

bool aif_modules_has(const struct aif_modules *m, uint64_t pc)
{
	struct aif_module module;
	struct aif_dl_object o;

	return m->find_object ? !m->find_object((void *)(uintptr_t)pc, &o)
			      : find_in_snapshot(m, pc, &module);
}

struct held {
	void (*do_it)(void *);
	void *arg;
};

static int do_held(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct held *held = arg;

	(void)info, (void)size;
	held->do_it(held->arg);
	return 1;
}

/* dlclose() unmaps with the lock that dl_iterate_phdr() holds around its callbacks. */
bool aif_modules_hold(const struct aif_modules *m, void (*do_it)(void *), void *arg)
{
	struct held held = {do_it, arg};

	return !aif_modules_closed(m) && dl_iterate_phdr(do_held, &held) == 1;
}

bool aif_modules_stale(const struct aif_modules *m, uint64_t pc)
{
	struct aif_module module;
	struct aif_dl_object o;

	if (aif_modules_closed(m))
		return false;
	if (m->find_object && m->find_object((void *)(uintptr_t)pc, &o))
		return false; /* in no module at all */
	return !aif_modules_find(m, pc, &module);
}

/* ---- taking snapshots ---- */

static int take_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct aif_module_counts *counts = arg;

	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return -1;
	counts->adds = info->dlpi_adds;
	counts->subs = info->dlpi_subs;
	return 1;
}

static int append(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct aif_module_list *list = arg;
	uint32_t i = atomic_load_explicit(&list->len, memory_order_relaxed);
	uint64_t lo = UINT64_MAX, hi = 0;

	(void)size;
	for (unsigned k = 0; k < info->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[k];

		if (p->p_type != PT_LOAD || p->p_memsz == 0)
			continue;
		lo = AIF_MIN(lo, (info->dlpi_addr + p->p_vaddr) & PAGE_MASK);
		hi = AIF_MAX(hi, info->dlpi_addr + p->p_vaddr + p->p_memsz);
	}
	if (lo >= hi)
		return 0;
	if (i == AIF_MODULES_MAX)
		return 1;
		/* release: see find_in_snapshot() */
#define SET(field, v) atomic_store_explicit(&list->at[i].field, (v), memory_order_release)
	SET(lo, lo);
	SET(hi, hi);
	SET(base, info->dlpi_addr);
	SET(path, (uintptr_t)info->dlpi_name);
	SET(phdrs, (uintptr_t)info->dlpi_phdr);
	SET(phnum, info->dlpi_phnum);
#undef SET
	atomic_store_explicit(&list->len, i + 1, memory_order_release);
	return 0;
}

static void take_snapshot(struct aif_modules *m)
{
	uint32_t next = atomic_load_explicit(&m->snapshot, memory_order_relaxed) + 1;
	struct aif_module_list *list = &m->lists[next & 1];

	atomic_store_explicit(&list->len, 0, memory_order_release);
	dl_iterate_phdr(append, list);
	atomic_store_explicit(&m->snapshot, next, memory_order_release);
}

bool aif_modules_changed(const struct aif_modules *m, struct aif_module_counts *ret_now,
			 bool *ret_went_away)
{
	uint64_t adds = atomic_load(&m->adds), subs = atomic_load(&m->subs);
	struct aif_module_counts now;

	/* Stops at the first callback: 26 ns. */
	if (dl_iterate_phdr(take_counts, &now) != 1 || (now.adds == adds && now.subs == subs))
		return false;
	*ret_now = now;
	*ret_went_away = now.subs != subs;
	return true;
}

/* The loader's counts only grow; a thread that comes late must not turn them back. */
static void raise(_Atomic uint64_t *count, uint64_t to)
{
	uint64_t old = atomic_load(count);

	while (old < to && !atomic_compare_exchange_weak(count, &old, to))
		;
}

void aif_modules_update(struct aif_modules *m, const struct aif_module_counts *now)
{
	uint32_t wanted;

	raise(&m->adds, now->adds);
	raise(&m->subs, now->subs);
	/* A thread that comes while another is at work does not wait: it leaves its request. */
	atomic_fetch_add(&m->wanted, 1);
	do {
		wanted = atomic_load(&m->wanted);
		if (atomic_exchange(&m->busy, true))
			return;
		take_snapshot(m);
		atomic_store(&m->busy, false);
	} while (atomic_load(&m->wanted) != wanted);
}

int aif_modules_init(struct aif_modules *m, bool use_loader)
{
	struct aif_module_counts now = {0};

	if (dl_iterate_phdr(take_counts, &now) != 1)
		return -ENOSYS;
	m->find_object = NULL;
	if (use_loader) {
		/* POSIX's way to take a function from dlsym without a cast that C does not know */
		void *symbol = aif_is_function_anywhere("_dl_find_object")
				       ? dlsym(RTLD_DEFAULT, "_dl_find_object")
				       : NULL;

		memcpy(&m->find_object, &symbol, sizeof(symbol));
	}
	atomic_store(&m->adds, now.adds);
	atomic_store(&m->subs, now.subs);
	atomic_store(&m->busy, false); /* the parent may have been at work when it forked */
	take_snapshot(m);
	return 0;
}

void aif_modules_after_fork(struct aif_modules *m)
{
	atomic_store(&m->closed, true);
	/* The list in use is whole; a thread of the parent may have been at work on the other.
	 * With no counts the next look finds a change for sure. */
	atomic_store(&m->busy, false);
	atomic_store(&m->adds, 0);
	atomic_store(&m->subs, 0);
}

void aif_modules_reopen(struct aif_modules *m)
{
	atomic_store_explicit(&m->closed, false, memory_order_release);
}

void aif_modules_forget(struct aif_modules *m)
{
	uint32_t snapshot = atomic_load(&m->snapshot);

	if (!m->find_object)
		atomic_store_explicit(&m->lists[snapshot & 1].len, 0, memory_order_release);
}

/* ---- one module ---- */

int aif_module_ehframe(const struct aif_module *module, struct aif_ehframe *ret)
{
	struct aif_span spans[MAX_SPANS];
	const ElfW(Phdr) *hdr = NULL;
	size_t n = 0;

	for (unsigned i = 0; i < module->phnum; i++) {
		const ElfW(Phdr) *p = phdr_at(module, i);

		if (p->p_type == PT_GNU_EH_FRAME) {
			hdr = p;
		} else if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && n < MAX_SPANS) {
			uint64_t lo = module->base + p->p_vaddr;

			if (lo >= module->hi) /* see extend_to_segments() */
				continue;
			if (lo < module->lo || p->p_filesz > module->hi - lo)
				return -EINVAL;
			spans[n].lo = (const uint8_t *)(uintptr_t)lo;
			spans[n].hi = spans[n].lo + p->p_filesz;
			n++;
		}
	}
	if (!hdr)
		return -ENOENT;
	return aif_ehframe_init(ret, (const uint8_t *)(uintptr_t)(module->base + hdr->p_vaddr),
				hdr->p_memsz, spans, n);
}

bool aif_module_code_at(const struct aif_module *module, uint64_t pc, struct aif_span *ret)
{
	for (unsigned i = 0; i < module->phnum; i++) {
		const ElfW(Phdr) *p = phdr_at(module, i);
		uint64_t lo = module->base + p->p_vaddr;

		if (p->p_type != PT_LOAD || (p->p_flags & (PF_R | PF_X)) != (PF_R | PF_X) ||
		    pc < lo || pc - lo >= p->p_filesz)
			continue;
		if (lo < module->lo || lo >= module->hi || p->p_filesz > module->hi - lo)
			return false;
		ret->lo = (const uint8_t *)(uintptr_t)lo;
		ret->hi = ret->lo + p->p_filesz;
		return true;
	}
	return false;
}

void aif_module_code(const struct aif_module *module, uint64_t *ret_lo, uint64_t *ret_hi)
{
	uint64_t lo = UINT64_MAX, hi = 0;

	for (unsigned i = 0; i < module->phnum; i++) {
		const ElfW(Phdr) *p = phdr_at(module, i);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		lo = AIF_MIN(lo, module->base + p->p_vaddr);
		hi = AIF_MAX(hi, module->base + p->p_vaddr + p->p_memsz);
	}
	*ret_lo = AIF_MIN(lo, hi);
	*ret_hi = hi;
}
