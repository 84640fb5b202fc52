/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Estimates which of a kernel's stacks its samples are of, where only sums over windows are
 * known (unmix.c opens with the essay). Pure arithmetic. */

/* A stack that has this much of what it shares is hardly wrong by it. */
#define AIF_UNMIX_MOST 0.95

struct aif_unmix_count {
	uint32_t window, place; /* dense numbers */
	double samples;
};

struct aif_unmix {
	size_t windows, stacks, places;
	const double *exposure;         /* [window][stack]: how long it ran in it */
	struct aif_unmix_count *counts; /* for the solver to sort, sum up and renumber */
	size_t counts_len;
	/* Instruction of each place, by a dense number; places of one instruction wait for
	 * different things. NULL: each place is an instruction. */
	const uint32_t *instruction;
	size_t instructions;
};

/*
 * ret_rates[stack][place]: samples of a place by unit of exposure; ret_apart[stack]: whether
 * they are the stack's own, or of several that cannot be told apart. 0; -ENODATA: none of them
 * can be, nothing is returned; -ENOMEM.
 */
int aif_unmix(struct aif_unmix *u, double *ret_rates, bool *ret_apart);
