/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const turns[] = {"step", "iteration", "iter", "batch"};
static const char *const kinds[] = {"train",      "training", "eval",  "inference",
				    "decode",     "decoding", "main",  "generate",
				    "generation", "global",   "micro", "loop"};

static bool is_one_of(const char *const *words, size_t n, const char *word, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == len && !strncasecmp(words[i], word, len))
			return true;
	return false;
}

static size_t skip_separators(const char *name, size_t at)
{
	return at + strspn(name + at, " _-#=.:[](){}/");
}

bool aif_step_names_match(const char *name)
{
	const char *domain = strchr(name, ':');
	size_t at = 0, len;

	if (domain && isalpha((unsigned char)domain[1]))
		name = domain + 1;
	for (;;) {
		at = skip_separators(name, at);
		for (len = 0; isalpha((unsigned char)name[at + len]);)
			len++;
		if (is_one_of(turns, AIF_ARRAY_LEN(turns), name + at, len))
			break;
		if (!is_one_of(kinds, AIF_ARRAY_LEN(kinds), name + at, len))
			return false;
		at += len;
	}
	at = skip_separators(name, at + len);
	at = skip_separators(name, at + strspn(name + at, "0123456789"));
	return !name[at];
}

/* ---- a profile's ----------------------------------------------------------------------------- */

enum { NOT_LOOKED_AT, IS_NONE, IS_STEP };

int aif_step_names_init(struct aif_step_names *n, const struct aif_profile *p)
{
	*n = (struct aif_step_names){.p = p,
				     .what = calloc(p->strings.len + 1, sizeof(*n->what)),
				     .count = calloc(p->threads_len + 1, sizeof(*n->count))};
	return n->what && n->count ? 0 : -ENOMEM;
}

void aif_step_names_see(struct aif_step_names *n, const struct aif_op_row *row)
{
	n->is_marked |= row->kind == AIF_OP_STEP;
	if (row->kind != AIF_OP_RANGE || row->name >= n->p->strings.len ||
	    row->thread >= n->p->threads_len)
		return;
	if (n->what[row->name] == NOT_LOOKED_AT)
		n->what[row->name] =
			aif_step_names_match(aif_profile_str(n->p, row->name)) ? IS_STEP : IS_NONE;
	if (n->what[row->name] == IS_STEP && n->count[row->thread] < AIF_STEP_NAMES_LEAST)
		n->are_enough |= ++n->count[row->thread] == AIF_STEP_NAMES_LEAST;
}

bool aif_step_names_is(const struct aif_step_names *n, uint32_t name)
{
	return n->are_enough && !n->is_marked && name < n->p->strings.len &&
	       n->what[name] == IS_STEP;
}

void aif_step_names_finish(struct aif_step_names *n)
{
	free(n->what);
	free(n->count);
	*n = (struct aif_step_names){0};
}
