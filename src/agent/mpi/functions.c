/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "agent/mpi/functions.h"

#include "agent/caller_function.h"
#include "agent/next_function.h"

/* Limits the callers whose functions are kept, where several modules define one. */
#define ROUTES 4

/* Holds what callers in [lo, hi) call while no module has come or gone. Each field is read and written as a whole, and all of them
 * belong together if `turn` was the same, and even, before and after. */
struct route {
	_Atomic uint32_t turn; /* 0: empty; odd: being written */
	_Atomic uint64_t adds, subs, lo, hi;
	_Atomic(void *) function;
	struct aif_emit_api api;
};

/* Serves all processes, carriers or not: its pages are there when a function of MPI has been called. */
static struct route routes[AIF_MPI_FUNCTIONS][ROUTES];

struct look {
	const char *name;
	uint64_t caller;
	struct route *routes, *at;
	bool begun;
	uint64_t adds, subs;
	void *found;
};

static const char *name_of(enum aif_mpi_function which)
{
	static const char *const names[] = {
#define AIF_MPI_CALL(name, arguments, communicator) #name,
#include "agent/mpi/calls.def"
#undef AIF_MPI_CALL
#define AIF_MPI_OTHER(name) #name,
		AIF_MPI_OTHERS
#undef AIF_MPI_OTHER
	};

	return names[which];
}

static bool is_known(struct look *l, struct route *r)
{
	uint32_t turn = atomic_load_explicit(&r->turn, memory_order_acquire);
	void *function = atomic_load_explicit(&r->function, memory_order_relaxed);
	bool is = atomic_load_explicit(&r->adds, memory_order_relaxed) == l->adds &&
		  atomic_load_explicit(&r->subs, memory_order_relaxed) == l->subs &&
		  atomic_load_explicit(&r->lo, memory_order_relaxed) <= l->caller &&
		  atomic_load_explicit(&r->hi, memory_order_relaxed) > l->caller;

	atomic_thread_fence(memory_order_acquire);
	if (!is || !turn || turn % 2 ||
	    atomic_load_explicit(&r->turn, memory_order_relaxed) != turn)
		return false;
	l->found = function;
	l->at = r;
	return true;
}

/* Leaves a route that another thread writes meanwhile: the next call looks again. */
static void keep(struct look *l, uint64_t lo, uint64_t hi)
{
	struct route *r = &l->routes[lo ? (lo >> 12) % ROUTES : 0];
	uint32_t turn = atomic_load_explicit(&r->turn, memory_order_relaxed);

	l->at = r;
	if (turn % 2 || !atomic_compare_exchange_strong(&r->turn, &turn, turn + 1))
		return;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&r->adds, l->adds, memory_order_relaxed);
	atomic_store_explicit(&r->subs, l->subs, memory_order_relaxed);
	atomic_store_explicit(&r->lo, lo, memory_order_relaxed);
	atomic_store_explicit(&r->hi, hi, memory_order_relaxed);
	atomic_store_explicit(&r->function, l->found, memory_order_relaxed);
	__atomic_store_n(&r->api.pc, (uint64_t)(uintptr_t)l->found, __ATOMIC_RELAXED);
	atomic_store_explicit(&r->turn, turn + 2 ? turn + 2 : 2, memory_order_release);
}

/* True if at most one module defines the function. */
static bool is_one(struct look *l)
{
	size_t n = 0;

	for (const struct link_map *m = aif_modules(); m; m = m->l_next)
		n += aif_function_of(m, l->name) != NULL;
	if (n > 1)
		return false;
	l->found = n ? aif_next_function(l->name) : NULL;
	keep(l, 0, UINT64_MAX);
	return true;
}

static bool is_in(const struct dl_phdr_info *info, uint64_t address, uint64_t *lo, uint64_t *hi)
{
	*lo = UINT64_MAX;
	*hi = 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		*lo = AIF_MIN(*lo, info->dlpi_addr + p->p_vaddr);
		*hi = AIF_MAX(*hi, info->dlpi_addr + p->p_vaddr + p->p_memsz);
	}
	return *lo <= address && address < *hi;
}

static const struct link_map *module_of(const struct dl_phdr_info *info)
{
	const struct link_map *m = NULL;

	for (size_t i = 0; i < info->dlpi_phnum && !m; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			for (m = aif_modules();
			     m &&
			     (uintptr_t)m->l_ld != info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;)
				m = m->l_next;
	return m;
}

static int visit(struct dl_phdr_info *info, size_t size, void *of)
{
	struct look *l = of;
	uint64_t lo, hi;

	(void)size;
	if (!l->begun) {
		l->begun = true;
		l->adds = info->dlpi_adds;
		l->subs = info->dlpi_subs;
		for (size_t i = 0; i < ROUTES; i++)
			if (is_known(l, &l->routes[i]))
				return 1;
		if (is_one(l) || !l->caller)
			return 1;
	}
	if (!is_in(info, l->caller, &lo, &hi))
		return 0;
	l->found = aif_caller_function(l->name, module_of(info));
	keep(l, lo, hi);
	return 1;
}

void *aif_mpi_function(enum aif_mpi_function which, const void *caller,
		       const struct aif_emit_api **ret)
{
	struct look l = {.name = name_of(which),
			 .caller = (uint64_t)(uintptr_t)caller,
			 .routes = routes[which]};

	if (!dl_iterate_phdr(visit, &l) && caller)
		l.found = aif_next_function(l.name);
	if (ret)
		*ret = &(l.at ? l.at : l.routes)->api;
	return l.found;
}
