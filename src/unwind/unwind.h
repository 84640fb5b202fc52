/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/arch.h"

struct aif_jit_symbol;

/*
 * Unwinds the native stack of the current thread, from .eh_frame, on stock binaries.
 *
 * aif_unwind() is pure and bounded: registers, bounds and the process's unwind tables in, return
 * addresses and the reason for stopping out. It allocates nothing, takes no lock, calls no libc
 * function but memcpy, and may run in a signal handler. Any number of threads may unwind at once.
 * unwind.c opens with the essay.
 */

/* Process-wide: the row map (pc -> unwind row, insert only, lock-free) and the module snapshot. */
struct aif_unwinder;

/* Memory is the caller's: aif_unwinder_size() bytes, zeroed, aligned to 64, alive as long as any
 * thread may unwind. Pages are touched only as rows are learned. */
size_t aif_unwinder_size(void);

/* Takes the first module snapshot. Not in a signal handler. 0 or -errno. */
int aif_unwinder_init(struct aif_unwinder *u);

/* In a forked child, before it unwinds: goes on with the parent's. Takes no lock, and none of
 * the loader's is taken from here on (closed), until somebody has found that no thread of the parent
 * has left it locked, and calls reopen(). */
void aif_unwinder_after_fork(struct aif_unwinder *u);
bool aif_unwinder_closed(const struct aif_unwinder *u);
void aif_unwinder_reopen(struct aif_unwinder *u);

/* Modules came or went (after dlclose; or when an unknown pc was seen on a launch path): takes a
 * new snapshot, and when one went away drops all rows (a new generation). Not in a signal
 * handler. */
void aif_unwinder_refresh(struct aif_unwinder *u);

/* A module may be about to go: drops all rows before another can be mapped in its place, which
 * may happen before aif_unwinder_refresh() is called. Lock-free. */
void aif_unwinder_forget(struct aif_unwinder *u);

/* After a `foreign` result whose last address is pc: might a refresh help? For code in no module
 * only if a JIT compiler may have told of it meanwhile. As aif_unwinder_module(). */
bool aif_unwinder_stale(const struct aif_unwinder *u, uint64_t pc);

/* Called by the helper thread now and then: looks for code of JIT compilers if a stack met
 * unknown code (jit.h). aif_unwinder_refresh() does so as far as a launch path may. */
void aif_unwinder_look(struct aif_unwinder *u);

/* Changes when JIT compilers were found to have made or removed code. Where `foreign` results of
 * two values are equal their functions may differ. */
uint32_t aif_unwinder_jit_epoch(const struct aif_unwinder *u);

/* The function of a JIT compiler at pc, which is in no module (jit.h). Not in a signal handler. */
bool aif_unwinder_jit_symbol(struct aif_unwinder *u, uint64_t pc, struct aif_jit_symbol *ret);

/* Changes whenever rows may have become stale. What is derived from rows (the memo) holds only
 * within one generation. */
uint32_t aif_unwinder_generation(const struct aif_unwinder *u);

/* Memory that the unwinder may read: the running thread's stack, [lo, hi). */
struct aif_stack_bounds {
	uint64_t lo, hi;
	/* A stack pointer outside is of another stack, a coroutine's or a signal handler's, which is read as far as the
	 * kernel says that it can be: a system call for each page. False: such a stack pointer ends the stack. */
	bool may_leave;
};

/* This thread's stack. Not in a signal handler (pthread_getattr_np). 0 or -errno. */
int aif_stack_bounds_here(struct aif_stack_bounds *ret);

enum aif_unwind_stop {
	AIF_STOP_END,       /* the thread's outermost frame: the stack is complete */
	AIF_STOP_NO_MODULE, /* pc in no known module (JIT code, or a module not yet in the snapshot), and
			       nothing else tells who called */
	AIF_STOP_NO_FDE,  /* module without unwind information for this pc, and no frame pointer */
	AIF_STOP_BAD_ROW, /* a rule that this unwinder does not follow, or malformed tables */
	AIF_STOP_BAD_STACK, /* the next frame would lie outside the bounds, on no readable memory or not above
			       this one, or returns to no address of code */
	AIF_STOP_DEPTH, /* `max` frames taken, more exist */
	AIF_STOP_COUNT
};

struct aif_unwind_result {
	unsigned depth;            /* addresses written */
	enum aif_unwind_stop stop; /* anything but END means: truncated, and marked so */
	/* Counts of these addresses: those from the first that follows from a guess by frame
	 * pointer (marked, too), and those from the first in code of no module, for which a
	 * later answer may differ. */
	unsigned guessed, foreign;
	bool switched; /* frames lie on another stack than the thread's own */
};

const char *aif_unwind_stop_name(enum aif_unwind_stop stop);

/*
 * The stack of *regs, innermost first: pcs[0] = regs->pc, then return addresses. All but pcs[0]
 * (and the frame interrupted by a signal) point after a call: look up pc - 1. All but pcs[0] are
 * user addresses, so that bit 63 may say of an entry that it is something else. `pc_is_exact` says
 * that regs->pc is an instruction about to run (a signal's), not a return address.
 */
struct aif_unwind_result aif_unwind(struct aif_unwinder *u, const struct aif_regs *regs,
				    bool pc_is_exact, struct aif_stack_bounds bounds, uint64_t *pcs,
				    unsigned max);

/* The stack of an interrupted point, as aif_unwind() with `pc_is_exact`, but it can also be told
 * if the point is where a function that aligns its frame sets it up or takes it down: *more is
 * of the same point. */
struct aif_unwind_result aif_unwind_interrupted(struct aif_unwinder *u, const struct aif_regs *regs,
						const struct aif_regs_more *more,
						struct aif_stack_bounds bounds, uint64_t *pcs,
						unsigned max);

/* A frame as the unwinder met it. */
struct aif_unwind_frame {
	uint64_t sp;  /* the frame is what lies in [sp, the next frame's sp) */
	uint64_t bp;  /* the frame pointer's register, whatever the function uses it for */
	uint64_t row; /* the rule by which its caller was looked for (row.h) */
};

/* The same, and frames[max + 1]: frames[i] is that of pcs[i]; the one after the last,
 * frames[depth], has the sp above the last frame if that is known, else the last frame's own.
 * `max` is at least 1. Where the stack ends without a row, the one after the last tells by bp
 * and row which word a guess by frame pointer has read (0: none) and refused. */
struct aif_unwind_result aif_unwind_frames(struct aif_unwinder *u, const struct aif_regs *regs,
					   bool pc_is_exact, struct aif_stack_bounds bounds,
					   uint64_t *pcs, unsigned max,
					   struct aif_unwind_frame *frames);

/* The same with frames[max + 1]; with these it can also be told what the loader binds a function for. */
struct aif_unwind_result
aif_unwind_interrupted_frames(struct aif_unwinder *u, const struct aif_regs *regs,
			      const struct aif_regs_more *more, struct aif_stack_bounds bounds,
			      uint64_t *pcs, unsigned max, struct aif_unwind_frame *frames);

/* do_it(arg) while no module can be unloaded: with the loader's lock, so shortly. For what asks
 * about code that is not on the calling thread's stack. False, and no call: in a forked child
 * the loader may be locked for good. */
bool aif_unwinder_hold(const struct aif_unwinder *u, void (*do_it)(void *), void *arg);

/* The loaded module that holds pc. `path` is "" for the main program; it and the addresses stay
 * valid until the module is unloaded, which must not be possible meanwhile. Lock-free on glibc
 * >= 2.35. */
struct aif_unwind_module {
	uint64_t base;     /* load bias: pc - base is the address in the ELF file */
	uint64_t lo, hi;   /* executable range */
	const char *path;  /* as the loader knows it */
	const void *phdrs; /* ElfW(Phdr)[phnum], in memory */
	unsigned phnum;
};
bool aif_unwinder_module(struct aif_unwinder *u, uint64_t pc, struct aif_unwind_module *ret);
