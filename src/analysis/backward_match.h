/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Matches nodes of a backward with the forward operators that made them, by the order of both alone.
 *
 * Autograd's engine gives each node a number when an operator makes it and runs, of the nodes that are ready,
 * the one with the greatest number. A node waits for those only that were made after it, so one thread runs
 * all of them in exactly the reverse order of the operators. The record of that order has gaps: operators and
 * nodes that launched nothing, operators without a node, and either record may begin or end anywhere. So the
 * nodes are aligned with the operators, newest first, by families (torch_names.h): the alignment with the
 * most matches and the fewest gaps between them, of equal ones the one that matches early.
 */

#define AIF_BACKWARD_NO_OP UINT32_MAX

struct aif_backward_unit { /* launches that are taken for one run of one node */
	uint32_t family;
	bool is_weak; /* it may also be a part of the run before */
};

/* ops: families, newest first. ret[i]: the operator of unit i or AIF_BACKWARD_NO_OP; they never go back, and
 * only a weak unit has the same as the one before. Works in windows: memory is bounded, time grows with n. 0
 * or -ENOMEM. */
int aif_backward_match(const struct aif_backward_unit *units, size_t n, const uint32_t *ops,
		       size_t m, uint32_t *ret);
