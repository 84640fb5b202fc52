/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the iterations of an outer loop all of whose launches are made in one inner loop. Launches alone do not show where an
 * iteration of the outer loop begins: the last launch of one iteration precedes the first of the next as any launch precedes its next.
 * CPU samples show it. Samples and sleeps in statements of the outer loop mark gaps between launches as gaps between its iterations.
 * Such gaps must be longer than those within the inner loop, or nothing is found. Every gap as long as the marked ones is then taken
 * for one between iterations. Where most iterations have the same number of inner ones, all are given that number, so that a pause of
 * the machine does not make an iteration.
 */
#include "analysis/loop/source.h"

#include "analysis/cpu_totals.h"
#include "analysis/time.h"
#include "base/sort.h"
#include "base/u64_of.h"
#include "profile/file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Marks without which nothing is found. */
#define FEWEST_MARKS 5
/* Times between turns are so many times longer than the shorter ones of all. */
#define LONGER 3
/* At most this part of the times as long as those between turns has samples in the inner loop alone. */
#define MOST_OF_OTHERS 0.1
/* Turns have equally many of the inner loop if this part of them seems to, which pauses of a busy machine divide, and nearly all
 * marks agree. */
#define PART_OF_TURNS 0.33
#define MOST_OF_MARKS 0.9

struct seen {
	int64_t at;
	uint32_t stack;
};

struct looking {
	struct aif_loop_positions *s;
	const struct aif_loop_calls *c;
	const struct aif_profile *p;
	struct seen *seen; /* of the thread, by time */
	size_t seen_len, seen_cap;
	bool *is_used; /* by stack */
	/* Samples since the call before lie there, by call. */
	bool *is_outer, *is_inner;
	uint32_t *at;     /* calls with which the inner loop goes on */
	uint64_t *ns;     /* from the call before */
	bool *is_turn;    /* the outer one goes on with it */
	uint64_t *sorted; /* for times, and for counts */
	size_t len;
};

static int take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct looking *k = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *row = &rows[i];

		if (row->thread != k->c->thread || row->stack >= k->p->stacks_len ||
		    (row->waiting && !row->is_whole && !aif_cpu_seen(k->p, row->stack)))
			continue;
		if (aif_grow(&k->seen, &k->seen_cap, k->seen_len + 1, sizeof(*k->seen)) < 0)
			return -ENOMEM;
		k->seen[k->seen_len++] =
			(struct seen){.at = aif_time_clamp((int64_t)(row->time - k->p->start_ns)),
				      .stack = row->stack};
		for (uint32_t at = row->stack; at != AIF_NONE && !k->is_used[at];
		     at = k->c->parent[at])
			k->is_used[at] = true;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return AIF_ORDER(x->at, y->at);
}

static bool is_in(const struct aif_loop_positions *s, uint32_t loop, uint32_t of)
{
	while (loop != AIF_NONE && loop != of)
		loop = s->nodes[loop].outer;
	return loop == of;
}

/* Marks calls by what was seen of the thread since the one before. */
static void mark(struct looking *k, uint32_t outer, uint32_t inner)
{
	size_t call = 0;

	memset(k->is_outer, 0, k->c->len);
	memset(k->is_inner, 0, k->c->len);
	for (size_t i = 0; i < k->seen_len; i++) {
		uint32_t leaf = aif_loop_leaf(k->s, k->seen[i].stack);

		while (call < k->c->len && k->c->at[call].at <= k->seen[i].at)
			call++;
		if (call == k->c->len || leaf == AIF_NONE)
			continue;
		if (is_in(k->s, k->s->at[leaf].loop, inner))
			k->is_inner[call] = true;
		else if (is_in(k->s, k->s->at[leaf].loop, outer))
			k->is_outer[call] = true;
	}
}

/* Returns the lower quartile of times of the inner loop's calls, of all or of those with a mark; 0: fewer than FEWEST_MARKS. */
static uint64_t quartile(struct looking *k, bool is_marked)
{
	size_t n = 0;

	for (size_t i = 0; i < k->len; i++)
		if (!is_marked || k->is_outer[k->at[i]])
			k->sorted[n++] = k->ns[i];
	qsort(k->sorted, n, sizeof(*k->sorted), aif_by_u64);
	return n < FEWEST_MARKS ? 0 : k->sorted[n / 4];
}

/* Returns how long times between turns are at least; 0: not known. */
static uint64_t find_least(struct looking *k)
{
	uint64_t all = quartile(k, false), marked = quartile(k, true);

	if (!marked || marked / LONGER < all)
		return 0;
	return AIF_MAX(aif_u64_of(sqrt((double)all * (double)marked)), UINT64_C(1));
}

/* True if few of the times that are long enough lie in the inner loop. */
static bool are_outer(const struct looking *k)
{
	size_t others = 0, turns = 0;

	for (size_t i = 0; i < k->len; i++) {
		turns += k->is_turn[i];
		others += k->is_turn[i] && k->is_inner[k->at[i]] && !k->is_outer[k->at[i]];
	}
	return (double)others <= MOST_OF_OTHERS * (double)turns;
}

/* Returns which distance most of the calls chosen have from the one before, 0: there is none; *ret_rest: from which one they are
 * counted. */
static size_t find_distance(struct looking *k, size_t *ret_rest)
{
	size_t last = SIZE_MAX, most = 0, chosen = 0, marks = 0;

	memset(k->sorted, 0, (k->len + 1) * sizeof(*k->sorted));
	for (size_t i = 0; i < k->len; i++)
		if (k->is_turn[i]) {
			chosen += last != SIZE_MAX;
			if (last != SIZE_MAX && ++k->sorted[i - last] > k->sorted[most])
				most = i - last;
			last = i;
		}
	if (most < 2 || (double)k->sorted[most] < PART_OF_TURNS * (double)chosen)
		return 0;
	memset(k->sorted, 0, most * sizeof(*k->sorted));
	*ret_rest = 0;
	for (size_t i = 0; i < k->len; i++)
		if (k->is_outer[k->at[i]]) {
			marks++;
			if (++k->sorted[i % most] > k->sorted[*ret_rest])
				*ret_rest = i % most;
		}
	return (double)k->sorted[*ret_rest] < MOST_OF_MARKS * (double)marks ? 0 : most;
}

/* Gives calls with which the inner loop goes on to the outer one, where that has its next turn. */
static void give(struct looking *k, uint32_t outer, uint32_t inner, uint32_t *turns)
{
	bool is_one_span = true;
	uint64_t least;
	size_t distance, rest;

	k->len = 0;
	for (uint32_t i = 1; i < k->c->len; i++) {
		is_one_span &= k->c->at[i].span == k->c->at[i - 1].span;
		if (turns[i] != inner)
			continue;
		k->at[k->len] = i;
		k->ns[k->len++] = (uint64_t)(k->c->at[i].at - k->c->at[i - 1].at);
	}
	least = find_least(k);
	if (!least)
		return;
	for (size_t i = 0; i < k->len; i++)
		k->is_turn[i] = k->ns[i] >= least || k->is_outer[k->at[i]];
	distance = is_one_span ? find_distance(k, &rest) : 0;
	if (!distance && !are_outer(k))
		return;
	for (size_t i = 0; i < k->len; i++)
		if (distance ? i % distance == rest : k->is_turn[i])
			turns[k->at[i]] = outer;
}

/* True if all that is launched in a loop is launched in one loop within it, which has turns: *ret_inner. */
static bool is_around_one(const struct aif_loop_positions *s, const struct aif_loop_calls *c,
			  const uint32_t *turns, uint32_t outer, uint32_t *ret_inner)
{
	size_t n = 0;

	*ret_inner = AIF_NONE;
	for (size_t i = 0; i < c->len; i++) {
		uint32_t leaf = aif_loop_leaf(s, c->sites[c->at[i].site].stack);
		uint32_t loop = leaf == AIF_NONE ? AIF_NONE : s->at[leaf].loop;

		if (turns[i] == outer)
			return false;
		if (!is_in(s, loop, outer))
			continue;
		while (loop != outer && s->nodes[loop].outer != outer)
			loop = s->nodes[loop].outer;
		if (loop == outer || (*ret_inner != AIF_NONE && *ret_inner != loop))
			return false;
		*ret_inner = loop;
		n += turns[i] == loop;
	}
	return n >= FEWEST_MARKS;
}

static int look(struct looking *k)
{
	uint64_t damaged = 0;
	size_t n = k->c->len + 1;
	int r;

	k->is_used = calloc(k->p->stacks_len + 1, sizeof(*k->is_used));
	k->is_outer = malloc(n);
	k->is_inner = malloc(n);
	k->is_turn = malloc(n);
	k->at = malloc(n * sizeof(*k->at));
	k->ns = malloc(n * sizeof(*k->ns));
	k->sorted = malloc(n * sizeof(*k->sorted));
	if (!k->is_used || !k->is_outer || !k->is_inner || !k->is_turn || !k->at || !k->ns ||
	    !k->sorted)
		return -ENOMEM;
	r = aif_profile_cpu(k->p, take, k, &damaged);
	if (r)
		return r;
	aif_sort(k->seen, k->seen_len, sizeof(*k->seen), by_time);
	return aif_loop_positions_add(k->s, k->c, k->is_used);
}

int aif_loop_outer_find(struct aif_loop_positions *s, const struct aif_loop_calls *c,
			uint32_t *turns)
{
	struct looking k = {.s = s, .c = c, .p = s->source.p};
	size_t nodes = s->nodes_len;
	bool is_looked = false;
	uint32_t inner;
	int r = 0;

	/* Inner ones first: what has turns now may be the one loop in another. */
	for (size_t i = nodes; i-- > 0 && !r;) {
		if (!is_around_one(s, c, turns, (uint32_t)i, &inner))
			continue;
		r = is_looked ? 0 : look(&k);
		is_looked = true;
		if (r)
			break;
		mark(&k, (uint32_t)i, inner);
		give(&k, (uint32_t)i, inner, turns);
	}
	free(k.seen);
	free(k.is_used);
	free(k.is_outer);
	free(k.is_inner);
	free(k.is_turn);
	free(k.at);
	free(k.ns);
	free(k.sorted);
	return r;
}
