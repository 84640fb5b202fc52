/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/frame_labels.h"

/* Stacks as lines of a table, folded by the same rules as the picture. */

struct aif_stack_names;

/* The profile must outlive it. 0 or -ENOMEM. */
int aif_stack_names_new(const struct aif_profile *p, enum aif_name_detail detail,
			struct aif_stack_names **ret);
void aif_stack_names_free(struct aif_stack_names *s);

/* "inner < outer < main" of a stack (AIF_NONE: not known). 0 or -ENOMEM. */
int aif_stack_names_line(struct aif_stack_names *s, uint32_t stack, struct aif_buf *ret);

/* Who launched: the innermost function of the application, by caller_rules.def. With Python frames on the stack
 * it is one of Python, "qualname (file.py)", else the innermost function that has a name and is in no
 * runtime's library. Where there is none, what comes nearest; "" where nothing is known. Valid until the
 * next call; NULL when memory runs out. */
const char *aif_stack_names_caller(struct aif_stack_names *s, uint32_t stack);
