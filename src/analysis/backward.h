/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/facts.h"

/*
 * PyTorch's backward, joined to the forward that made it.
 *
 * Autograd's threads run C++: a launch of theirs has no Python frame that would tell which line of the model
 * it belongs to, and all layers' have one stack. The order of launches tells (backward_match.h); nothing
 * else does, so what is found here is inferred, and is marked as that where it is shown. Device time is the
 * attribution's; this only says which parts of a stack's launches belong to which place of the forward.
 */

enum aif_backward_how {
	AIF_BACKWARD_UNJOINED,
	AIF_BACKWARD_MATCHED, /* to the operator that made the node */
	AIF_BACKWARD_BETWEEN, /* its operator launched nothing: it lies between two that did */
	AIF_BACKWARD_HOWS
};

/* A part of the launches of one stack and kernel. Stacks are numbers of the profile. */
struct aif_backward_part {
	uint32_t process, stack, kind, kernel;
	uint32_t
		forward; /* the stack of the forward's innermost Python frame, AIF_NONE: unjoined */
	uint32_t inside; /* what is further in than this on .stack is inside the node */
	uint32_t name;   /* of the node, in .names, or AIF_STR_NONE */
	uint32_t how;    /* enum aif_backward_how */
	uint64_t time;   /* of its executions, in stamps of the device */
	uint64_t launches;
};

struct aif_backward {
	struct aif_backward_part *parts; /* in the order of their first four */
	size_t parts_len;
	struct aif_strset names;
};

/* Joins the launches that `sel` (NULL: all) names; the order is looked at of all. Without a backward there are no parts.
 * *ret is a fact, for aif_facts_put() (facts.h), and empty after a failure. 0 or -errno with *err. */
int aif_backward_get(const struct aif_profile *p, const struct aif_selection *sel,
		     const struct aif_backward **ret, struct aif_err *err);

/* The parts of a row's stack and kernel, widest first; 0 if it is no backward. */
size_t aif_backward_parts(const struct aif_backward *b, const struct aif_attribution_row *row,
			  const struct aif_backward_part **ret);

/* Sums up how much of the busy time is a backward's, by enum aif_backward_how, in ns as the attribution
 * shares them. */
void aif_backward_sums(const struct aif_backward *b, const struct aif_attribution *a,
		       uint64_t ret_wall_ns[AIF_BACKWARD_HOWS]);

/* Takes a row apart: ret[i] is part i's share of it, n >= 1 of them. All that a row counts sums to what the row
 * has; of errors the squares do. */
void aif_backward_split(const struct aif_attribution_row *row,
			const struct aif_backward_part *parts, size_t n,
			struct aif_attribution_row *ret);
