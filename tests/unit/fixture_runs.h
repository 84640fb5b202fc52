/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/compare.h"
#include "base/hash.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Hand-made runs of comparisons: stacks with times, as text. */

#define RUNS_STEPS 100

struct run_row {
	const char *stack;   /* "main;f;kernel"; the last one is a kernel, or "[idle: ...]" */
	double ns, launches; /* a step */
};

static double runs_uniform(uint64_t *seed)
{
	*seed += UINT64_C(0x9e3779b97f4a7c15);
	return ((double)(aif_mix64(*seed) >> 11) + 0.5) * 0x1p-53;
}

static inline double runs_normal(uint64_t *seed)
{
	double u = runs_uniform(seed), v = runs_uniform(seed);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static inline void run_add_kernel(struct aif_run *r, const char *name, size_t len, double ns,
				  double launches)
{
	struct aif_run_kernel *k;
	uint32_t id = aif_strset_put(&r->kernel_names, name, len);

	for (k = r->kernels; k < r->kernels + r->kernels_len && k->name != id; k++)
		;
	if (k == r->kernels + r->kernels_len) {
		assert_int_equal(aif_grow(&r->kernels, &r->kernels_cap, r->kernels_len + 1,
					  sizeof(*r->kernels)),
				 0);
		k = &r->kernels[r->kernels_len++];
		*k = (struct aif_run_kernel){.name = id, .full = id};
	}
	k->ns += (uint64_t)ns;
	k->launches += (uint64_t)launches;
}

/* Adds time to an operator or range, "aten::linear;aten::addmm": the innermost last. The tree is sealed by the caller. */
static inline void run_add_by(struct aif_run *r, enum aif_run_by by, const char *path, double ns)
{
	struct aif_tree *t = &r->by[by];
	uint32_t node = 0;

	if (!t->len)
		assert_int_equal(aif_tree_init(t, false), 0);
	for (const char *s = path; *s;) {
		size_t len = strcspn(s, ";");

		node = aif_tree_child(
			t, node,
			aif_tree_name(t,
				      by == AIF_RUN_BY_OPERATOR ? AIF_TREE_CXX : AIF_TREE_SYNTHETIC,
				      s, len));
		assert_true(node);
		s += len + (s[len] == ';');
	}
	t->nodes[node].self += (uint64_t)ns;
}

/* Makes a run of RUNS_STEPS steps; each time is multiplied by a random factor with a standard deviation of `noise`. */
static inline struct aif_run run_make(const struct run_row *rows, size_t n, double noise,
				      uint64_t *seed)
{
	struct aif_run r = {.path = strdup("run.data"),
			    .steps_from = AIF_PHASES_MARKS,
			    .steps = RUNS_STEPS,
			    .is_loop = true};
	double all = exp(noise / 2 * runs_normal(seed)); /* of the whole run: a clock */

	assert_int_equal(aif_tree_init(&r.tree, true), 0);
	assert_int_equal(aif_run_set(&r, AIF_RUN_MACHINE, "card"), 0);
	for (size_t i = 0; i < n; i++) {
		double ns = rows[i].ns * RUNS_STEPS * all * exp(noise / 2 * runs_normal(seed));
		double launches = rows[i].launches * RUNS_STEPS;
		uint32_t node = 0;
		const char *s = rows[i].stack;

		for (bool more = true; more;) {
			size_t len = strcspn(s, ";");
			unsigned type = *s == '[' ? AIF_TREE_SYNTHETIC
					: s[len]  ? AIF_TREE_CXX
						  : AIF_TREE_KERNEL;

			node = aif_tree_child(&r.tree, node, aif_tree_name(&r.tree, type, s, len));
			assert_true(node);
			more = s[len] == ';';
			if (!more && type == AIF_TREE_KERNEL)
				run_add_kernel(&r, s, len, ns, launches);
			if (!more)
				r.amount[type == AIF_TREE_KERNEL ? AIF_RUN_BUSY : AIF_RUN_IDLE] +=
					(uint64_t)ns;
			s += len + more;
		}
		r.tree.nodes[node].self += (uint64_t)ns;
		r.tree.details[node].launches += (uint64_t)launches;
		r.amount[AIF_RUN_LAUNCHES] += (uint64_t)launches;
	}
	r.amount[AIF_RUN_ELAPSED] = r.amount[AIF_RUN_BUSY] + r.amount[AIF_RUN_IDLE];
	assert_int_equal(aif_tree_seal(&r.tree), 0);
	return r;
}

static inline struct aif_side side_make(const char *name, const struct run_row *rows, size_t n,
					size_t runs, double noise, uint64_t seed)
{
	struct aif_side s = {.name = strdup(name)};

	assert_int_equal(aif_grow(&s.runs, &s.cap, runs, sizeof(*s.runs)), 0);
	for (s.len = 0; s.len < runs; s.len++)
		s.runs[s.len] = run_make(rows, n, noise, &seed);
	return s;
}

/* Makes a side's runs whole: with a start-up and an end, ns, around their loops. */
static inline void side_be_whole(struct aif_side *s, uint64_t startup, uint64_t tail)
{
	for (size_t i = 0; i < s->len; i++) {
		struct aif_run *r = &s->runs[i];

		r->is_loop = false;
		r->is_whole = true;
		r->amount[AIF_RUN_LOOP] = r->amount[AIF_RUN_ELAPSED];
		r->amount[AIF_RUN_BEFORE] = startup;
		r->amount[AIF_RUN_AFTER] = tail;
	}
}

/* Counts `n` ranges of a name. */
static inline void run_add_ranges(struct aif_run *r, const char *name, uint64_t n)
{
	assert_int_not_equal(aif_run_add_ranges(r, name, aif_run_range_stem(name), n),
			     AIF_STR_NONE);
}

/* Gives a side's runs operators and ranges: aten::addmm and the range decode take `longer` times as long. */
static inline void side_add_operators(struct aif_side *s, double longer)
{
	for (size_t i = 0; i < s->len; i++) {
		struct aif_run *r = &s->runs[i];
		double noise = 1 + 0.002 * (double)i;

		run_add_by(r, AIF_RUN_BY_OPERATOR, "aten::linear;aten::addmm",
			   1e8 * noise * longer);
		run_add_by(r, AIF_RUN_BY_OPERATOR, "aten::linear", 1e7 * noise);
		run_add_by(r, AIF_RUN_BY_OPERATOR, "aten::gelu", 1e8 * noise);
		run_add_by(r, AIF_RUN_BY_RANGE, "step;prefill", 2e8 * noise);
		run_add_by(r, AIF_RUN_BY_RANGE, "step;decode", 1e8 * noise * longer);
		for (unsigned by = 0; by < AIF_RUN_BYS; by++)
			assert_int_equal(aif_tree_seal(&r->by[by]), 0);
	}
}

/* Two sides and what was made of them. */
struct compared {
	struct aif_side a, b;
	struct aif_comparison c;
};

/* A step of 10 ms. */
static const struct run_row runs_base[] = {
	{"main;train;attention;flash_fwd<64, 128>", 3e6, 4},
	{"main;train;block;gemm_64x64_tn", 2e6, 4},
	{"main;train;block;scale_and_shift", 1e6, 2},
	{"main;train;head;logits", 1e6, 1},
	{"main;train;head;softmax", 5e5, 1},
	{"main;train;load;copy_in", 5e5, 1},
	{"main;train;load;[idle: host]", 1e6, 0},
	{"main;train;[idle: wait]", 1e6, 0},
};
#define RUNS_BASE_LEN AIF_ARRAY_LEN(runs_base)

/* Compares runs of the base with runs of other rows. */
static inline void compared_make(struct compared *x, const struct run_row *b, size_t b_len,
				 size_t runs, double noise, uint64_t seed)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};

	x->a = side_make("before", runs_base, RUNS_BASE_LEN, runs, noise, seed);
	x->b = side_make("after", b, b_len, runs, noise, seed + 1000);
	assert_int_equal(aif_compare(&x->a, &x->b, &o, &x->c, &err), 0);
}

static inline void finish(struct compared *x)
{
	aif_comparison_finish(&x->c);
	aif_side_finish(&x->a);
	aif_side_finish(&x->b);
}
