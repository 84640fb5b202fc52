/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of both sides, and which of them are the same under another name. */
#include "compare/internal.h"

#include "stats/many.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Kernels under other names that are launched from the same stack are the same if they are launched about as often. */
#define SAME_LAUNCHES 0.2

struct kernel {
	uint32_t name; /* index into c->names */
	bool on_a, on_b, is_copy;
	uint32_t partner; /* a kernel of B has here the index of A's; AIF_NONE */
	bool is_taken;    /* a kernel of A is the partner of one of B */
	enum aif_partner how;
	uint64_t stack; /* hash of the stack with most of its time; 0: not known */
	uint64_t stack_ns;
	double launches[2]; /* a unit, mean of the side's runs */
	double *ns, *count; /* one for each run, sums of the whole part: time, launches */
};

struct matching {
	struct aif_comparison *c;
	struct kernel *k;
	size_t len, cap;
	struct aif_map by_name; /* index into c->names -> index of the kernel */
};

static struct kernel *kernel_of(struct matching *m, const struct aif_run *r,
				const struct aif_run_kernel *from)
{
	struct aif_comparison *c = m->c;
	size_t len;
	const char *text = aif_strset_get(&r->kernel_names, from->name, &len);
	uint32_t name = aif_strset_put(&c->names, text, len);
	uint64_t i;

	if (name == AIF_STR_NONE)
		return NULL;
	if (aif_map_get(&m->by_name, name, &i))
		return &m->k[i];
	if (aif_grow(&m->k, &m->cap, m->len + 1, sizeof(*m->k)) < 0 ||
	    aif_map_put(&m->by_name, name, m->len) < 0)
		return NULL;
	m->k[m->len] = (struct kernel){.name = name, .partner = AIF_NONE, .is_copy = from->is_copy};
	m->k[m->len].ns = calloc(2 * aif_compare_runs(c), sizeof(double));
	if (!m->k[m->len].ns)
		return NULL;
	m->k[m->len].count = m->k[m->len].ns + aif_compare_runs(c);
	return &m->k[m->len++];
}

static int read_kernels(struct matching *m)
{
	struct aif_comparison *c = m->c;

	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		const struct aif_run *r = aif_compare_run(c, i);
		bool is_b = i >= c->a->len;
		double side = (double)(is_b ? c->b->len : c->a->len);

		for (size_t j = 0; j < r->kernels_len; j++) {
			struct kernel *k = kernel_of(m, r, &r->kernels[j]);

			if (!k)
				return -ENOMEM;
			*(is_b ? &k->on_b : &k->on_a) = true;
			k->ns[i] += (double)r->kernels[j].ns;
			k->count[i] += (double)r->kernels[j].launches;
			k->launches[is_b] +=
				(double)r->kernels[j].launches / aif_compare_units_of(c, r) / side;
		}
	}
	return 0;
}

/* ---- kernels that a file had no room for ----------------------------------------------------- */

/* Returns the least time of a run's kernels, INFINITY where it has them all. */
static double least_kept(const struct aif_run *r)
{
	double least = INFINITY;
	bool left_out = false;

	for (size_t i = 0; i < r->kernels_len; i++) {
		const char *name = aif_strset_get(&r->kernel_names, r->kernels[i].name, NULL);

		if (!strcmp(name, AIF_RUN_LEFT_OUT))
			left_out = true;
		else
			least = fmin(least, (double)r->kernels[i].ns);
	}
	return left_out ? least : INFINITY;
}

/* A kernel that a run does not have may be among those left out there, if it takes hardly more than the least that is not. */
#define LEAST_FACTOR 1.5

static bool may_be_left_out(const struct matching *m, const struct kernel *k, const double *least)
{
	size_t n = aif_compare_runs(m->c);
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, k->ns[i]);
	for (size_t i = 0; i < n; i++)
		if (!(k->ns[i] > 0) && isfinite(least[i]) && most <= LEAST_FACTOR * least[i])
			return true;
	return false;
}

/* Adds kernels that some run's file has left out to those left out, so that they are neither new nor gone. */
static int join_left_out(struct matching *m)
{
	size_t n = aif_compare_runs(m->c), kept = 0;
	uint32_t name = aif_strset_find(&m->c->names, AIF_RUN_LEFT_OUT, strlen(AIF_RUN_LEFT_OUT));
	struct kernel *all = NULL;
	double *least;
	uint64_t at;

	if (name == AIF_STR_NONE || !aif_map_get(&m->by_name, name, &at))
		return 0;
	least = calloc(n + 1, sizeof(*least));
	if (!least)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		least[i] = least_kept(aif_compare_run(m->c, i));
	all = &m->k[at];
	for (size_t i = 0; i < m->len; i++) {
		struct kernel *k = &m->k[i];

		if (i == at || !may_be_left_out(m, k, least))
			continue;
		for (size_t r = 0; r < n; r++) {
			all->ns[r] += k->ns[r];
			all->count[r] += k->count[r];
		}
		for (size_t side = 0; side < 2; side++)
			all->launches[side] += k->launches[side];
		all->on_a |= k->on_a;
		all->on_b |= k->on_b;
		free(k->ns);
		k->ns = NULL;
	}
	free(least);
	aif_map_finish(&m->by_name);
	m->by_name = (struct aif_map){0};
	for (size_t i = 0; i < m->len; i++) {
		if (!m->k[i].ns)
			continue;
		m->k[kept] = m->k[i];
		if (aif_map_put(&m->by_name, m->k[kept].name, kept) < 0)
			return -ENOMEM;
		kept++;
	}
	m->len = kept;
	return 0;
}

/* ---- stacks of kernels ----------------------------------------------------------------------- */

struct kernel_name {
	uint64_t hash;
	struct kernel *alone; /* a kernel that only one side has; NULL: another frame */
};

/* Returns what read_stacks() asks of each name of a tree, for free(); NULL without memory. */
static struct kernel_name *read_names(struct matching *m, const struct aif_tree *t)
{
	struct kernel_name *names = calloc(t->names.len + 1, sizeof(*names));

	for (uint32_t i = 0; i < t->names.len && names; i++) {
		char space[AIF_COMPARE_NAME];
		size_t len;
		const char *text = aif_compare_frame(t, i, space, &len);
		uint32_t name;
		uint64_t at;

		names[i].hash = aif_hash_bytes(text, len) + 1;
		if (aif_tree_base_type(aif_tree_type_of(t, i)) != AIF_TREE_KERNEL)
			continue;
		name = aif_strset_find(&m->c->names, text, len);
		if (name != AIF_STR_NONE && aif_map_get(&m->by_name, name, &at) &&
		    m->k[at].on_a != m->k[at].on_b)
			names[i].alone = &m->k[at];
	}
	return names;
}

/* Sets the stack of each kernel that only one side has, from the runs' trees. */
static int read_stacks(struct matching *m)
{
	struct aif_comparison *c = m->c;

	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		const struct aif_tree *t = &aif_compare_run(c, i)->tree;
		uint64_t *hash = calloc(t->len + 1, sizeof(*hash));
		struct kernel_name *names = read_names(m, t);

		for (size_t n = 1; n < t->len && hash && names; n++) {
			const struct aif_tree_node *node = &t->nodes[n];
			struct kernel *k = names[node->name].alone;

			hash[n] = aif_mix64(hash[node->parent] + names[node->name].hash);
			if (!k || k->stack_ns >= node->total)
				continue;
			k->stack = hash[node->parent];
			k->stack_ns = node->total;
		}
		free(names);
		free(hash);
		if (!hash || !names)
			return -ENOMEM;
	}
	return 0;
}

/* ---- partners -------------------------------------------------------------------------------- */

/* Appends a name without what renames change: numbers, and unless `with_arguments` template arguments and parameters. */
static void put_stem(const char *name, bool with_arguments, struct aif_buf *b)
{
	unsigned depth = 0;

	for (const char *s = name; *s; s++) {
		if (!with_arguments && (*s == '<' || *s == '(')) {
			depth++;
		} else if (!with_arguments && (*s == '>' || *s == ')')) {
			depth -= depth > 0;
		} else if (depth) {
			continue;
		} else if (*s >= '0' && *s <= '9') {
			if (!b->len || b->data[b->len - 1] != '#')
				aif_buf_putc(b, '#');
		} else {
			aif_buf_putc(b, *s);
		}
	}
}

static uint64_t stem_of(struct matching *m, size_t i, bool with_arguments, struct aif_buf *b)
{
	aif_buf_clear(b);
	put_stem(aif_strset_get(&m->c->names, m->k[i].name, NULL), with_arguments, b);
	return aif_hash_bytes(b->data, b->len);
}

static bool is_alone(const struct kernel *k, bool is_b)
{
	if (k->is_copy || k->on_a == k->on_b)
		return false;
	return is_b ? k->on_b && k->partner == AIF_NONE : k->on_a && !k->is_taken;
}

static bool has_same_launches(const struct kernel *x, const struct kernel *y)
{
	double a = x->launches[0], b = y->launches[1];

	return fabs(a - b) <= SAME_LAUNCHES * AIF_MAX(a, b);
}

/* Pairs kernels of one side only whose keys are equal and which no other kernel of their side shares. key 0: has none. */
static int pair(struct matching *m, const uint64_t *keys, enum aif_partner how)
{
	struct aif_map sides[2] = {{0}, {0}}; /* key -> index + 1; 0: several */
	int e = 0;

	for (size_t i = 0; i < m->len && !e; i++) {
		bool is_b = m->k[i].on_b;
		uint64_t other;

		if (keys[i] && is_alone(&m->k[i], is_b))
			e = aif_map_put(&sides[is_b], keys[i],
					aif_map_get(&sides[is_b], keys[i], &other) ? 0 : i + 1);
	}
	for (size_t i = 0; i < m->len && !e; i++) {
		uint64_t mine, other;

		if (!keys[i] || !m->k[i].on_b || !is_alone(&m->k[i], true) ||
		    !aif_map_get(&sides[1], keys[i], &mine) || mine != i + 1 ||
		    !aif_map_get(&sides[0], keys[i], &other) || !other)
			continue;
		if (how == AIF_PARTNER_STACK && !has_same_launches(&m->k[other - 1], &m->k[i]))
			continue;
		m->k[i].partner = (uint32_t)(other - 1);
		m->k[i].how = how;
		m->k[other - 1].is_taken = true;
	}
	aif_map_finish(&sides[0]);
	aif_map_finish(&sides[1]);
	return e;
}

/* Pairs by name and stack, then by name, with arguments where several are called alike without, then by stack. */
static int find_partners(struct matching *m)
{
	uint64_t *keys = calloc(m->len + 1, sizeof(*keys));
	struct aif_buf b = {0};
	int e = keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->len && !e; i++)
		keys[i] = m->k[i].stack ? aif_mix64(stem_of(m, i, false, &b) ^ m->k[i].stack) : 0;
	if (!e)
		e = pair(m, keys, AIF_PARTNER_NAME);
	for (size_t i = 0; i < m->len && !e; i++)
		keys[i] = stem_of(m, i, true, &b);
	if (!e)
		e = pair(m, keys, AIF_PARTNER_NAME);
	for (size_t i = 0; i < m->len && !e; i++)
		keys[i] = stem_of(m, i, false, &b);
	if (!e)
		e = pair(m, keys, AIF_PARTNER_NAME);
	for (size_t i = 0; i < m->len && !e; i++)
		keys[i] = m->k[i].stack;
	if (!e)
		e = pair(m, keys, AIF_PARTNER_STACK);
	if (aif_buf_failed(&b))
		e = -ENOMEM;
	aif_buf_finish(&b);
	free(keys);
	return e;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Answers by how often a kernel was launched, by run, where that is counted and the same in all runs of a side. */
static enum aif_change_answer answer_launches(const struct aif_comparison *c, const double *count)
{
	double of[2] = {0};

	if (!c->decides || c->unit == AIF_UNIT_LAUNCH)
		return AIF_CHANGE_UNKNOWN;
	for (size_t i = 0; i < aif_compare_runs(c); i++) {
		const struct aif_run *r = aif_compare_run(c, i);
		double n = count[i] / aif_compare_units_of(c, r);
		bool is_b = i >= c->a->len;

		if (r->amount[AIF_RUN_ERROR] || (i != 0 && i != c->a->len && n != of[is_b]))
			return AIF_CHANGE_UNKNOWN;
		of[is_b] = n;
	}
	return of[1] > of[0] ? AIF_CHANGE_UP : of[1] < of[0] ? AIF_CHANGE_DOWN : AIF_CHANGE_UNKNOWN;
}

static int add_row(struct matching *m, size_t i)
{
	struct aif_comparison *c = m->c;
	struct kernel *k = &m->k[i], *a = k->partner == AIF_NONE ? k : &m->k[k->partner];
	struct aif_compared_kernel *row;
	bool by_launch = c->unit == AIF_UNIT_LAUNCH;

	if (k->is_taken)
		return 0; /* its partner has the row */
	for (size_t r = 0; r < aif_compare_runs(c) && a != k; r++) {
		k->ns[r] += a->ns[r];
		k->count[r] += a->count[r];
	}
	for (size_t r = 0; r < aif_compare_runs(c) && by_launch; r++)
		k->ns[r] /= k->count[r] > 0 ? k->count[r] : 1;
	if (aif_grow(&c->kernels, &c->kernels_cap, c->kernels_len + 1, sizeof(*c->kernels)) < 0)
		return -ENOMEM;
	row = &c->kernels[c->kernels_len++];
	*row = (struct aif_compared_kernel){
		.a = a->on_a ? aif_strset_get(&c->names, a->name, NULL) : NULL,
		.b = k->on_b ? aif_strset_get(&c->names, k->name, NULL) : NULL,
		.matched_by = a != k               ? k->how
			      : k->on_a && k->on_b ? AIF_PARTNER_SAME
						   : AIF_PARTNER_NONE,
		.is_copy = k->is_copy,
		.is_by_launch = by_launch,
		.time = aif_compare_values(c, k->ns, !by_launch, !by_launch),
		.a_launches = a->launches[0],
		.b_launches = k->launches[1],
		.launches = answer_launches(c, k->count),
	};
	return 0;
}

static double size_of(const struct aif_compared_kernel *k)
{
	double each = fabs(k->time.change.b - k->time.change.a);

	return k->is_by_launch ? each * fmax(k->a_launches, k->b_launches) : each;
}

static int by_size(const void *a, const void *b)
{
	const struct aif_compared_kernel *x = a, *y = b;
	double p = size_of(x), q = size_of(y);

	return p > q ? -1 : p < q ? 1 : strcmp(x->a ? x->a : x->b, y->a ? y->a : y->b);
}

static int adjust(struct aif_comparison *c)
{
	double *p = calloc(c->kernels_len + 1, sizeof(*p));
	int e = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->kernels_len && !e; i++)
		p[i] = c->kernels[i].time.p;
	if (!e)
		e = aif_benjamini_hochberg_adjust(p, c->kernels_len);
	for (size_t i = 0; i < c->kernels_len && !e; i++) {
		c->kernels[i].time.p = p[i];
		c->kernels[i].time.answer = aif_compare_answer_of_many(c, &c->kernels[i].time);
		/* Runs of one side have none of it, all of the other do: time of it is more than none. */
		if (c->kernels[i].launches != AIF_CHANGE_UNKNOWN &&
		    c->kernels[i].matched_by == AIF_PARTNER_NONE)
			c->kernels[i].time.answer = c->kernels[i].launches;
	}
	free(p);
	if (!e && c->kernels_len)
		qsort(c->kernels, c->kernels_len, sizeof(*c->kernels), by_size);
	return e;
}

int aif_compare_kernels(struct aif_comparison *c, struct aif_map *aliases)
{
	struct matching m = {.c = c};
	int e = read_kernels(&m);

	if (!e)
		e = join_left_out(&m);
	if (!e)
		e = read_stacks(&m);
	if (!e)
		e = find_partners(&m);
	for (size_t i = 0; i < m.len && !e; i++)
		if (m.k[i].partner != AIF_NONE)
			e = aif_map_put(aliases, m.k[i].name, m.k[m.k[i].partner].name);
	for (size_t i = 0; i < m.len && !e; i++)
		e = add_row(&m, i);
	if (!e)
		e = adjust(c);
	for (size_t i = 0; i < m.len; i++)
		free(m.k[i].ns);
	free(m.k);
	aif_map_finish(&m.by_name);
	return e;
}
