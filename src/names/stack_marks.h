/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "names/stack_owner.h"

/* Marks: words in brackets that stand in a picture where a stack is not exact, not the program's, or not known. */

/* The flavour of a stack says which mark it stands on: a set of enum aif_stack_flag, or AIF_STACK_FLAGS + enum
 * aif_stack_owner for the threads of others. */
#define AIF_STACK_FLAGS    8u
#define AIF_STACK_FLAVOURS (AIF_STACK_FLAGS + AIF_OWNER_COUNT)

/* Returns the mark of a flavour, NULL for exact stacks of the program's. */
const char *aif_stack_mark(unsigned flavour);
/* Returns what the mark means, NULL if the mark says all. */
const char *aif_stack_mark_full(unsigned flavour);

/* Stands in place of a stack that is not known. */
#define AIF_STACK_UNKNOWN "[no stack]"

/* Appends the mark that stands in place of the stack of samples which no launch explains: their process. */
void aif_unmatched_owner(const struct aif_profile *p, uint32_t process, struct aif_buf *ret);
/* Stands in place of their kernel. */
#define AIF_UNMATCHED_KERNEL "[unknown shader]"
