/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/ehframe.h"

#include <stdatomic.h>

/*
 * Finds the loaded module that holds an address, without locks.
 *
 * glibc 2.35 and newer answer themselves (_dl_find_object, made for unwinders: lock-free, 22 ns,
 * knows a library from the moment that it is mapped). For older ones, and for modules whose program
 * headers are not at their start, there is a snapshot of dl_iterate_phdr's list, which only
 * aif_modules_update() renews: that call takes the loader's lock, and other unwinders are known to
 * deadlock on it in signal handlers.
 */

struct aif_module {
	uint64_t lo, hi; /* mapped range, with possible holes between segments */
	uint64_t base;
	const char *path;
	const void *phdrs; /* ElfW(Phdr)[phnum] */
	unsigned phnum;
};

/* 300 to 600 in a PyTorch process with CUDA. More than these are not in the snapshot. */
#define AIF_MODULES_MAX 2048

struct aif_dl_object;

/* A snapshot buffer, of which there are two; the fields are those of struct aif_module. */
struct aif_module_list {
	_Atomic uint32_t len;
	struct {
		_Atomic uint64_t lo, hi, base, path, phdrs, phnum;
	} at[AIF_MODULES_MAX];
};

struct aif_modules {
	int (*find_object)(void *address, struct aif_dl_object *ret); /* NULL: old glibc */
	_Atomic uint64_t adds, subs;                                  /* the loader's counts */
	_Atomic uint32_t wanted;                                      /* refreshes asked for */
	atomic_bool busy;                                             /* one is at work */
	atomic_bool closed;        /* the loader's list is out of reach: aif_modules_after_fork() */
	_Atomic uint32_t snapshot; /* counts snapshots; the low bit is the list in use */
	struct aif_module_list lists[2];
};

/* `use_loader` false: as if glibc were old. Takes the first snapshot; takes the loader's lock.
 * Zeroed memory, or (in a forked child) initialised before. */
int aif_modules_init(struct aif_modules *m, bool use_loader);

struct aif_module_counts {
	uint64_t adds, subs;
};

/* In a forked child, instead of aif_modules_init(): the parent's snapshot goes on. The loader's
 * list is not looked at: a thread that the child does not have may have had its lock at the
 * fork, and then it is locked forever (glibc makes new only its other two). Throwing an
 * exception takes it in glibc before 2.35. */
void aif_modules_after_fork(struct aif_modules *m);

/* No thread of the parent has the list's lock: the list is open for good. */
void aif_modules_reopen(struct aif_modules *m);

/* Is the loader's list out of reach? Nobody may call dl_iterate_phdr() then. */
static inline bool aif_modules_closed(const struct aif_modules *m)
{
	return atomic_load_explicit(&m->closed, memory_order_acquire);
}

/* While it is: a module may have gone. Where the loader does not answer by itself nothing is
 * known from here on, until the next snapshot. Lock-free. */
void aif_modules_forget(struct aif_modules *m);

/* Did modules come or go since the last snapshot? Takes the loader's lock. */
bool aif_modules_changed(const struct aif_modules *m, struct aif_module_counts *ret_now,
			 bool *ret_went_away);

/* Takes the snapshot for *now. What must happen when a module went away must have happened before:
 * from here on other threads are told that nothing changed. Takes the loader's lock. */
void aif_modules_update(struct aif_modules *m, const struct aif_module_counts *now);

/* Lock-free. Reads the module's headers: it must be unable to go meanwhile, since pc is on the
 * calling thread's stack, or by aif_modules_hold(). */
bool aif_modules_find(const struct aif_modules *m, uint64_t pc, struct aif_module *ret);

/* Is pc in a module at all? Lock-free; of any address. */
bool aif_modules_has(const struct aif_modules *m, uint64_t pc);

/* do_it(arg) while no module can go, by the loader's lock. False, and no call: the loader's list
 * is out of reach. */
bool aif_modules_hold(const struct aif_modules *m, void (*do_it)(void *), void *arg);

/* Might a refresh make pc known? As aif_modules_find(). */
bool aif_modules_stale(const struct aif_modules *m, uint64_t pc);

/* The module's unwind tables. 0, -ENOENT (it has none) or as aif_ehframe_init(). */
int aif_module_ehframe(const struct aif_module *module, struct aif_ehframe *ret);

/* The readable code around pc. False: there is none. */
bool aif_module_code_at(const struct aif_module *module, uint64_t pc, struct aif_span *ret);

/* Lowest to highest executable byte. */
void aif_module_code(const struct aif_module *module, uint64_t *ret_lo, uint64_t *ret_hi);
