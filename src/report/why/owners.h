/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"
#include "base/buf.h"
#include "base/map.h"
#include "names/stack_names.h"

/* Names of who owns idle time: places, and functions, which are places without their lines. */

/* Appends the place of a stack: the caller, or else what stands innermost on the stack. Behind a name without a line, such as an
 * operator's, which is called in many places, stands the range around it; not of a backward, whose stack is the forward's.
 * 0 or -ENOMEM. */
int aif_why_place(const struct aif_profile *p, struct aif_stack_names *stacks, uint32_t stack,
		  struct aif_buf *out);
/* Appends the function of a place: "f (file.py)" of "f (file.py:12)". */
void aif_why_place_function(const char *place, struct aif_buf *out);
/* Sets ret[i] to the owner of row i of the blame, a string of the set: "before f (file.py)" is the time before launches there, ""
 * an owner that is not known. Imported places keep their lines, as those of `why` do. 0 or -ENOMEM. */
int aif_why_owners_of(const struct aif_names *names, const struct aif_idle_blame *b,
		      struct aif_strset *owners, uint32_t *ret);
