/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_names.h"

#include "profile/file.h"

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

struct reading {
	const struct aif_profile *p;
	struct aif_step_names *names;
	unsigned char *what; /* by string */
	uint32_t *count;     /* by thread */
	bool are_enough;
};

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct reading *r = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *o = &rows[i];

		r->names->is_marked |= o->kind == AIF_OP_STEP;
		if (o->kind != AIF_OP_RANGE || o->name >= r->p->strings.len ||
		    o->thread == AIF_NONE)
			continue;
		if (r->what[o->name] == NOT_LOOKED_AT)
			r->what[o->name] = aif_step_names_match(aif_profile_str(r->p, o->name))
						   ? IS_STEP
						   : IS_NONE;
		if (r->what[o->name] == IS_STEP && r->count[o->thread] < AIF_STEP_NAMES_LEAST)
			r->are_enough |= ++r->count[o->thread] == AIF_STEP_NAMES_LEAST;
	}
	return 0;
}

int aif_step_names_read(const struct aif_profile *p, struct aif_step_names *ret)
{
	size_t strings = p->strings.len;
	struct reading r = {.p = p,
			    .names = ret,
			    .what = calloc(strings + 1, sizeof(*r.what)),
			    .count = calloc(p->threads_len + 1, sizeof(*r.count))};
	int e = r.what && r.count ? 0 : -ENOMEM;

	*ret = (struct aif_step_names){0};
	if (!e)
		e = aif_profile_ops(p, take, &r, NULL);
	if (!e && r.are_enough && !ret->is_marked) {
		ret->is_step = calloc(strings + 1, sizeof(*ret->is_step));
		e = ret->is_step ? 0 : -ENOMEM;
		for (size_t i = 0; i < strings && !e; i++)
			ret->is_step[i] = r.what[i] == IS_STEP;
	}
	free(r.what);
	free(r.count);
	return e;
}

void aif_step_names_finish(struct aif_step_names *n)
{
	free(n->is_step);
	*n = (struct aif_step_names){0};
}
