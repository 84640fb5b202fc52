/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/looks.h"

#include "analysis/cpu_totals.h"

#include <errno.h>
#include <stdlib.h>

/* Sleeps in one bracket, in one call. */
struct sleeps {
	double with, without; /* ns, with a stack and without */
	double whole_without; /* the part of .without whose times are exact */
};

struct merging {
	const struct aif_profile *p;
	struct aif_map of; /* bracket << 32 | frame of the mark -> index of .at */
	struct sleeps *at;
	size_t len, cap;
};

static bool is_look(const struct aif_profile *p, uint32_t stack)
{
	return stack != AIF_NONE && aif_cpu_seen(p, stack) && !aif_cpu_is_runnable(p, stack);
}

static struct sleeps *sleeps_of(struct merging *m, const struct aif_idle_share *s)
{
	uint64_t key = (uint64_t)s->bracket << 32 | m->p->stacks[s->stack].frame, i;

	if (aif_map_get(&m->of, key, &i))
		return &m->at[i];
	if (aif_grow(&m->at, &m->cap, m->len + 1, sizeof(*m->at)) < 0 ||
	    aif_map_put(&m->of, key, m->len) < 0)
		return NULL;
	m->at[m->len] = (struct sleeps){0};
	return &m->at[m->len++];
}

static void merge(struct aif_idle_share *s, const struct sleeps *of, bool has_stack)
{
	if (!(of->with > 0))
		return;
	/* Time that is known exactly stays so. */
	s->whole = has_stack ? s->whole + of->whole_without * s->ns / of->with : 0;
	s->ns = has_stack ? s->ns + of->without * s->ns / of->with : 0;
}

int aif_idle_looks_merge(struct aif_idle_blaming *b)
{
	struct merging m = {.p = b->p};
	int r = 0;

	for (size_t i = 0; i < b->shares_len && r == 0; i++) {
		const struct aif_idle_share *s = &b->shares[i];
		struct sleeps *of = is_look(m.p, s->stack) ? sleeps_of(&m, s) : NULL;

		if (!of) {
			r = is_look(m.p, s->stack) ? -ENOMEM : 0;
			continue;
		}
		if (m.p->stacks[s->stack].parent != AIF_NONE) {
			of->with += s->ns;
		} else {
			of->without += s->ns;
			of->whole_without += s->whole;
		}
	}
	for (size_t i = 0; i < b->shares_len && r == 0; i++) {
		struct aif_idle_share *s = &b->shares[i];

		if (is_look(m.p, s->stack))
			merge(s, sleeps_of(&m, s), m.p->stacks[s->stack].parent != AIF_NONE);
	}
	aif_map_finish(&m.of);
	free(m.at);
	return r;
}
