/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/frame_labels.h"
#include "analysis/attribution.h"

/* Stacks as lines of a table, folded by the same rules as the picture. */

struct aif_stack_names;

/* Stands between two frames of a line. */
#define AIF_STACK_CALLED_BY " < "

/* The names must outlive it. 0 or -ENOMEM. */
int aif_stack_names_new(const struct aif_names *names, enum aif_name_detail detail,
			struct aif_stack_names **ret);
/* The same with the lines that frames were at: "f (file.py:12)". Frames of one function at two lines have two names. */
int aif_stack_names_new_with_lines(const struct aif_names *names, struct aif_stack_names **ret);
void aif_stack_names_free(struct aif_stack_names *s);

/* Joins launches of a backward to the forward (analysis/backward.h), but in full detail, which shows what was
 * recorded: from then on places, too, are asked for as stacks. `sel`: what the attribution is of. 0 or
 * -errno with *err. */
int aif_stack_names_join(struct aif_stack_names *s, const struct aif_selection *sel,
			 struct aif_err *err);

/* A row of an attribution, taken apart by the places that its launches belong to, which stand for its .stack: a
 * number that the functions below take. Without a join it is the row itself. Work of a graph's node is at what made it, where
 * that is known, not at the replay. Valid until the next call; NULL when
 * memory runs out. */
const struct aif_attribution_row *aif_stack_names_shares(struct aif_stack_names *s,
							 const struct aif_attribution_row *row,
							 size_t *ret_len);

/* "inner < outer < main" of a stack (AIF_NONE: not known). 0 or -ENOMEM. */
int aif_stack_names_line(struct aif_stack_names *s, uint32_t stack, struct aif_buf *ret);

/* Returns the caller that launched: the innermost function of the application, by
 * caller_rules.def. With Python frames on the stack it is one of Python, "qualname (file.py)",
 * else the innermost function that has a name and is in no runtime's library. Where there is
 * none, what comes nearest; "" where nothing is known. Valid until the next call; NULL when
 * memory runs out. Of a backward it is the forward's, with " [backward]" behind it. */
const char *aif_stack_names_caller(struct aif_stack_names *s, uint32_t stack);

/* Returns the name of one of the functions of a stack's innermost frame, from 0, the outermost, on: others were inlined into it. ""
 * where there are not so many, NULL when memory runs out. */
const char *aif_stack_names_inlined(struct aif_stack_names *s, uint32_t stack, uint32_t number);

/* The operator of PyTorch that launched, "aten::mm", or "": the innermost one, whose call was not yet over. That
 * is whom torch.profiler's table gives the time as "Self CUDA", so that its rows and ours can be laid side by
 * side; the outer ones (aten::linear) stand on the stack. Valid like the caller. */
const char *aif_stack_names_operator(struct aif_stack_names *s, uint32_t stack);
