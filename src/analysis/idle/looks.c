/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/looks.h"

#include "analysis/cpu_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sleeps in one bracket, in one call. */
struct sleeps {
	double with, without; /* ns, with a stack and without */
	double whole_without; /* the part of .without whose times are exact */
};

struct merging {
	const struct aif_profile *p;
	struct aif_strset calls; /* "in poll" */
	struct aif_map of;       /* bracket << 32 | group_of() -> index of .at */
	struct sleeps *at;
	size_t len, cap;
};

static bool is_look(const struct aif_profile *p, uint32_t stack)
{
	return stack != AIF_NONE && aif_cpu_seen(p, stack) && !aif_cpu_is_runnable(p, stack);
}

/* Returns the length of the call's name in what a thread was seen in: "in poll" of "in poll of a pipe]". */
static size_t call_len(const char *seen)
{
	const char *of = strstr(seen, " of ");

	return of ? (size_t)(of - seen) : strcspn(seen, "]");
}

/* Returns the sleeps in a bracket that are those of a share: of its mark, or, is_by_call, of its call, whatever its descriptor is. */
static struct sleeps *sleeps_of(struct merging *m, const struct aif_idle_share *s, bool is_by_call)
{
	const char *seen = aif_cpu_seen(m->p, s->stack);
	uint32_t group = is_by_call ? aif_strset_put(&m->calls, seen, call_len(seen))
				    : m->p->stacks[s->stack].frame;
	uint64_t key = (uint64_t)s->bracket << 32 | (uint32_t)is_by_call << 31 | group, i;

	if (group == AIF_STR_NONE)
		return NULL;
	if (aif_map_get(&m->of, key, &i))
		return &m->at[i];
	if (aif_grow(&m->at, &m->cap, m->len + 1, sizeof(*m->at)) < 0 ||
	    aif_map_put(&m->of, key, m->len) < 0)
		return NULL;
	m->at[m->len] = (struct sleeps){0};
	return &m->at[m->len++];
}

static bool has_stack(const struct merging *m, const struct aif_idle_share *s)
{
	return m->p->stacks[s->stack].parent != AIF_NONE;
}

/* Adds up a share's sleeps: those with a stack first, so that the others find them. 0 or -ENOMEM. */
static int add_up(struct merging *m, const struct aif_idle_share *s)
{
	struct sleeps *of = sleeps_of(m, s, false);

	if (!of)
		return -ENOMEM;
	if (has_stack(m, s)) {
		of->with += s->ns;
		of = sleeps_of(m, s, true);
		if (!of)
			return -ENOMEM;
		of->with += s->ns;
		return 0;
	}
	/* A thread that woke up before its descriptor was read slept in what others slept in by that call. */
	if (!(of->with > 0) && !strstr(aif_cpu_seen(m->p, s->stack), " of "))
		of = sleeps_of(m, s, true);
	if (!of)
		return -ENOMEM;
	of->without += s->ns;
	of->whole_without += s->whole;
	return 0;
}

/* Gives a share with a stack its part of those without; these have nothing left then. 0 or -ENOMEM. */
static int merge(struct merging *m, struct aif_idle_share *s)
{
	const struct sleeps *of = sleeps_of(m, s, false);
	struct sleeps exact, by_call;

	if (!of)
		return -ENOMEM;
	exact = *of;
	of = sleeps_of(m, s, true);
	if (!of)
		return -ENOMEM;
	by_call = *of;
	if (!(s->ns > 0))
		return 0;
	if (has_stack(m, s)) {
		/* Time that is known exactly stays so. */
		s->whole += exact.whole_without * s->ns / exact.with +
			    by_call.whole_without * s->ns / by_call.with;
		s->ns *= 1 + exact.without / exact.with + by_call.without / by_call.with;
	} else if (exact.with > 0 ||
		   (!strstr(aif_cpu_seen(m->p, s->stack), " of ") && by_call.with > 0)) {
		s->whole = s->ns = 0;
	}
	return 0;
}

int aif_idle_looks_merge(struct aif_idle_blaming *b)
{
	struct merging m = {.p = b->p};
	int r = 0;

	for (unsigned with = 2; with-- > 0;)
		for (size_t i = 0; i < b->shares_len && r == 0; i++)
			if (is_look(m.p, b->shares[i].stack) &&
			    has_stack(&m, &b->shares[i]) == (with == 1))
				r = add_up(&m, &b->shares[i]);
	for (size_t i = 0; i < b->shares_len && r == 0; i++)
		if (is_look(m.p, b->shares[i].stack))
			r = merge(&m, &b->shares[i]);
	aif_map_finish(&m.of);
	aif_strset_finish(&m.calls);
	free(m.at);
	return r;
}
