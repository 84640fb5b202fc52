/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Whose thread a stack is of: not every thread of a program is the program's. Told by the function that the thread was
 * started with, which the outermost frames have: by the file that it is in. Only of whole stacks.
 */
enum aif_stack_owner {
	AIF_OWNER_PROGRAM = 0,
	AIF_OWNER_CUPTI,   /* started by CUPTI for itself, for whoever has it measure */
	AIF_OWNER_AIFLAME, /* the agent's */
	AIF_OWNER_COUNT
};

/* By stack; for free(). NULL when memory runs out. */
uint8_t *aif_stack_owners(const struct aif_profile *p);
