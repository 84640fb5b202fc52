/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrence of one thread's launches: down the tree of their host stacks, along the device time. */
#include "analysis/loop/walk.h"

#include "base/sort.h"

#include <errno.h>

/* The turns that make a level. */
#define TURNS_FEWEST 3
/* A phase is looked into if it has this part of the time of the thread's launches, or more. */
#define PHASE_OF_ALL 20
/* Depths at which launches are looked at one by one: each takes as long as all launches. Python programs have about
 * ten at which a stack branches. */
#define MOST_SCANS 128
/* Numbers of turns that are tried at one depth. */
#define MOST_PERIODS 3

uint64_t aif_loop_median(uint64_t *ns, size_t n)
{
	if (!n)
		return 0;
	qsort(ns, n, sizeof(*ns), aif_by_u64);
	return n % 2 ? ns[n / 2] : ns[n / 2 - 1] / 2 + ns[n / 2] / 2;
}

static int begin(struct walk *w)
{
	const struct aif_profile *p = w->p;
	size_t stacks = p->stacks_len + 1, kernels = p->kernels_len + AIF_LAUNCH_KIND_COUNT + 1;
	uint32_t *next;

	w->set = (struct aif_loop_set){.calls = w->c,
				       .len = w->c->len,
				       .at = malloc((w->c->len + 1) * sizeof(uint32_t)),
				       .token = malloc((w->c->sites_len + 1) * sizeof(uint32_t))};
	w->calls = calloc(stacks, sizeof(*w->calls));
	w->child = malloc(stacks * sizeof(*w->child));
	w->sibling = malloc(stacks * sizeof(*w->sibling));
	w->branch = malloc(stacks * sizeof(*w->branch));
	w->of_kernel = malloc(kernels * sizeof(*w->of_kernel));
	if (!w->set.at || !w->set.token || !w->calls || !w->child || !w->sibling || !w->branch ||
	    !w->of_kernel)
		return -ENOMEM;
	for (size_t i = 0; i < w->c->len; i++) {
		uint32_t stack = w->c->sites[w->c->at[i].site].stack;

		w->set.at[i] = (uint32_t)i;
		if (stack != AIF_NONE)
			w->calls[stack]++;
	}
	w->root = AIF_NONE;
	for (size_t i = 0; i < p->stacks_len; i++)
		w->child[i] = AIF_NONE;
	/* Callers come before those whom they call. */
	for (size_t i = p->stacks_len; i-- > 0;) {
		if (!w->calls[i])
			continue;
		next = w->c->parent[i] == AIF_NONE ? &w->root : &w->child[w->c->parent[i]];
		w->sibling[i] = *next;
		*next = (uint32_t)i;
		if (w->c->parent[i] != AIF_NONE)
			w->calls[w->c->parent[i]] += w->calls[i];
	}
	return 0;
}

static void finish(struct walk *w)
{
	free(w->set.at);
	free(w->set.token);
	free(w->calls);
	free(w->child);
	free(w->sibling);
	free(w->branch);
	free(w->of_kernel);
	free(w->tokens);
	free(w->order);
	free(w->turns);
}

/* Returns the deepest stack that all calls of the set share. */
static uint32_t shared_stack(const struct walk *w, uint32_t at)
{
	for (;;) {
		uint32_t down = at == AIF_NONE ? w->root : w->child[at];

		if (down == AIF_NONE || w->calls[down] != w->set.len)
			return at;
		at = down;
	}
}

static int add_token(struct walk *w, uint32_t stack, uint32_t *ret)
{
	if (aif_grow(&w->tokens, &w->tokens_cap, w->tokens_len + 1, sizeof(*w->tokens)) < 0)
		return -ENOMEM;
	*ret = (uint32_t)w->tokens_len;
	w->tokens[w->tokens_len++] = (struct token){.stack = stack, .first = AIF_NONE};
	return 0;
}

/* Gives each site below `at` its token: the branch of `at` that it is in, or its kernel. */
static int tell_apart(struct walk *w, uint32_t at)
{
	const struct aif_profile *p = w->p;

	w->tokens_len = 0;
	for (uint32_t s = at == AIF_NONE ? w->root : w->child[at]; s != AIF_NONE; s = w->sibling[s])
		if (add_token(w, s, &w->branch[s]) < 0)
			return -ENOMEM;
	for (size_t s = at == AIF_NONE ? 0 : at; s < p->stacks_len; s++)
		if (w->calls[s] && s != at && w->c->parent[s] != at)
			w->branch[s] = w->c->parent[s] == AIF_NONE || w->c->parent[s] < at + 1
					       ? AIF_NONE
					       : w->branch[w->c->parent[s]];
	for (size_t i = 0; i < p->kernels_len + AIF_LAUNCH_KIND_COUNT + 1; i++)
		w->of_kernel[i] = AIF_NONE;
	for (size_t i = 0; i < w->c->sites_len; i++) {
		const struct aif_loop_site *site = &w->c->sites[i];

		if (site->stack != at)
			w->set.token[i] = site->stack == AIF_NONE || site->stack < at + 1
						  ? AIF_NONE
						  : w->branch[site->stack];
		else if (w->of_kernel[site->kernel] == AIF_NONE &&
			 add_token(w, AIF_NONE, &w->of_kernel[site->kernel]) < 0)
			return -ENOMEM;
		else
			w->set.token[i] = w->of_kernel[site->kernel];
	}
	return 0;
}

/* An entry behind a gap is none: the token may have been entered in the gap. */
static bool is_entry(const struct walk *w, size_t i)
{
	return !i || (token(w, i) != token(w, i - 1) && call(w, i)->span == call(w, i - 1)->span &&
		      AIF_LOOP_IS_WHOLE(call(w, i)->span));
}

static void count_entries(struct walk *w)
{
	for (size_t i = 0; i < w->set.len; i++) {
		struct token *t = &w->tokens[token(w, i)];

		t->calls++;
		t->last = (uint32_t)i;
		t->weight += call(w, i)->weight;
		if (!is_entry(w, i))
			continue;
		if (!t->entries++)
			t->first = (uint32_t)i;
	}
}

/* Orders the tokens that alternate by their entries. Returns true if these may make a loop. */
static int order_tokens(struct walk *w, bool *ret)
{
	uint64_t all = 0, alternating = 0;
	size_t *next, most = 0;

	w->order_len = 0;
	*ret = false;
	for (size_t i = 0; i < w->tokens_len; i++) {
		const struct token *t = &w->tokens[i];

		all += t->weight;
		if (t->entries < AIF_LOOP_ENTRIES)
			continue;
		alternating += t->weight;
		most = AIF_MAX(most, t->entries);
		w->order_len++;
	}
	if (w->order_len < 2 || alternating < all - all / 2)
		return 0;
	/* Sorts by counting: there are no more entries than calls. */
	next = calloc(most + 2, sizeof(*next));
	if (!next || aif_grow(&w->order, &w->order_cap, w->order_len, sizeof(*w->order)) < 0) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < w->tokens_len; i++)
		if (w->tokens[i].entries >= AIF_LOOP_ENTRIES)
			next[w->tokens[i].entries + 1]++;
	for (size_t i = 1; i <= most; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < w->tokens_len; i++)
		if (w->tokens[i].entries >= AIF_LOOP_ENTRIES)
			w->order[next[w->tokens[i].entries]++] = (uint32_t)i;
	free(next);
	*ret = true;
	return 0;
}

/* Tokens that are entered once in each turn differ in their entries: by what the first and last turn lack, and by the
 * turns that were cut by gaps. */
static uint32_t least_entries(const struct walk *w, uint32_t entries)
{
	return entries - AIF_MIN(entries, w->is_sparse ? entries / 8 + 1 : entries / 64 + 1);
}

/* Finds the number of entries that most tokens have; of two, the smaller, as an outer loop's, if it is known for more
 * than a few turns, else the one with more weight. Returns the first of these tokens in time, AIF_NONE if all were tried. */
static uint32_t next_anchor(struct walk *w)
{
	uint32_t anchor = AIF_NONE;
	size_t from = 0, best_from = 0, best_to = 0, best_len = 0, best_entries = 0, len = 0;
	uint64_t weight = 0, best_weight = 0;

	for (size_t i = 0; i < w->order_len; i++) {
		const struct token *t = &w->tokens[w->order[i]];

		if (t->is_tried)
			continue;
		len++;
		weight += t->weight;
		for (; w->tokens[w->order[from]].entries < least_entries(w, t->entries); from++)
			if (!w->tokens[w->order[from]].is_tried) {
				len--;
				weight -= w->tokens[w->order[from]].weight;
			}
		if (len > best_len ||
		    (len == best_len && weight > best_weight && best_entries < AIF_LOOP_SURE)) {
			best_entries = t->entries;
			best_len = len;
			best_weight = weight;
			best_from = from;
			best_to = i + 1;
		}
	}
	for (size_t i = best_from; i < best_to; i++) {
		struct token *t = &w->tokens[w->order[i]];

		if (t->is_tried)
			continue;
		t->is_tried = true;
		if (anchor == AIF_NONE || t->first < w->tokens[anchor].first)
			anchor = w->order[i];
	}
	return anchor;
}

/* Cuts the set into turns that begin with an entry of `anchor`, or with each call if it is AIF_NONE. Returns false if
 * these are too few, or have less than half of the set's time between them. */
static int cut(struct walk *w, uint32_t anchor, bool *ret)
{
	uint64_t all = 0, at_first = 0, at_last = 0;
	size_t last = SIZE_MAX;

	w->turns_len = 0;
	for (size_t i = 0; i < w->set.len; i++) {
		const struct aif_loop_call *c = call(w, i);

		all += c->weight;
		/* The first may have been made in the middle of a turn, where some were left out. */
		if (anchor != AIF_NONE &&
		    (token(w, i) != anchor || !is_entry(w, i) || (!i && w->is_sparse)))
			continue;
		at_last = all - c->weight;
		if (last == SIZE_MAX)
			at_first = at_last;
		else if (AIF_LOOP_IS_WHOLE(c->span) && call(w, last)->span == c->span) {
			if (aif_grow(&w->turns, &w->turns_cap, w->turns_len + 1,
				     sizeof(*w->turns)) < 0)
				return -ENOMEM;
			w->turns[w->turns_len++] = (struct aif_loop_turn){.first = (uint32_t)last,
									  .next = (uint32_t)i};
		}
		last = i;
	}
	*ret = w->turns_len >= TURNS_FEWEST && at_last - at_first >= (all + 1) / 2;
	return 0;
}

/* Returns the share of turns between whose calls there are others, which are not of the set. */
static double interrupted(const struct walk *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->turns_len; i++)
		n += w->set.at[w->turns[i].next] - w->set.at[w->turns[i].first] !=
		     w->turns[i].next - w->turns[i].first;
	return (double)n / (double)AIF_MAX(w->turns_len, 1);
}

static int take_steps(struct walk *w)
{
	struct aif_loop *l = w->ret;

	if (aif_grow(&l->steps, &l->cap, w->turns_len, sizeof(*l->steps)) < 0)
		return -ENOMEM;
	l->len = w->turns_len;
	for (size_t i = 0; i < l->len; i++)
		l->steps[i] = (struct aif_loop_step){.start = call(w, w->turns[i].first)->at,
						     .end = call(w, w->turns[i].next)->at};
	l->chosen = l->levels;
	return 0;
}

static bool is_same(const struct aif_loop_level *a, const struct aif_loop_level *b)
{
	int64_t near = (int64_t)AIF_MAX(a->median_ns, b->median_ns);

	return AIF_MAX(a->turns, b->turns) - AIF_MIN(a->turns, b->turns) <= 1 &&
	       llabs(a->start - b->start) <= near && llabs(a->end - b->end) <= near;
}

/* Adds the turns that begin at `anchor` (AIF_NONE: with each launch) below `at` as a level. */
static int add_level(struct walk *w, uint32_t stack, uint32_t at, uint32_t anchor)
{
	uint32_t begin = anchor == AIF_NONE ? AIF_NONE : w->tokens[anchor].stack;
	const struct aif_loop_call *first = call(w, w->turns[0].first);
	struct aif_loop *l = w->ret;
	struct aif_loop_level level = {
		.stack = stack,
		.frame = stack == AIF_NONE ? AIF_NONE : w->p->stacks[stack].frame,
		.begin = begin == AIF_NONE ? at : begin,
		.kernel = begin == AIF_NONE ? w->c->sites[first->site].kernel : AIF_NONE,
		.turns = w->turns_len,
		.start = call(w, w->turns[0].first)->at,
		.end = call(w, w->turns[w->turns_len - 1].next)->at,
		.parts = at == AIF_NONE ? 0 : w->c->stacks->parts[at],
	};
	uint64_t *ns = malloc(w->turns_len * sizeof(*ns));
	int r = 0;

	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < w->turns_len; i++) {
		const struct aif_loop_turn *t = &w->turns[i];

		level.launches += t->next - t->first;
		for (uint32_t k = t->first; k < t->next; k++)
			level.weight += call(w, k)->weight;
		ns[i] = (uint64_t)(call(w, t->next)->at - call(w, t->first)->at);
	}
	level.median_ns = aif_loop_median(ns, w->turns_len);
	free(ns);
	r = aif_loop_count_kinds(w, &level.kinds);
	if (r)
		return r;
	if (l->levels && is_same(&l->level[l->levels - 1], &level))
		return 0;
	if (!l->levels || (l->len < AIF_LOOP_SURE && level.turns >= AIF_LOOP_SURE) ||
	    aif_loop_are_steps(w, &level)) {
		r = take_steps(w);
		l->is_python = level.begin != AIF_NONE && w->c->stacks->is_python[level.begin];
	}
	if (!r)
		l->level[l->levels++] = level;
	return r;
}

static bool is_same_function(const struct aif_profile *p, uint32_t a, uint32_t b)
{
	const struct aif_frame *x = &p->frames[a], *y = &p->frames[b];
	const struct aif_frame_name *n = aif_profile_frame_name(p, a),
				    *m = aif_profile_frame_name(p, b);

	if (x->kind != y->kind || x->module != y->module)
		return false;
	if (x->kind == AIF_FRAME_PYTHON)
		return x->address >> 32 == y->address >> 32;
	if (x->kind != AIF_FRAME_NATIVE)
		return false;
	return !n || !m || n->name == m->name;
}

/* Returns a stack in the function that loops. The tokens of a loop are calls in its function; or functions, of which one
 * call calls now this, now that, or which are known by name only: the loop is then their caller's, `at`. */
static uint32_t loop_stack(const struct walk *w, uint32_t at, uint32_t anchor)
{
	const struct token *other = NULL;
	uint32_t stack = w->tokens[anchor].stack, frame;

	for (size_t i = 0; i < w->order_len; i++) {
		const struct token *t = &w->tokens[w->order[i]];

		if (w->order[i] != anchor && t->stack != AIF_NONE &&
		    (!other || t->weight > other->weight))
			other = t;
	}
	if (stack == AIF_NONE)
		return other ? at : AIF_NONE;
	frame = w->p->stacks[stack].frame;
	if (frame == AIF_NONE)
		return at;
	if (other && w->p->stacks[other->stack].frame != AIF_NONE &&
	    is_same_function(w->p, frame, w->p->stacks[other->stack].frame))
		return stack;
	return at == AIF_NONE || w->p->stacks[at].frame == AIF_NONE ? stack : at;
}

/* Adds the levels of the tokens of `at`: the loop that most of them are of, and those within it. Turns of inner loops may be
 * interrupted where the outer one goes on, but where most are, calls that do not recur lie between them: a server's
 * requests of one kind. */
static int try_periods(struct walk *w, uint32_t at)
{
	struct aif_loop *l = w->ret;
	size_t outer = 0; /* turns of the level found last */
	bool may, is_loop;
	int r;

	count_entries(w);
	r = order_tokens(w, &may);
	for (size_t i = 0; i < MOST_PERIODS && !r && may && l->levels < AIF_LOOP_LEVELS; i++) {
		uint32_t anchor = next_anchor(w);

		if (anchor == AIF_NONE)
			return 0;
		if (w->tokens[anchor].entries <= outer)
			continue;
		r = cut(w, anchor, &is_loop);
		if (!r && is_loop && interrupted(w) > 0.2)
			is_loop = false;
		if (!r && is_loop)
			r = aif_loop_is_regular(&w->set, w->turns, w->turns_len, w->order_len,
						&is_loop);
		if (r || !is_loop)
			continue;
		outer = 2 * w->turns_len;
		r = add_level(w, loop_stack(w, at, anchor), at, anchor);
	}
	return r;
}

/* True if half of the turns take between half and twice the median. Requests of an idle server do not. */
static int is_steady(const struct walk *w, bool *ret)
{
	uint64_t *ns = malloc(AIF_MAX(w->turns_len, 1) * sizeof(*ns)), median;
	size_t near = 0;

	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < w->turns_len; i++)
		ns[i] = (uint64_t)(call(w, w->turns[i].next)->at - call(w, w->turns[i].first)->at);
	median = aif_loop_median(ns, w->turns_len);
	for (size_t i = 0; i < w->turns_len; i++)
		near += ns[i] >= median / 2 && ns[i] / 2 <= median;
	free(ns);
	*ret = near >= w->turns_len - w->turns_len / 2;
	return 0;
}

/* Adds the level of one kernel with one stack, each launch of which is a turn, if no outer one will be chosen. Other
 * launches between them must be few: two kernels at random are no loop of the one that is more frequent. */
static int try_single(struct walk *w, uint32_t at)
{
	bool is_loop;
	int r;

	if (w->ret->len >= AIF_LOOP_SURE)
		return 0;
	r = cut(w, AIF_NONE, &is_loop);
	if (r || !is_loop || w->turns_len < AIF_LOOP_SURE - 1 ||
	    interrupted(w) > (w->ret->levels ? 0.2 : 0.02))
		return r;
	r = is_steady(w, &is_loop);
	return r || !is_loop ? r : add_level(w, AIF_NONE, at, AIF_NONE);
}

/* True if a token may have an inner loop: it is launched several times in each of its entries. */
static bool may_loop(const struct token *t)
{
	return t->entries >= AIF_LOOP_ENTRIES && t->calls >= 2 * (uint64_t)t->entries;
}

/* A loop that warms up another has about as much device time where it makes as many turns: a twentieth less does not count. */
#define WARM_UP 20

/* Returns the last of the tokens that follow one another and have about as much device time as `most`, which has the most. */
static uint32_t behind_warm_up(const struct walk *w, uint32_t most)
{
	uint64_t least = w->tokens[most].weight - w->tokens[most].weight / WARM_UP;
	uint32_t to = most;

	for (uint32_t i = 0; i < w->tokens_len; i++) {
		const struct token *t = &w->tokens[i];

		if (t->calls > TURNS_FEWEST && t->entries < AIF_LOOP_ENTRIES &&
		    t->weight >= least && t->first > w->tokens[to].first)
			to = i;
	}
	return w->tokens[most].entries < AIF_LOOP_ENTRIES ? to : most;
}

/* Remembers tokens that follow one another and are long enough to be phases of the program, but for `to`. */
static void remember_phases(struct walk *w, uint32_t to)
{
	uint64_t all = (uint64_t)(w->c->at[w->c->len - 1].at - w->c->at[0].at);

	for (uint32_t i = 0; i < w->tokens_len; i++) {
		const struct token *t = &w->tokens[i];

		if (i != to && t->stack != AIF_NONE && t->entries &&
		    t->entries < AIF_LOOP_ENTRIES && t->calls > 2 * TURNS_FEWEST &&
		    w->phases_len < AIF_LOOPS &&
		    (uint64_t)(call(w, t->last)->at - call(w, t->first)->at) >= all / PHASE_OF_ALL)
			w->phases[w->phases_len++] = t->stack;
	}
}

/* Returns true if there may be turns below the token. Of the first steps, any calls that are enough may be turns. */
static bool may_have_turns(const struct token *t, bool is_inner)
{
	return is_inner ? may_loop(t) : t->calls > TURNS_FEWEST;
}

/* Restricts the set to the token with the most device time, of two to that with more calls. Returns its stack. What can have no turns is
 * passed by: a launch that took long before the loop; once the steps are known, and only inner periods are left to be found, a
 * prefill before tokens. */
static uint32_t descend(struct walk *w)
{
	bool is_inner = w->ret->len >= AIF_LOOP_SURE, only = false;
	uint32_t to = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < w->tokens_len && !only; i++)
		if (may_have_turns(&w->tokens[i], is_inner)) {
			only = true;
			to = i;
		}
	for (uint32_t i = 0; i < w->tokens_len; i++)
		if (only && !may_have_turns(&w->tokens[i], is_inner))
			continue;
		else if (w->tokens[i].weight > w->tokens[to].weight ||
			 (w->tokens[i].weight == w->tokens[to].weight &&
			  w->tokens[i].calls > w->tokens[to].calls))
			to = i;
	to = only && is_inner ? to : behind_warm_up(w, to);
	if (!w->ret->levels)
		remember_phases(w, to);
	for (size_t i = 0; i < w->set.len; i++)
		if (token(w, i) == to)
			w->set.at[n++] = w->set.at[i];
	w->set.len = n;
	return w->tokens[to].stack;
}

/* ---- the loop of another run ----------------------------------------------------------------- */

/* Sets *ret_at to the stack below which turns begin that begin at `place`, and *ret_begin and *ret_kernel as a level has them. */
static int find_place(const struct walk *w, uint64_t place, uint32_t *ret_at, uint32_t *ret_begin,
		      uint32_t *ret_kernel, bool *ret_found)
{
	const struct aif_profile *p = w->p;
	uint64_t *of_stack = calloc(p->stacks_len + 1, sizeof(*of_stack));

	*ret_at = *ret_begin = *ret_kernel = AIF_NONE;
	*ret_found = false;
	if (!of_stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->stacks_len && !*ret_found; i++) {
		uint32_t parent = w->c->parent[i];

		if (!w->calls[i])
			continue;
		of_stack[i] = aif_loop_place_of_call(p, parent == AIF_NONE ? 0 : of_stack[parent],
						     p->stacks[i].frame);
		*ret_found = of_stack[i] == place;
		*ret_at = parent;
		*ret_begin = i;
		*ret_kernel = AIF_NONE;
	}
	for (size_t i = 0; i < w->c->sites_len && !*ret_found; i++) {
		const struct aif_loop_site *site = &w->c->sites[i];
		uint64_t of = site->stack == AIF_NONE ? 0 : of_stack[site->stack];

		*ret_found = aif_loop_place_of_kernel(p, of, site->kernel) == place;
		*ret_at = *ret_begin = site->stack;
		*ret_kernel = site->kernel;
	}
	free(of_stack);
	return 0;
}

/* Takes the turns that begin at `place` as the only level, if there are enough of them. */
static int take_place(struct walk *w, uint64_t place)
{
	uint32_t at, begin, kernel, anchor = AIF_NONE;
	bool is_loop;
	size_t n = 0;
	int r = find_place(w, place, &at, &begin, &kernel, &is_loop);

	if (r || !is_loop)
		return r;
	r = tell_apart(w, at);
	for (size_t i = 0; i < w->set.len && !r; i++)
		if (token(w, i) != AIF_NONE)
			w->set.at[n++] = w->set.at[i];
	w->set.len = n;
	if (r)
		return r;
	if (kernel != AIF_NONE)
		anchor = w->of_kernel[kernel];
	else
		anchor = w->branch[begin];
	count_entries(w);
	r = order_tokens(w, &is_loop);
	/* Turns of one kernel begin with each of its launches: it is entered once. */
	if (!r && w->tokens_len == 1)
		anchor = AIF_NONE;
	if (!r)
		r = cut(w, anchor, &is_loop);
	return r || !is_loop
		       ? r
		       : add_level(w, anchor == AIF_NONE ? AIF_NONE : loop_stack(w, at, anchor), at,
				   anchor);
}

/* Finds the levels of the set, all of whose calls are below `at`. */
static int find_levels(struct walk *w, uint32_t at)
{
	struct aif_loop *l = w->ret;
	uint32_t next;
	int r = 0;

	for (size_t i = 0;
	     i < MOST_SCANS && !r && l->levels < AIF_LOOP_LEVELS && w->set.len > TURNS_FEWEST;
	     i++) {
		at = shared_stack(w, at);
		r = tell_apart(w, at);
		if (!r && w->tokens_len > 1)
			r = try_periods(w, at);
		if (r || l->levels == AIF_LOOP_LEVELS)
			break;
		next = descend(w);
		if (next == AIF_NONE) {
			r = try_single(w, at);
			break;
		}
		at = next;
	}
	return r;
}

/* Restricts the set to the calls below a stack. 0 or -ENOMEM. */
static int restrict_to(struct walk *w, uint32_t stack)
{
	bool *is_below = calloc(w->p->stacks_len + 1, sizeof(*is_below));

	if (!is_below)
		return -ENOMEM;
	for (size_t i = stack; i < w->p->stacks_len; i++)
		is_below[i] = i == stack || (w->calls[i] && w->c->parent[i] != AIF_NONE &&
					     is_below[w->c->parent[i]]);
	w->set.len = 0;
	for (size_t i = 0; i < w->c->len; i++) {
		uint32_t of = w->c->sites[w->c->at[i].site].stack;

		if (of != AIF_NONE && is_below[of])
			w->set.at[w->set.len++] = (uint32_t)i;
	}
	free(is_below);
	return 0;
}

int aif_loop_recurrence(const struct aif_profile *p, const struct aif_loop_calls *c, bool is_sparse,
			uint64_t place, struct aif_loops *ret)
{
	struct walk w = {.p = p, .c = c, .ret = &ret->at[0], .is_sparse = is_sparse};
	int r = begin(&w);

	*ret = (struct aif_loops){.len = 1};
	if (!r && place)
		r = take_place(&w, place);
	else if (!r)
		r = find_levels(&w, AIF_NONE);
	for (size_t i = 0; i < w.phases_len && ret->len < AIF_LOOPS && !r; i++) {
		w.ret = &ret->at[ret->len++];
		r = restrict_to(&w, w.phases[i]);
		if (!r)
			r = find_levels(&w, w.phases[i]);
		if (!w.ret->levels)
			ret->len--;
	}
	finish(&w);
	return r;
}
