/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that mark the turns of code without source, such as a compiled step: a kernel that it launches once in each turn. Others
 * may come several times in one, the first of them too; so of the sites that come again all the while the rarest is the mark.
 */
#include "analysis/loop/source.h"

#include <errno.h>
#include <string.h>

/* A mark comes so often, is never away for longer than so many times its usual distance, and is there for this part of the
 * position's launches. */
#define FEWEST  10
#define LONGEST 4
#define PART    0.8
/* Sites that are no more frequent than so are as rare as the rarest: the first one met is the mark. */
#define ALIKE 1.1

struct site {
	uint32_t count, first, last, longest; /* in launches of its position that have no source */
};

/* Returns the position whose code without source launches at a site; AIF_NONE. */
static uint32_t position_of(const struct aif_loop_positions *s, const struct aif_loop_site *site)
{
	uint32_t leaf = aif_loop_leaf(s, site->stack);

	return leaf == AIF_NONE || s->of_stack[site->stack] == leaf ? AIF_NONE : leaf;
}

static void count(const struct aif_loop_positions *s, const struct aif_loop_calls *c,
		  struct site *sites, uint32_t *lens)
{
	for (size_t i = 0; i < c->len; i++) {
		struct site *x = &sites[c->at[i].site];
		uint32_t at = position_of(s, &c->sites[c->at[i].site]);

		if (at == AIF_NONE)
			continue;
		if (!x->count++)
			x->first = lens[at];
		else
			x->longest = AIF_MAX(x->longest, lens[at] - x->last);
		x->last = lens[at]++;
	}
}

static bool is_regular(const struct site *x, uint32_t len)
{
	double usual;

	if (x->count < FEWEST || (double)(x->last - x->first) < PART * (double)len)
		return false;
	usual = (double)(x->last - x->first) / (double)(x->count - 1);
	return (double)x->longest <= LONGEST * usual;
}

int aif_loop_marks_find(const struct aif_loop_positions *s, const struct aif_loop_calls *c,
			uint32_t **ret)
{
	struct site *sites = calloc(c->sites_len + 1, sizeof(*sites));
	uint32_t *lens = calloc(s->len + 1, sizeof(*lens));
	uint32_t *marks = malloc((s->len + 1) * sizeof(*marks));
	uint32_t *fewest = calloc(s->len + 1, sizeof(*fewest));
	int r = sites && lens && marks && fewest ? 0 : -ENOMEM;

	if (!r)
		count(s, c, sites, lens);
	for (uint32_t i = 0; i < s->len && !r; i++)
		marks[i] = AIF_NONE;
	for (size_t i = 0; i < c->sites_len && !r; i++) {
		uint32_t at = sites[i].count ? position_of(s, &c->sites[i]) : AIF_NONE;

		if (at != AIF_NONE && is_regular(&sites[i], lens[at]) &&
		    (!fewest[at] || sites[i].count < fewest[at]))
			fewest[at] = sites[i].count;
	}
	for (size_t i = 0; i < c->sites_len && !r; i++) {
		uint32_t at = sites[i].count ? position_of(s, &c->sites[i]) : AIF_NONE;

		if (at != AIF_NONE && is_regular(&sites[i], lens[at]) &&
		    (double)sites[i].count <= ALIKE * (double)fewest[at] &&
		    (marks[at] == AIF_NONE || sites[i].first < sites[marks[at]].first))
			marks[at] = (uint32_t)i;
	}
	free(fewest);
	free(lens);
	free(sites);
	if (r)
		free(marks);
	else
		*ret = marks;
	return r;
}
