/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * The ranges that a thread was in at a moment: rows of ops of kind RANGE (aiflame.h, NVTX, imported traces), as a chain
 * from the outermost to the innermost by when they began. Ranges of a thread need not nest (those of two domains, or
 * ones that another thread ends): a chain has all that are open.
 *
 * Names that differ in their numbers only, more than AIF_RANGE_VARIANTS of them ("step 17"), are one: "step *".
 */
#define AIF_RANGE_VARIANTS 64
/* Ranges of a chain; those that began within so many others are left out. */
#define AIF_RANGE_CHAIN 64

struct aif_range_chain {
	uint32_t parent; /* the chain without its innermost range, or AIF_NONE */
	uint32_t name;   /* in .names */
	bool is_kept;    /* it or one around it is one of those asked for */
};

struct aif_range_moment {
	int64_t from;   /* ns since the recording's start; until the thread's next one */
	uint32_t chain; /* AIF_NONE: in no range */
};

struct aif_range_index {
	struct aif_strset names;
	AIF_TABLE(aif_range_chain, chains);
	AIF_TABLE(aif_range_moment, moments); /* by thread, then time */
	size_t *first; /* by thread: its first moment; one more behind the last */
	size_t threads;
	uint64_t damaged; /* chunks that could not be read */
};

/* True if a range of that name (a string of the profile) is asked for. */
typedef bool aif_range_is_kept(void *arg, const char *name);

/* keep NULL: none is asked for. 0 or -ENOMEM; *ret is finished by aif_range_index_finish() in any case. */
int aif_range_index_make(const struct aif_profile *p, aif_range_is_kept *keep, void *arg,
			 struct aif_range_index *ret);
void aif_range_index_finish(struct aif_range_index *x);

/* The chain that a thread was in, or AIF_NONE. */
uint32_t aif_range_index_at(const struct aif_range_index *x, uint32_t thread, int64_t at);

/* True if a thread was in one of the ranges asked for. */
static inline bool aif_range_index_keeps(const struct aif_range_index *x, uint32_t thread,
					 int64_t at)
{
	uint32_t chain = aif_range_index_at(x, thread, at);

	return chain != AIF_NONE && x->chains[chain].is_kept;
}
