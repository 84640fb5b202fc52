/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unwinder.h"

/* The life of a process's unwinder: modules that come and go, generations of rows, code of JIT compilers. How it
 * unwinds is in unwind.c. */

size_t aif_unwinder_size(void)
{
	return sizeof(struct aif_unwinder);
}

int aif_unwinder_init(struct aif_unwinder *u)
{
	return aif_modules_init(&u->modules, true);
}

/* If another thread changes the generation at the same time, its change does for ours: it comes
 * after we were called. */
static void begin_generation(struct aif_unwinder *u)
{
	uint32_t old = atomic_load(&u->generation), next = old + 1;

	/* Keys hold the low bits only: rows of the last time with these bits must not return. */
	if ((next & AIF_ROWS_GENERATION_MASK) == 0)
		aif_rows_clear(&u->rows);
	atomic_compare_exchange_strong(&u->generation, &old, next);
}

void aif_unwinder_after_fork(struct aif_unwinder *u)
{
	aif_modules_after_fork(&u->modules);
	aif_jit_after_fork(&u->jit);
	/* Another thread of the parent may have unloaded a module and not come to say so. */
	begin_generation(u);
}

bool aif_unwinder_closed(const struct aif_unwinder *u)
{
	return aif_modules_closed(&u->modules);
}

void aif_unwinder_reopen(struct aif_unwinder *u)
{
	aif_modules_reopen(&u->modules);
}

void aif_unwinder_refresh(struct aif_unwinder *u)
{
	struct aif_module_counts now;
	bool went_away;

	if (aif_modules_closed(&u->modules)) {
		aif_modules_forget(&u->modules);
		begin_generation(u);
	} else if (aif_modules_changed(&u->modules, &now, &went_away)) {
		if (went_away)
			begin_generation(u);
		aif_modules_update(&u->modules, &now);
	}
	aif_jit_look(&u->jit, &u->modules, false);
}

void aif_unwinder_look(struct aif_unwinder *u)
{
	aif_jit_look(&u->jit, &u->modules, true);
}

void aif_unwinder_forget(struct aif_unwinder *u)
{
	begin_generation(u);
}

uint32_t aif_unwinder_generation(const struct aif_unwinder *u)
{
	return atomic_load_explicit(&u->generation, memory_order_acquire);
}

bool aif_unwinder_stale(const struct aif_unwinder *u, uint64_t pc)
{
	return aif_modules_stale(&u->modules, pc) || atomic_load(&u->jit.wanted);
}

uint32_t aif_unwinder_jit_epoch(const struct aif_unwinder *u)
{
	return atomic_load_explicit(&u->jit.epoch, memory_order_relaxed);
}

bool aif_unwinder_jit_symbol(struct aif_unwinder *u, uint64_t pc, struct aif_jit_symbol *ret)
{
	return aif_jit_symbol(&u->jit, pc, ret);
}

bool aif_unwinder_hold(const struct aif_unwinder *u, void (*do_it)(void *), void *arg)
{
	return aif_modules_hold(&u->modules, do_it, arg);
}

bool aif_unwinder_module(struct aif_unwinder *u, uint64_t pc, struct aif_unwind_module *ret)
{
	struct aif_module module;
	uint64_t lo, hi;

	if (!aif_modules_find(&u->modules, pc, &module))
		return false;
	aif_module_code(&module, &lo, &hi);
	*ret = (struct aif_unwind_module){
		.base = module.base,
		.lo = lo,
		.hi = hi,
		.path = module.path,
		.phdrs = module.phdrs,
		.phnum = module.phnum,
	};
	return true;
}

const char *aif_unwind_stop_name(enum aif_unwind_stop stop)
{
	static const char *const names[AIF_STOP_COUNT] = {
		[AIF_STOP_END] = "end",
		[AIF_STOP_NO_MODULE] = "no module",
		[AIF_STOP_NO_FDE] = "no unwind information",
		[AIF_STOP_BAD_ROW] = "unsupported unwind rule",
		[AIF_STOP_BAD_STACK] = "stack out of bounds",
		[AIF_STOP_DEPTH] = "too deep",
	};

	return (unsigned)stop < AIF_STOP_COUNT ? names[stop] : "unknown";
}
