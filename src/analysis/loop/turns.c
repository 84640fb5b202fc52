/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of the source's loops, by which call follows which. Statements of a function come one after the other, so a call from a
 * statement above that of the call before it, or from the same, is of a loop's next turn: of the innermost loop around both, in
 * their function or, as it has none, where that was called. So are calls from two branches of one decision. Of two functions that
 * one statement calls, and of what code without source launches, the order is that in which they were met first.
 *
 * A statement may call one function twice, as f(g(f(x))) does, where nothing loops. Where other calls tell a loop's turns, such a
 * return to an earlier call of one statement is one only if it is made more often than these.
 *
 * What has no source may loop, too: turns of a loop outside of it, and those of launches of one statement in such code, are likely
 * ones. They count where they are nearly all turns that a loop has: several kernels of one operator make no turn of a training.
 */
#include "analysis/loop/source.h"

#include <errno.h>

/* Likely turns count if a loop has so many times more of them than of others. */
#define LIKELY_OF_SURE 4

/* Returns count if there are so many times more of one and the same than there are other turns. */
#define RETURNS_OF_SURE 2

#define IS_LIKELY 0x80000000u
#define IS_RETURN 0x40000000u
#define LOOP_MASK 0x3fffffffu

/* Two stacks with calls, one behind the other. */
struct pair {
	uint32_t turn; /* a loop, with what is known of it */
	uint32_t seen;
	bool is_turn;
};

struct finding {
	struct aif_loop_positions *s;
	const struct aif_loop_calls *c;
	struct aif_map known; /* two stacks to the index of their pair */
	struct pair *pairs;
	size_t pairs_len, pairs_cap;
	uint32_t *marks; /* by position: the site that marks turns of its code without source */
	uint32_t
		run; /* that site, or the one with which the run of one position's launches began; AIF_NONE: not met yet */
	uint32_t first; /* the site with which it began, whatever marks turns; AIF_NONE */
};

/* Returns the innermost loop around a position, AIF_NONE; with IS_LIKELY if code without source lies between. */
static uint32_t outward(const struct aif_loop_positions *s, uint32_t at, bool is_likely)
{
	for (; at != AIF_NONE; at = s->at[at].parent) {
		is_likely |= s->at[at].function == AIF_NONE;
		if (s->at[at].own != AIF_NONE)
			return s->at[at].own | (is_likely ? IS_LIKELY : 0);
	}
	return AIF_NONE;
}

static uint32_t as_return(uint32_t turn)
{
	return turn == AIF_NONE ? AIF_NONE : turn | IS_RETURN;
}

/* Returns the loop of a function that is around two of its positions, else the next one outside. */
static uint32_t common_loop(const struct aif_loop_positions *s, uint32_t a, uint32_t b)
{
	const struct aif_loop_position *x = &s->at[a], *y = &s->at[b];
	uint32_t line =
		aif_source_common_loop(&s->source.texts[x->text].blocks,
				       &s->source.places[x->place], &s->source.places[y->place]);

	for (uint32_t n = line ? x->own : AIF_NONE; n != AIF_NONE; n = s->nodes[n].outer)
		if (s->nodes[n].line == line && s->nodes[n].parent == x->parent)
			return n;
	return outward(s, x->parent, false);
}

/* Returns when the call in its position was met first by which a stack launches there: one statement may have several. */
static uint32_t order_of_call(const struct finding *f, uint32_t stack)
{
	uint32_t leaf = aif_loop_leaf(f->s, stack), caller;

	while ((caller = f->c->parent[stack]) != AIF_NONE && aif_loop_leaf(f->s, caller) == leaf)
		stack = caller;
	return f->s->order[stack];
}

/* Returns the loop that goes on between launches of two stacks with different positions. */
static uint32_t turn_between(const struct finding *f, uint32_t from, uint32_t to)
{
	const struct aif_loop_positions *s = f->s;
	const struct aif_source_place *p, *q;
	uint32_t a = aif_loop_leaf(s, from), b = aif_loop_leaf(s, to), x = AIF_NONE, y = AIF_NONE;

	while (a != b) {
		uint32_t u = a == AIF_NONE ? 0 : s->at[a].depth,
			 v = b == AIF_NONE ? 0 : s->at[b].depth;

		if (u >= v) {
			x = a;
			a = s->at[a].parent;
		}
		if (v >= u) {
			y = b;
			b = s->at[b].parent;
		}
	}
	/* `a` calls both; one may be `a` itself. */
	if (x == AIF_NONE || y == AIF_NONE || s->at[x].function != s->at[y].function ||
	    s->at[x].function == AIF_NONE) {
		uint32_t first = x == AIF_NONE ? order_of_call(f, from) : s->at[x].order;
		uint32_t next = y == AIF_NONE ? order_of_call(f, to) : s->at[y].order;

		/* A function that was called before may call another one next: then the statement goes on. */
		return next < first && s->order[to] < s->order[from]
			       ? as_return(outward(s, a, false))
			       : AIF_NONE;
	}
	p = &s->source.places[s->at[x].place];
	q = &s->source.places[s->at[y].place];
	if (q->statement > p->statement &&
	    !aif_source_are_branches(&s->source.texts[s->at[x].text].blocks, p, q))
		return AIF_NONE;
	return common_loop(s, x, y);
}

/* Returns the same of two launches of one position that code without source makes. The run of a position's launches begins anew
 * where functions that it calls launch between them; of launches that come before such a run's first one the loop goes on. */
static uint32_t turn_of_run(struct finding *f, uint32_t leaf, uint32_t site)
{
	const struct aif_loop_positions *s = f->s;

	if (site == f->run)
		return outward(s, leaf, true);
	if (f->first == AIF_NONE ||
	    s->order[f->c->sites[site].stack] >= s->order[f->c->sites[f->first].stack])
		return AIF_NONE;
	f->first = site;
	return as_return(outward(s, leaf, true));
}

/* Returns the same of two launches of one position. */
static uint32_t turn_within(struct finding *f, uint32_t leaf, const struct aif_loop_site *from,
			    const struct aif_loop_site *to, uint32_t site)
{
	const struct aif_loop_positions *s = f->s;

	if (s->of_stack[from->stack] != leaf || s->of_stack[to->stack] != leaf)
		return turn_of_run(f, leaf, site);
	if (s->order[to->stack] > s->order[from->stack])
		return AIF_NONE;
	return to->stack == from->stack ? outward(s, leaf, false)
					: as_return(outward(s, leaf, false));
}

/* Returns the pair of two launches' stacks, NULL: no memory. */
static struct pair *pair_of(struct finding *f, uint32_t from, uint32_t to)
{
	uint64_t key = (uint64_t)from << 32 | to, index;

	if (aif_map_get(&f->known, key, &index))
		return &f->pairs[index];
	if (aif_map_put(&f->known, key, f->pairs_len) < 0 ||
	    aif_grow(&f->pairs, &f->pairs_cap, f->pairs_len + 1, sizeof(*f->pairs)) < 0)
		return NULL;
	f->pairs[f->pairs_len] = (struct pair){.turn = AIF_NONE};
	return &f->pairs[f->pairs_len++];
}

/* True for any site where none marks turns. */
static bool is_mark(const struct finding *f, uint32_t position, uint32_t site)
{
	return position == AIF_NONE || f->marks[position] == AIF_NONE || f->marks[position] == site;
}

static uint32_t turn_at(struct finding *f, size_t i, int *ret)
{
	const struct aif_loop_call *last = &f->c->at[i - 1], *next = &f->c->at[i];
	const struct aif_loop_site *x = &f->c->sites[last->site], *y = &f->c->sites[next->site];
	uint32_t from = aif_loop_leaf(f->s, x->stack), to = aif_loop_leaf(f->s, y->stack), turn;
	struct pair *pair;

	if (from != to || last->span != next->span) {
		f->run = is_mark(f, to, next->site) ? next->site : AIF_NONE;
		f->first = next->site;
	}
	if (last->span != next->span || !AIF_LOOP_IS_WHOLE(next->span) || from == AIF_NONE ||
	    to == AIF_NONE)
		return AIF_NONE;
	pair = pair_of(f, x->stack, y->stack);
	if (!pair) {
		*ret = -ENOMEM;
		return AIF_NONE;
	}
	if (from == to)
		turn = turn_within(f, from, x, y, next->site);
	else if (pair->seen)
		turn = pair->turn;
	else
		turn = turn_between(f, x->stack, y->stack);
	if (from == to && f->run == AIF_NONE && is_mark(f, to, next->site))
		f->run = next->site;
	pair->turn = turn;
	pair->seen++;
	return turn;
}

/* Notes the order in which stacks, those of their callers too, and positions were met. */
static void number(struct aif_loop_positions *s, const struct aif_loop_calls *c)
{
	for (uint32_t i = 0; i < c->len; i++) {
		uint32_t stack = c->sites[c->at[i].site].stack;

		if (stack == AIF_NONE)
			continue;
		for (uint32_t at = stack; at != AIF_NONE && s->order[at] == AIF_NONE;
		     at = c->parent[at])
			s->order[at] = i;
		for (uint32_t at = s->of_stack[stack];
		     at != AIF_NONE && s->at[at].order == AIF_NONE; at = s->at[at].parent)
			s->at[at].order = i;
	}
}

/* Leaves the returns to an earlier call of one statement that are made more often than their loop has other turns. */
static void judge_returns(struct finding *f, uint32_t *turns)
{
	const struct aif_loop_calls *c = f->c;
	struct aif_loop_node *nodes = f->s->nodes;

	for (size_t i = 0; i < f->pairs_len; i++) {
		struct pair *p = &f->pairs[i];

		p->is_turn = p->turn != AIF_NONE &&
			     p->seen / RETURNS_OF_SURE >= nodes[p->turn & LOOP_MASK].sure;
	}
	for (size_t i = 1; i < c->len; i++) {
		if (turns[i] == AIF_NONE || !(turns[i] & IS_RETURN))
			continue;
		turns[i] &= ~IS_RETURN;
		if (!pair_of(f, c->sites[c->at[i - 1].site].stack, c->sites[c->at[i].site].stack)
			     ->is_turn)
			turns[i] = AIF_NONE;
		else if (!(turns[i] & IS_LIKELY))
			nodes[turns[i]].sure++;
	}
}

/* Leaves the likely turns of loops that have few others. */
static void judge_likely(const struct finding *f, uint32_t *turns)
{
	struct aif_loop_node *nodes = f->s->nodes;

	for (size_t i = 0; i < f->c->len; i++)
		if (turns[i] != AIF_NONE && turns[i] & IS_LIKELY)
			nodes[turns[i] & LOOP_MASK].likely++;
	for (size_t i = 0; i < f->c->len; i++) {
		const struct aif_loop_node *n;

		if (turns[i] == AIF_NONE || !(turns[i] & IS_LIKELY))
			continue;
		turns[i] &= LOOP_MASK;
		n = &nodes[turns[i]];
		if (n->likely / LIKELY_OF_SURE < n->sure)
			turns[i] = AIF_NONE;
	}
}

int aif_loop_turns_find(struct aif_loop_positions *s, const struct aif_loop_calls *c,
			uint32_t **ret)
{
	struct finding f = {.s = s, .c = c, .run = AIF_NONE, .first = AIF_NONE};
	uint32_t *turns = malloc((c->len + 1) * sizeof(*turns));
	int r = turns ? aif_loop_marks_find(s, c, &f.marks) : -ENOMEM;

	number(s, c);
	if (!r && c->len &&
	    is_mark(&f, aif_loop_leaf(s, c->sites[c->at[0].site].stack), c->at[0].site))
		f.run = c->at[0].site;
	for (size_t i = 0; i < c->len && !r; i++) {
		turns[i] = i ? turn_at(&f, i, &r) : AIF_NONE;
		if (turns[i] != AIF_NONE && !(turns[i] & (IS_LIKELY | IS_RETURN)))
			s->nodes[turns[i]].sure++;
	}
	if (!r)
		judge_returns(&f, turns);
	if (!r)
		judge_likely(&f, turns);
	free(f.pairs);
	free(f.marks);
	aif_map_finish(&f.known);
	if (r)
		free(turns);
	else
		*ret = turns;
	return r;
}
