/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/sketch.h"
#include "profile/model.h"

/* A step, or a time between two, of a process. */
struct aif_reduced_block {
	uint64_t from, to;
	uint64_t number;
	bool is_step, is_on, is_certain;
	bool is_slow, is_first, is_drawn;
};
/* Steps of a process that are not judged yet, and what is known of those before. */
struct aif_reduced_steps {
	uint32_t thread; /* that marks them; AIF_NONE: none does */
	bool is_marked;  /* as steps, not as ranges */
	struct aif_reduced_step {
		uint64_t from, to;
		uint32_t name;
	} * steps;
	size_t len, cap;
	uint64_t since; /* the first one's begin; 0: there was none */
	uint64_t at;    /* what was before is judged */
	uint64_t count, slow;
	struct aif_sketch lengths;
	struct aif_reduced_block *blocks; /* of this round, in order, without holes, up to .at */
	size_t blocks_len, blocks_cap;
};

/* Adds a step of a thread, in the order in which they end. 0 or -ENOMEM. */
int aif_reduced_steps_add(struct aif_reduced_steps *s, const struct aif_op_row *row);
/* Makes the blocks of those that can be judged at `now`: .is_on is set of those that are certain, and of those with the lot. 0 or -ENOMEM. */
int aif_reduced_steps_blocks(struct aif_reduced_steps *s, const struct aif_profile *p,
			     uint32_t every, uint64_t now, bool is_last);
/* Returns the block of this round that a time is in, or NULL. */
struct aif_reduced_block *aif_reduced_steps_at(const struct aif_reduced_steps *s, uint64_t at);
void aif_reduced_steps_finish(struct aif_reduced_steps *s);
