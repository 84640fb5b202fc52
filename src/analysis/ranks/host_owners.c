/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu_totals.h"
#include "analysis/idle/between.h"
#include "analysis/idle/sleep.h"
#include "analysis/ranks/owning.h"
#include "analysis/time.h"
#include "base/sort.h"
#include "profile/file.h"

#include <errno.h>

/*
 * Finds what a rank without a device did between its thread's calls that communicate, by samples of the thread's CPU time and looks
 * at its sleeps. A gap between two calls with SAMPLES_ENOUGH of these is shared among the
 * stacks of its own samples. Most gaps have fewer: such a one is shared as all of the thread's are that lie between calls of the same
 * two stacks and are as long, by a factor of two; where these have no sample either, as those of any length. So a step that the
 * thread took longer for is not shared as others are.
 */
#define SAMPLES_ENOUGH 16

/* Lists where the samples of a gap are looked for; the first of these has a group of its own where it has enough. */
enum { OWN, ALIKE, ANY_LENGTH, LEVELS };

struct gap {
	int64_t from, to;
	uint32_t before, after; /* stacks of the calls; AIF_NONE: not known */
	uint32_t group[LEVELS];
	size_t samples;
};

struct sample {
	int64_t at;
	uint64_t ns;
	uint32_t owner;
};

/* Time of an owner in a group of gaps. */
struct share {
	uint32_t group, owner;
	uint64_t ns;
};

struct host_rank {
	struct sample *samples; /* by .at, once all are read */
	size_t samples_len, samples_cap;
};

struct making {
	const struct aif_profile *p;
	struct aif_rank_owners *o;
	struct host_rank *ranks;
	uint32_t *rank_of; /* by thread; AIF_NONE: of no rank without a device */
	enum aif_cpu_weights weights;
	struct aif_idle_sleeping sleeping;
	/* The rank at hand. */
	struct gap *gaps;
	size_t gaps_len, gaps_cap;
	struct share *shares;
	size_t shares_len, shares_cap;
	uint32_t groups;
	struct aif_map group_by_key;
	size_t *first;      /* by group: of .shares; one more */
	uint32_t *owner_of; /* by group; AIF_NONE: not yet known */
};

/* ---- samples ---------------------------------------------------------------------------------- */

/* Returns the owner of a row, AIF_NONE: none, as nothing says what the thread did, or there is no memory (*ret_failed). */
static uint32_t owner_of(struct making *m, const struct aif_cpu_row *row, bool *ret_failed)
{
	struct aif_wait_row owner = {.kind = AIF_WAIT_HOST,
				     .cause = AIF_IDLE_CAUSE_CPU,
				     .stack = row->stack,
				     .kernel = AIF_NONE};
	uint32_t ret;

	/* A sample by the wall clock may be of a sleep. */
	if (!row->waiting && m->weights == AIF_CPU_WEIGHTS_WALL &&
	    aif_idle_sleep_of(m->p, &m->sleeping, row->stack))
		owner.cause = AIF_IDLE_CAUSE_OFF_CPU;
	if (row->waiting) {
		owner.cause = aif_cpu_is_runnable(m->p, row->stack) ? AIF_IDLE_CAUSE_NO_CPU
								    : AIF_IDLE_CAUSE_OFF_CPU;
		/* The mark of time off CPU is innermost. */
		if (aif_cpu_is_off_cpu(m->p, row->stack))
			owner.stack = m->p->stacks[row->stack].parent;
	}
	if (owner.stack == AIF_NONE)
		return AIF_NONE;
	ret = aif_rank_owner(m->o, &owner);
	*ret_failed |= ret == AIF_NONE;
	return ret;
}

static int take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct making *m = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *row = &rows[i];
		uint32_t rank = row->thread == AIF_NONE ? AIF_NONE : m->rank_of[row->thread];
		struct host_rank *r = rank == AIF_NONE ? NULL : &m->ranks[rank];
		struct sample s = {.at = aif_time_clamp((int64_t)(row->time - m->p->start_ns)),
				   .ns = row->waiting ? row->waiting : row->weight};
		bool has_failed = false;

		/* Leaves counts of events out, which are no time (record -e). */
		if (!row->waiting && m->weights == AIF_CPU_WEIGHTS_COUNTS)
			continue;
		if (!r || !s.ns || row->stack == AIF_NONE || aif_cpu_is_unsampled(m->p, row->stack))
			continue;
		s.owner = owner_of(m, row, &has_failed);
		if (has_failed ||
		    aif_grow(&r->samples, &r->samples_cap, r->samples_len + 1, sizeof(s)) < 0)
			return -ENOMEM;
		r->samples[r->samples_len++] = s;
	}
	return 0;
}

static int by_at(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->owner, y->owner);
}

/* ---- gaps ------------------------------------------------------------------------------------- */

static unsigned octave(int64_t ns)
{
	unsigned n = 0;

	for (uint64_t left = (uint64_t)ns; left; left >>= 1)
		n++;
	return n;
}

static int group_of(struct making *m, uint64_t key, uint32_t *ret)
{
	uint64_t group;

	if (!aif_map_get(&m->group_by_key, key, &group)) {
		group = m->groups++;
		if (aif_map_put(&m->group_by_key, key, group) < 0)
			return -ENOMEM;
	}
	*ret = (uint32_t)group;
	return 0;
}

/* Finds the gaps between a thread's calls that communicate, and puts the calls themselves into *ret. */
static int find_gaps(struct making *m, const struct aif_host_calls *calls, uint32_t thread,
		     struct aif_rank_segments *ret)
{
	uint32_t before = AIF_NONE;
	int64_t from = INT64_MIN;
	int e = 0;

	m->gaps_len = 0;
	for (size_t i = aif_host_calls_first(calls, thread, INT64_MIN);
	     i < calls->len && calls->at[i].thread == thread && !e; i++) {
		const struct aif_host_call *c = &calls->at[i];
		struct aif_wait_row owner = {.kind = AIF_WAIT_HOST,
					     .cause = AIF_IDLE_CAUSE_RANKS,
					     .stack = c->stack,
					     .kernel = AIF_NONE};

		if (c->kind != AIF_HOST_CALL_COMMUNICATE)
			continue;
		if (from != INT64_MIN && from < c->start) {
			if (aif_grow(&m->gaps, &m->gaps_cap, m->gaps_len + 1, sizeof(*m->gaps)) < 0)
				return -ENOMEM;
			m->gaps[m->gaps_len++] = (struct gap){
				.from = from, .to = c->start, .before = before, .after = c->stack};
		}
		from = c->end;
		before = c->stack;
		e = aif_rank_put(ret, c->start, c->end, aif_rank_owner(m->o, &owner));
	}
	return e;
}

static int put_share(struct making *m, uint32_t group, const struct sample *s, uint64_t ns)
{
	if (aif_grow(&m->shares, &m->shares_cap, m->shares_len + 1, sizeof(*m->shares)) < 0)
		return -ENOMEM;
	m->shares[m->shares_len++] = (struct share){group, s->owner, ns};
	return 0;
}

/* Groups a gap, and adds its samples, from *at on, to the groups. */
static int group_gap(struct making *m, struct gap *g, const struct host_rank *r, size_t *at)
{
	uint64_t between = aif_mix64((uint64_t)g->before << 32 | g->after);
	size_t first = *at, n = 0;
	int e = group_of(m, between, &g->group[ANY_LENGTH]);

	if (!e)
		e = group_of(m, aif_mix64(between + octave(g->to - g->from)), &g->group[ALIKE]);
	while (first < r->samples_len && r->samples[first].at < g->from)
		first++;
	for (*at = first; *at < r->samples_len && r->samples[*at].at < g->to; ++*at)
		n++;
	g->group[OWN] = n >= SAMPLES_ENOUGH ? m->groups++ : g->group[ALIKE];
	for (size_t i = first; i < *at && !e; i++) {
		const struct sample *s = &r->samples[i];
		uint64_t ns = AIF_MIN(s->ns, (uint64_t)(g->to - g->from));

		for (unsigned level = 0; level < LEVELS && !e; level++)
			if (level != OWN || g->group[OWN] != g->group[ALIKE])
				e = put_share(m, g->group[level], s, ns);
	}
	return e;
}

static int by_group_owner(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return AIF_ORDER(x->group, y->group) ?: AIF_ORDER(x->owner, y->owner);
}

/* Adds up the shares of each owner in a group, and finds where those of each group begin. 0 or -ENOMEM. */
static int sum_shares(struct making *m)
{
	size_t n = 0, at = 0;

	if (m->shares_len)
		aif_sort(m->shares, m->shares_len, sizeof(*m->shares), by_group_owner);
	for (size_t i = 0; i < m->shares_len; i++) {
		struct share *last = n ? &m->shares[n - 1] : NULL;

		if (last && last->group == m->shares[i].group && last->owner == m->shares[i].owner)
			last->ns += m->shares[i].ns;
		else
			m->shares[n++] = m->shares[i];
	}
	m->shares_len = n;
	free(m->first);
	free(m->owner_of);
	m->first = calloc((size_t)m->groups + 1, sizeof(*m->first));
	m->owner_of = calloc((size_t)m->groups + 1, sizeof(*m->owner_of));
	if (!m->first || !m->owner_of)
		return -ENOMEM;
	for (uint32_t g = 0; g <= m->groups; g++) {
		while (at < n && m->shares[at].group < g)
			at++;
		m->first[g] = at;
		m->owner_of[g] = AIF_NONE;
	}
	return 0;
}

/* Returns who did something at a place that no sample shows, AIF_NONE: there is no memory. */
static uint32_t owner_between(struct making *m, const struct gap *g)
{
	struct aif_wait_row row = {
		.kind = AIF_WAIT_HOST, .cause = AIF_IDLE_CAUSE_HOST, .kernel = AIF_NONE};

	row.stack = aif_idle_place(m->p, AIF_NONE, g->before, g->after, &row.is_before);
	return aif_rank_owner(m->o, &row);
}

/* Returns the owner of a group's gaps, or a mix of them; AIF_NONE: there is no memory. Sleeps whose stack was not read, and waits for a
 * CPU, are as the rest of the time is; where nothing else is known they are of the place between the two calls. */
static uint32_t group_owner(struct making *m, const struct gap *g, uint32_t group)
{
	size_t first = m->first[group], end = m->first[group + 1];
	struct aif_rank_mix mix = {.first = m->o->parts_len, .end = m->o->parts_len};
	uint64_t sum = 0;

	/* AIF_NONE is the last of a group. */
	if (end > first && m->shares[end - 1].owner == AIF_NONE)
		end--;
	if (end == first)
		return owner_between(m, g);
	if (end - first == 1)
		return m->shares[first].owner;
	mix.end += end - first;
	if (aif_grow(&m->o->mixes, &m->o->mixes_cap, m->o->mixes_len + 1, sizeof(mix)) < 0 ||
	    aif_grow(&m->o->parts, &m->o->parts_cap, mix.end, sizeof(*m->o->parts)) < 0)
		return AIF_NONE;
	for (size_t i = first; i < end; i++)
		sum += m->shares[i].ns;
	for (size_t i = first; i < end; i++)
		m->o->parts[m->o->parts_len++] = (struct aif_rank_part){
			m->shares[i].owner, (double)m->shares[i].ns / (double)sum};
	m->o->mixes[m->o->mixes_len] = mix;
	return AIF_RANK_MIX | (uint32_t)m->o->mixes_len++;
}

static uint32_t gap_owner(struct making *m, const struct gap *g)
{
	for (unsigned level = 0; level < LEVELS; level++) {
		uint32_t group = g->group[level];

		if (m->first[group] == m->first[group + 1])
			continue;
		if (m->owner_of[group] == AIF_NONE)
			m->owner_of[group] = group_owner(m, g, group);
		return m->owner_of[group];
	}
	return owner_between(m, g);
}

/* ---- ranks ------------------------------------------------------------------------------------ */

static int make_rank(struct making *m, const struct aif_host_calls *calls, uint32_t thread,
		     struct host_rank *r, struct aif_rank_did *ret)
{
	struct aif_rank_segments between = {0};
	size_t at = 0;
	int e = find_gaps(m, calls, thread, &ret->device);

	m->shares_len = 0;
	m->groups = 0;
	aif_map_finish(&m->group_by_key);
	if (r->samples_len)
		aif_sort(r->samples, r->samples_len, sizeof(*r->samples), by_at);
	for (size_t i = 0; i < m->gaps_len && !e; i++)
		e = group_gap(m, &m->gaps[i], r, &at);
	if (!e)
		e = sum_shares(m);
	for (size_t i = 0; i < m->gaps_len && !e; i++)
		e = aif_rank_put(&between, m->gaps[i].from, m->gaps[i].to,
				 gap_owner(m, &m->gaps[i]));
	if (!e)
		e = aif_rank_fill_in(&ret->device, &between);
	free(between.at);
	return e;
}

int aif_rank_host_owners_make(struct aif_rank_owners *o, const struct aif_ranks *r,
			      const struct aif_host_calls *calls)
{
	struct making m = {.p = o->p, .o = o, .weights = o->p->traits.cpu_weights};
	uint64_t damaged = 0;
	bool any = false;
	int e = 0;

	for (size_t i = 0; i < r->ranks_len; i++)
		any |= r->ranks[i].lane == AIF_RANK_NO_LANE;
	if (!any)
		return 0;
	m.ranks = calloc(r->ranks_len, sizeof(*m.ranks));
	m.rank_of = malloc((o->p->threads_len + 1) * sizeof(*m.rank_of));
	if (!m.ranks || !m.rank_of)
		e = -ENOMEM;
	for (size_t i = 0; i < o->p->threads_len && !e; i++)
		m.rank_of[i] = AIF_NONE;
	for (uint32_t i = 0; i < r->ranks_len && !e; i++)
		if (r->ranks[i].lane == AIF_RANK_NO_LANE)
			m.rank_of[r->ranks[i].thread] = i;
	if (!e)
		e = aif_idle_sleeping_init(&m.sleeping, o->p);
	if (!e)
		e = aif_profile_cpu(o->p, take, &m, &damaged);
	for (size_t i = 0; i < r->ranks_len && !e; i++)
		if (r->ranks[i].lane == AIF_RANK_NO_LANE)
			e = make_rank(&m, calls, r->ranks[i].thread, &m.ranks[i], &o->ranks[i]);
	for (size_t i = 0; i < r->ranks_len && m.ranks; i++)
		free(m.ranks[i].samples);
	free(m.ranks);
	free(m.rank_of);
	free(m.gaps);
	free(m.shares);
	free(m.first);
	free(m.owner_of);
	aif_map_finish(&m.group_by_key);
	aif_idle_sleeping_finish(&m.sleeping);
	return e;
}
