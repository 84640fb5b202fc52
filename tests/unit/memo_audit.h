/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For tests of the memo: each capture is compared with a fresh unwind, hits too. */

#include "unwind/memo.h"

#include "base/map.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* State of one thread's memo, and what it answered. */
struct audit {
	struct aif_memo *memo;
	struct aif_unwinder *u;
	struct aif_stack_bounds bounds;
	unsigned max_depth;
	uint64_t *hash_of; /* by a stack's number: hash of its addresses, its depth and stop */
	uint32_t numbers;
	uint64_t captures, hits, wrong;
	uint64_t key;   /* of a note with each; 0: none */
	bool many_keys; /* a few in turn */
	uint64_t notes_found;
	struct aif_memo_result last; /* its pcs are gone */
	uint64_t fresh[AIF_MEMO_MAX_DEPTH];
	struct aif_unwind_result fresh_result;
};

static inline void *audit_pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline bool audit_begin(struct audit *a, struct aif_unwinder *u,
			       struct aif_stack_bounds bounds, unsigned max_depth)
{
	*a = (struct audit){.u = u, .bounds = bounds, .max_depth = max_depth};
	a->numbers = 4 << 20;
	a->memo = audit_pages(aif_memo_size());
	a->hash_of = audit_pages(a->numbers * sizeof(a->hash_of[0]));
	if (!a->memo || !a->hash_of)
		return false;
	aif_memo_init(a->memo, u, bounds, max_depth);
	return true;
}

static inline void audit_end(struct audit *a)
{
	munmap(a->memo, aif_memo_size());
	munmap(a->hash_of, a->numbers * sizeof(a->hash_of[0]));
}

static inline uint64_t audit_hash(const uint64_t *pcs, unsigned depth, enum aif_unwind_stop stop)
{
	uint64_t h = aif_mix64(depth * 16 + stop);

	for (unsigned i = 0; i < depth; i++)
		h = aif_mix64(h ^ pcs[i]) + i;
	return h | 1;
}

/* Checks a stack's note, which follows from stack and key, and notes it if there is none. False:
 * another note was there. */
static inline bool audit_note(struct audit *a, struct aif_memo_stack *stack, uint64_t hash)
{
	const uint64_t key = a->many_keys ? aif_mix64(a->captures % 5) | 1 : a->key;
	const uint32_t id = (uint32_t)(aif_mix64(hash + key) >> 33);
	uint32_t noted;

	if (!stack || !key)
		return true;
	noted = aif_memo_noted(a->memo, stack, key);
	if (noted == AIF_MEMO_NOT_NOTED)
		aif_memo_note(a->memo, stack, key, id);
	else
		a->notes_found++;
	return noted == id || noted == AIF_MEMO_NOT_NOTED;
}

/* True: the answer was the unwinder's. */
static inline bool audit_capture(struct audit *a, const struct aif_regs *regs)
{
	struct aif_memo_result r = aif_memo_capture(a->memo, regs);
	struct aif_unwind_result f =
		aif_unwind(a->u, regs, false, a->bounds, a->fresh, a->max_depth);
	uint64_t hash = audit_hash(a->fresh, f.depth, f.stop);
	bool right = r.depth == f.depth && r.stop == f.stop && r.guessed == !!f.guessed;

	a->captures++;
	if (r.hit) {
		a->hits++;
		right = right && r.stack && r.stack->depth == f.depth && r.stack->stop == f.stop &&
			r.stack->number < a->numbers && a->hash_of[r.stack->number] == hash &&
			r.stack->value == (hash ^ r.stack->number) && !r.pcs && !r.frames;
	} else {
		right = right && memcmp(r.pcs, a->fresh, f.depth * sizeof(a->fresh[0])) == 0;
		if (r.stack) {
			right = right && r.stack->value == 0 && r.stack->number < a->numbers &&
				!a->hash_of[r.stack->number];
			if (right)
				a->hash_of[r.stack->number] = hash;
			r.stack->value = hash ^ r.stack->number;
		}
	}
	right = audit_note(a, r.stack, hash) && right;
	a->wrong += !right;
	a->last = r;
	a->fresh_result = f;
	return right;
}
