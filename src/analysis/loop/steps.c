/* SPDX-License-Identifier: Apache-2.0 */
/* The level whose turns are the steps. */
#include "analysis/loop/walk.h"

#include <errno.h>

/* A level within another has its steps if it has half of its time and work, and most of its kinds of launches. */
#define KINDS_OF_OUTER 0.75

int aif_loop_count_kinds(const struct walk *w, uint32_t *ret)
{
	size_t kernels = w->p->kernels_len + AIF_LAUNCH_KIND_COUNT + 1;
	uint32_t *launches = calloc(kernels, sizeof(*launches));

	*ret = 0;
	if (!launches)
		return -ENOMEM;
	for (size_t i = 0; i < w->turns_len; i++)
		for (uint32_t k = w->turns[i].first; k < w->turns[i].next; k++)
			launches[w->c->sites[call(w, k)->site].kernel]++;
	for (size_t i = 0; i < kernels; i++)
		*ret += launches[i] && launches[i] >= w->turns_len / 2;
	free(launches);
	return 0;
}

/* Returns the time of a level's turns, those that took longer than most left out. */
static double steady_ns(const struct aif_loop_level *l)
{
	return (double)l->median_ns * (double)l->turns;
}

/* True if most steps so far have the same number of the turns that were cut, or one more or less: so epochs have steps, while
 * requests have any number of tokens. */
static bool are_equally_many(const struct walk *w)
{
	const struct aif_loop *l = w->ret;
	size_t turn = 0, equal = 0, whole = (w->turns_len + l->len / 2) / AIF_MAX(l->len, 1);

	for (size_t i = 0; i < l->len; i++) {
		size_t n = 0;

		while (turn < w->turns_len && call(w, w->turns[turn].first)->at < l->steps[i].start)
			turn++;
		for (; turn < w->turns_len && call(w, w->turns[turn].first)->at < l->steps[i].end;
		     turn++)
			n++;
		equal += n + 1 >= whole && n <= whole + 1;
	}
	return equal >= l->len - l->len / 5;
}

bool aif_loop_are_steps(const struct walk *w, const struct aif_loop_level *inner)
{
	const struct aif_loop_level *outer = &w->ret->level[w->ret->chosen];

	return inner->turns >= AIF_LOOP_SURE && inner->parts == outer->parts &&
	       inner->weight >= outer->weight / 2 && steady_ns(inner) >= steady_ns(outer) / 2 &&
	       (double)inner->kinds >= KINDS_OF_OUTER * (double)outer->kinds && are_equally_many(w);
}
