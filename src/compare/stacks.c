/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides' stacks as one tree, and the stacks in it that changed. */
#include "compare/internal.h"

#include "names/stack_names.h"
#include "stats/many.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A change smaller than that part of A's total is none that anybody looks for in a stack. */
#define LEAST_PART 0.005
/* Changes of callees in opposite directions that leave less than that part of the larger one are a move. */
#define MOST_LEFT 0.5
/* A caller is a finding of its own if its callees' findings leave that part of its change unexplained. */
#define LEAST_REST 0.5
/* A callee with that part of a change stands for it, where what was moved is named. */
#define MAIN_PART 0.8

/* The sum of a side's shares, in ppm. */
#define WHOLE 1e6

enum { DEVICE, IDLE, KINDS };

struct comparing {
	struct aif_comparison *c;
	size_t runs;
	double *values[KINDS]; /* by node, run: sums of the subtree */
	double *launches;
	uint32_t *first, *next; /* children, 0: none */
	double *delta[KINDS];   /* by node, ns a unit */
	double *p;              /* by node, of the kind that is looked at; adjusted */
	struct aif_compared *tests;
	double least;  /* ns a unit */
	bool has_runs; /* enough for p to mean something */
	struct aif_buf stack;
};

/* ---- one tree -------------------------------------------------------------------------------- */

const char *aif_compare_frame(const struct aif_tree *t, uint32_t name, char space[AIF_COMPARE_NAME],
			      size_t *ret_len)
{
	static const char word[] = " graph ";
	const char *text = aif_tree_text(t, name, ret_len);
	size_t len = *ret_len, digits = 0, n;

	if (aif_tree_base_type(aif_tree_type_of(t, name)) != AIF_TREE_SYNTHETIC || len < 2 ||
	    text[0] != '[' || text[len - 1] != ']')
		return text;
	while (digits + 2 < len && text[len - 2 - digits] >= '0' && text[len - 2 - digits] <= '9')
		digits++;
	n = len - 1 - digits; /* "[cuda graph " */
	if (!digits || n >= AIF_COMPARE_NAME || n < sizeof(word) ||
	    memcmp(text + n - (sizeof(word) - 1), word, sizeof(word) - 1) != 0)
		return text;
	memcpy(space, text, n);
	space[n - 1] = ']';
	*ret_len = n;
	return space;
}

/* Returns the node of *t for a run's name, with A's name of a kernel that was renamed. */
static uint32_t name_of(struct comparing *s, const struct aif_map *aliases,
			const struct aif_tree *from, uint32_t name)
{
	struct aif_comparison *c = s->c;
	unsigned type = aif_tree_base_type(aif_tree_type_of(from, name));
	char space[AIF_COMPARE_NAME];
	size_t len;
	const char *text = aif_compare_frame(from, name, space, &len);
	uint64_t alias;
	uint32_t kernel =
		type == AIF_TREE_KERNEL ? aif_strset_find(&c->names, text, len) : AIF_STR_NONE;

	if (kernel != AIF_STR_NONE && aif_map_get(aliases, kernel, &alias))
		text = aif_strset_get(&c->names, (uint32_t)alias, &len);
	return aif_tree_name(&c->tree, type, text, len);
}

/* True for an instruction of a kernel, which folded text has and a reduced run has not. */
static bool is_in_kernel(const struct aif_tree *t, size_t n)
{
	uint32_t parent = t->nodes[n].parent;

	return parent &&
	       aif_tree_base_type(aif_tree_type_of(t, t->nodes[parent].name)) == AIF_TREE_KERNEL;
}

/* Maps a run's nodes to those of both sides' tree. */
static uint32_t *map_nodes(struct comparing *s, const struct aif_map *aliases,
			   const struct aif_tree *t)
{
	uint32_t *names = malloc((t->names.len + 1) * sizeof(*names));
	uint32_t *nodes = calloc(t->len + 1, sizeof(*nodes));
	bool ok = names && nodes;

	for (size_t i = 0; i < t->names.len && ok; i++)
		names[i] = AIF_STR_NONE;
	for (size_t n = 1; n < t->len && ok; n++) {
		uint32_t name = t->nodes[n].name;

		if (s->c->by_share && is_in_kernel(t, n)) {
			nodes[n] = nodes[t->nodes[n].parent];
			continue;
		}
		if (names[name] == AIF_STR_NONE)
			names[name] = name_of(s, aliases, t, name);
		ok = names[name] != AIF_STR_NONE;
		if (ok)
			nodes[n] =
				aif_tree_child(&s->c->tree, nodes[t->nodes[n].parent], names[name]);
		ok = ok && nodes[n];
	}
	free(names);
	if (!ok) {
		free(nodes);
		return NULL;
	}
	return nodes;
}

/* Returns each node's idle time, that of its callees with it; for free(). */
static uint64_t *idle_of(const struct aif_tree *t)
{
	uint64_t *idle = calloc(t->len + 1, sizeof(*idle));

	for (size_t n = t->len; idle && n-- > 1;) {
		if (t->nodes[n].self && aif_run_is_idle(t, t->nodes[n].name))
			idle[n] += t->nodes[n].self;
		idle[t->nodes[n].parent] += idle[n];
	}
	return idle;
}

static int add_values(struct comparing *s, size_t run, const uint32_t *nodes)
{
	const struct aif_run *r = aif_compare_run(s->c, run);
	const struct aif_tree *t = &r->tree;
	double units = aif_compare_units_of(s->c, r) * (t->scale ? t->scale : 1);
	uint64_t *idle = idle_of(t);

	if (!idle)
		return -ENOMEM;
	if (s->c->by_share)
		units = (double)AIF_MAX(t->nodes[0].total - idle[0], 1) / WHOLE;
	for (size_t n = 0; n < t->len; n++) {
		size_t at = nodes[n] * s->runs + run;

		if (n && nodes[n] == nodes[t->nodes[n].parent])
			continue; /* its caller's */
		s->values[DEVICE][at] += (double)(t->nodes[n].total - idle[n]) / units;
		if (s->c->by_share)
			continue; /* folded text has neither */
		s->values[IDLE][at] += (double)idle[n] / units;
		s->launches[at] += t->details ? (double)t->details[n].launches / units : 0;
	}
	free(idle);
	return 0;
}

static int merge(struct comparing *s, const struct aif_map *aliases)
{
	uint32_t **nodes = calloc(s->runs + 1, sizeof(*nodes));
	struct aif_tree *t = &s->c->tree;
	int e = nodes ? aif_tree_init(t, false) : -ENOMEM;
	size_t cells;

	for (size_t i = 0; i < s->runs && !e; i++) {
		nodes[i] = map_nodes(s, aliases, &aif_compare_run(s->c, i)->tree);
		e = nodes[i] ? 0 : -ENOMEM;
	}
	cells = t->len * s->runs;
	for (unsigned k = 0; k < KINDS && !e; k++) {
		s->values[k] = calloc(cells + 1, sizeof(double));
		s->delta[k] = calloc(t->len + 1, sizeof(double));
		e = s->values[k] && s->delta[k] ? 0 : -ENOMEM;
	}
	s->launches = calloc(cells + 1, sizeof(double));
	s->c->means = calloc(t->len + 1, sizeof(*s->c->means));
	s->first = calloc(t->len + 1, sizeof(*s->first));
	s->next = calloc(t->len + 1, sizeof(*s->next));
	if (!s->launches || !s->c->means || !s->first || !s->next)
		e = -ENOMEM;
	for (size_t i = 0; i < s->runs && !e; i++)
		e = add_values(s, i, nodes[i]);
	for (size_t i = 0; i < s->runs && nodes; i++)
		free(nodes[i]);
	free(nodes);
	return e;
}

static double mean(const struct comparing *s, const double *values, bool is_b)
{
	size_t from = is_b ? s->c->a->len : 0, n = is_b ? s->c->b->len : s->c->a->len;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[from + i];
	return sum / (double)n;
}

/* Sets each node's means and changes, and links callees. */
static void sum_up(struct comparing *s)
{
	struct aif_comparison *c = s->c;

	for (size_t n = c->tree.len; n-- > 0;) {
		for (unsigned k = 0; k < KINDS; k++) {
			const double *v = s->values[k] + n * s->runs;
			double a = mean(s, v, false), b = mean(s, v, true);

			s->delta[k][n] = b - a;
			c->means[n][0] += a;
			c->means[n][1] += b;
		}
		if (n) {
			uint32_t parent = c->tree.nodes[n].parent;

			s->next[n] = s->first[parent];
			s->first[parent] = (uint32_t)n;
		}
	}
	s->least = LEAST_PART * c->means[0][0];
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool is_large(const struct comparing *s, unsigned kind, size_t n)
{
	const double *v = s->values[kind] + n * s->runs;

	return AIF_MAX(mean(s, v, false), mean(s, v, true)) >= s->least && s->least > 0;
}

/* Tests all nodes with enough time. */
static int test_nodes(struct comparing *s, unsigned kind)
{
	size_t len = s->c->tree.len, tested = 0;
	double *p = calloc(len + 1, sizeof(*p));
	uint32_t *of = calloc(len + 1, sizeof(*of));
	int e = p && of ? 0 : -ENOMEM;

	memset(s->tests, 0, len * sizeof(*s->tests));
	for (size_t n = 0; n < len && !e; n++) {
		s->p[n] = 1;
		if (!is_large(s, kind, n))
			continue;
		s->tests[n] = aif_compare_values(s->c, s->values[kind] + n * s->runs, false, true);
		of[tested] = (uint32_t)n;
		p[tested++] = s->tests[n].p;
	}
	if (!e)
		e = aif_benjamini_hochberg_adjust(p, tested);
	for (size_t i = 0; i < tested && !e; i++) {
		struct aif_compared *t = &s->tests[of[i]];

		t->p = s->p[of[i]] = p[i];
		t->answer = aif_compare_answer_of_many(s->c, t);
	}
	free(p);
	free(of);
	return e;
}

/* True if the change of a node is one to look for: as large as asked for, and not by chance as far as can be told. */
static bool stands_out(const struct comparing *s, unsigned kind, uint32_t n)
{
	const struct aif_change *c = &s->tests[n].change;

	return is_large(s, kind, n) && fabs(s->delta[kind][n]) >= s->least &&
	       fabs(c->delta) >= c->margin && (!s->has_runs || s->p[n] < AIF_CHANGE_ALPHA);
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Descends to the innermost callee that has nearly all of a node's change. */
static uint32_t innermost(const struct comparing *s, unsigned kind, uint32_t n)
{
	for (;;) {
		double d = s->delta[kind][n];
		uint32_t next = 0;

		for (uint32_t k = s->first[n]; k && !next; k = s->next[k])
			if (d != 0 && s->delta[kind][k] / d >= MAIN_PART &&
			    s->delta[kind][k] / d <= 1 / MAIN_PART)
				next = k;
		if (!next)
			return n;
		n = next;
	}
}

static int by_move(const void *a, const void *b)
{
	double x = fabs(((const struct aif_move *)a)->delta),
	       y = fabs(((const struct aif_move *)b)->delta);

	return AIF_ORDER(y, x);
}

static int add_moves(struct comparing *s, unsigned kind, uint32_t n, struct aif_finding *f)
{
	struct aif_comparison *c = s->c;

	f->moves = c->moves_len;
	for (uint32_t k = s->first[n]; k; k = s->next[k]) {
		if (!stands_out(s, kind, k))
			continue;
		if (aif_grow(&c->moves, &c->moves_cap, c->moves_len + 1, sizeof(*c->moves)) < 0)
			return -ENOMEM;
		c->moves[c->moves_len++] =
			(struct aif_move){innermost(s, kind, k), s->delta[kind][k]};
	}
	f->moves_len = c->moves_len - f->moves;
	qsort(c->moves + f->moves, f->moves_len, sizeof(*c->moves), by_move);
	return 0;
}

static int add_finding(struct comparing *s, unsigned kind, uint32_t n, double delta, bool is_move)
{
	struct aif_comparison *c = s->c;
	const double *launches = s->launches + n * s->runs;
	struct aif_finding f = {.node = n,
				.is_idle = kind == IDLE,
				.kind = is_move ? AIF_FINDING_MOVED : AIF_FINDING_CHANGED,
				.is_change = stands_out(s, kind, n),
				.time = s->tests[n],
				.delta = delta,
				.a_launches = mean(s, launches, false),
				.b_launches = mean(s, launches, true)};
	double a = f.time.change.a, b = f.time.change.b;
	int e = 0;

	if (!is_move && !(a > 0))
		f.kind = AIF_FINDING_NEW;
	else if (!is_move && !(b > 0))
		f.kind = AIF_FINDING_GONE;
	else if (kind == DEVICE && f.a_launches > 0 && f.b_launches > 0) {
		f.often = (f.b_launches - f.a_launches) * a / f.a_launches;
		f.longer = f.b_launches * (b / f.b_launches - a / f.a_launches);
	}
	if (is_move)
		e = add_moves(s, kind, n, &f);
	if (!e &&
	    aif_grow(&c->findings, &c->findings_cap, c->findings_len + 1, sizeof(*c->findings)) < 0)
		e = -ENOMEM;
	if (!e)
		c->findings[c->findings_len++] = f;
	return e;
}

/* True if callees changed in opposite directions, and little of it is left in their caller; or if some are gone and others
 * new, which have replaced them. */
static bool is_move(const struct comparing *s, unsigned kind, uint32_t n)
{
	double up = 0, down = 0;
	bool gone = false, new = false;

	for (uint32_t k = s->first[n]; k; k = s->next[k]) {
		const struct aif_change *c = &s->tests[k].change;
		double d = s->delta[kind][k];

		if (!stands_out(s, kind, k))
			continue;
		*(d > 0 ? &up : &down) += fabs(d);
		new |= !(c->a > 0);
		gone |= !(c->b > 0);
	}
	return up > 0 && down > 0 &&
	       ((new &&gone) || fabs(s->delta[kind][n]) < MOST_LEFT * AIF_MAX(up, down));
}

/*
 * Visits the large nodes from the root on, callers before callees. A node is decided on when its callees have been: the
 * change that their findings explain goes up to it in `explained`.
 */
static int visit(struct comparing *s, unsigned kind)
{
	struct aif_comparison *c = s->c;
	size_t len = c->tree.len;
	double *explained = calloc(len + 1, sizeof(*explained));
	bool *closed =
		calloc(len + 1, sizeof(*closed)); /* below a move, which names what is there */
	int e = explained && closed ? 0 : -ENOMEM;

	for (uint32_t n = 0; n < len && !e; n++) {
		closed[n] = n && (closed[c->tree.nodes[n].parent]);
		if (closed[n] || !is_large(s, kind, n) || !is_move(s, kind, n))
			continue;
		e = add_finding(s, kind, n, s->delta[kind][n], true);
		closed[n] = true;
		explained[n] = s->delta[kind][n];
	}
	for (uint32_t n = (uint32_t)len; n-- > 0 && !e;) {
		double rest = s->delta[kind][n] - explained[n];

		if (!closed[n] && stands_out(s, kind, n) && fabs(rest) >= s->least &&
		    fabs(rest) >= LEAST_REST * fabs(s->delta[kind][n])) {
			e = add_finding(s, kind, n, rest, false);
			explained[n] += rest;
		}
		if (n && !(closed[n] && closed[c->tree.nodes[n].parent]))
			explained[c->tree.nodes[n].parent] += explained[n];
	}
	free(explained);
	free(closed);
	return e;
}

/* A stack with that part of both sides' time has all of it. */
#define ALL_PART 0.95

/* Finds steps of another size, at the innermost stack that has all time. */
static int add_steps(struct aif_comparison *c)
{
	double per_a = c->batch.change.a / c->steps_a, per_b = c->batch.change.b / c->steps_b;
	struct aif_finding f = {.is_change = true,
				.kind = AIF_FINDING_STEPS,
				.time = c->batch,
				.delta = c->batch.change.b - c->batch.change.a,
				.often = (c->steps_b - c->steps_a) * per_a,
				.longer = c->steps_b * (per_b - per_a),
				.a_launches = c->steps_a,
				.b_launches = c->steps_b};

	for (uint32_t k = c->tree.nodes[0].first; k;) {
		bool has_all = c->means[k][0] >= ALL_PART * c->means[0][0] &&
			       c->means[k][1] >= ALL_PART * c->means[0][1];

		f.node = has_all ? k : f.node;
		k = has_all ? c->tree.nodes[k].first : c->tree.nodes[k].next;
	}
	if (aif_grow(&c->findings, &c->findings_cap, c->findings_len + 1, sizeof(*c->findings)) < 0)
		return -ENOMEM;
	c->findings[c->findings_len++] = f;
	return 0;
}

/* Steps of another size before all else, changes before mere moves, each by its size; a move is as large as what was moved. */
static int by_size(const void *a, const void *b, void *arg)
{
	const struct aif_finding *x = a, *y = b;
	const struct aif_comparison *c = arg;
	double u = fabs(x->is_change || !x->moves_len ? x->delta : c->moves[x->moves].delta);
	double v = fabs(y->is_change || !y->moves_len ? y->delta : c->moves[y->moves].delta);

	if ((x->kind == AIF_FINDING_STEPS) != (y->kind == AIF_FINDING_STEPS))
		return x->kind == AIF_FINDING_STEPS ? -1 : 1;
	if (x->is_change != y->is_change)
		return x->is_change ? -1 : 1;
	if (u != v)
		return u > v ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* A frame narrower than that part of the picture is not drawn. */
#define NARROW_PART (1.0 / 10000)

/* Frames with fewer samples in all runs of a side are there by chance. */
#define LEAST_SAMPLES 5

/* Returns how many samples a frame has in a side's runs, INFINITY where times are not sampled. */
static double samples_of(const struct comparing *s, size_t n, bool is_b)
{
	const struct aif_comparison *c = s->c;
	size_t from = is_b ? c->a->len : 0, to = is_b ? s->runs : c->a->len;
	double sum = 0;

	for (size_t i = from; i < to; i++) {
		const struct aif_run *r = aif_compare_run(c, i);
		double part, all = (double)r->amount[AIF_RUN_CPU];

		if (!r->is_cpu || !r->amount[AIF_RUN_SAMPLES] || !(all > 0))
			return INFINITY;
		part = s->values[DEVICE][n * s->runs + i] /
		       (c->by_share ? WHOLE : all / aif_compare_units_of(c, r));
		sum += part * (double)r->amount[AIF_RUN_SAMPLES];
	}
	return sum;
}

/* True if a frame that one side alone has is none by chance: each run of that side has it, and, of what is sampled, a test says
 * so where there was one. */
static bool is_alone(const struct comparing *s, size_t n, bool is_b)
{
	const struct aif_comparison *c = s->c;
	size_t from = is_b ? c->a->len : 0, to = is_b ? s->runs : c->a->len;
	bool is_tested = c->decides && is_large(s, DEVICE, n);

	if (is_tested && s->tests[n].answer != AIF_CHANGE_UNKNOWN)
		return true;
	for (size_t i = from; i < to; i++)
		if (!(s->values[DEVICE][n * s->runs + i] > 0))
			return false;
	return !is_tested || !aif_compare_run(c, from)->is_cpu;
}

static enum aif_compare_look look_of(const struct comparing *s, size_t n)
{
	const struct aif_comparison *c = s->c;
	const struct aif_compared *t = &s->tests[n];
	double a = c->means[n][0], b = c->means[n][1];

	if (fmax(samples_of(s, n, false), samples_of(s, n, true)) < LEAST_SAMPLES)
		return AIF_LOOK_UNKNOWN;
	if (!(a > 0) || !(b > 0))
		return !is_alone(s, n, !(a > 0)) ? AIF_LOOK_UNKNOWN
		       : a > 0                   ? AIF_LOOK_GONE
						 : AIF_LOOK_NEW;
	if (!is_large(s, DEVICE, n))
		return AIF_LOOK_UNKNOWN;
	if (c->decides)
		return t->answer == AIF_CHANGE_UP     ? AIF_LOOK_UP
		       : t->answer == AIF_CHANGE_DOWN ? AIF_LOOK_DOWN
		       : t->answer == AIF_CHANGE_SAME ? AIF_LOOK_SAME
						      : AIF_LOOK_UNKNOWN;
	if (fabs(t->change.delta) < t->change.margin)
		return AIF_LOOK_SAME;
	return b > a ? AIF_LOOK_UP : AIF_LOOK_DOWN;
}

/* Sets the widths of frames and seals the tree: what is too narrow is its caller's. */
static int set_widths(struct aif_comparison *c)
{
	struct aif_tree *t = &c->tree;
	double(*own)[2] = calloc(t->len + 1, sizeof(*own)), all = 0;
	double *width = calloc(t->len + 1, sizeof(*width));
	int e = own && width ? 0 : -ENOMEM;

	for (size_t n = t->len; n-- > 0 && !e;)
		for (unsigned side = 0; side < 2; side++) {
			own[n][side] += c->means[n][side];
			if (n)
				own[t->nodes[n].parent][side] -= c->means[n][side];
		}
	for (size_t n = t->len; n-- > 0 && !e;) {
		width[n] += AIF_MAX(AIF_MAX(own[n][0], own[n][1]), 0);
		if (n)
			width[t->nodes[n].parent] += width[n];
		all = width[n];
	}
	for (size_t n = t->len; n-- > 0 && !e;) {
		double self = AIF_MAX(AIF_MAX(own[n][0], own[n][1]), 0);
		bool is_narrow = n && width[n] < all * NARROW_PART;

		t->nodes[n].self += is_narrow ? 0 : (uint64_t)(self + 0.5);
		if (is_narrow && width[t->nodes[n].parent] >= all * NARROW_PART)
			t->nodes[t->nodes[n].parent].self += (uint64_t)(width[n] + 0.5);
	}
	free(own);
	free(width);
	return e ? e : aif_tree_seal(t);
}

/* Tests frames with all that they called, device and idle time together. */
static int look_at(struct comparing *s)
{
	struct aif_comparison *c = s->c;
	size_t cells = c->tree.len * s->runs;
	int e;

	for (size_t i = 0; i < cells; i++)
		s->values[DEVICE][i] += s->values[IDLE][i];
	c->looks = calloc(c->tree.len + 1, sizeof(*c->looks));
	e = c->looks ? test_nodes(s, DEVICE) : -ENOMEM;
	for (size_t n = 0; n < c->tree.len && !e; n++)
		c->looks[n] = (uint8_t)look_of(s, n);
	return e ? e : set_widths(c);
}

int aif_compare_stacks(struct aif_comparison *c, const struct aif_map *aliases)
{
	struct comparing s = {.c = c, .runs = aif_compare_runs(c)};
	int e = merge(&s, aliases);

	s.has_runs =
		c->recordings[0] >= AIF_CHANGE_RUNS_MIN && c->recordings[1] >= AIF_CHANGE_RUNS_MIN;
	if (!e) {
		sum_up(&s);
		s.p = calloc(c->tree.len + 1, sizeof(*s.p));
		s.tests = calloc(c->tree.len + 1, sizeof(*s.tests));
		e = s.p && s.tests ? 0 : -ENOMEM;
	}
	for (unsigned k = 0; k < KINDS && !e; k++) {
		e = test_nodes(&s, k);
		if (!e)
			e = visit(&s, k);
	}
	if (!e)
		e = look_at(&s);
	if (!e && c->is_batch)
		e = add_steps(c);
	if (!e && c->findings_len)
		qsort_r(c->findings, c->findings_len, sizeof(*c->findings), by_size, c);
	for (unsigned k = 0; k < KINDS; k++) {
		free(s.values[k]);
		free(s.delta[k]);
	}
	free(s.launches);
	free(s.first);
	free(s.next);
	free(s.p);
	free(s.tests);
	return e;
}

void aif_compare_stack(const struct aif_comparison *c, uint32_t node, size_t most,
		       struct aif_buf *out)
{
	size_t n = 0;

	for (; node; node = c->tree.nodes[node].parent, n++) {
		size_t len;
		const char *text = aif_tree_text(&c->tree, c->tree.nodes[node].name, &len);

		if (most && n == most) {
			aif_buf_puts(out, AIF_STACK_CALLED_BY "...");
			return;
		}
		if (n)
			aif_buf_puts(out, AIF_STACK_CALLED_BY);
		aif_buf_append(out, text, len);
	}
	if (!n)
		aif_buf_puts(out, "all");
}
