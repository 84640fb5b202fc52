/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/estimate.h"
#include "analysis/exec_timeline.h"

/*
 * Numbers of calls of operators, inferred from launch stacks of a recording, which has no operators' times.
 *
 * Launches of one thread belong to one call of an operator as long as each has that operator's frame under the same
 * caller, and as no launch stack, with its place in the operator's code, is there twice. So calls that launched nothing
 * are not counted, and an operator that launches the same in a loop counts once for each turn.
 */
struct aif_op_calls_row {
	uint32_t process, name;    /* of an operator, or of work */
	struct aif_estimate calls; /* weighted, where launches were left out */
};
struct aif_op_calls {
	AIF_TABLE(aif_op_calls_row, rows);
	struct aif_map of; /* process << 32 | name -> row */
};

/* Counts launches that keep(arg, launch, &work) does not refuse, also as calls of the name that it gives to their work,
 * a number that no operator has. of_frame: each frame's operator, AIF_NONE: none. *ret is finished by the caller in any
 * case. 0 or -ENOMEM. */
int aif_op_calls_count(const struct aif_profile *p, const struct aif_exec_timeline *t,
		       const uint32_t *of_frame,
		       bool (*keep)(const void *arg, const struct aif_timeline_launch *l,
				    uint32_t *ret_work),
		       const void *arg, struct aif_op_calls *ret);
void aif_op_calls_finish(struct aif_op_calls *c);

/* Returns the row of an operator or of work, or NULL: it launched nothing. */
struct aif_op_calls_row *aif_op_calls_of(const struct aif_op_calls *c, uint32_t process,
					 uint32_t name);
