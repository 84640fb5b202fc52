/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/profile_names.h"
#include "names/tree.h"

#include <regex.h>

/* --focus and --ignore: a stack is kept if any of its frames matches `focus` (or there is none) and
 * none matches `ignore`. POSIX extended regular expressions. */

enum aif_filter_hit { AIF_HIT_FOCUS = 1, AIF_HIT_IGNORE = 2 };

struct aif_regex {
	regex_t re;
	char *text; /* as it was written: a name as a whole is itself, whatever its characters mean */
	bool is_name; /* no expression: only the text itself matches */
	bool is_cut;  /* a name as tables cut it, "sgemm_128x…_nt": the whole name matches, too */
	bool is_function; /* it may be a function as a view prints it, without parameters or arguments */
	bool is_set;
};

struct aif_filter {
	struct aif_regex focus, ignore;
};

/* `option` is for the message. A mark as it is printed, "[write]", is itself, not one of its
 * letters. What is no expression is a name; _strict: an error. text NULL: matches nothing. 0 or -EINVAL with *err. */
int aif_regex_init(struct aif_regex *r, const char *option, const char *text, struct aif_err *err);
int aif_regex_init_strict(struct aif_regex *r, const char *option, const char *text,
			  struct aif_err *err);
void aif_regex_finish(struct aif_regex *r);
/* Returns true for text that is taken as a name because it is no expression, with the reason. */
bool aif_regex_is_name(const char *text, char *why, size_t why_size);
bool aif_regex_matches(const struct aif_regex *r, const char *text);
/* The same, of a function or kernel by its whole name: what views print of that matches, too. */
bool aif_regex_matches_function(const struct aif_regex *r, const char *name);

/* --kernel: matches what the kernel is called in full or in short, or the kind of a transfer:
 * "[read]". */
bool aif_filter_kernel(const struct aif_regex *r, const struct aif_names *names, uint32_t kind,
		       uint32_t kernel);

int aif_filter_init(struct aif_filter *f, const char *focus, const char *ignore,
		    struct aif_err *err);
void aif_filter_finish(struct aif_filter *f);
static inline bool aif_filter_is_set(const struct aif_filter *f)
{
	return f->focus.is_set || f->ignore.is_set;
}

/* A set of enum aif_filter_hit for one frame's text; or-ed over a stack it says if it is kept. */
unsigned aif_filter_hits(const struct aif_filter *f, const char *text);
static inline bool aif_filter_keeps(const struct aif_filter *f, unsigned hits)
{
	return (!f->focus.is_set || (hits & AIF_HIT_FOCUS)) && !(hits & AIF_HIT_IGNORE);
}

/* Takes the values of the stacks that are not kept out of a tree that is not sealed yet. 0 or
 * -ENOMEM. */
int aif_filter_tree(const struct aif_filter *f, struct aif_tree *t);
