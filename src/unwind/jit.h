/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/jit_elf.h"
#include "unwind/modules.h"

/*
 * Code in no module: what JIT compilers made, as far as they tell debuggers of it. jit.c opens with
 * the essay.
 */

/* Limits: frames of code beyond them are guessed, or end the stack. */
#define AIF_JIT_HINTS       16384 /* functions with unwind tables, or sections without */
#define AIF_JIT_REGIONS     1024 /* executable mappings of no module; V8 and Java have some dozens */
#define AIF_JIT_DESCRIPTORS 8    /* of modules that bring a JIT compiler */

#define AIF_JIT_VERDICTS 1024

/* The bytes of .eh_frame of one object that are looked at: some thousand functions. */
#define AIF_JIT_TABLE_BYTES 65536

/* The fields of GDB's __jit_debug_descriptor as they were when the list was read. */
struct aif_jit_words {
	uint64_t flags, relevant, first; /* version and action; entries */
};

/* A hint: where the tables lie that cover [lo, hi). */
struct aif_jit_hint {
	uint64_t lo, hi;
	uint64_t cie, fde; /* addresses; 0: no tables */
	uint64_t object, object_size;
	uint16_t cie_len, fde_len;
	uint32_t order; /* 0: the newest */
};

struct aif_jit {
	_Atomic uint32_t wanted; /* a stack met code that is not known */
	atomic_bool busy;        /* somebody looks */
	_Atomic uint32_t epoch;  /* looks that have found a change */

	/* Read by any thread at any time. Neighbouring words may come from different updates, so
	 * every conclusion from them is verified before use. */
	_Atomic uint32_t descriptors_len, hints_len, regions_len;
	struct {
		_Atomic uint64_t at, flags, relevant, first;
	} descriptors[AIF_JIT_DESCRIPTORS];
	struct {
		_Atomic uint64_t lo, hi, cie, fde, lens, object, object_size;
	} hints[AIF_JIT_HINTS];
	struct {
		_Atomic uint64_t lo, hi;
	} regions[AIF_JIT_REGIONS];

	/* Results of guesses: address, result, and when. A wrong one costs no more than a frame
	 * that is marked as guessed. */
	_Atomic uint32_t tick;
	_Atomic uint64_t verdicts[AIF_JIT_VERDICTS];

	uint32_t rest; /* the helper's: ticks to leave out */

	/* Owned by the thread that updates. */
	bool found_descriptors;
	uint64_t adds, subs; /* of the modules among which they were found */
	uint32_t made_len;
	struct aif_jit_hint made[AIF_JIT_HINTS];
	uint8_t bytes[AIF_JIT_TABLE_BYTES];
};

/* After a fork: who was busy in the parent is not here. */
void aif_jit_after_fork(struct aif_jit *j);

/* Looks at what JIT compilers have registered. Does nothing if nobody met unknown code since the
 * last look, or while another looks. Takes the loader's lock the first time and, `thorough`,
 * when modules came or went. On a launch path it is not thorough: it looks at short lists only,
 * and not at the executable mappings. */
void aif_jit_look(struct aif_jit *j, const struct aif_modules *m, bool thorough);

/* The row for an address in no module, NONE if there is none. `lives`: it is certain that a
 * frame of this thread is there. Usable in signal handlers. */
uint64_t aif_jit_row(struct aif_jit *j, uint64_t address, bool lives);

/* The same for a return address, from the instructions there (guess.h). */
uint64_t aif_jit_row_of_end(struct aif_jit *j, uint64_t pc, bool lives);

/* May that be a return address: is it known to be code, and is a call before it? */
bool aif_jit_is_after_call(struct aif_jit *j, uint64_t pc);

/* Is that known to be code? */
bool aif_jit_is_code(const struct aif_jit *j, uint64_t address);

/* Bytes of this process, which need not be readable. Usable in signal handlers. */
bool aif_jit_read(uint64_t at, void *to, size_t len);

/* The function at an address in no module. */
bool aif_jit_symbol(struct aif_jit *j, uint64_t address, struct aif_jit_symbol *ret);
