/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of the program's source as loops of its launches: levels, and which of them has the steps. */
#include "analysis/loop/source.h"

#include "base/glob.h"

#include <errno.h>
#include <string.h>

#define TURNS_FEWEST 3
/* Loops with less of the work are not looked at; of so many. */
#define LEAST_OF_WORK 50
#define MOST_LOOPS    64
/* Loops of the source must have this part of the work: else the others are looked for, too. */
#define MOST_OF_WORK 0.5
/* A loop within another has its steps if it has half of its time and work, and most of the kernels that it launches. */
#define KINDS_OF_OUTER 0.75
/* A loop of loops has this part of its work in them. */
#define WORK_OF_LOOPS 0.9

/* A loop with turns. */
struct found {
	uint32_t node;
	struct aif_loop_level level;
	struct aif_loop_step *turns;
	size_t len, cap;
};

struct choosing {
	const struct aif_profile *p;
	const struct aif_loop_calls *c;
	struct aif_loop_positions s;
	bool is_sparse;
	uint32_t *turns;   /* by call */
	uint32_t *kernels; /* by kernel: launches in a loop */
	bool *is_inside;   /* by position; by loop: another one's turns end with its */
	bool *is_around;
	struct found *found; /* outer ones first */
	size_t len;
};

/* Adds up the work of loops. Returns the whole. */
static uint64_t add_work(struct choosing *h)
{
	uint64_t all = 0;

	for (size_t i = 0; i < h->c->len; i++) {
		const struct aif_loop_call *c = &h->c->at[i];
		uint32_t leaf = aif_loop_leaf(&h->s, h->c->sites[c->site].stack);

		all += c->weight;
		if (leaf != AIF_NONE && h->s.at[leaf].loop != AIF_NONE)
			h->s.nodes[h->s.at[leaf].loop].weight += c->weight;
	}
	for (size_t i = h->s.nodes_len; i-- > 0;)
		if (h->s.nodes[i].outer != AIF_NONE)
			h->s.nodes[h->s.nodes[i].outer].weight += h->s.nodes[i].weight;
	return all;
}

/* ---- turns of one loop ----------------------------------------------------------------------- */

static bool is_around(const struct choosing *h, uint32_t outer, uint32_t node)
{
	while (node != AIF_NONE && node != outer)
		node = h->s.nodes[node].outer;
	return node == outer;
}

static int add_turn(struct choosing *h, struct found *f, size_t first, size_t next)
{
	const struct aif_loop_call *a = &h->c->at[first], *b = &h->c->at[next];

	if (!AIF_LOOP_IS_WHOLE(a->span) || a->span != b->span)
		return 0;
	if (aif_grow(&f->turns, &f->cap, f->len + 1, sizeof(*f->turns)) < 0)
		return -ENOMEM;
	f->turns[f->len++] = (struct aif_loop_step){.start = a->at, .end = b->at};
	f->level.launches += next - first;
	for (size_t i = first; i < next; i++) {
		f->level.weight += h->c->at[i].weight;
		h->kernels[h->c->sites[h->c->at[i].site].kernel]++;
	}
	return 0;
}

static int cut(struct choosing *h, struct found *f)
{
	size_t first = SIZE_MAX;
	bool was_inside = false;
	int r = 0;

	for (uint32_t i = 0; i < h->s.nodes_len; i++)
		h->is_around[i] = is_around(h, i, f->node);
	for (uint32_t i = 0; i < h->s.len; i++)
		h->is_inside[i] = is_around(h, f->node, h->s.at[i].loop);
	for (size_t i = 0; i < h->c->len && !r; i++) {
		uint32_t leaf = aif_loop_leaf(&h->s, h->c->sites[h->c->at[i].site].stack);
		bool is_inside = leaf != AIF_NONE && h->is_inside[leaf];
		bool is_cut = i && h->c->at[i].span != h->c->at[i - 1].span;
		bool is_turn = h->turns[i] != AIF_NONE && h->is_around[h->turns[i]];

		if (first != SIZE_MAX && (is_turn || !is_inside))
			r = add_turn(h, f, first, i);
		/* The first call behind a gap may be in the middle of a turn. */
		if (!is_inside || is_cut)
			first = SIZE_MAX;
		else if (is_turn || (!was_inside && (i || !h->is_sparse)))
			first = i;
		was_inside = is_inside;
	}
	return r;
}

/* Counts kernels that are launched in half of the turns, or more often; where there are none, what else is launched. */
static uint32_t count_kinds(const struct choosing *h, size_t turns)
{
	uint32_t kernels = 0, others = 0;

	for (size_t i = 0; i < h->p->kernels_len + AIF_LAUNCH_KIND_COUNT + 1; i++)
		if (h->kernels[i] && h->kernels[i] >= turns / 2)
			(*(i < h->p->kernels_len ? &kernels : &others))++;
	return kernels ? kernels : others;
}

static int measure(struct choosing *h, struct found *f)
{
	const struct aif_loop_node *n = &h->s.nodes[f->node];
	const struct aif_loop_position *at = &h->s.at[n->position];
	uint64_t *ns;
	int r;

	memset(h->kernels, 0,
	       (h->p->kernels_len + AIF_LAUNCH_KIND_COUNT + 1) * sizeof(*h->kernels));
	r = cut(h, f);
	if (r || !f->len)
		return r;
	f->level.stack = f->level.begin = at->stack;
	f->level.frame = h->p->stacks[at->stack].frame;
	f->level.kernel = AIF_NONE;
	f->level.line = n->line;
	f->level.call_line = at->line;
	f->level.inlined = at->inlined;
	f->level.turns = f->len;
	f->level.start = f->turns[0].start;
	f->level.end = f->turns[f->len - 1].end;
	f->level.parts = h->c->stacks->parts[at->stack];
	f->level.kinds = count_kinds(h, f->len);
	ns = malloc(f->len * sizeof(*ns));
	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < f->len; i++)
		ns[i] = (uint64_t)(f->turns[i].end - f->turns[i].start);
	f->level.median_ns = aif_loop_median(ns, f->len);
	free(ns);
	return aif_loop_place_of_node(&h->s, f->node, &f->level.place);
}

/* Finds the loops with turns, or that at `place` alone. */
static int find_turns(struct choosing *h, uint64_t all, uint64_t place)
{
	int r = 0;

	for (uint32_t i = 0; i < h->s.nodes_len && h->len < MOST_LOOPS && !r; i++) {
		struct found *f = &h->found[h->len];
		uint64_t of_node = place;

		*f = (struct found){.node = i};
		if (place)
			r = aif_loop_place_of_node(&h->s, i, &of_node);
		else if (h->s.nodes[i].weight < all / LEAST_OF_WORK)
			continue;
		if (r || of_node != place)
			continue;
		r = measure(h, f);
		if (!r && f->len >= TURNS_FEWEST)
			h->len++;
		else
			free(f->turns);
	}
	return r;
}

/* ---- steps ----------------------------------------------------------------------------------- */

enum header { ANY, STEPS, EPOCHS };

/* Returns what a loop's own words say of its turns: "for step, batch in ..."; what it goes through says nothing. */
static enum header header_of(const struct choosing *h, const struct found *f)
{
#define AIF_LOOP_HEADER(what, pattern) {what, pattern},
	static const struct {
		enum header what;
		const char *pattern;
	} rules[] = {
#include "analysis/loop/headers.def"
	};
#undef AIF_LOOP_HEADER
	const struct aif_loop_node *n = &h->s.nodes[f->node];
	size_t len, end = 0;
	const char *text = aif_source_statement(&h->s.source.texts[n->text].blocks, n->line, &len);

	while (end < len && text[end] != ';' && text[end] != '<' && text[end] != ':' &&
	       strncmp(text + end, " in ", AIF_MIN(len - end, (size_t)4)) != 0)
		end++;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, text, end, NULL))
			return rules[i].what;
	return ANY;
}

static double steady_ns(const struct aif_loop_level *l)
{
	return (double)l->median_ns * (double)l->turns;
}

/* True if most turns of a loop have the same number of the inner one's, or one more or less. */
static bool are_equally_many(const struct found *outer, const struct found *inner)
{
	size_t turn = 0, equal = 0, whole = (inner->len + outer->len / 2) / AIF_MAX(outer->len, 1);

	for (size_t i = 0; i < outer->len; i++) {
		size_t n = 0;

		while (turn < inner->len && inner->turns[turn].start < outer->turns[i].start)
			turn++;
		for (; turn < inner->len && inner->turns[turn].start < outer->turns[i].end; turn++)
			n++;
		equal += n + 1 >= whole && n <= whole + 1;
	}
	return equal >= outer->len - outer->len / 5;
}

/* True if a loop launches little by itself, apart from the loops in it. A step that computes tokens in a loop does more. */
static bool is_of_loops(const struct choosing *h, const struct found *f)
{
	uint64_t in_loops = 0;

	for (size_t i = 0; i < h->s.nodes_len; i++)
		if (h->s.nodes[i].outer == f->node)
			in_loops += h->s.nodes[i].weight;
	return (double)in_loops >= WORK_OF_LOOPS * (double)h->s.nodes[f->node].weight;
}

/* True if all that a loop launches it launches in loops within it: turns of these follow each other, and are no parts of its own. */
static bool launches_in_loops(const struct choosing *h, const struct found *f)
{
	for (size_t i = 0; i < h->c->len; i++) {
		uint32_t leaf = aif_loop_leaf(&h->s, h->c->sites[h->c->at[i].site].stack);

		if (leaf != AIF_NONE && h->s.at[leaf].loop == f->node)
			return false;
	}
	return true;
}

/* True if the turns of a loop within another one are the program's steps, rather than its. */
static bool are_steps(const struct choosing *h, const struct found *outer,
		      const struct found *inner)
{
	const struct aif_loop_level *o = &outer->level, *i = &inner->level;

	if (i->turns < AIF_LOOP_SURE || i->parts != o->parts || i->weight < o->weight / 2 ||
	    steady_ns(i) < steady_ns(o) / 2 || header_of(h, outer) == STEPS)
		return false;
	if (header_of(h, outer) == EPOCHS)
		return true;
	if ((double)i->kinds < KINDS_OF_OUTER * (double)o->kinds &&
	    !(o->turns < AIF_LOOP_SURE && launches_in_loops(h, outer)))
		return false;
	return o->turns < AIF_LOOP_SURE || header_of(h, inner) == STEPS ||
	       (i->turns >= AIF_LOOP_SURE * o->turns && are_equally_many(outer, inner) &&
		is_of_loops(h, outer));
}

/* Returns the loop directly around another one, of those found; AIF_NONE. */
static uint32_t outer_of(const struct choosing *h, uint32_t of)
{
	for (uint32_t n = h->s.nodes[h->found[of].node].outer; n != AIF_NONE;
	     n = h->s.nodes[n].outer)
		for (uint32_t i = 0; i < h->len; i++)
			if (h->found[i].node == n)
				return i;
	return AIF_NONE;
}

/* Makes a loop of one that was found and of those within it that have the most work. Those beside its steps are others. */
static int emit(struct choosing *h, uint32_t top, struct aif_loops *ret)
{
	struct aif_loop *l = &ret->at[ret->len];
	uint32_t chain[AIF_LOOP_LEVELS], chosen = 0, next = top;
	struct found *f;

	*l = (struct aif_loop){.thread = AIF_NONE};
	while (next != AIF_NONE && l->levels < AIF_LOOP_LEVELS) {
		uint32_t at = next;

		chain[l->levels] = at;
		l->level[l->levels++] = h->found[at].level;
		next = AIF_NONE;
		for (uint32_t i = 0; i < h->len; i++)
			if (outer_of(h, i) == at &&
			    (next == AIF_NONE || h->s.nodes[h->found[i].node].weight >
							 h->s.nodes[h->found[next].node].weight))
				next = i;
	}
	for (uint32_t i = 1; i < l->levels; i++)
		if (are_steps(h, &h->found[chain[chosen]], &h->found[chain[i]]))
			chosen = i;
	/* Loops with fewer turns are in some steps only. */
	for (uint32_t i = chosen + 1; i < l->levels; i++)
		if (l->level[i].turns < l->level[i - 1].turns)
			l->levels = i;
	f = &h->found[chain[chosen]];
	l->chosen = chosen;
	l->steps = f->turns;
	l->len = f->len;
	l->cap = f->cap;
	f->turns = NULL;
	f->len = f->cap = 0;
	l->is_python = l->level[chosen].frame != AIF_NONE &&
		       h->p->frames[l->level[chosen].frame].kind == AIF_FRAME_PYTHON;
	ret->len++;
	for (uint32_t i = 0; i < h->len && ret->len < AIF_LOOPS; i++)
		for (uint32_t k = 0; k < chosen; k++)
			if (outer_of(h, i) == chain[k] && i != chain[k + 1] &&
			    ret->len < AIF_LOOPS && emit(h, i, ret) < 0)
				return -ENOMEM;
	return 0;
}

static int begin(struct choosing *h)
{
	size_t kernels = h->p->kernels_len + AIF_LAUNCH_KIND_COUNT + 1;
	int r = aif_loop_turns_find(&h->s, h->c, &h->turns);

	if (!r)
		r = aif_loop_outer_find(&h->s, h->c, h->turns);
	h->kernels = malloc(kernels * sizeof(*h->kernels));
	h->is_inside = malloc(h->s.len + 1);
	h->is_around = malloc(h->s.nodes_len + 1);
	h->found = calloc(MOST_LOOPS, sizeof(*h->found));
	if (!r && (!h->kernels || !h->is_inside || !h->is_around || !h->found))
		r = -ENOMEM;
	return r;
}

int aif_loop_by_source(const struct aif_profile *p, const struct aif_loop_calls *c, bool is_sparse,
		       uint64_t place, struct aif_loops *ret)
{
	struct choosing h = {.p = p, .c = c, .is_sparse = is_sparse};
	uint64_t all, work = 0;
	int r = aif_loop_positions_make(p, c, &h.s);

	*ret = (struct aif_loops){0};
	if (!r && h.s.nodes_len) {
		r = begin(&h);
		all = add_work(&h);
		if (!r)
			r = find_turns(&h, all, place);
		for (uint32_t i = 0; i < h.len && !r; i++)
			if (outer_of(&h, i) == AIF_NONE)
				work += h.s.nodes[h.found[i].node].weight;
		for (uint32_t i = 0; i < h.len && !r && ret->len < AIF_LOOPS &&
				     (place || (double)work >= MOST_OF_WORK * (double)all);
		     i++)
			if (outer_of(&h, i) == AIF_NONE)
				r = emit(&h, i, ret);
	}
	for (size_t i = 0; i < h.len; i++)
		free(h.found[i].turns);
	free(h.found);
	free(h.turns);
	free(h.kernels);
	free(h.is_inside);
	free(h.is_around);
	aif_loop_positions_finish(&h.s);
	return r;
}
